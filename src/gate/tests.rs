use serde_json::json;

use super::*;

fn present(uid: &str, deleting: bool) -> Present {
    Present { uid: uid.to_owned(), deleting }
}

fn owned(uid: Option<&str>, deleting: bool) -> Owned {
    Owned { cluster_uid: uid.map(str::to_owned), deleting }
}

#[test]
fn what_to_do_with_a_cluster() {
    for (cluster, addon, expected, why) in [
        (None, None, Course::Nothing, "there is nothing"),
        (Some(present("a", false)), None, Course::Deliver, "a new one"),
        (Some(present("a", true)), None, Course::Nothing, "it goes, and nothing is ours"),
        (Some(present("a", false)), Some(owned(Some("a"), false)), Course::Deliver, "its own"),
        (
            Some(present("a", false)),
            Some(owned(None, false)),
            Course::Deliver,
            "of the Go operator, without a UID",
        ),
        (
            Some(present("b", false)),
            Some(owned(Some("a"), false)),
            Course::LetGo,
            "of an earlier one of its name",
        ),
        (Some(present("a", true)), Some(owned(Some("a"), false)), Course::LetGo, "it goes"),
        (
            Some(present("a", false)),
            Some(owned(Some("a"), true)),
            Course::LetGo,
            "somebody deletes the ClusterAddon",
        ),
        (None, Some(owned(Some("a"), false)), Course::LetGo, "it is gone"),
        (None, Some(owned(None, true)), Course::LetGo, "both go"),
    ] {
        assert_eq!(course(cluster.as_ref(), addon.as_ref(), false), expected, "{why}");
        let in_terminating = if addon.is_some() { Course::LetGo } else { Course::Nothing };
        assert_eq!(
            course(cluster.as_ref(), addon.as_ref(), true),
            in_terminating,
            "{why}, its namespace goes"
        );
    }
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
