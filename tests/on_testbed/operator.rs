//! The operator end to end, on real API servers and a real Flux.

mod account;
mod deliver;
mod diary;
mod diff_live;
mod drift;
mod failures;
mod fields;
mod go_samples;
mod killed;
mod leaders;
mod letgo;
mod lies;
mod lost;
mod outages;
mod process;
mod quiet;
mod releases;
mod removal;
mod replaced;
pub(crate) mod scenario;
mod state;
