//! Measures the operator: how fast it writes, how soon it reacts, its use of processor and memory, and how quiet it is.
//!
//! In the same run, on the same API server, a plain client writes the same objects by the same requests and does nothing
//! else: its rate is the capacity of the API server. `make bench-operator` fails when a bar is missed. `BENCH_CLUSTERS`
//! (500) and `BENCH_ROUNDS` (5) make a quick run possible. `BENCH_COMPONENTS` (0) adds components to the four addons.
#![allow(clippy::disallowed_methods, reason = "a program that measures")]
#![allow(clippy::print_stdout, reason = "a program that prints")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a program for developers")]

mod ground;
mod helm;
mod pace;
mod plain;
mod reaction;
mod requests;
mod rounds;
#[path = "../support.rs"]
mod support;

use std::env;
use std::process::ExitCode;

use ground::Ground;

fn main() -> ExitCode {
    let (clusters, rounds) = (number("BENCH_CLUSTERS", 500), number("BENCH_ROUNDS", 5));
    let components = number("BENCH_COMPONENTS", 0);
    let ground = Ground::prepare(clusters, components);
    let writes = rounds::measure(&ground, (clusters, components), rounds);
    let reacts = reaction::measure(&ground, clusters);
    if writes && reacts { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn number(variable: &str, default: usize) -> usize {
    env::var(variable).map_or(default, |value| value.parse().unwrap())
}
