//! Decides which `GitRepository`s of a `ClusterStack` to delete after a change of its source.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt as _;

use crate::api::ClusterStack;
use crate::foreign::flux::observed::FluxObject;
use crate::names::Key;

/// Returns the `GitRepository`s that were made for a `ClusterStack` and that no `ClusterStack` follows now. `followed` are
/// the keys of all followed ones.
pub fn left_over_sources<'a>(
    made: &'a [Arc<FluxObject>],
    followed: &'a BTreeSet<Key>,
) -> impl Iterator<Item = &'a Arc<FluxObject>> {
    made.iter().filter(|made| !made.metadata.terminating && !followed.contains(&Key::of(&***made)))
}

/// Whether the API server confirms the source with which a `ClusterStack` is reconciled. `live` is the `ClusterStack` as
/// the API server has it now.
#[must_use]
pub fn is_source_confirmed(stack: &ClusterStack, live: Option<&ClusterStack>) -> bool {
    live.is_some_and(|live| live.uid() == stack.uid() && live.spec.source == stack.spec.source)
}
