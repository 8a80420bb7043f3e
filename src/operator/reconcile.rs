//! How a reconcile ends.

use std::fmt;
use std::time::Duration;

use tracing::{debug, warn};

use super::metrics::{Metrics, Queue};
use crate::api::Reason;
use crate::error::{Class, Classify};
use crate::gate::Hold;
use crate::plan::PlanError;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;

/// Why a reconcile could not be finished. What waits for something or is wrong with an input is no error: it is in the
/// status.
#[derive(Debug)]
pub enum ReconcileError {
    /// A request to the API server failed.
    Request(RequestError),
    /// There is no plan.
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
    /// Whether the status has to say it: the API server refuses the object, and goes on doing so until somebody changes
    /// something. What the next try may mend is not told, or a short outage would change the status of everything.
    #[must_use]
    pub fn is_told(&self) -> bool {
        matches!(self, Self::Request(error) if error.is_refusal() && !error.is_namespace_terminating())
    }

    /// What the status says of it.
    #[must_use]
    pub fn hold(&self) -> Hold {
        Hold { reason: Reason::DeliveryFailed, message: self.to_string() }
    }

    /// Whether the namespace is being deleted, so that nothing can be made in it.
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

/// What follows a reconcile that ended like this; counted and logged.
pub fn ended(
    queue: Queue,
    key: &Key,
    result: Result<Next, ReconcileError>,
    took: Duration,
    metrics: &Metrics,
) -> Next {
    match result {
        Ok(next) => {
            metrics.runtime.reconciled(queue.into(), Ok(()), took);
            next
        }
        Err(error) => {
            metrics.runtime.reconciled(queue.into(), Err(&error), took);
            if error.is_namespace_terminating() {
                debug!(%key, reason = error.reason(), "{error}");
            } else {
                warn!(%key, reason = error.reason(), "{error}");
            }
            if error.class() == Class::Transient { Next::Retry } else { Next::Await }
        }
    }
}
