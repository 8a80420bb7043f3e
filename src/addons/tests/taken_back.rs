//! Tests of the status that precedes the writes for a Cluster.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::plan::PlannedObject;
use crate::plan::write::RepairState;

/// Returns a Cluster with all addons of the release, and a status that is ready.
fn delivered() -> Scene {
    let mut scene = Scene::new();
    scene.deliver(&["addon", "namespace"]);
    let ready = json!({
        "ready": true,
        "release": {"desired": "docker-demo-1-34-v0", "applied": "docker-demo-1-34-v0", "lastKnownGood": "docker-demo-1-34-v0"},
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "Applied", "message": "", "lastTransitionTime": NOW},
            {"type": "Delivered", "status": "True", "reason": "Delivered", "message": "", "lastTransitionTime": NOW},
        ],
    });
    merge(&mut scene.addon, &json!({"status": ready}));
    scene
}

/// Replaces the object of an addon by one with these changes.
fn change(scene: &mut Scene, addon: &str, changes: &Value) {
    let at = scene.objects.iter().position(|object| object.addon() == Some(addon)).unwrap();
    let plan = scene.fixture.plan("v1", &["c1"]);
    let mut object = plan.addons().find(|planned| addon_of(planned) == addon).unwrap().value.clone();
    let owners = scene.objects[at].object.owner_references.clone();
    merge(&mut object, &json!({"metadata": {"uid": "another", "ownerReferences": owners}}));
    merge(&mut object, changes);
    scene.objects[at] = Arc::new(serde_json::from_value(object).unwrap());
}

fn taken_back(scene: &Scene) -> Option<ClusterAddonStatus> {
    let facts = scene.facts();
    ready_taken_back(&facts, &decide(&facts))
}

/// Returns the message of `Delivered`; `None` if it stays.
fn message(scene: &Scene) -> Option<String> {
    taken_back(scene).map(|status| status.conditions[1].message.clone())
}

fn earlier(spec: &Value) -> Value {
    json!({"metadata": {"annotations": {labels::PLAN_DIGEST: "sha256:0"}}, "spec": spec})
}

fn by_git(scene: &mut Scene) {
    let git = json!({"mode": "Git", "git": {"url": "https://git.example.org/fleet.git", "branch": "main", "path": "fleet"}});
    scene.fixture.stack.delivery = serde_json::from_value(git).unwrap();
}

#[test]
fn ready_is_taken_back_before_other_content() {
    let mut scene = delivered();
    assert_eq!(taken_back(&scene), None, "all is as planned");
    change(&mut scene, "cni", &earlier(&json!({"values": {"earlier": true}})));
    let status = taken_back(&scene).unwrap();
    let [ready, delivered] = status.conditions.as_slice() else { panic!("{status:?}") };
    for condition in [ready, delivered] {
        assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("Unknown", "Progressing"));
    }
    assert_eq!(
        ready.message,
        "Delivered: the operator is delivering docker-demo-1-34-v1: changed addons: cni"
    );
    assert!(!status.ready);
    let release = status.release.unwrap();
    assert_eq!(release.desired.as_deref(), Some("docker-demo-1-34-v1"));
    assert_eq!(release.desired_namespace.as_deref(), Some("stacks"));
    assert_eq!(release.applied.as_deref(), Some("docker-demo-1-34-v0"));
    assert_eq!(status.addons.len(), 3, "the rest stays");
    scene.addon["status"]["ready"] = json!(false);
    assert_eq!(taken_back(&scene), None, "it is not ready");
}

/// The cache does not know what the API server has, or will have.
#[test]
fn status_under_way_is_superseded_before_other_content() {
    let mut scene = delivered();
    change(&mut scene, "cni", &earlier(&json!({"values": {"earlier": true}})));
    scene.addon["status"] = serde_json::to_value(taken_back(&scene).unwrap()).unwrap();
    scene.is_status_under_way = true;
    for passed in 1..3 {
        let status = taken_back(&scene).expect("the last status may be ready");
        let times = status.conditions.iter().map(|condition| condition.last_transition_time.0);
        let present: Timestamp = NOW.parse().unwrap();
        assert!(
            times.into_iter().all(|time| time == present + SignedDuration::from_secs(passed)),
            "{status:?}"
        );
        scene.addon["status"] = serde_json::to_value(status).unwrap();
    }
    let mut scene = delivered();
    scene.is_status_under_way = true;
    assert_eq!(taken_back(&scene), None, "no content is written");
}

/// Otherwise two controllers that disagree would make a status of each reconcile.
#[test]
fn repair_takes_ready_back_unless_it_waits() {
    let mut scene = delivered();
    change(&mut scene, "cni", &json!({"spec": {"interval": "1s"}}));
    let mut facts = scene.facts();
    assert!(ready_taken_back(&facts, &decide(&facts)).is_some());
    let Target::Available(available) = &facts.target else { panic!("it has a release") };
    let next = Some((1, facts.snapshot.now));
    let waits = |planned: &PlannedObject| (planned.id.clone(), RepairState { digest: None, next });
    facts.snapshot.repairs = available.planned().map(waits).collect();
    assert_eq!(ready_taken_back(&facts, &decide(&facts)), None);
}

#[test]
fn writes_that_change_no_spec_leave_ready() {
    let mut scene = delivered();
    change(&mut scene, "cni", &earlier(&json!({})));
    assert_eq!(taken_back(&scene), None, "only metadata");
    change(
        &mut scene,
        "cni",
        &json!({"metadata": {"labels": {labels::ADDON: "cni", labels::CLUSTER_NAME: null}}}),
    );
    assert_eq!(taken_back(&scene), None, "a label");
    scene.deliver(&["addon"]);
    merge(&mut scene.addon, &json!({"status": {"ready": true}}));
    assert_eq!(taken_back(&scene), None, "an owner is missing");
}

#[test]
fn each_way_of_changing_content_takes_ready_back() {
    let about = |addons: &str| {
        Some(format!("the operator is delivering docker-demo-1-34-v1: changed addons: {addons}"))
    };
    let mut scene = delivered();
    change(&mut scene, "policies", &json!({"spec": {"path": "foreign"}}));
    assert_eq!(message(&scene), about("policies"), "another field manager changed it");
    scene.objects.retain(|object| object.addon() != Some("cni"));
    assert_eq!(message(&scene), about("cni, policies"), "the release has another addon");
    scene.is_suspended = true;
    assert_eq!(message(&scene), None, "nothing is written");

    let mut scene = delivered();
    scene.fixture.edit_cluster = |cluster| cluster["spec"]["controlPlaneEndpoint"]["port"] = json!(7443);
    assert_eq!(message(&scene), about("ccm"), "a value is rendered newly");

    let mut scene = delivered();
    by_git(&mut scene);
    change(&mut scene, "cni", &earlier(&json!({"values": {"earlier": true}})));
    assert_eq!(message(&scene), None, "the status will name the committing ClusterStack first");
    scene.addon["status"]["committedBy"] = json!("stacks/demo");
    assert_eq!(message(&scene), about("cni"), "a commit");
}

#[test]
fn nothing_is_committed_before_the_status_names_the_committer() {
    let mut scene = delivered();
    by_git(&mut scene);
    let is_named = |scene: &Scene| {
        let facts = scene.facts();
        let Target::Available(available) = &facts.target else { panic!() };
        is_committer_named(&facts.snapshot.addon, available)
    };
    assert!(!is_named(&scene), "its first commit");
    for (committer, expected) in [("stacks/demo", true), ("stacks/other", false), ("other/demo", false)] {
        merge(&mut scene.addon, &json!({"status": {"committedBy": committer}}));
        assert_eq!(is_named(&scene), expected, "{committer}");
    }
}
