//! The operator: the process that keeps Flux objects as the releases and the Clusters say.
//!
//! | file | what it holds |
//! |---|---|
//! | `settings` | the flags, as typed values |
//! | `process` | start, supervision and end of all of it |
//! | `metrics` | counts of what the operator finds |
//! | `objects`, `related` | the kinds that the operator watches, and those that Clusters refer to |
//! | `appliers`, `leases` | whether Flux's controllers are alive |
//! | `library` | the releases, read from the artifacts that Flux serves |
//! | `context`, `budget` | all that reconciles work with, and what of it they spend together |
//! | `controllers`, `enqueue`, `reconcile` | what is reconciled when, and what follows |
//! | `stack`, `release`, `cluster` | one reconcile each |
//! | `annotations`, `deliver`, `events`, `finalizer`, `ownership`, `request` | what several of them do to objects |
// This is one of the places that may look at the clock and the machine.
#![allow(clippy::disallowed_methods)]

mod annotations;
pub mod appliers;
pub mod budget;
pub mod cluster;
pub mod context;
mod controllers;
pub mod deliver;
pub mod enqueue;
pub mod events;
pub mod finalizer;
pub mod git_delivery;
mod leases;
pub mod library;
pub mod metrics;
pub mod objects;
pub mod ownership;
pub mod process;
pub mod publisher;
pub mod reconcile;
pub mod related;
pub mod release;
pub mod request;
mod retry;
pub mod secrets;
pub mod settings;
pub mod stack;
mod status;

use process::ProcessError;
use settings::Settings;

/// Runs the operator until a signal ends it. An error is logged before it is returned.
pub async fn run(settings: Settings) -> Result<(), ProcessError> {
    process::run(settings, controllers::run).await
}
