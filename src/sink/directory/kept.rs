//! What an earlier plan wrote, the new one does not have, and must not go: it is only held back.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::api::labels;
use crate::foreign::capi::text;
use crate::plan::{Held, Plan};

/// Kind, namespace and name.
type Identity<'a> = (&'a str, &'a str, &'a str);

/// Splits what is not planned any more into what stays and what goes, by path. What is held back stays, and so do the
/// charts and sources that it refers to.
pub(super) fn split(plan: &Plan, stale: &[(Value, String)]) -> (Vec<String>, Vec<String>) {
    let mut wanted: BTreeSet<Identity<'_>> = BTreeSet::new();
    let held = |object: &Value| plan.held().iter().any(|held| holds(held, object));
    loop {
        let stays = |object: &Value| held(object) || wanted.contains(&identity(object));
        let references =
            stale.iter().filter(|(object, _)| stays(object)).flat_map(|(object, _)| references(object));
        let more: BTreeSet<Identity<'_>> = references.collect();
        if more.is_subset(&wanted) {
            break;
        }
        wanted.extend(more);
    }
    let stays = |object: &Value| held(object) || wanted.contains(&identity(object));
    let (kept, gone): (Vec<_>, Vec<_>) = stale.iter().partition(|(object, _)| stays(object));
    let paths = |objects: Vec<&(Value, String)>| objects.into_iter().map(|(_, path)| path.clone()).collect();
    (paths(kept), paths(gone))
}

fn holds(held: &Held, object: &Value) -> bool {
    let label = |name| text(object, &["metadata", "labels", name]);
    text(object, &["metadata", "namespace"]) == held.namespace.as_str()
        && label(labels::CLUSTER_NAME) == held.cluster.as_str()
        && held.addon.as_ref().is_none_or(|addon| addon.as_str() == label(labels::ADDON))
}

fn identity(object: &Value) -> Identity<'_> {
    (text(object, &["kind"]), text(object, &["metadata", "namespace"]), text(object, &["metadata", "name"]))
}

/// The charts and sources that an object names; a reference without namespace is to the object's own.
fn references(object: &Value) -> impl Iterator<Item = Identity<'_>> {
    ["chartRef", "sourceRef"].into_iter().filter_map(move |field| {
        let part = |name| text(object, &["spec", field, name]);
        let namespace = match part("namespace") {
            "" => text(object, &["metadata", "namespace"]),
            namespace => namespace,
        };
        (!part("name").is_empty()).then(|| (part("kind"), namespace, part("name")))
    })
}
