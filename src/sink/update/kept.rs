//! Finds objects that are no longer planned but must stay: they are held, or an object that stays refers to them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::api::labels;
use crate::foreign::capi::{field, text};
use crate::foreign::flux::FluxKind;
use crate::plan::Held;

/// Kind, namespace and name.
pub(super) type Identity<'a> = (&'a str, &'a str, &'a str);

/// Whether an object applies something that its removal undoes; other objects only serve such objects.
pub(super) fn applies(object: &Value) -> bool {
    FluxKind::of(text(object, &["kind"])).is_some_and(|kind| !kind.is_source())
}

/// Whether an addon's object is held.
pub(super) fn holds(held: &Held, object: &Value) -> bool {
    let addon = text(object, &["metadata", "labels", labels::ADDON]);
    held.addon.as_ref().is_none_or(|held| held.as_str() == addon)
}

/// Returns the identity of an object.
pub(super) fn identity(object: &Value) -> Identity<'_> {
    (text(object, &["kind"]), text(object, &["metadata", "namespace"]), text(object, &["metadata", "name"]))
}

/// Returns what `roots` refer to, directly or through objects of `stale`.
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

/// Returns the charts and sources that an object names. A reference without namespace is to the object's own.
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

/// Returns the Namespace on the management cluster that stores Helm's release record of a `HelmRelease`.
pub(super) fn storage(object: &Value) -> Option<Identity<'_>> {
    let is_here = field(object, &["spec", "kubeConfig"]).is_none();
    let name = text(object, &["spec", "storageNamespace"]);
    (is_here && !name.is_empty()).then_some(("Namespace", "", name))
}
