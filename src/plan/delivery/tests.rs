use serde_json::json;

use super::*;
use crate::foreign::flux::observed::HelmRelease;
use crate::plan::{ObjectId, Step};

fn planned() -> PlannedObject {
    let id = ObjectId {
        api_version: String::new(),
        kind: "HelmRelease".into(),
        namespace: "n".into(),
        name: "o".into(),
    };
    let value = json!({"metadata": {"annotations": {PLAN_DIGEST: "sha256:1"}}});
    PlannedObject { step: Step::Addons, id, value }
}

fn found(metadata: &Value) -> HelmRelease {
    serde_json::from_value(json!({"metadata": metadata, "spec": {"values": {"a": 1}}})).unwrap()
}

fn as_planned() -> Value {
    json!({"annotations": {PLAN_DIGEST: "sha256:1"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "ClusterAddon", "name": "x", "uid": "u"}]})
}

#[test]
fn nothing_is_done_only_where_all_is_known_to_be_right() {
    let object = found(&as_planned());
    let (expected, other) = (object.spec_digest.clone(), SpecDigest::kept("0"));
    let act = |found: Option<&HelmRelease>, expected, owner| action(&planned(), found, expected, &[owner]);
    assert_eq!(act(Some(&object), Some(&expected), "u"), Action::Nothing);
    assert_eq!(act(None, Some(&expected), "u"), Action::Apply, "it is not there");
    assert_eq!(act(Some(&object), None, "u"), Action::Apply, "what we wrote last is not known");
    assert_eq!(act(Some(&object), Some(&expected), "v"), Action::Apply, "it has another owner");
    assert_eq!(
        action(&planned(), Some(&object), Some(&expected), &["u", "namespace"]),
        Action::Apply,
        "it lacks an owner"
    );
    assert_eq!(act(Some(&object), Some(&other), "u"), Action::Repair);
    let mut old = as_planned();
    old["annotations"][PLAN_DIGEST] = json!("sha256:0");
    assert_eq!(act(Some(&found(&old)), Some(&expected), "u"), Action::Apply, "it is of an earlier plan");
    let mut going = as_planned();
    going["deletionTimestamp"] = json!("2026-11-21T10:00:00Z");
    assert_eq!(act(Some(&found(&going)), None, "u"), Action::Wait);
}

#[test]
fn fields_of_others_are_found_at_their_top() {
    let object = json!({"metadata": {"managedFields": [
        {"manager": "stackflux", "fieldsV1": {"f:spec": {"f:interval": {}, "f:values": {"f:a": {"f:b": {}}, "f:list": {}}}}},
        {"manager": "stackflux-suspend", "fieldsV1": {"f:spec": {"f:suspend": {}}}},
        {"manager": "kubectl-edit", "fieldsV1": {"f:spec": {"f:values": {
            "f:a": {"f:c": {"f:d": {}}, "f:b": {}}, "f:x/y~z": {".": {}, "f:deep": {}}}, "f:postRenderers": {}}}},
        {"manager": "flux", "fieldsV1": {"f:metadata": {"f:annotations": {}}, "f:spec": {"f:suspend": {}}}},
    ]}});
    let mut found = foreign_fields(&object);
    found.sort();
    assert_eq!(found, ["/spec/postRenderers", "/spec/values/a/c", "/spec/values/x~1y~0z"]);
}

#[test]
fn without_other_managers_nothing_is_foreign() {
    assert!(foreign_fields(&json!({})).is_empty());
    let only_status = json!({"metadata": {"managedFields": [
        {"manager": "helm-controller", "fieldsV1": {"f:status": {"f:conditions": {}}}}]}});
    assert!(foreign_fields(&only_status).is_empty());
}

#[test]
fn written_object_omits_status_defaults_and_foreign_metadata() {
    let object = json!({
        "apiVersion": "a/v1", "kind": "K",
        "metadata": {"name": "o", "namespace": "n", "uid": "1", "labels": {"ours": "1", "theirs": "2"},
            "ownerReferences": [{"uid": "2"}],
            "managedFields": [
                {"manager": "stackflux", "fieldsV1": {
                    "f:metadata": {"f:labels": {"f:ours": {}}, "f:ownerReferences": {"k:{\"uid\":\"2\"}": {}}},
                    "f:spec": {"f:interval": {}, "f:list": {"k:{\"name\":\"x\"}": {".": {}}}, "f:empty": {}}}},
                {"manager": "flux", "fieldsV1": {"f:metadata": {"f:labels": {"f:theirs": {}}}, "f:status": {"f:ready": {}}}},
                {"manager": "somebody", "fieldsV1": {"f:spec": {"f:suspend": {}, "f:values": {".": {}, "f:x": {}}}}},
            ]},
        "spec": {"interval": "1m", "list": [{"name": "x"}], "empty": {}, "suspend": true, "values": {"x": 1, "y": 2},
            "defaulted": 1},
        "status": {"ready": true},
    });
    let expected = json!({
        "apiVersion": "a/v1", "kind": "K",
        "metadata": {"name": "o", "namespace": "n", "labels": {"ours": "1"}},
        "spec": {"interval": "1m", "list": [{"name": "x"}], "empty": {}, "values": {"x": 1}},
    });
    assert_eq!(written(&object), expected);
}
