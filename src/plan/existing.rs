//! Decides whose an existing object is that has the name of a planned one. The operator writes to no object of another
//! client.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::{ObjectId, PlannedObject};
use crate::api::labels::{CLUSTER_NAME, FIELD_MANAGER, MANAGED_BY, PLAN_DIGEST, RELEASE, STACK_NAMESPACE};
use crate::api::{GROUP, Reason};
use crate::foreign::capi::text;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{FluxObject, SpecDigest};
use crate::gate::Hold;

/// An object in the API server, as far as it matters for whether the planned one is written.
#[derive(Clone, Copy, Debug)]
pub struct LiveObject<'a> {
    /// The object's metadata.
    pub metadata: &'a ObjectMeta,
    /// The digest of the object's spec.
    pub spec_digest: &'a SpecDigest,
    /// Whether our field manager has a field of the object's spec. The metadata has no `managedFields`.
    pub has_our_fields: bool,
}

impl<'a> From<&'a FluxObject> for LiveObject<'a> {
    fn from(observed: &'a FluxObject) -> Self {
        Self {
            metadata: &observed.object,
            spec_digest: &observed.spec_digest,
            has_our_fields: observed.metadata.has_our_fields(),
        }
    }
}

/// Whether the existing object with the name of a planned one is ours, so that the operator may write to it: it
/// [has a mark](is_marked), or its labels are those of the same Cluster or release. An object that was restored from a backup
/// has lost its owners, and may have lost its field managers. A user's copy of an object of another Cluster is not ours.
#[must_use]
pub fn is_ours(found: LiveObject, planned: &PlannedObject) -> bool {
    if is_of_another_stack(found.metadata, planned) {
        return false;
    }
    let is_ours = is_marked(found) || is_labelled(found.metadata, planned);
    found.has_our_fields || (is_ours && !is_of_another_cluster(found.metadata, planned))
}

/// Whether stackflux, or Flux from files of stackflux, has written an object: the object has the digest of a plan, an owner
/// of our API, or fields of our field manager.
#[must_use]
pub fn is_marked(found: LiveObject) -> bool {
    let annotations = found.metadata.annotations.as_ref();
    let has_digest = annotations.is_some_and(|annotations| annotations.contains_key(PLAN_DIGEST));
    has_digest
        || found.has_our_fields
        || found.metadata.owner_references.iter().flatten().any(is_of_our_group)
}

/// Whether an object was made from a release, whichever it is: the object [has a mark](is_marked), or it has our labels.
#[must_use]
pub fn is_made(found: LiveObject) -> bool {
    let label = |name: &str| found.metadata.labels.as_ref()?.get(name).map(String::as_str);
    is_marked(found) || (label(MANAGED_BY) == Some(FIELD_MANAGER) && label(RELEASE).is_some())
}

/// Creates the hold of a planned object while an object of another client has its name.
#[must_use]
pub fn hold(planned: &ObjectId) -> Hold {
    let message =
        format!("{planned} exists already, and stackflux does not manage it: {}", advice(&planned.kind));
    Hold { reason: Reason::AlreadyExists, message }
}

/// Returns the advice about an object of another client that has the name of a planned one. Flux uninstalls what a
/// deleted object has installed, unless the object is suspended.
#[must_use]
pub fn advice(kind: &str) -> &'static str {
    match FluxKind::of(kind) {
        Some(kind) if !kind.is_source() => {
            "to hand over what it installed, suspend it and then delete it; deleted without that, it is uninstalled"
        }
        _ => "delete it if nothing else uses it",
    }
}

fn is_of_our_group(owner: &OwnerReference) -> bool {
    owner.api_version.split_once('/').is_some_and(|(group, _)| group == GROUP)
}

/// Whether the label of an object names another Cluster than that of the planned one.
fn is_of_another_cluster(found: &ObjectMeta, planned: &PlannedObject) -> bool {
    let present = found.labels.as_ref().and_then(|labels| labels.get(CLUSTER_NAME));
    let wanted = text(&planned.value, &["metadata", "labels", CLUSTER_NAME]);
    !wanted.is_empty() && present.is_some_and(|present| present != wanted)
}

/// Whether an object is a source or chart that belongs to the `ClusterStack`s of another namespace than the planned one. The
/// operator wrote it, for others.
fn is_of_another_stack(found: &ObjectMeta, planned: &PlannedObject) -> bool {
    let present = found.labels.as_ref().and_then(|labels| labels.get(STACK_NAMESPACE));
    present.is_some_and(|present| present != text(&planned.value, &["metadata", "labels", STACK_NAMESPACE]))
}

/// Whether an object has our labels, and is of the Cluster of the planned object or, without a Cluster, of its release.
fn is_labelled(found: &ObjectMeta, planned: &PlannedObject) -> bool {
    let present = |name: &str| found.labels.as_ref()?.get(name).map(String::as_str);
    let wanted = |name: &str| text(&planned.value, &["metadata", "labels", name]);
    let subject = [CLUSTER_NAME, RELEASE].into_iter().find(|name| !wanted(name).is_empty());
    present(MANAGED_BY) == Some(FIELD_MANAGER)
        && subject.is_some_and(|name| present(name) == Some(wanted(name)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::plan::Step;

    fn planned(kind: &str, labels: &Value) -> PlannedObject {
        let id = ObjectId {
            api_version: String::new(),
            kind: kind.to_owned(),
            namespace: "n".to_owned(),
            name: "one.cni".to_owned(),
        };
        PlannedObject { step: Step::Addons, id, value: json!({"metadata": {"labels": labels}}) }
    }

    /// Creates an object of a user, with other metadata.
    fn found(metadata: &Value) -> FluxObject {
        let mut all = json!({"name": "one.cni", "namespace": "n", "uid": "u"});
        all.as_object_mut().unwrap().extend(metadata.as_object().cloned().unwrap());
        serde_json::from_value(json!({"kind": "HelmRelease", "metadata": all, "spec": {"interval": "1h"}}))
            .unwrap()
    }

    fn owned_by(api_version: &str, kind: &str) -> Value {
        json!({"ownerReferences": [{"apiVersion": api_version, "kind": kind, "name": "x", "uid": "u"}]})
    }

    fn managed_by(manager: &str, fields: &Value) -> Value {
        json!({"managedFields": [{"manager": manager, "operation": "Apply", "fieldsV1": fields}]})
    }

    #[test]
    fn object_is_ours_by_a_mark_or_by_our_labels() {
        let addon =
            planned("HelmRelease", &json!({MANAGED_BY: FIELD_MANAGER, CLUSTER_NAME: "one", RELEASE: "r"}));
        let source = planned("GitRepository", &json!({MANAGED_BY: FIELD_MANAGER, RELEASE: "r"}));
        let catalog = planned("GitRepository", &json!({MANAGED_BY: FIELD_MANAGER}));
        let labels = |labels: Value| json!({ "labels": labels });
        let spec = json!({"f:spec": {"f:interval": {}}});
        let own = "clusterstack.x-k8s.io/v1alpha1";
        let table = [
            ("made by hand", &addon, json!({}), false),
            (
                "the digest of an earlier plan",
                &addon,
                json!({"annotations": {PLAN_DIGEST: "sha256:0"}}),
                true,
            ),
            ("another annotation", &addon, json!({"annotations": {"team": "network"}}), false),
            ("an owner of our API", &addon, owned_by(own, "ClusterAddon"), true),
            ("an owner of our API, not the planned one", &source, owned_by(own, "ClusterStackRelease"), true),
            ("an owner of our kind in another API", &addon, owned_by("x/v1", "ClusterAddon"), false),
            ("the Namespace as an owner", &addon, owned_by("v1", "Namespace"), false),
            ("our field manager", &addon, managed_by("stackflux", &spec), true),
            ("another field manager", &addon, managed_by("kubectl", &spec), false),
            (
                "our field manager of suspensions",
                &addon,
                managed_by("stackflux-suspend", &json!({"f:spec": {"f:suspend": {}}})),
                false,
            ),
            (
                "restored from a backup, without annotations",
                &addon,
                labels(json!({MANAGED_BY: FIELD_MANAGER, CLUSTER_NAME: "one", RELEASE: "earlier"})),
                true,
            ),
            (
                "of another Cluster",
                &addon,
                labels(json!({MANAGED_BY: FIELD_MANAGER, CLUSTER_NAME: "two", RELEASE: "r"})),
                false,
            ),
            (
                "a copy of an object of another Cluster",
                &addon,
                json!({"labels": {CLUSTER_NAME: "two"}, "annotations": {PLAN_DIGEST: "sha256:0"}}),
                false,
            ),
            (
                "ours, with an edited label",
                &addon,
                json!({
                    "labels": {CLUSTER_NAME: "two"},
                    "managedFields": managed_by("stackflux", &spec)["managedFields"],
                }),
                true,
            ),
            ("the label of Cluster API alone", &addon, labels(json!({CLUSTER_NAME: "one"})), false),
            ("the label of the manager alone", &addon, labels(json!({MANAGED_BY: FIELD_MANAGER})), false),
            (
                "managed by others",
                &addon,
                labels(json!({MANAGED_BY: "Helm", CLUSTER_NAME: "one", RELEASE: "r"})),
                false,
            ),
            (
                "a source of the same release",
                &source,
                labels(json!({MANAGED_BY: FIELD_MANAGER, RELEASE: "r"})),
                true,
            ),
            (
                "a source of another release",
                &source,
                labels(json!({MANAGED_BY: FIELD_MANAGER, RELEASE: "s"})),
                false,
            ),
            ("a source without a release", &catalog, labels(json!({MANAGED_BY: FIELD_MANAGER})), false),
        ];
        for (what, planned, metadata, expected) in table {
            assert_eq!(is_ours((&found(&metadata)).into(), planned), expected, "{what}");
        }
    }

    #[test]
    fn labels_alone_are_not_a_mark() {
        let labels = |labels: &Value| found(&json!({ "labels": labels }));
        let of_release = labels(&json!({MANAGED_BY: FIELD_MANAGER, RELEASE: "r"}));
        assert!(!is_marked((&of_release).into()));
        assert!(is_made((&of_release).into()));
        assert!(!is_made((&labels(&json!({MANAGED_BY: FIELD_MANAGER}))).into()));
        assert!(!is_made((&labels(&json!({MANAGED_BY: "Helm", RELEASE: "r"}))).into()));
        let marked = found(&json!({"annotations": {PLAN_DIGEST: ""}}));
        assert!(is_marked((&marked).into()) && is_made((&marked).into()));
    }

    #[test]
    fn hold_names_the_existing_object() {
        let Hold { reason, message } = hold(&planned("HelmRelease", &json!({})).id);
        assert_eq!(reason, Reason::AlreadyExists);
        assert!(message.starts_with("HelmRelease n/one.cni exists already"), "{message}");
        assert!(message.contains("suspend it and then delete it"), "{message}");
        let Hold { message, .. } = hold(&planned("GitRepository", &json!({})).id);
        assert!(message.ends_with("delete it if nothing else uses it"), "{message}");
    }
}
