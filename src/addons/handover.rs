//! Decides how to remove a deleted `ClusterAddon` from the owners of its objects, so that Flux does not uninstall their
//! addons: garbage collection deletes the objects that a deleted object owns.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::{Value, json};

use super::cluster_addon::possibly_owned;
use super::{cluster_uid, is_addon_deleted};
use crate::api::{ClusterAddon, labels};
use crate::foreign::capi::Cluster;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::is_owner;
use crate::plan::delivery::{Purpose, suspension};

/// The future of objects that lose their owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heir<'a> {
    /// The next `ClusterAddon` of the Cluster with this name takes them over.
    Next(&'a str),
    /// They stay, suspended.
    Orphaned,
}

/// The writes to an object that loses its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disown<'a> {
    /// Whether to suspend it first.
    pub suspend: bool,
    /// Whether to remove the owner.
    pub remove_owner: bool,
    /// The name of the Cluster whose next `ClusterAddon` takes over the object.
    pub handed_over: Option<&'a str>,
}

/// The facts about a `ClusterAddon` whose objects stay.
#[derive(Clone, Copy, Debug)]
pub struct LetGoFacts<'a> {
    /// The `ClusterAddon`.
    pub addon: &'a ClusterAddon,
    /// The future of its objects.
    pub heir: Heir<'a>,
    /// Whether the API server confirms that future.
    pub is_confirmed: bool,
    /// The objects that it owns according to the cache.
    pub owned: &'a [Arc<FluxObject>],
}

/// The end of a `ClusterAddon` whose objects stay.
#[derive(Clone, Debug, PartialEq)]
pub struct LetGo<'a> {
    /// The objects that it owns according to the cache, each with the writes to it.
    pub objects: Vec<(Arc<FluxObject>, Disown<'a>)>,
    /// Kind and name of the objects of which the API server has to confirm that it does not own them. Its finalizer stays
    /// until then.
    pub to_confirm: BTreeSet<(FluxKind, String)>,
    /// Whether to delete it; otherwise it is deleted already.
    pub deletes_addon: bool,
}

/// Decides how to end a `ClusterAddon` whose objects stay; `None` if the API server does not confirm the cause.
#[must_use]
pub fn decide_let_go<'a>(facts: &LetGoFacts<'a>) -> Option<LetGo<'a>> {
    let LetGoFacts { addon, heir, is_confirmed, owned } = *facts;
    is_confirmed.then(|| LetGo {
        objects: owned.iter().map(|object| (object.clone(), decide_disown(object, heir))).collect(),
        to_confirm: possibly_owned(addon, owned),
        deletes_addon: heir == Heir::Orphaned,
    })
}

/// Decides what to write to an object. An object that is being deleted is not handed over, only suspended, so that Flux
/// does not uninstall its addon.
pub(super) fn decide_disown<'a>(object: &FluxObject, heir: Heir<'a>) -> Disown<'a> {
    let suspend = suspension(object, Purpose::Retain).is_some();
    match heir {
        Heir::Next(_) if object.metadata.terminating => {
            Disown { suspend, remove_owner: false, handed_over: None }
        }
        Heir::Next(cluster) => Disown { suspend: false, remove_owner: true, handed_over: Some(cluster) },
        Heir::Orphaned => Disown { suspend, remove_owner: true, handed_over: None },
    }
}

/// Whether an object has the operator's label, by which the watches select.
#[must_use]
pub fn is_labelled(object: &FluxObject) -> bool {
    let manager = object.object.labels.as_ref().and_then(|labels| labels.get(labels::MANAGED_BY));
    manager.is_some_and(|manager| manager == labels::FIELD_MANAGER)
}

/// Returns kind and name of the objects that the status of a `ClusterAddon` names, and that are neither planned nor cached. A
/// list may have lacked them, and they may still have to be deleted.
#[must_use]
pub fn unaccounted(
    addon: &ClusterAddon,
    cached: &[Arc<FluxObject>],
    is_planned: impl Fn(FluxKind, &str) -> bool,
) -> BTreeSet<(FluxKind, String)> {
    let is_cached =
        |kind: FluxKind, name: &str| cached.iter().any(|it| (it.kind(), it.name()) == (kind, name));
    let mut named = possibly_owned(addon, &[]);
    named.retain(|(kind, name)| !is_planned(*kind, name) && !is_cached(*kind, name));
    named
}

/// Whether `live`, an object as the API server has it now, still has to lose its owner.
#[must_use]
pub fn is_still_owned(live: &FluxObject, addon: &ClusterAddon) -> bool {
    is_owner(addon, &live.object) && !live.metadata.terminating
}

/// Whether the API server confirms that a `ClusterAddon` is deleted and will be replaced, because its Cluster exists and is
/// not being deleted. `live` are the two objects as the API server has them now.
#[must_use]
pub fn is_handover_confirmed(addon: &ClusterAddon, live: (Option<&ClusterAddon>, Option<&Cluster>)) -> bool {
    let is_its = |now: &Cluster| cluster_uid(addon).is_none_or(|uid| now.uid() == Some(uid));
    is_addon_deleted(addon, live.0) && live.1.is_some_and(|now| is_its(now) && !now.deleting())
}

/// Whether an object is being deleted and orphans the objects that were made for it.
#[must_use]
pub fn is_orphaning(object: &ObjectMeta) -> bool {
    let on_delete = object.annotations.as_ref().and_then(|annotations| annotations.get(labels::ON_DELETE));
    object.deletion_timestamp.is_some() && on_delete.is_some_and(|value| value == labels::ORPHAN)
}

/// Returns an object that an earlier `ClusterAddon` left as it is after its [adoption].
#[must_use]
pub fn adopted(mut object: FluxObject, owner: &OwnerReference) -> FluxObject {
    let metadata = &mut object.object;
    metadata.owner_references.get_or_insert_default().insert(0, owner.clone());
    metadata.annotations.get_or_insert_default().remove(labels::HANDED_OVER);
    object
}

/// Returns a JSON patch that makes a `ClusterAddon` the owner of an object that an earlier one left.
#[must_use]
pub fn adoption(object: &FluxObject, owner: &OwnerReference) -> Value {
    let object = &object.object;
    let annotation = format!("/metadata/annotations/{}", labels::HANDED_OVER.replace('/', "~1"));
    let owners: Vec<_> = std::iter::once(owner).chain(object.owner_references.iter().flatten()).collect();
    json!([
        {"op": "test", "path": "/metadata/resourceVersion", "value": object.resource_version},
        {"op": "add", "path": "/metadata/ownerReferences", "value": owners},
        {"op": "remove", "path": annotation},
    ])
}
