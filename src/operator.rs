//! The operator: the process that reconciles Flux objects with releases and Clusters.
//!
//! | file | content |
//! |---|---|
//! | `settings` | the flags, as typed values |
//! | `process` | start, supervision and end of the process |
//! | `metrics`, `scrape` | counts of what the operator finds, and what a scrape reads from the objects |
//! | `objects`, `related` | the kinds that the operator watches, and those that Clusters refer to |
//! | `appliers`, `leases` | the health of Flux's controllers |
//! | `release_cache` | the releases, read from the artifacts that Flux serves |
//! | `context`, `caches`, `latest`, `budget`, `repairs` | the state that reconciles share, and the budgets that they spend together |
//! | `controllers`, `enqueue`, `reconcile` | the queues, the objects that a change enqueues, and the end of a reconcile |
//! | `stack`, `release`, `cluster` | one reconciler each |
//! | `annotations`, `deliver`, `events`, `finalizer`, `request`, `write` | operations on objects that reconcilers share |
//!
//! Only the functions that gather facts read the clock: clippy refuses it in all others.

mod annotations;
pub mod appliers;
pub mod budget;
pub mod builtin;
pub mod caches;
pub mod cluster;
pub mod context;
mod controllers;
mod definition;
pub mod deliver;
pub mod enqueue;
pub mod events;
pub mod finalizer;
pub mod git_delivery;
pub mod helm_controller;
pub mod latest;
mod leases;
pub mod metrics;
pub mod objects;
mod occupants;
pub mod process;
pub mod publisher;
pub mod reconcile;
pub mod related;
pub mod release;
pub mod release_cache;
mod repairs;
pub mod request;
mod retry;
mod scrape;
pub mod secrets;
pub mod settings;
pub mod stack;
mod status;
mod under_way;
pub mod write;

use process::ProcessError;
use settings::Settings;

/// Runs the operator until a signal ends it. Logs an error before returning it.
pub async fn run(settings: Settings) -> Result<(), ProcessError> {
    process::run(settings, controllers::run).await
}
