//! The immutable snapshot that a plan is computed from.
//!
//! Where it comes from differs (the watch caches of the operator, the files given to the command line); what it is
//! does not, and so equal inputs give equal bytes everywhere.

pub mod cluster;
pub mod content;
pub mod line;
pub mod stack;

use crate::release::Release;
use content::Contents;
use stack::Stack;

pub use cluster::ClusterInputs;

/// A release of a `ClusterStack`, with the sources of all its contents.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseInputs<'a> {
    /// The `ClusterStack`.
    pub stack: &'a Stack,
    /// The release.
    pub release: &'a Release,
    /// Where its contents come from.
    pub contents: &'a Contents,
}
