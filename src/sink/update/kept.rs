//! What an earlier plan wrote, the new one does not have, and must not go: it is held back, or something that stays refers
//! to it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::api::labels;
use crate::foreign::capi::{field, text};
use crate::plan::Held;

/// Kind, namespace and name.
pub(super) type Identity<'a> = (&'a str, &'a str, &'a str);

/// Whether an object applies something, and its end undoes that; else it only serves those that do.
pub(super) fn applies(object: &Value) -> bool {
    matches!(text(object, &["kind"]), "HelmRelease" | "Kustomization")
}

/// Whether an addon's object is of what is held.
pub(super) fn holds(held: &Held, object: &Value) -> bool {
    let addon = text(object, &["metadata", "labels", labels::ADDON]);
    held.addon.as_ref().is_none_or(|held| held.as_str() == addon)
}

/// Kind, namespace and name of an object.
pub(super) fn identity(object: &Value) -> Identity<'_> {
    (text(object, &["kind"]), text(object, &["metadata", "namespace"]), text(object, &["metadata", "name"]))
}

/// What `roots` refer to, and what those of `stale` refer to that they refer to.
pub(super) fn referred<'a>(
    roots: impl Iterator<Item = &'a Value>,
    stale: &[&'a Value],
) -> BTreeSet<Identity<'a>> {
    let mut wanted: BTreeSet<Identity<'a>> = roots.flat_map(references).collect();
    loop {
        let stay = stale.iter().filter(|object| wanted.contains(&identity(object)));
        let more: BTreeSet<Identity<'a>> = stay.flat_map(|object| references(object)).collect();
        if more.is_subset(&wanted) {
            return wanted;
        }
        wanted.extend(more);
    }
}

/// The charts and sources that an object names; a reference without namespace is to the object's own.
fn references(object: &Value) -> impl Iterator<Item = Identity<'_>> {
    let named = ["chartRef", "sourceRef"].into_iter().filter_map(move |field| {
        let part = |name| text(object, &["spec", field, name]);
        let namespace = match part("namespace") {
            "" => text(object, &["metadata", "namespace"]),
            namespace => namespace,
        };
        (!part("name").is_empty()).then(|| (part("kind"), namespace, part("name")))
    });
    named.chain(storage(object))
}

/// The Namespace of the management cluster in which Helm keeps its record of a `HelmRelease`.
pub(super) fn storage(object: &Value) -> Option<Identity<'_>> {
    let is_here = field(object, &["spec", "kubeConfig"]).is_none();
    let name = text(object, &["spec", "storageNamespace"]);
    (is_here && !name.is_empty()).then_some(("Namespace", "", name))
}
