//! The operator: the process that keeps Flux objects as the releases and the Clusters say.
//!
//! | file | what it holds |
//! |---|---|
//! | `settings` | the flags, as typed values |
//! | `process` | start, supervision and end of all of it |
//! | `client` | the connection to the API server |
//! | `lease` | leader election, and the fence that every write passes |
//! | `shutdown` | signals, and who hears of them |
//! | `health` | `/healthz`, `/readyz` and what is waited for, `/metrics` |
//! | `metrics` | what is counted |
//! | `logs` | what is said |
//! | `watches`, `cache`, `objects`, `related` | what the API server has, followed and kept |
//! | `appliers` | whether Flux's controllers are alive |
//! | `library` | the releases, read from the artifacts that Flux serves |
//! | `world`, `budget` | all that reconciles work with, and what of it they spend together |
//! | `controllers`, `queue`, `routes`, `reconcile` | what is reconciled when, and what follows |
//! | `stack`, `release`, `cluster` | one reconcile each |
//! | `annotations`, `deliver`, `events`, `finalizer`, `ownership`, `request` | what several of them do to objects |
// This is one of the places that may look at the clock and the machine.
#![allow(clippy::disallowed_methods)]

mod annotations;
pub mod appliers;
pub mod budget;
pub mod cache;
pub mod client;
pub mod cluster;
mod controllers;
pub mod deliver;
pub mod events;
pub mod finalizer;
pub mod git_delivery;
pub mod health;
pub mod lease;
pub mod library;
pub mod logs;
pub mod metrics;
pub mod objects;
pub mod ownership;
pub mod process;
pub mod publisher;
pub mod queue;
pub mod reconcile;
pub mod related;
pub mod release;
pub mod request;
mod retry;
pub mod routes;
pub mod secrets;
pub mod settings;
pub mod shutdown;
pub mod stack;
pub mod watches;
pub mod world;

use process::ProcessError;
use settings::Settings;

/// Runs the operator until a signal ends it. An error is logged before it is returned.
pub async fn run(settings: Settings) -> Result<(), ProcessError> {
    process::run(settings, controllers::run).await
}
