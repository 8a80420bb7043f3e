//! Tests of the deletion of `GitRepository`s of earlier sources.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::json;

use super::*;
use crate::foreign::flux::observed::FluxObject;
use crate::names::Key;
use crate::plan::write::{Apply, Precondition, Write};

#[test]
fn source_is_left_over_once_no_stack_follows_it() {
    let repository = |name: &str, deleted: Option<&str>| -> Arc<FluxObject> {
        let metadata = json!({"name": name, "namespace": "stacks", "deletionTimestamp": deleted});
        let object = json!({"apiVersion": "x/v1", "kind": "GitRepository", "metadata": metadata, "spec": {}});
        Arc::new(serde_json::from_value(object).unwrap())
    };
    let made = [
        repository("now", None),
        repository("before", None),
        repository("gone", Some("2026-11-23T02:00:00Z")),
    ];
    let followed = [Key::new("stacks", "now"), Key::new("other", "before")].into();
    let left: Vec<_> =
        left_over_sources(&made, &followed).map(|found| found.object.name.as_deref()).collect();
    assert_eq!(left, [Some("before")]);
}

#[test]
fn source_is_confirmed_by_same_stack_with_same_source() {
    let with = |url: &str| {
        let mut stack = stack("demo", "2026-11-20T10:00:00Z", &["v1"], false);
        let source = json!({"git": {"url": url, "ref": {"branch": "main"}}});
        stack.spec.source = Some(serde_json::from_value(source).unwrap());
        stack
    };
    let ours = with("https://git.example.org/b.git");
    let mut recreated = ours.clone();
    recreated.metadata.uid = Some("another".to_owned());
    let mut offering = ours.clone();
    offering.spec.versions.clear();
    for (live, expected) in [
        (None, false),
        (Some(with("https://git.example.org/a.git")), false),
        (Some(recreated), false),
        (Some(offering), true),
        (Some(ours.clone()), true),
    ] {
        assert_eq!(is_source_confirmed(&ours, live.as_ref()), expected, "{live:?}");
    }
}

#[test]
fn stack_takes_over_what_exists_without_it_as_owner() {
    let stack = stack("demo", "2026-11-20T10:00:00Z", &["v1"], false);
    let owner = |uid: &str| OwnerReference { uid: uid.to_owned(), ..OwnerReference::default() };
    let ours = stack.metadata.uid.clone().unwrap();
    let found = |owners: &[&str]| -> FluxObject {
        let owners: Vec<OwnerReference> = owners.iter().map(|uid| owner(uid)).collect();
        let metadata = json!({"name": "demo-catalog", "namespace": "stacks", "ownerReferences": owners});
        let object = json!({"apiVersion": "x/v1", "kind": "GitRepository", "metadata": metadata, "spec": {}});
        serde_json::from_value(object).unwrap()
    };
    let apply = |owners: &[&str]| {
        Write::Apply(Apply {
            over: Precondition::Absent,
            before: None,
            owners: owners.iter().map(|uid| owner(uid)).collect(),
            is_repair: false,
            manager: None,
        })
    };
    for (write, owners, expected, why) in [
        (apply(&[&ours]), Some(vec![]), true, "a deleted ClusterStack has left it"),
        (apply(&[&ours]), Some(vec!["other"]), true, "it has another owner"),
        (apply(&[&ours]), Some(vec!["other", &ours]), false, "it is the owner already"),
        (apply(&[&ours]), None, false, "there is nothing to take over"),
        (apply(&[]), Some(vec![]), false, "it does not become the owner"),
        (Write::Nothing, Some(vec![]), false, "nothing is written"),
    ] {
        let found = owners.map(|owners| found(&owners));
        assert_eq!(takes_over(&stack, &write, found.as_ref()), expected, "{why}");
    }
}
