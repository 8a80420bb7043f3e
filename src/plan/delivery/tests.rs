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
    let owner = |kind, uid| json!({"apiVersion": "v1", "kind": kind, "name": "x", "uid": uid});
    json!({"annotations": {PLAN_DIGEST: "sha256:1"},
        "ownerReferences": [owner("ClusterAddon", "u"), owner("Namespace", "n")]})
}

fn with(field: &str, value: Value) -> HelmRelease {
    let mut metadata = as_planned();
    metadata[field] = value;
    found(&metadata)
}

#[test]
fn nothing_is_done_only_if_all_is_known_to_be_as_planned() {
    let object = found(&as_planned());
    let (expected, other) = (object.spec_digest.clone(), SpecDigest::kept("0"));
    let written = |spec_digest, owner, namespace| Baseline::LastWrite { spec_digest, owner, namespace };
    let ours = written(Some(&expected), Some("u"), Some("n"));
    let old = with("annotations", json!({PLAN_DIGEST: "sha256:0"}));
    let bare = with("annotations", json!({}));
    let going = with("deletionTimestamp", json!("2026-11-21T10:00:00Z"));
    let orphan = with("ownerReferences", json!([]));
    let table = [
        ("as planned", Some(&object), ours, Action::Nothing),
        ("no Namespace known", Some(&object), written(Some(&expected), Some("u"), None), Action::Nothing),
        ("absent", None, ours, Action::Apply),
        ("last write unknown", Some(&object), written(None, Some("u"), Some("n")), Action::Apply),
        ("another owner", Some(&object), written(Some(&expected), Some("v"), Some("n")), Action::Apply),
        (
            "without its Namespace",
            Some(&object),
            written(Some(&expected), Some("u"), Some("m")),
            Action::Apply,
        ),
        (
            "no owner, so no Namespace",
            Some(&orphan),
            written(Some(&expected), None, Some("n")),
            Action::Nothing,
        ),
        ("another spec", Some(&object), written(Some(&other), Some("u"), Some("n")), Action::Repair),
        ("another spec and owner", Some(&object), written(Some(&other), Some("v"), None), Action::Apply),
        ("an earlier plan", Some(&old), ours, Action::Apply),
        ("no plan", Some(&bare), ours, Action::Apply),
        ("terminating", Some(&going), written(None, Some("v"), None), Action::Wait),
        ("by the plan alone", Some(&orphan), Baseline::Plan, Action::Nothing),
        ("by the plan alone, an earlier one", Some(&old), Baseline::Plan, Action::Apply),
        ("by the plan alone, terminating", Some(&going), Baseline::Plan, Action::Wait),
        ("by the plan alone, absent", None, Baseline::Plan, Action::Apply),
    ];
    for (what, found, baseline, expected) in table {
        assert_eq!(action(&planned(), found.map(Into::into), baseline), expected, "{what}");
    }
}

#[test]
fn source_needs_no_namespace_among_its_owners() {
    let mut planned = planned();
    planned.id.kind = "GitRepository".into();
    let object = found(&as_planned());
    let (spec_digest, owner) = (Some(&object.spec_digest), Some("u"));
    let baseline = Baseline::LastWrite { spec_digest, owner, namespace: Some("m") };
    assert_eq!(action(&planned, Some((&object).into()), baseline), Action::Nothing);
}

#[test]
fn cluster_stays_in_the_repository_that_has_its_files() {
    let git = |path: &str| -> GitDelivery {
        serde_json::from_value(json!({"url": "https://git.example.org/x.git", "path": path})).unwrap()
    };
    let (one, two) = (Key::new("n", "one"), Key::new("n", "two"));
    let elsewhere = |theirs: Option<&GitDelivery>, now, ours: Option<&GitDelivery>| {
        delivered_elsewhere((&one, theirs), (now, ours)).map(|hold| hold.reason)
    };
    let held = Some(Reason::DeliveredElsewhere);
    assert_eq!(elsewhere(Some(&git("a")), &one, Some(&git("b"))), None, "it is the same ClusterStack");
    assert_eq!(elsewhere(Some(&git("a")), &two, Some(&git("./a/"))), None, "it is the same place");
    assert_eq!(elsewhere(Some(&git("a")), &two, Some(&git("b"))), held);
    assert_eq!(elsewhere(Some(&git("a")), &two, None), held, "it is applied by the operator now");
    assert_eq!(elsewhere(None, &two, Some(&git("b"))), None, "nothing is committed there now");
}

#[test]
fn namespace_is_written_until_the_status_has_its_digest() {
    let written = SpecDigest::kept("sha256:1");
    assert_eq!(namespace_action(&planned(), Some(&written)), Action::Nothing);
    assert_eq!(namespace_action(&planned(), Some(&SpecDigest::kept("sha256:0"))), Action::Apply);
    assert_eq!(namespace_action(&planned(), None), Action::Apply);
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
