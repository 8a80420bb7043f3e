//! The end of a reconcile.

use std::fmt;
use std::time::Duration;

use tracing::{debug, error};

use super::metrics::{Metrics, Queue};
use crate::api::Reason;
use crate::error::{Class, Classify};
use crate::gate::Hold;
use crate::plan::PlanError;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;

/// Delay before a retry while a cache is incomplete or outdated.
pub const REQUEUE_SOON_AFTER: Duration = Duration::from_secs(1);

/// A reason why a reconcile did not complete. Waiting, or an invalid input, is not an error: the status reports it.
#[derive(Debug)]
pub enum ReconcileError {
    /// A request to the API server failed.
    Request(RequestError),
    /// The operator cannot plan.
    Plan(PlanError),
}

impl From<RequestError> for ReconcileError {
    fn from(error: RequestError) -> Self {
        Self::Request(error)
    }
}

impl From<PlanError> for ReconcileError {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

impl ReconcileError {
    /// Whether the status has to report the error: the API server refuses the object, and will refuse it until an input
    /// changes. Errors that a retry may fix are not reported, since a short outage would otherwise change the status of
    /// every object.
    #[must_use]
    pub fn is_reported(&self) -> bool {
        matches!(self, Self::Request(error) if error.is_refusal() && !error.is_namespace_terminating())
    }

    /// Returns the hold that the status reports.
    #[must_use]
    pub fn hold(&self) -> Hold {
        Hold { reason: Reason::DeliveryFailed, message: self.to_string() }
    }

    /// Whether another client wrote concurrently: the next reconcile decides, and nothing has failed.
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Request(error) if error.is_conflict())
    }

    /// Whether the namespace is being deleted, so that no object can be created in it.
    fn is_namespace_terminating(&self) -> bool {
        matches!(self, Self::Request(error) if error.is_namespace_terminating())
    }
}

impl fmt::Display for ReconcileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error) => error.fmt(f),
            Self::Plan(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReconcileError {}

impl Classify for ReconcileError {
    fn class(&self) -> Class {
        match self {
            Self::Request(error) => error.class(),
            Self::Plan(_) => Class::Terminal,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Request(error) => error.reason(),
            Self::Plan(_) => "PlanFailed",
        }
    }
}

/// Counts and logs the result of a reconcile, and returns what follows.
pub fn ended(
    queue: Queue,
    key: &Key,
    result: Result<Next, ReconcileError>,
    took: Duration,
    metrics: &Metrics,
) -> Next {
    match result {
        Ok(next) => {
            metrics.runtime.reconciled(queue.as_str(), Ok(()), took);
            next
        }
        Err(error) => {
            metrics.runtime.reconciled(queue.as_str(), Err(&error), took);
            if error.is_namespace_terminating() || error.is_conflict() {
                debug!(%key, reason = error.reason(), "{error}");
            } else {
                error!(%key, reason = error.reason(), "{error}");
            }
            if error.class() == Class::Transient { Next::Retry } else { Next::Await }
        }
    }
}
