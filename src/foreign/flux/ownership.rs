//! Decides to which object of ours a Flux object belongs.
//!
//! The owner of an object decides whether stackflux may write, take over or delete the object. Like garbage collection,
//! this module follows UIDs, except for two kinds of objects without an owner: those that Flux applied from a
//! repository, and those whose owner reference garbage collection removed. Their labels name the owner.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::FluxKind;
use crate::api::{ClusterAddon, labels};
use crate::names::Key;

/// Returns the kind that an addon's object has when the addon is not delivered by this kind.
#[must_use]
pub fn other_kind(kind: &str) -> FluxKind {
    if kind == FluxKind::HelmRelease.as_str() { FluxKind::Kustomization } else { FluxKind::HelmRelease }
}

/// Returns the key of the `ClusterAddon` for a Cluster.
#[must_use]
pub fn addon_key(cluster: &Key) -> Key {
    Key { namespace: cluster.namespace.clone(), name: ClusterAddon::name_for(&cluster.name) }
}

/// Returns the Cluster of a `ClusterAddon`, which is in the same namespace. The name decides, because any client can change
/// the spec; the spec decides for names that the operator does not give.
#[must_use]
pub fn cluster_of(addon: &ClusterAddon) -> Key {
    let by_name = addon.metadata.name.as_deref().and_then(ClusterAddon::cluster_for);
    let name = by_name.or(addon.spec.cluster_ref.name.as_deref()).unwrap_or_default();
    Key::new(addon.metadata.namespace.as_deref().unwrap_or_default(), name)
}

/// Returns the `ClusterStack` that commits the objects for the Cluster of a `ClusterAddon`, according to the status.
#[must_use]
pub fn committing_stack(addon: &ClusterAddon) -> Option<Key> {
    let by = addon.status.as_ref()?.committed_by.as_deref()?;
    by.split_once('/').map(|(namespace, name)| Key::new(namespace, name))
}

/// Whether an object belongs to a `ClusterAddon`, and not to an earlier one of its name.
#[must_use]
pub fn is_owned(object: &ObjectMeta, addon: &ClusterAddon) -> bool {
    is_owner(addon, object) || owner_of_applied(object) == Some(("ClusterAddon", Key::of(addon)))
}

/// Whether garbage collection deletes an object with its `ClusterAddon`.
#[must_use]
pub fn is_owner(addon: &ClusterAddon, object: &ObjectMeta) -> bool {
    addon.metadata.uid.as_deref().is_some_and(|uid| has_owner(object, uid))
}

/// Whether the object of this UID is among the owners of an object.
#[must_use]
pub fn has_owner(object: &ObjectMeta, uid: &str) -> bool {
    object.owner_references.iter().flatten().any(|owner| owner.uid == uid)
}

/// Whether Flux applies an object from a repository: kustomize-controller labels all objects that it applies.
#[must_use]
pub fn is_applied_by_flux(object: &ObjectMeta) -> bool {
    object.labels.as_ref().is_some_and(|labels| labels.contains_key(labels::APPLIED_BY_NAME))
}

/// Returns the `Kustomization` that applies an object from a repository.
#[must_use]
pub fn applier_of(object: &ObjectMeta) -> Option<Key> {
    let label = |name| object.labels.as_ref()?.get(name).cloned();
    Some(Key { namespace: label(labels::APPLIED_BY_NAMESPACE)?, name: label(labels::APPLIED_BY_NAME)? })
}

/// Whether Flux leaves an object that it applied when its file is removed:
/// <https://fluxcd.io/flux/components/kustomize/kustomizations/#controlling-the-apply-behavior-of-resources>.
#[must_use]
pub fn is_prune_disabled(object: &ObjectMeta) -> bool {
    let mut maps = object.annotations.iter().chain(&object.labels);
    maps.any(|map| map.get("kustomize.toolkit.fluxcd.io/prune").is_some_and(|value| value == "disabled"))
}

/// Finds the object of ours that a Flux object from a repository belongs to. Such an object has no owner; its labels
/// name the object of ours.
#[must_use]
pub fn owner_of_applied(object: &ObjectMeta) -> Option<(&'static str, Key)> {
    owner_by_label(object).filter(|_| is_applied_by_flux(object))
}

/// Finds the object of ours that the labels of a Flux object of this kind name: Flux [applied](owner_of_applied) the
/// object, or its owner reference was removed.
#[must_use]
pub fn labelled_owner(kind: FluxKind, object: &ObjectMeta) -> Option<(&'static str, Key)> {
    owner_of_applied(object).or_else(|| stripped_owner(kind, object))
}

/// Finds the object of ours that a Flux object belonged to before its owner reference was removed, by a person or by
/// garbage collection after the deletion of the owner: only the Namespace is left as an owner. Applies to the kinds whose
/// deletion uninstalls something.
fn stripped_owner(kind: FluxKind, object: &ObjectMeta) -> Option<(&'static str, Key)> {
    owner_by_label(object).filter(|_| !kind.is_source() && is_free(object))
}

/// Returns the Cluster whose next `ClusterAddon` takes over an object that has no owner now.
#[must_use]
pub fn handed_over_to(object: &ObjectMeta) -> Option<Key> {
    let cluster = object.annotations.as_ref()?.get(labels::HANDED_OVER)?;
    is_free(object).then(|| Key::new(object.namespace.as_deref().unwrap_or_default(), cluster))
}

/// Whether an object has no owner but its Namespace.
fn is_free(object: &ObjectMeta) -> bool {
    object.owner_references.iter().flatten().all(|owner| owner.kind == "Namespace")
}

fn owner_by_label(object: &ObjectMeta) -> Option<(&'static str, Key)> {
    let labels = object.labels.as_ref()?;
    let namespace = object.namespace.as_deref().unwrap_or_default();
    let label = |name| labels.get(name).map(String::as_str);
    match (label(labels::CLUSTER_NAME), label(labels::RELEASE)) {
        (Some(cluster), _) => Some(("ClusterAddon", addon_key(&Key::new(namespace, cluster)))),
        (None, Some(release)) => Some(("ClusterStackRelease", Key::new(namespace, release))),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests;
