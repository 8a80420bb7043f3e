//! The operator end to end, on real API servers and a real Flux.

mod account;
mod by_git;
mod by_git_killed;
mod deliver;
mod diary;
mod diff_live;
mod drift;
mod failures;
mod fields;
mod fleet;
mod go_samples;
mod inputs_export;
mod killed;
mod leaders;
mod letgo;
mod lies;
mod lost;
mod outages;
mod process;
mod quiet;
mod random;
mod releases;
mod removal;
mod replaced;
mod scenario;
mod state;
