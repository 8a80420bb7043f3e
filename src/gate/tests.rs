use serde_json::json;

use super::*;

fn present(uid: &str, deleting: bool) -> Present {
    Present { uid: uid.to_owned(), deleting }
}

fn owned(uid: Option<&str>, deleting: bool) -> Owned {
    Owned { cluster_uid: uid.map(str::to_owned), deleting, held: true, committed: false }
}

#[test]
fn what_to_do_with_a_cluster() {
    let (there, goes) = (|uid| Some(present(uid, false)), |uid| Some(present(uid, true)));
    for (cluster, addon, expected, why) in [
        (None, None, Course::Nothing, "there is nothing"),
        (there("a"), None, Course::Deliver, "a new one"),
        (goes("a"), None, Course::Nothing, "it goes, and nothing is ours"),
        (there("a"), Some(owned(Some("a"), false)), Course::Deliver, "its own"),
        (there("a"), Some(owned(None, false)), Course::Deliver, "of the Go operator, without a UID"),
        (there("b"), Some(owned(Some("a"), false)), Course::LetGo, "of an earlier one of its name"),
        (there("b"), Some(owned(Some("a"), true)), Course::LetGo, "the same, deleted"),
        (goes("a"), Some(owned(Some("a"), false)), Course::LetGo, "it goes"),
        (there("a"), Some(owned(Some("a"), true)), Course::HandOver, "the ClusterAddon is deleted"),
        (None, Some(owned(Some("a"), false)), Course::LetGo, "it is gone"),
        (None, Some(owned(None, true)), Course::LetGo, "both go"),
    ] {
        let around = Around { backing: Backing::Wanted, ..Around::default() };
        assert_eq!(course(cluster.as_ref(), addon.as_ref(), around), expected, "{why}");
        let in_terminating = if addon.is_some() { Course::LetGo } else { Course::Nothing };
        let around = Around { namespace_goes: true, ..around };
        assert_eq!(
            course(cluster.as_ref(), addon.as_ref(), around),
            in_terminating,
            "{why}, its namespace goes"
        );
    }
}

#[test]
fn deleted_cluster_addon_is_handed_over_or_let_go() {
    let wanted = Around { backing: Backing::Wanted, ..Around::default() };
    let removing = Around { removing: true, ..wanted };
    let deleted = owned(Some("a"), true);
    let committed = Owned { committed: true, ..deleted.clone() };
    for (addon, around, expected, why) in [
        (deleted.clone(), wanted, Course::HandOver, "there will be another one"),
        (deleted.clone(), Around::default(), Course::LetGo, "no ClusterStack has the class"),
        (committed.clone(), wanted, Course::LetGo, "its files go first"),
        (committed.clone(), removing, Course::Deliver, "no next one would know of the addon that is removed"),
        (committed, Around { removing: true, ..Around::default() }, Course::LetGo, "no plan lacks the addon"),
        (deleted.clone(), removing, Course::HandOver, "the next one goes on with the removal"),
        (Owned { held: false, ..deleted }, wanted, Course::Nothing, "another finalizer holds it"),
    ] {
        assert_eq!(course(Some(&present("a", false)), Some(&addon), around), expected, "{why}");
    }
}

#[test]
fn cluster_of_an_orphaned_stack_is_abandoned() {
    let orphaned = Around { backing: Backing::Orphaned, ..Around::default() };
    let (own, going) = (owned(Some("a"), false), owned(Some("a"), true));
    let (there, goes) = (present("a", false), present("a", true));
    for (cluster, addon, expected, why) in [
        (Some(&there), Some(&own), Course::Abandon, "its objects stay"),
        (Some(&there), Some(&going), Course::Abandon, "whoever else deletes the ClusterAddon"),
        (Some(&there), None, Course::Deliver, "it has no release"),
        (Some(&goes), Some(&own), Course::LetGo, "the Cluster goes"),
        (None, Some(&own), Course::LetGo, "the Cluster is gone"),
    ] {
        assert_eq!(course(cluster, addon, orphaned), expected, "{why}");
    }
}

#[test]
fn what_was_handed_over_is_let_go_with_the_cluster() {
    let left = Around { handed_over: true, backing: Backing::Wanted, ..Around::default() };
    assert_eq!(course(None, None, left), Course::LetGo);
    assert_eq!(course(Some(&present("a", true)), None, left), Course::LetGo);
    assert_eq!(course(Some(&present("a", false)), None, left), Course::Deliver);
}

#[test]
fn a_cluster_comes_back_once() {
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
        assert_eq!(came_back(&before, &cluster.unwrap()), expected, "{why}");
    }
}
