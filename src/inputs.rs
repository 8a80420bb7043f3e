//! The immutable snapshot that a plan is computed from.
//!
//! The operator reads it from its watch caches, the command line from files; its form is the same, so equal inputs give
//! equal bytes everywhere.

pub mod acceptance;
pub mod claim;
pub mod cluster;
pub mod components;
pub mod consent;
pub mod content;
pub mod defaults;
pub mod line;
pub mod overrides;
pub mod platform;
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
    /// The origin of its contents.
    pub contents: &'a Contents,
}
