//! Tests of the deletion of `GitRepository`s of earlier sources.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::foreign::flux::observed::FluxObject;
use crate::names::Key;

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
