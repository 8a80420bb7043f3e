//! Decides to which object of ours a Flux object belongs.
//!
//! The owner of an object decides whether stackflux may write, take over or delete the object. Like garbage collection,
//! this module follows UIDs, except for two kinds of objects without an owner: those that Flux applied from a
//! repository, and those whose owner reference garbage collection removed. Their labels name the owner, and they have the
//! name that the operator gives to the object of such an owner. A user's copy of an object has the labels alone.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::FluxKind;
use crate::api::{ClusterAddon, labels};
use crate::names::{Key, ObjectName};

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

/// Whether an object belongs to a `ClusterAddon`, and not to an earlier one of its name or to another client: the
/// `ClusterAddon` owns it; or Flux applied it, or it lost its owner, and it has the labels and the name of an addon's object.
#[must_use]
pub fn is_owned(object: &ObjectMeta, addon: &ClusterAddon) -> bool {
    let by_label = || {
        let is_ours = is_applied_by_flux(object) || is_stripped(object);
        addon_by_label(object).filter(|_| is_ours)
    };
    is_owner(addon, object) || by_label() == Some(Key::of(addon))
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
    Some(Key::new(label(object, labels::APPLIED_BY_NAMESPACE)?, label(object, labels::APPLIED_BY_NAME)?))
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
/// object, or its owner reference was removed. An addon's object has the name of one, too.
#[must_use]
pub fn labelled_owner(kind: FluxKind, object: &ObjectMeta) -> Option<(&'static str, Key)> {
    owner_of_applied(object).or_else(|| stripped_owner(kind, object))
}

/// Finds the object of ours that a Flux object belonged to before its owner reference was removed, by a person or by
/// garbage collection after the deletion of the owner: only the Namespace is left as an owner. Applies to the kinds whose
/// deletion uninstalls something.
fn stripped_owner(kind: FluxKind, object: &ObjectMeta) -> Option<(&'static str, Key)> {
    owner_by_label(object).filter(|(owner, _)| {
        let is_named = *owner != "ClusterStackRelease" || has_name_for_release(kind, object);
        !kind.is_source() && is_stripped(object) && is_named
    })
}

/// Whether an object of the operator may have lost its owner: it has the operator's label, and no owner.
fn is_stripped(object: &ObjectMeta) -> bool {
    label(object, labels::MANAGED_BY) == Some(labels::FIELD_MANAGER) && is_free(object)
}

/// Returns the Cluster whose next `ClusterAddon` takes over an object that has no owner now.
#[must_use]
pub fn handed_over_to(object: &ObjectMeta) -> Option<Key> {
    let cluster = object.annotations.as_ref()?.get(labels::HANDED_OVER)?;
    let cluster = Key::new(object.namespace.as_deref().unwrap_or_default(), cluster);
    let is_its = is_stripped(object) && addon_by_label(object) == Some(addon_key(&cluster));
    is_its.then_some(cluster)
}

/// Whether an object has no owner but its Namespace.
fn is_free(object: &ObjectMeta) -> bool {
    object.owner_references.iter().flatten().all(|owner| owner.kind == "Namespace")
}

fn owner_by_label(object: &ObjectMeta) -> Option<(&'static str, Key)> {
    if label(object, labels::CLUSTER_NAME).is_some() {
        return Some(("ClusterAddon", addon_by_label(object)?));
    }
    let namespace = object.namespace.as_deref().unwrap_or_default();
    Some(("ClusterStackRelease", Key::new(namespace, label(object, labels::RELEASE)?)))
}

/// Finds the `ClusterAddon` of an object that has the labels and the name of an addon's object.
fn addon_by_label(object: &ObjectMeta) -> Option<Key> {
    let cluster = label(object, labels::CLUSTER_NAME)?;
    let addon = label(object, labels::ADDON)?.parse().ok()?;
    let name = ObjectName::of_addon(cluster, &addon).ok()?;
    let namespace = object.namespace.as_deref().unwrap_or_default();
    (object.name.as_deref() == Some(name.as_str())).then(|| addon_key(&Key::new(namespace, cluster)))
}

/// Whether an object has the name of the class, or of the node images, of the release in its labels.
fn has_name_for_release(kind: FluxKind, object: &ObjectMeta) -> bool {
    let Some(release) = label(object, labels::RELEASE) else { return false };
    match kind {
        FluxKind::Kustomization => {
            let images = ObjectName::of_node_images(release);
            images.is_ok_and(|name| object.name.as_deref() == Some(name.as_str()))
        }
        _ => object.name.as_deref() == Some(release),
    }
}

fn label<'a>(object: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    object.labels.as_ref()?.get(name).map(String::as_str)
}

#[cfg(test)]
mod tests;
