//! Simulations of the operator over an API server in memory.

#![cfg(test)]
#![allow(clippy::disallowed_methods, reason = "tests read files")]

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod api_server;
mod api_server_tests;
mod causes;
mod cluster_api;
mod commits;
mod driver;
mod election;
mod end;
mod exhaustive;
mod flux;
mod golden;
mod intent;
mod invariants;
mod operator;
mod past;
mod process;
mod properties;
mod random;
mod reported;
mod repository;
mod scenarios;
mod seam;
mod truth;
mod users;
mod watch;
mod wire;
