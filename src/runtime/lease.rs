//! Leader election: of several operators only the one that holds the Lease writes.
//!
//! The rules are client-go's (`k8s.io/client-go/tools/leaderelection`), so that a Lease has its usual meaning:
//! - A candidate does not trust other machines' clocks: it waits until the Lease has not changed, by its own clock, for as
//!   long as the holder announced.
//! - The holder stops writing at the renew deadline, counted from the *start* of its last renewal that succeeded. That
//!   is before another process may take over, whatever happened meanwhile: see [`Fence`].
//! - A process that lost the Lease ends. A process that shuts down gracefully releases the Lease.

mod fence;
mod holder;
mod record;

use std::time::{Duration, Instant};

pub use fence::{Fence, NotLeader};
pub use holder::{Candidate, Holding, LeaseError};
pub use record::RecordError;

/// The timing of leader election, with client-go's names and defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseSettings {
    /// Time that other candidates wait for a renewal before one of them takes over.
    pub duration: Duration,
    /// Time that the holder may write without a renewal. Less than `duration`.
    pub renew_deadline: Duration,
    /// The time between two attempts to acquire or to renew. Less than `renew_deadline`.
    pub retry_period: Duration,
}

impl LeaseSettings {
    /// Returns the timeout of one request about the Lease, short enough to leave time for another.
    fn request_timeout(&self) -> Duration {
        self.renew_deadline / 2
    }

    /// Returns the announced duration: whole seconds, never less than `duration`.
    fn announced_seconds(&self) -> i32 {
        let seconds = self.duration.as_secs() + u64::from(self.duration.subsec_nanos() > 0);
        i32::try_from(seconds).unwrap_or(i32::MAX)
    }
}

impl Default for LeaseSettings {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// A Lease as a candidate last saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Identity of the holder; `None` if the Lease was released.
    pub holder: Option<String>,
    /// Time that other candidates have to wait, as the holder announced.
    pub duration: Option<Duration>,
    /// Time at which this process first saw this version of the Lease.
    pub since: Instant,
}

/// The next step of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The Lease does not exist: create it.
    Create,
    /// The Lease was released or has expired: take it over.
    TakeOver,
    /// This process holds the Lease: renew it.
    Renew,
    /// Another process holds the Lease.
    Wait {
        /// Identity of that process.
        holder: String,
        /// Time at which the Lease expires unless it is renewed.
        until: Instant,
    },
}

/// Decides the next step of the candidate `me` at the time `now`.
#[must_use]
pub fn decide(lease: Option<&Observation>, me: &str, now: Instant, settings: &LeaseSettings) -> Decision {
    let Some(lease) = lease else { return Decision::Create };
    let Some(holder) = lease.holder.as_deref().filter(|holder| !holder.is_empty()) else {
        return Decision::TakeOver;
    };
    if holder == me {
        return Decision::Renew;
    }
    let until = lease.since + lease.duration.unwrap_or(settings.duration);
    if now < until { Decision::Wait { holder: holder.to_owned(), until } } else { Decision::TakeOver }
}

#[cfg(test)]
mod tests;
