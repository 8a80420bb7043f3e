//! Determines whether the controllers of Flux are alive: from their Leases, and from the changes in the status of their
//! objects.
//!
//! A full queue is not a dead controller: 1,200 `HelmRelease`s that are written at once wait for minutes, while the
//! controller renews its Lease and works on four of them at a time.

use jiff::{SignedDuration, Timestamp};

/// Maximum age of a controller's last renewal of its Lease.
pub const LEASE_TIMEOUT: SignedDuration = SignedDuration::from_secs(60);

/// The Lease of a controller, as last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenLease {
    /// `spec.renewTime`, by the controller's clock.
    pub renewed: Timestamp,
    /// Time at which this renewal was first seen, by our clock: the two clocks are never compared.
    pub seen: Timestamp,
}

impl SeenLease {
    /// Returns the Lease after another read; `before` is the result of the previous one.
    #[must_use]
    pub fn read(before: Option<Self>, renewed: Timestamp, now: Timestamp) -> Self {
        before.filter(|before| before.renewed == renewed).unwrap_or(Self { renewed, seen: now })
    }
}

/// Whether a controller is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulse {
    /// There is no Lease, or it cannot be read: only the controller's objects are evidence.
    Unknown {
        /// Time of the last change of a status of those objects.
        moved: Option<Timestamp>,
    },
    /// The controller renews its Lease, or works on its objects.
    Alive,
    /// The controller does neither.
    Dead {
        /// Time of the last renewal of its Lease.
        since: Timestamp,
    },
}

impl Pulse {
    /// Determines the pulse of a controller with this Lease. `moved` is the time at which one of its objects last
    /// changed its status. A Lease left over from an earlier leader election proves nothing while objects change.
    #[must_use]
    pub fn of(lease: Option<SeenLease>, moved: Option<Timestamp>, now: Timestamp) -> Self {
        let is_over = |since: Timestamp| now.duration_since(since) >= LEASE_TIMEOUT;
        match lease {
            None => Self::Unknown { moved },
            Some(lease) if is_over(lease.seen) && moved.is_none_or(is_over) => {
                Self::Dead { since: lease.renewed }
            }
            Some(_) => Self::Alive,
        }
    }
}

/// The controller that acts on a kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applier {
    /// The name, such as `helm-controller`.
    pub name: &'static str,
    /// Whether the controller is alive.
    pub pulse: Pulse,
}

impl Applier {
    /// Describes a controller of which nothing is known.
    #[must_use]
    pub fn unknown() -> Self {
        Self { name: "the Flux controller", pulse: Pulse::Unknown { moved: None } }
    }
}
