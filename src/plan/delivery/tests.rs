use serde_json::json;

use super::*;
use crate::foreign::flux::observed::FluxObject;
use crate::plan::{ObjectId, Step};

fn planned() -> PlannedObject {
    let id = ObjectId {
        api_version: String::new(),
        kind: "HelmRelease".into(),
        namespace: "n".into(),
        name: "o".into(),
    };
    let value = json!({"metadata": {"annotations": {PLAN_DIGEST: "sha256:1"}, "labels": {"addon": "cni"}}});
    PlannedObject { step: Step::Addons, id, value }
}

fn found(metadata: &Value) -> FluxObject {
    serde_json::from_value(json!({"kind": "HelmRelease", "metadata": metadata, "spec": {"values": {"a": 1}}}))
        .unwrap()
}

fn as_planned() -> Value {
    let owner = |kind, uid| {
        let api_version = if kind == "Namespace" { "v1" } else { "clusterstack.x-k8s.io/v1alpha1" };
        json!({"apiVersion": api_version, "kind": kind, "name": "x", "uid": uid})
    };
    json!({"annotations": {PLAN_DIGEST: "sha256:1"}, "labels": {"addon": "cni"},
        "ownerReferences": [owner("ClusterAddon", "u"), owner("Namespace", "n")]})
}

fn with(field: &str, value: Value) -> FluxObject {
    let mut metadata = as_planned();
    metadata[field] = value;
    found(&metadata)
}

#[test]
fn object_is_skipped_only_if_known_as_planned() {
    let object = found(&as_planned());
    let (expected, other) = (object.spec_digest.clone(), SpecDigest::kept("0"));
    let written = |spec_digest, owner, namespace| Baseline::LastWrite { spec_digest, owner, namespace };
    let ours = written(Some(&expected), Some("u"), Some("n"));
    let old = with("annotations", json!({PLAN_DIGEST: "sha256:0"}));
    let bare = with("annotations", json!({}));
    let going = with("deletionTimestamp", json!("2026-11-21T10:00:00Z"));
    let orphan = with("ownerReferences", json!([]));
    let foreign = found(&json!({"labels": {"addon": "cni"}}));
    let foreign_going =
        found(&json!({"labels": {"addon": "cni"}, "deletionTimestamp": "2026-11-21T10:00:00Z"}));
    let relabelled = with("labels", json!({"addon": "zzz"}));
    let unlabelled = with("labels", json!(null));
    let more_labels = with("labels", json!({"addon": "cni", "team": "network"}));
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
        ("another label", Some(&relabelled), ours, Action::Repair),
        ("no labels", Some(&unlabelled), ours, Action::Repair),
        ("a label of another client", Some(&more_labels), ours, Action::Nothing),
        ("by the plan alone, another label", Some(&relabelled), Baseline::Plan, Action::Nothing),
        ("another spec and owner", Some(&object), written(Some(&other), Some("v"), None), Action::Apply),
        ("an earlier plan", Some(&old), ours, Action::Apply),
        ("no plan", Some(&bare), ours, Action::Apply),
        ("terminating", Some(&going), written(None, Some("v"), None), Action::Wait),
        ("by the plan alone", Some(&orphan), Baseline::Plan, Action::Nothing),
        ("by the plan alone, an earlier one", Some(&old), Baseline::Plan, Action::Apply),
        ("by the plan alone, terminating", Some(&going), Baseline::Plan, Action::Wait),
        ("by the plan alone, absent", None, Baseline::Plan, Action::Apply),
        ("made by another client", Some(&foreign), ours, Action::Hold),
        ("no write is known", Some(&foreign), written(None, None, None), Action::Hold),
        // No event announces that it is gone: the watch has only objects of stackflux.
        ("made by another client, terminating", Some(&foreign_going), ours, Action::Hold),
        ("by the plan alone, made by another client", Some(&foreign), Baseline::Plan, Action::Apply),
    ];
    for (what, found, baseline, expected) in table {
        assert_eq!(action(&planned(), found.map(Into::into), baseline), expected, "{what}");
    }
}

#[test]
fn suspension_follows_the_purpose() {
    let object = |kind: &str, suspend: bool, metadata: Value| -> FluxObject {
        serde_json::from_value(json!({"kind": kind, "metadata": metadata, "spec": {"suspend": suspend}}))
            .unwrap()
    };
    let managed_by = |manager: &str| {
        let fields = json!({"f:spec": {"f:suspend": {}}});
        json!({"managedFields": [{"manager": manager, "operation": "Update", "fieldsV1": fields}]})
    };
    let active = object("HelmRelease", false, json!({}));
    let by_user = object("HelmRelease", true, managed_by("kubectl"));
    let by_settings = object("HelmRelease", true, managed_by(SUSPEND_FIELD_MANAGER));
    let going = object("HelmRelease", false, json!({"deletionTimestamp": "2026-11-21T10:00:00Z"}));
    let source = object("GitRepository", false, json!({}));
    let deliver = |suspend| Purpose::Deliver { suspend };
    let (retain, uninstall) = (Purpose::Retain, Purpose::Uninstall);
    for (object, purpose, expected, why) in [
        (&active, deliver(false), None, "nothing suspends it"),
        (&active, deliver(true), Some(true), "the settings suspend it"),
        (&by_settings, deliver(true), None, "it is suspended"),
        (&by_settings, deliver(false), Some(false), "the settings no longer suspend it"),
        (&by_user, deliver(false), None, "the user resumes it"),
        (&going, deliver(true), None, "Flux uninstalls it"),
        (&active, retain, Some(true), "its deletion would uninstall"),
        (&going, retain, Some(true), "its finalizer may still be present"),
        (&by_user, retain, None, "it is suspended"),
        (&source, retain, None, "Clusters take their content from it"),
        (&active, uninstall, None, "Flux uninstalls it"),
        (&by_user, uninstall, Some(false), "Flux does not uninstall a suspended object"),
    ] {
        assert_eq!(suspension(object, purpose), expected, "{why}");
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
fn cluster_stays_in_the_repository_of_its_files() {
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
fn namespace_absent_or_without_a_digest_is_written() {
    let (written, earlier) = (SpecDigest::kept("sha256:1"), SpecDigest::kept("sha256:0"));
    let (as_planned, another, none) = (Some(&written), Some(&earlier), None);
    for (found, digest, expected) in [
        (NamespaceState::Present, as_planned, Action::Nothing),
        (NamespaceState::Present, another, Action::Apply),
        (NamespaceState::Present, none, Action::Apply),
        (NamespaceState::Unknown, as_planned, Action::Nothing),
        (NamespaceState::Unknown, another, Action::Apply),
        (NamespaceState::Unknown, none, Action::Apply),
        (NamespaceState::Absent, as_planned, Action::Apply),
        (NamespaceState::Absent, none, Action::Apply),
        (NamespaceState::Terminating, as_planned, Action::Wait),
        (NamespaceState::Terminating, none, Action::Wait),
    ] {
        assert_eq!(namespace_action(&planned(), found, digest), expected, "{found:?} {digest:?}");
    }
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
fn written_object_omits_status_and_foreign_metadata() {
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

#[test]
fn edited_source_is_not_as_flux_applied_it() {
    let id = |kind: &str| ObjectId {
        api_version: String::new(),
        kind: kind.into(),
        namespace: "n".into(),
        name: "o".into(),
    };
    let of = |kind: &str, spec: Value| json!({"kind": kind, "metadata": {"annotations": {PLAN_DIGEST: "sha256:1"}}, "spec": spec});
    let pinned = |commit: &str| json!({"url": "u", "ref": {"commit": commit}, "timeout": "60s"});
    let chart = |path: &str, source: &str| json!({"chart": path, "sourceRef": {"name": source}});
    let table = [
        ("GitRepository", pinned("1"), pinned("1"), true),
        ("GitRepository", pinned("1"), pinned("2"), false),
        ("GitRepository", pinned("1"), json!({"url": "v", "ref": {"commit": "1"}}), false),
        ("HelmChart", chart("p", "s"), chart("p", "s"), true),
        ("HelmChart", chart("p", "s"), chart("q", "s"), false),
        ("HelmChart", chart("p", "s"), chart("p", "t"), false),
        // Users may change them with their own Kustomize root; they decide no content.
        ("Kustomization", json!({"path": "p"}), json!({"path": "q"}), true),
    ];
    for (kind, spec, live, expected) in table {
        let planned = PlannedObject { step: Step::Sources, id: id(kind), value: of(kind, spec) };
        let found: FluxObject = serde_json::from_value(of(kind, live.clone())).unwrap();
        assert_eq!(applied(&found, &planned).is_some(), expected, "{kind} {live}");
    }
}

#[test]
fn shared_source_counts_as_written_with_its_content() {
    let spec = json!({
        "url": "https://git.example.org/stacks.git", "ref": {"commit": "1"}, "sparseCheckout": ["releases/v1"],
        "interval": "1h",
    });
    let digest = SpecDigest::kept("1");
    let id = ObjectId { kind: "GitRepository".to_owned(), ..planned().id };
    let planned = PlannedObject { step: Step::Sources, id, value: json!({"spec": spec}) };
    for (pointer, value, counts) in [
        ("/interval", "1s", true),
        ("/ref/commit", "2", false),
        ("/url", "https://other.example.org/", false),
        ("/sparseCheckout/0", "elsewhere", false),
    ] {
        let mut live = spec.clone();
        *live.pointer_mut(pointer).unwrap() = json!(value);
        let found = digest_of_shared(&References::of(&live), &digest, &planned);
        assert_eq!(found, counts.then_some(&digest), "{pointer}");
    }
}
