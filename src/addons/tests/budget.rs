//! Tests of the removal budget.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::addons::budget::{Budget, decide_prune};
use crate::api::cluster_stack::Pruned;
use crate::names::ReleaseName;
use crate::subscription::deletions;

fn due(addons: &[&str]) -> Vec<Candidate> {
    let due = addons.iter().map(|addon| Candidate {
        addon: addon.parse().unwrap(),
        delivers: AddonMatch::NotInRelease,
        object: flux_object("HelmRelease", addon, &json!({})),
        decision: PruneDecision::Delete,
        hold: Some(Hold { reason: Reason::AddonRemoved, message: String::new() }),
    });
    due.collect()
}

fn pruned(since: &str, count: i64) -> Pruned {
    serde_json::from_value(json!({"since": since, "count": count})).unwrap()
}

#[test]
fn budget_decides_how_many_objects_are_deleted() {
    let release: ReleaseName = "openstack-scs-1-32-v2".parse().unwrap();
    let now: Timestamp = NOW.parse().unwrap();
    let lately = pruned("2026-11-23T01:30:00Z", 1);
    let all = deletions(["openstack-scs-1-32-v2 without a", "openstack-scs-1-32-v2 without b"]);
    for (total, spent, allowed, own, expected) in [
        (5, vec![], None, None, "[Delete, Blocked] count Some(1) next None"),
        (20, vec![], None, None, "[Delete, Delete] count Some(2) next None"),
        (20, vec![lately.clone()], None, None, "[Delete, Blocked] count Some(1) next Some(30)"),
        (5, vec![lately.clone()], None, None, "[Blocked, Blocked] count None next Some(30)"),
        (5, vec![lately.clone()], Some(all.as_str()), None, "[Delete, Delete] count Some(2) next None"),
        (5, vec![lately.clone()], Some("another"), None, "[Blocked, Blocked] count None next Some(30)"),
        // The ClusterAddon keeps counting in its hour.
        (20, vec![lately.clone()], None, Some(&lately), "[Delete, Blocked] count Some(2) next Some(30)"),
    ] {
        let budget =
            Budget { stack: "stacks/demo", release: &release, allowed, spent: &spent, total, own, sum: None };
        let pruning = decide_prune(due(&["a", "b"]), &budget, now);
        let decisions: Vec<_> = pruning.candidates.iter().map(|it| it.decision).collect();
        let count = pruning.pruned.as_ref().map(|pruned| pruned.count);
        let next = pruning.next.map(|next| next.duration_since(now).as_mins());
        assert_eq!(format!("{decisions:?} count {count:?} next {next:?}"), expected);
        let reasons = pruning.candidates.iter().map(|it| it.hold.as_ref().map(|hold| hold.reason));
        let is_reported = |(decision, reason): (&PruneDecision, _)| match decision {
            PruneDecision::Blocked => reason == Some(Reason::PruneBudgetExceeded),
            _ => reason == Some(Reason::AddonRemoved),
        };
        assert!(decisions.iter().zip(reasons).all(is_reported), "{:?}", pruning.candidates);
    }
}

/// Returns a budget for this number of objects of which nothing is spent.
fn budget(release: &ReleaseName, total: usize) -> Budget<'_> {
    Budget { stack: "stacks/demo", release, allowed: None, spent: &[], total, own: None, sum: None }
}

#[test]
fn budget_leaves_other_candidates_alone() {
    let release: ReleaseName = "openstack-scs-1-32-v2".parse().unwrap();
    let budget = budget(&release, 1);
    let mut found = due(&["a", "b", "c"]);
    (found[0].decision, found[0].hold) = (PruneDecision::Blocked, None);
    found[1].decision = PruneDecision::Deleting;
    let mut counted = due(&["d"]);
    counted[0].decision = PruneDecision::DeleteCounted;
    found.extend(counted);
    let pruning = decide_prune(found.clone(), &budget, NOW.parse().unwrap());
    assert_eq!(pruning.candidates, found, "one is deleted, and the other three are as they were");
    assert_eq!(pruning.pruned.as_ref().map(|pruned| pruned.count), Some(1));
    assert_eq!(pruning.due().count(), 2);
}

#[test]
fn addon_that_was_never_installed_spends_nothing() {
    let release: ReleaseName = "openstack-scs-1-32-v2".parse().unwrap();
    let (now, failed): (Timestamp, _) = (NOW.parse().unwrap(), [json!({"type": "Ready", "status": "False"})]);
    let lately = pruned("2026-11-23T01:30:00Z", 1);
    let budget = Budget {
        stack: "stacks/demo",
        release: &release,
        allowed: None,
        spent: &[lately],
        total: 5,
        own: None,
        sum: None,
    };
    for (kind, status, expected) in [
        ("HelmRelease", json!({"conditions": failed}), PruneDecision::Delete),
        (
            "HelmRelease",
            json!({"conditions": failed, "history": [{"status": "failed"}]}),
            PruneDecision::Blocked,
        ),
        ("HelmRelease", json!({}), PruneDecision::Blocked),
        // Flux may be installing it.
        (
            "HelmRelease",
            json!({"conditions": [{"type": "Ready", "status": "Unknown"}]}),
            PruneDecision::Blocked,
        ),
        ("Kustomization", json!({"conditions": failed, "inventory": {"entries": []}}), PruneDecision::Delete),
        (
            "Kustomization",
            json!({"conditions": failed, "inventory": {"entries": [{"id": "a_b__Pod"}]}}),
            PruneDecision::Blocked,
        ),
        (
            "Kustomization",
            json!({"conditions": failed, "lastAppliedRevision": "main@1"}),
            PruneDecision::Blocked,
        ),
    ] {
        let mut found = due(&["a"]);
        found[0].object = flux_object(kind, "a", &json!({"status": status}));
        let pruning = decide_prune(found, &budget, now);
        assert_eq!(pruning.candidates[0].decision, expected, "{kind} {status}");
        assert_eq!((pruning.pruned, pruning.sum), (None, None));
    }
}

#[test]
fn addon_that_is_installed_since_the_decision_is_not_due() {
    let status = |history: Value| {
        let failed = json!([{"type": "Ready", "status": "False"}]);
        flux_object("HelmRelease", "a", &json!({"status": {"conditions": failed, "history": history}}))
    };
    let (never, installed) = (status(json!([])), status(json!([{"status": "deployed"}])));
    for (decided, live, expected) in
        [(&never, &never, true), (&never, &installed, false), (&installed, &installed, true)]
    {
        let mut found = due(&["a"]);
        found[0].object = decided.clone();
        assert_eq!(is_still_due(&found[0], live, &cluster_addon(&json!({}))), expected);
    }
}

#[test]
fn lost_cluster_addons_leave_their_deletions_counted() {
    let now: Timestamp = NOW.parse().unwrap();
    let sum = pruned("2026-11-23T01:30:00Z", 3);
    for (known, of_stack, expected) in [
        (vec![], Some(&sum), Some(3)),
        (vec![pruned("2026-11-23T01:40:00Z", 1)], Some(&sum), Some(2)),
        (vec![pruned("2026-11-23T01:40:00Z", 1), pruned("2026-11-23T01:50:00Z", 2)], Some(&sum), None),
        (vec![pruned("2026-11-22T01:40:00Z", 3)], Some(&sum), Some(3)),
        (vec![], Some(&pruned("2026-11-23T00:59:00Z", 3)), None),
        (vec![], None, None),
    ] {
        let mut spent = Spent { deletions: known.clone(), total: 5 };
        spent.add_lost(of_stack, now);
        let added = spent.deletions.get(known.len()).map(|lost| lost.count);
        assert_eq!(added, expected, "{known:?}");
    }
    // The deletion is added to the sum.
    let release: ReleaseName = "openstack-scs-1-32-v2".parse().unwrap();
    let budget = Budget { sum: Some(&sum), ..budget(&release, 5) };
    let pruning = decide_prune(due(&["a", "b"]), &budget, now);
    assert_eq!(pruning.sum, Some(pruned("2026-11-23T01:30:00Z", 4)));
}

#[test]
fn unconfirmed_prune_deletes_and_reports_nothing() {
    let now: Timestamp = NOW.parse().unwrap();
    let pruning = unconfirmed(due(&["a", "b"]), now);
    let kept: BTreeSet<_> = pruning
        .candidates
        .iter()
        .map(|it| (it.decision == PruneDecision::Blocked, it.hold.is_none()))
        .collect();
    assert_eq!(kept, BTreeSet::from([(true, true)]));
    assert_eq!((pruning.pruned, pruning.next), (None, Some(now)));
    let mut counted = due(&["a"]);
    counted[0].decision = PruneDecision::DeleteCounted;
    let pruning = unconfirmed(counted, now);
    assert_eq!(pruning.candidates[0].decision, PruneDecision::Deleting, "its file is removed later");
    assert!(pruning.candidates[0].hold.is_some(), "the status keeps counting it");
}
