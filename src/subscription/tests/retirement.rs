//! Tests of the deletion of unused releases.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::api::{ClusterStackRelease, labels};

const NOW: &str = "2026-11-23T02:00:00Z";
const LONG_AGO: &str = "2026-11-23T01:00:00Z";
const LATELY: &str = "2026-11-23T01:55:00Z";

/// Returns a release that retires since then, with the use that its own reconcile reports.
pub(super) fn retiring(since: &str, reported: &str) -> ClusterStackRelease {
    let condition = json!({
        "type": "InUse", "status": "False", "reason": reported, "message": "", "lastTransitionTime": LONG_AGO,
    });
    serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
        "metadata": {"name": "r", "namespace": "stacks", "uid": "r", "annotations": {labels::RETIRING_SINCE: since}},
        "spec": {}, "status": {"conditions": [condition]},
    }))
    .unwrap()
}

fn demo(status: &Value, allowed: Option<&str>) -> ClusterStack {
    let mut demo = stack("demo", "2026-11-20T10:00:00Z", &["v9"], false);
    demo.status = serde_json::from_value(status.clone()).unwrap();
    demo.metadata.annotations =
        allowed.map(|allowed| [(labels::PRUNE.to_owned(), allowed.to_owned())].into());
    demo
}

/// Formats a decision: what is deleted, what waits for the budget, and in how many minutes to decide again.
fn decided(
    stack: &ClusterStack,
    releases: &[(&str, Role, ClusterStackRelease)],
    unconfirmed: &str,
) -> String {
    let owned: BTreeMap<_, _> =
        releases.iter().map(|(version, _, object)| (release(version), Arc::new(object.clone()))).collect();
    let roles = releases.iter().map(|(version, role, _)| (release(version), *role)).collect();
    let now: Timestamp = NOW.parse().unwrap();
    let facts = RetirementFacts { stack, owned: &owned, roles: &roles, now };
    let unconfirmed = self::releases(unconfirmed);
    let mut confirmed = BTreeSet::new();
    for name in due(&facts) {
        if has_room(&facts, confirmed.len()) && !unconfirmed.contains(name) {
            confirmed.insert(name.clone());
        }
    }
    let decision = decide_retirement(&facts, &confirmed);
    let versions = |names: Vec<&ReleaseName>| {
        names.iter().map(|name| name.version().to_string()).collect::<Vec<_>>().join(" ")
    };
    let count = decision.pruned.as_ref().map_or(0, |pruned| pruned.count);
    let minutes = decision.next.map(|next| next.duration_since(now).as_mins());
    format!(
        "delete [{}] wait [{}] count {count} next {minutes:?}",
        versions(decision.delete.iter().collect()),
        versions(decision.problems.keys().collect()),
    )
}

#[test]
fn unused_release_is_deleted_late_and_within_budget() {
    let old = || retiring(LONG_AGO, "Retiring");
    let of = |releases: &[(&'static str, Role)]| -> Vec<_> {
        releases.iter().map(|(version, role)| (*version, *role, old())).collect()
    };
    let spent = json!({"pruned": {"since": "2026-11-23T01:30:00Z", "count": 1}});
    let (none, all) = (json!({}), [("v1", Role::Retiring), ("v2", Role::Retiring)]);
    let names = deletions([release("v1"), release("v2")]);
    for (stack, releases, unconfirmed, expected) in vec![
        (demo(&none, None), of(&[("v1", Role::Retiring)]), "", "delete [v1] wait [] count 1 next None"),
        (demo(&none, None), of(&[("v1", Role::Kept)]), "", "delete [] wait [] count 0 next None"),
        (demo(&none, None), of(&[("v1", Role::Used)]), "", "delete [] wait [] count 0 next None"),
        // Its ten minutes are not over.
        (
            demo(&none, None),
            vec![("v1", Role::Retiring, retiring(LATELY, "Retiring"))],
            "",
            "delete [] wait [] count 0 next Some(5)",
        ),
        // Its own reconcile found a shared object, or did not check yet.
        (
            demo(&none, None),
            vec![("v1", Role::Retiring, retiring(LONG_AGO, "SharesObjects"))],
            "",
            "delete [] wait [] count 0 next None",
        ),
        // A few releases permit one deletion per hour.
        (demo(&none, None), of(&all), "", "delete [v1] wait [v2] count 1 next Some(60)"),
        (demo(&spent, None), of(&all), "", "delete [] wait [v1 v2] count 1 next Some(30)"),
        (demo(&spent, Some(&names)), of(&all), "", "delete [v1 v2] wait [] count 3 next None"),
        (demo(&spent, Some("another")), of(&all), "", "delete [] wait [v1 v2] count 1 next Some(30)"),
        // An unconfirmed deletion does not spend the budget.
        (demo(&none, None), of(&all), "v1", "delete [v2] wait [] count 1 next Some(1)"),
        (demo(&none, None), of(&all), "v1 v2", "delete [] wait [] count 0 next Some(1)"),
    ] {
        assert_eq!(decided(&stack, &releases, unconfirmed), expected, "{:?}", stack.status);
    }
}

#[test]
fn deleted_release_is_not_deleted_again() {
    let mut going = retiring(LONG_AGO, "Retiring");
    going.metadata.deletion_timestamp = serde_json::from_value(json!(NOW)).unwrap();
    let expected = "delete [] wait [] count 0 next None";
    assert_eq!(decided(&demo(&json!({}), None), &[("v1", Role::Retiring, going)], ""), expected);
}

#[test]
fn retirement_needs_unchanged_stack_and_no_user() {
    let (stack, object) = (demo(&json!({}), None), retiring(LONG_AGO, "Retiring"));
    let both = (Some(&stack), Some(&object));
    assert!(is_confirmed((&stack, &object), both, false));
    assert!(!is_confirmed((&stack, &object), both, true), "a Cluster uses it");
    assert!(!is_confirmed((&stack, &object), (None, Some(&object)), false), "the ClusterStack is gone");
    assert!(!is_confirmed((&stack, &object), (Some(&stack), None), false), "the release is gone");
    let offering = super::stack("demo", "2026-11-20T10:00:00Z", &["v1"], false);
    assert!(!is_confirmed((&stack, &object), (Some(&offering), Some(&object)), false), "it is offered again");
    let mut another = stack.clone();
    another.metadata.uid = Some("another".to_owned());
    assert!(!is_confirmed((&stack, &object), (Some(&another), Some(&object)), false), "another ClusterStack");
    let mut deleted = stack.clone();
    deleted.metadata.deletion_timestamp = serde_json::from_value(json!(NOW)).unwrap();
    assert!(!is_confirmed((&stack, &object), (Some(&deleted), Some(&object)), false), "it is deleted");
    let mut wanted = object.clone();
    wanted.metadata.annotations = None;
    assert!(!is_confirmed((&stack, &object), (Some(&stack), Some(&wanted)), false), "it does not retire");
    let mut recreated = object.clone();
    recreated.metadata.uid = Some("another".to_owned());
    assert!(!is_confirmed((&stack, &object), (Some(&stack), Some(&recreated)), false), "another release");
}
