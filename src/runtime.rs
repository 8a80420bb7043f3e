//! Access to Kubernetes and to the process for any operator. This module is independent of cluster stacks.
//!
//! | file | what it holds |
//! |---|---|
//! | `client` | the connection to the API server |
//! | `clock` | the wall clock, which simulations set |
//! | `api_server` | every request about one object: limited in time, fenced and counted |
//! | `lease` | leader election, and the fence that every write passes |
//! | `cache`, `watches`, `guarded` | objects as the API server last reported them |
//! | `events` | events about objects |
//! | `queue` | keys that are reconciled by one task at a time |
//! | `metrics` | counts of requests, reconciles and leadership |
//! | `health` | `/healthz`, `/readyz` and `/metrics` |
//! | `tasks` | tasks whose end is the end of the process |
//! | `logs`, `shutdown` | log lines, and the end of the process |
// This is one of the places that may look at the clock and the machine.
#![allow(clippy::disallowed_methods)]

pub mod api_server;
pub mod cache;
pub mod client;
pub mod clock;
pub mod events;
pub mod guarded;
pub mod health;
pub mod lease;
pub mod logs;
pub mod metrics;
pub mod queue;
pub mod shutdown;
pub mod tasks;
pub mod watches;
