//! The provider's object of a release, made from the template that the `ClusterStack` refers to.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource as _, ResourceExt as _};
use serde_json::{Value, json};

use crate::api::{ClusterStackRelease, labels};
use crate::foreign::capi::field;

/// Creates the provider's object as its template has it, owned by the release.
#[must_use]
pub fn provider_object(release: &ClusterStackRelease, object: &ObjectReference, template: &Value) -> Value {
    let of = |path: &[&str]| field(template, path).cloned().unwrap_or_else(|| json!({}));
    let mut labels = of(&["spec", "template", "metadata", "labels"]);
    if let Some(labels) = labels.as_object_mut() {
        labels.insert(labels::MANAGED_BY.to_owned(), json!(labels::FIELD_MANAGER));
    }
    // An object from the API server has a name and a UID.
    let owner = OwnerReference { controller: Some(true), ..release.owner_ref(&()).unwrap_or_default() };
    json!({
        "apiVersion": object.api_version,
        "kind": object.kind,
        "metadata": {
            "name": object.name,
            "namespace": release.namespace(),
            "labels": labels,
            "annotations": of(&["spec", "template", "metadata", "annotations"]),
            "ownerReferences": [owner],
        },
        "spec": of(&["spec", "template", "spec"]),
    })
}

/// Whether the object is as its template has it. Fields that the provider added do not count, nor does the version in
/// which the object is served.
#[must_use]
pub fn is_provider_object_written(live: &Value, desired: &Value) -> bool {
    [&["metadata", "labels"][..], &["metadata", "annotations"], &["metadata", "ownerReferences"], &["spec"]]
        .into_iter()
        .all(|path| field(desired, path).is_none_or(|wanted| holds(field(live, path), wanted)))
}

/// Whether all of `wanted` exists. An empty mapping need not exist.
fn holds(live: Option<&Value>, wanted: &Value) -> bool {
    match (live, wanted) {
        (_, Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| holds(live.and_then(|live| live.get(key)), wanted))
        }
        (Some(Value::Array(live)), Value::Array(wanted)) => {
            live.len() == wanted.len()
                && live.iter().zip(wanted).all(|(live, wanted)| holds(Some(live), wanted))
        }
        (live, wanted) => live == Some(wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_object_is_rewritten_only_if_different() {
        let desired = json!({
            "metadata": {"labels": {"a": "b"}, "annotations": {}, "ownerReferences": [{"uid": "1", "controller": true}]},
            "spec": {"cloud": "one", "images": [{"name": "x"}], "none": {}},
        });
        let live = json!({
            "apiVersion": "provider.example.org/v2",
            "metadata": {
                "name": "r", "labels": {"a": "b", "c": "d"},
                "ownerReferences": [{"uid": "1", "controller": true, "name": "r"}],
            },
            "spec": {"cloud": "one", "images": [{"name": "x", "defaulted": 1}], "more": true},
            "status": {"ready": true},
        });
        assert!(is_provider_object_written(&live, &desired));
        for (pointer, other) in [
            ("/spec/cloud", json!("two")),
            ("/spec/images", json!([])),
            ("/spec/images/0/name", json!("y")),
            ("/metadata/labels/a", json!("x")),
            ("/metadata/ownerReferences/0/uid", json!("2")),
        ] {
            let mut changed = live.clone();
            *changed.pointer_mut(pointer).unwrap() = other;
            assert!(!is_provider_object_written(&changed, &desired), "{pointer}");
        }
    }
}
