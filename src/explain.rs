//! Why something is not ready, as data: the fleet, the tree, and the chain from an object down to its cause.
//!
//! ```text
//!  objects ─▶ Snapshot ─┬─ fleet: one line for each object
//!                       ├─ tree: what is below each object
//!                       └─ chain: what an object waits for ─▶ cause ─▶ action and next commands
//! ```
//!
//! `status`, `tree` and `why` of the command line are views of it. [`doctor`] is about the installation instead.

pub mod advice;
pub mod cause;
pub mod chain;
pub mod doctor;
pub mod fleet;
pub mod flux;
pub mod issues;
pub mod next;
mod obstacle;
pub mod operator;
pub mod snapshot;
pub mod step;
pub mod tree;
mod upgrade;
mod values;
pub mod words;

use std::fmt;

use jiff::Timestamp;

/// Formats an age like kubectl: in the largest unit of which it has at least two.
#[must_use]
pub fn age(since: Timestamp, now: Timestamp) -> String {
    match now.duration_since(since).as_secs().max(0) {
        seconds @ 0..=119 => format!("{seconds}s"),
        seconds @ 120..=7199 => format!("{}m", seconds / 60),
        seconds @ 7200..=172_799 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// The kinds of objects that a reader can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A `ClusterStack`.
    Clusterstack,
    /// A release in use.
    Release,
    /// A Cluster.
    Cluster,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clusterstack => "ClusterStack",
            Self::Release => "ClusterStackRelease",
            Self::Cluster => "Cluster",
        })
    }
}
