//! Decides which `GitRepository`s of a `ClusterStack` to delete after a change of its source.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt as _;

use crate::api::ClusterStack;
use crate::foreign::flux::observed::FluxObject;
use crate::names::Key;
use crate::plan::write::Write;

/// Returns the `GitRepository`s that were made for a `ClusterStack` and that no `ClusterStack` follows now. `followed` are
/// the keys of all followed ones.
pub fn left_over_sources<'a>(
    made: &'a [Arc<FluxObject>],
    followed: &'a BTreeSet<Key>,
) -> impl Iterator<Item = &'a Arc<FluxObject>> {
    made.iter().filter(|made| !made.metadata.terminating && !followed.contains(&Key::of(&***made)))
}

/// Whether a write makes a `ClusterStack` the owner of a `GitRepository` that exists. The garbage collector would delete it if
/// that `ClusterStack` is gone already.
#[must_use]
pub fn takes_over(stack: &ClusterStack, write: &Write, found: Option<&FluxObject>) -> bool {
    let is_owner = |owner: &OwnerReference| Some(&owner.uid) == stack.metadata.uid.as_ref();
    let Write::Apply(apply) = write else { return false };
    let gains = apply.owners.iter().any(is_owner);
    gains && found.is_some_and(|found| !found.object.owner_references.iter().flatten().any(is_owner))
}

/// Whether the API server confirms the source with which a `ClusterStack` is reconciled. `live` is the `ClusterStack` as
/// the API server has it now.
#[must_use]
pub fn is_source_confirmed(stack: &ClusterStack, live: Option<&ClusterStack>) -> bool {
    live.is_some_and(|live| live.uid() == stack.uid() && live.spec.source == stack.spec.source)
}
