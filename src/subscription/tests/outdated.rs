//! Tests of the sources and charts that a living release no longer has.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::api::labels::PLAN_DIGEST;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::plan::tests::fixture::Fixture;

fn object(kind: &str, name: &str, more: &Value) -> Arc<FluxObject> {
    let mut object = json!({
        "apiVersion": "x/v1", "kind": kind,
        "metadata": {"name": name, "namespace": "stacks", "labels": {labels::MANAGED_BY: labels::FIELD_MANAGER},
            "annotations": {PLAN_DIGEST: "sha256:0"}},
        "spec": {},
    });
    for (pointer, value) in more.as_object().unwrap() {
        *object.pointer_mut(pointer).unwrap() = value.clone();
    }
    Arc::new(serde_json::from_value(object).unwrap())
}

fn user(kind: &str, field: &str, of: (&str, &str)) -> Value {
    json!({
        "apiVersion": "x/v1", "kind": kind, "metadata": {"name": "one.ingress", "namespace": "team"},
        "spec": {field: {"kind": of.0, "name": of.1, "namespace": "stacks"}},
    })
}

fn release(objects: &Value) -> ClusterStackRelease {
    serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
        "metadata": {"name": "docker-demo-1-34-v1", "namespace": "stacks", "uid": "u", "ownerReferences": [
            {"apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack", "name": "demo", "uid": "s"},
        ]},
        "spec": {}, "status": {"objects": objects},
    }))
    .unwrap()
}

fn owned(kind: &str, name: &str) -> Arc<FluxObject> {
    owned_with(kind, name, &json!({}))
}

fn owned_with(kind: &str, name: &str, more: &Value) -> Arc<FluxObject> {
    let mut object = (*object(kind, name, more)).clone();
    let owner = json!([{"apiVersion": "x", "kind": "ClusterStackRelease", "name": "r", "uid": "u"}]);
    object.object.owner_references = serde_json::from_value(owner).unwrap();
    Arc::new(object)
}

fn unowned(namespace: &str, stack: &str) -> Arc<FluxObject> {
    unowned_as(SOURCE, namespace, stack, labels::APPLIED_BY_NAME)
}

fn unowned_as(name: &str, namespace: &str, stack: &str, label: &str) -> Arc<FluxObject> {
    let labels = json!({
        labels::MANAGED_BY: labels::FIELD_MANAGER, labels::STACK_NAMESPACE: namespace, label: "fleet",
    });
    let annotations = json!({PLAN_DIGEST: "sha256:0", labels::STACK_NAME: stack});
    let more = json!({"/metadata/labels": labels, "/metadata/annotations": annotations});
    object("GitRepository", name, &more)
}

fn found(
    candidate: Arc<FluxObject>,
    users: &[Value],
    status: &Value,
    others: &[Arc<ClusterStackRelease>],
) -> (usize, Option<u64>) {
    decided(candidate, users, status, (others, false))
}

fn decided(
    candidate: Arc<FluxObject>,
    users: &[Value],
    status: &Value,
    (others, put_off): (&[Arc<ClusterStackRelease>], bool),
) -> (usize, Option<u64>) {
    let plan = Fixture::new().plan("v1", &["one"]);
    let users: Vec<Arc<FluxObject>> =
        users.iter().map(|user| Arc::new(serde_json::from_value(user.clone()).unwrap())).collect();
    let (release, candidates) = (release(status), [candidate]);
    let facts = OutdatedFacts {
        release: &release,
        plan: &plan,
        others,
        candidates: &candidates,
        is_put_off: &|_| put_off,
    };
    let found = outdated(&facts, || users.clone());
    (found.unused.len(), found.look_again.map(|delay| delay.as_secs()))
}

const SOURCE: &str = "demo-0123456789ab";

#[test]
fn source_that_nothing_refers_to_is_outdated() {
    let plan = Fixture::new().plan("v1", &["one"]);
    let planned = plan.sources().find(|source| source.id.kind == "GitRepository").unwrap();
    let source = || owned("GitRepository", SOURCE);
    let chart = owned("HelmChart", "demo-ingress-0123456789ab");
    let of_chart = user("HelmRelease", "chartRef", ("HelmChart", "demo-ingress-0123456789ab"));
    let of_source = user("Kustomization", "sourceRef", ("GitRepository", SOURCE));
    let recorded = json!([{"kind": "GitRepository", "namespace": "stacks", "name": SOURCE}]);
    let none = json!([]);
    let changed =
        |pointer: &str, value: &Value| owned_with("GitRepository", SOURCE, &json!({pointer: value}));
    let of_release = json!({labels::MANAGED_BY: labels::FIELD_MANAGER, labels::RELEASE: "r"});
    for (candidate, users, status, expected, why) in [
        (source(), vec![], &none, (1, None), "nothing refers to it"),
        (chart.clone(), vec![], &none, (1, None), "a chart, too"),
        (source(), vec![of_source.clone()], &none, (0, Some(30)), "a Kustomization has it"),
        (source(), vec![of_chart.clone()], &none, (1, None), "that is another object"),
        (chart, vec![of_chart], &none, (0, Some(30)), "a HelmRelease has it"),
        (source(), vec![], &recorded, (0, Some(30)), "it was planned a moment ago"),
        (changed("/metadata/labels", &of_release), vec![], &none, (0, None), "of the stack repository"),
        (changed("/metadata/annotations", &json!({})), vec![], &none, (0, None), "another client made it"),
        (owned("GitRepository", &planned.id.name), vec![], &none, (0, None), "it is planned"),
        (owned("HelmRelease", SOURCE), vec![], &none, (0, None), "it is no source"),
    ] {
        assert_eq!(found(candidate, &users, status, &[]), expected, "{why}");
    }
}

/// One that Flux applies from a repository has no owner.
#[test]
fn source_without_owner_is_outdated_if_no_release_has_it() {
    let of_source = user("Kustomization", "sourceRef", ("GitRepository", SOURCE));
    let recorded = json!([{"kind": "GitRepository", "namespace": "stacks", "name": SOURCE}]);
    let other = |status: &Value, uid: &str, deleted: bool| {
        let mut other = release(status);
        other.metadata.uid = Some(uid.to_owned());
        let time = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        other.metadata.deletion_timestamp = deleted.then_some(time);
        vec![Arc::new(other)]
    };
    let none = json!([]);
    let ours = || unowned("stacks", "demo");
    for (candidate, users, status, others, expected, why) in [
        (ours(), vec![], &none, vec![], (1, None), "nothing refers to it"),
        (
            unowned_as(SOURCE, "stacks", "demo", "any"),
            vec![],
            &none,
            vec![],
            (0, None),
            "not applied by Flux",
        ),
        (
            unowned_as("demo-0123456789ab-try", "stacks", "demo", labels::APPLIED_BY_NAME),
            vec![],
            &none,
            vec![],
            (0, None),
            "a user's copy",
        ),
        (unowned("stacks", "other"), vec![], &none, vec![], (0, None), "of another ClusterStack"),
        (unowned("other", "demo"), vec![], &none, vec![], (0, None), "of another namespace"),
        (ours(), vec![], &none, other(&recorded, "o", false), (0, None), "another release has it"),
        (
            ours(),
            vec![],
            &none,
            other(&recorded, "o", true),
            (0, None),
            "it is deleted, and may have Clusters",
        ),
        (ours(), vec![], &recorded, vec![], (0, Some(30)), "it was planned a moment ago"),
        (ours(), vec![of_source], &none, vec![], (0, Some(600)), "something refers to it"),
    ] {
        assert_eq!(found(candidate, &users, status, &others), expected, "{why}");
    }
}

/// Neither an open pull request nor an object that no watch reports makes the operator list all objects again.
#[test]
fn source_that_is_put_off_is_left_alone() {
    for candidate in [unowned("stacks", "demo"), owned("GitRepository", SOURCE)] {
        assert_eq!(decided(candidate, &[], &json!([]), (&[], true)), (0, Some(600)));
    }
}

#[test]
fn long_name_of_a_component_is_recognised() {
    for (name, expected) in [
        ("demo-ingress-0123456789ab", 1),
        ("demo-ingress-01234567", 1),
        ("demo-ingress-0123", 0),
        ("other-0123456789ab", 0),
    ] {
        let candidate = unowned_as(name, "stacks", "demo", labels::APPLIED_BY_NAME);
        assert_eq!(found(candidate, &[], &json!([]), &[]).0, expected, "{name}");
    }
}

#[test]
fn reference_of_a_live_object_is_found() {
    let source = object("OCIRepository", "demo-0123456789ab", &json!({}));
    let refers = |user: &Value, kind| refers_to(user, kind, &source);
    let user = user("HelmRelease", "chartRef", ("OCIRepository", "demo-0123456789ab"));
    assert!(refers(&user, FluxKind::HelmRelease));
    let mut beside = user.clone();
    beside["spec"]["chartRef"]["namespace"] = Value::Null;
    assert!(!refers(&beside, FluxKind::HelmRelease), "its own namespace is another one");
    beside["metadata"]["namespace"] = "stacks".into();
    assert!(refers(&beside, FluxKind::HelmRelease));
    let mut other = user;
    other["spec"]["chartRef"]["kind"] = "HelmChart".into();
    assert!(!refers(&other, FluxKind::HelmRelease));
}
