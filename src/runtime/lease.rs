//! Leader election: of several operators only the one that holds the Lease writes.
//!
//! The rules are client-go's (`k8s.io/client-go/tools/leaderelection`), so that a Lease reads as people know it:
//! - What other machines' clocks say is not believed. A candidate waits until the Lease has not changed for as long as
//!   its holder announced, by its own clock.
//! - The holder stops writing at the renew deadline, counted from the *start* of its last renewal that succeeded. That
//!   is before any other may take over, whatever happened to it meanwhile: see [`Fence`].
//! - A process that lost the Lease ends. One that ends in good order gives the Lease back.

mod fence;
mod holder;
mod record;

use std::time::{Duration, Instant};

pub use fence::{Fence, NotLeader};
pub use holder::{Candidate, Holding, LeaseError};
pub use record::RecordError;

/// How long a Lease is held, in client-go's words and with its defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseSettings {
    /// How long the others wait for a renewal before one of them takes over.
    pub duration: Duration,
    /// How long the holder writes without a renewal. Less than `duration`.
    pub renew_deadline: Duration,
    /// The time between two tries to acquire or to renew. Less than `renew_deadline`.
    pub retry_period: Duration,
}

impl LeaseSettings {
    /// How long one request about the Lease may take: one that hangs leaves time for another.
    fn request_timeout(&self) -> Duration {
        self.renew_deadline / 2
    }

    /// What is announced to the others: whole seconds, never less than the duration.
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

/// What a candidate knows of a Lease that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Who holds it; none when it was given back.
    pub holder: Option<String>,
    /// How long its holder says that others must wait.
    pub duration: Option<Duration>,
    /// When this version of it was seen first, by the clock of this process.
    pub since: Instant,
}

/// What to do about a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// There is none: create it.
    Create,
    /// Nobody holds it, or its holder is gone: take it.
    TakeOver,
    /// It is ours: renew it.
    Renew,
    /// Somebody else holds it.
    Wait {
        /// Who.
        holder: String,
        /// When it may be taken unless it is renewed before.
        until: Instant,
    },
}

/// What `me` does about a Lease at the time `now`.
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
