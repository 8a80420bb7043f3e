use serde_json::json;

use super::*;

fn present(uid: &str, deleting: bool) -> Present {
    Present { uid: uid.to_owned(), deleting }
}

fn owned(uid: Option<&str>, deleting: bool) -> Owned {
    Owned { cluster_uid: uid.map(str::to_owned), deleting, held: true, committed: false }
}

#[test]
fn cluster_action_follows_cluster_and_addon() {
    let (there, goes) = (|uid| Some(present(uid, false)), |uid| Some(present(uid, true)));
    for (cluster, addon, expected, why) in [
        (None, None, ClusterAction::Forget, "there is nothing"),
        (there("a"), None, ClusterAction::Deliver, "a new one"),
        (goes("a"), None, ClusterAction::Forget, "it goes, and nothing is ours"),
        (there("a"), Some(owned(Some("a"), false)), ClusterAction::Deliver, "its own"),
        (there("a"), Some(owned(None, false)), ClusterAction::Deliver, "of the Go operator, without a UID"),
        (
            there("b"),
            Some(owned(Some("a"), false)),
            ClusterAction::SuspendAndDelete,
            "of an earlier one of its name",
        ),
        (there("b"), Some(owned(Some("a"), true)), ClusterAction::SuspendAndDelete, "the same, deleted"),
        (goes("a"), Some(owned(Some("a"), false)), ClusterAction::SuspendAndDelete, "it goes"),
        (there("a"), Some(owned(Some("a"), true)), ClusterAction::HandOver, "the ClusterAddon is deleted"),
        (None, Some(owned(Some("a"), false)), ClusterAction::SuspendAndDelete, "it is gone"),
        (None, Some(owned(None, true)), ClusterAction::SuspendAndDelete, "both go"),
    ] {
        let around = Around { backing: Backing::Wanted, ..Around::default() };
        assert_eq!(cluster_action(cluster.as_ref(), addon.as_ref(), around), expected, "{why}");
        let in_terminating =
            if addon.is_some() { ClusterAction::SuspendAndDelete } else { ClusterAction::Forget };
        let around = Around { namespace_terminating: true, ..around };
        assert_eq!(
            cluster_action(cluster.as_ref(), addon.as_ref(), around),
            in_terminating,
            "{why}, its namespace goes"
        );
    }
}

#[test]
fn deleted_cluster_addon_hands_over_or_deletes() {
    let wanted = Around { backing: Backing::Wanted, ..Around::default() };
    let removing = Around { removing: true, ..wanted };
    let deleted = owned(Some("a"), true);
    let committed = Owned { committed: true, ..deleted.clone() };
    for (addon, around, expected, why) in [
        (deleted.clone(), wanted, ClusterAction::HandOver, "there will be another one"),
        (
            deleted.clone(),
            Around::default(),
            ClusterAction::SuspendAndDelete,
            "no ClusterStack has the class",
        ),
        (committed.clone(), wanted, ClusterAction::SuspendAndDelete, "its files go first"),
        (
            committed.clone(),
            removing,
            ClusterAction::Deliver,
            "no next one would know of the addon that is removed",
        ),
        (
            committed,
            Around { removing: true, ..Around::default() },
            ClusterAction::SuspendAndDelete,
            "no plan lacks the addon",
        ),
        (deleted.clone(), removing, ClusterAction::HandOver, "the next one goes on with the removal"),
        (Owned { held: false, ..deleted }, wanted, ClusterAction::Forget, "another finalizer holds it"),
    ] {
        assert_eq!(cluster_action(Some(&present("a", false)), Some(&addon), around), expected, "{why}");
    }
}

#[test]
fn cluster_of_an_orphaning_stack_is_orphaned() {
    let orphaned = Around { backing: Backing::Orphaned, ..Around::default() };
    let (own, going) = (owned(Some("a"), false), owned(Some("a"), true));
    let (there, goes) = (present("a", false), present("a", true));
    for (cluster, addon, expected, why) in [
        (Some(&there), Some(&own), ClusterAction::Orphan, "its objects stay"),
        (Some(&there), Some(&going), ClusterAction::Orphan, "whoever else deletes the ClusterAddon"),
        (Some(&there), None, ClusterAction::Deliver, "it has no release"),
        (Some(&goes), Some(&own), ClusterAction::SuspendAndDelete, "the Cluster goes"),
        (None, Some(&own), ClusterAction::SuspendAndDelete, "the Cluster is gone"),
    ] {
        assert_eq!(cluster_action(cluster, addon, orphaned), expected, "{why}");
    }
}

#[test]
fn handed_over_objects_are_deleted_with_the_cluster() {
    let left = Around { handed_over: true, backing: Backing::Wanted, ..Around::default() };
    assert_eq!(cluster_action(None, None, left), ClusterAction::SuspendAndDelete);
    assert_eq!(cluster_action(Some(&present("a", true)), None, left), ClusterAction::SuspendAndDelete);
    assert_eq!(cluster_action(Some(&present("a", false)), None, left), ClusterAction::Deliver);
}

#[test]
fn cluster_recovers_once() {
    let condition = |kind: &str, status: &str, reason: Option<Reason>| {
        json!({
            "type": kind,
            "status": status,
            "reason": reason.map_or("ProbeFailed", |reason| reason.as_str()),
            "message": "",
            "lastTransitionTime": "2026-11-21T12:00:00Z",
        })
    };
    for (before, probe, expected, why) in [
        (Some(Reason::Unreachable), Some("True"), true, "it was lost and answers"),
        (Some(Reason::Unreachable), None, true, "Cluster API does not say any more that it is lost"),
        (Some(Reason::Unreachable), Some("False"), false, "it is still lost"),
        (Some(Reason::Available), Some("True"), false, "that was told already"),
        (Some(Reason::Available), Some("False"), false, "it is just being lost"),
        (Some(Reason::ControlPlaneNotInitialized), Some("True"), false, "it answers for the first time"),
        (None, Some("True"), false, "nothing is known of before"),
    ] {
        let before = before.map(|reason| condition("ClusterAvailable", "False", Some(reason)));
        let before: Vec<Condition> = serde_json::from_value(before.into_iter().collect()).unwrap();
        let probe: Vec<_> =
            probe.map(|status| condition("RemoteConnectionProbe", status, None)).into_iter().collect();
        let cluster = Cluster::new(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Cluster",
            "metadata": {"name": "a"},
            "status": {"initialization": {"controlPlaneInitialized": true}, "conditions": probe},
        }));
        assert_eq!(has_recovered(&before, &cluster.unwrap()), expected, "{why}");
    }
}
