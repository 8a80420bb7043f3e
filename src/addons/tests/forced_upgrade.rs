//! Tests of the upgrades of addons that are repeated after that of the Cluster.

use serde_json::{Value, json};

use super::upgrade::scene;
use super::*;
use crate::api::labels::{FORCE_AT, REPEAT_AFTER, REQUESTED_AT};

/// The version of the Cluster before.
const OLD: &str = "v1.34.1";
/// The version of the Cluster.
const NEW: &str = "v1.34.2";
/// The upgrade of the Cluster: release and version.
const UPGRADE: &str = "docker-demo-1-34-v1/v1.34.2";
/// The upgrade before.
const EARLIER: &str = "docker-demo-1-34-v0/v1.34.1";

/// Returns annotations of an object of an addon.
fn annotated(annotations: &[(&str, &str)]) -> Value {
    let annotations: serde_json::Map<String, Value> =
        annotations.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    json!({"metadata": {"annotations": annotations}})
}

/// Returns a Cluster with this version of its control plane, whose topology is reconciled. `cni`, with these changes of its object,
/// belongs before and after the upgrade.
fn twice(control_plane: &'static str, changes: &[&Value]) -> Scene {
    let mut all = json!({});
    for change in changes {
        merge(&mut all, change);
    }
    let mut scene = scene(&all);
    scene.control_plane = Some(control_plane);
    scene.fixture.phase = if control_plane == NEW { Phase::Steady } else { Phase::Waiting };
    scene.fixture.after_upgrade = &["cni"];
    scene.cluster = reconciled(&json!({}));
    scene
}

fn reconciled(annotations: &Value) -> Cluster {
    let condition = json!({"type": "TopologyReconciled", "status": "True", "observedGeneration": 7});
    cluster(&json!({
        "metadata": {"annotations": annotations, "generation": 7},
        "spec": {"topology": {"version": NEW}}, "status": {"conditions": [condition]},
    }))
}

fn decided(mut scene: Scene) -> Repeats {
    scene.release = scene.fixture.release("v1");
    let repeats = decide(&scene.facts()).repeats;
    assert_eq!(repeats.upgrade, UPGRADE);
    repeats
}

fn names<'o>(objects: impl IntoIterator<Item = &'o Arc<FluxObject>>) -> Vec<&'o str> {
    objects.into_iter().map(|object| object.name()).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn addon_of_both_hooks_is_noted_before_the_upgrade() {
    let noted = |changes: &[&Value]| decided(twice(OLD, changes)).noted;
    assert_eq!(names(&noted(&[])), ["c1.cni"]);
    assert_eq!(names(&noted(&[&annotated(&[(REPEAT_AFTER, UPGRADE)])])), NONE, "it is noted");
    assert_eq!(names(&noted(&[&annotated(&[(REPEAT_AFTER, EARLIER)])])), ["c1.cni"], "an earlier upgrade");
    assert_eq!(names(&noted(&[&json!({"spec": {"interval": "1s"}})])), NONE, "it has not moved yet");
    assert_eq!(names(&noted(&[&suspended()])), NONE, "a user suspended it");
    let mut before_alone = twice(OLD, &[]);
    before_alone.fixture.after_upgrade = &[];
    assert_eq!(names(&decided(before_alone).noted), NONE, "it belongs before the upgrade alone");
    let mut after_alone = twice(OLD, &[]);
    after_alone.fixture.before_upgrade = &[];
    assert_eq!(names(&decided(after_alone).noted), NONE, "it belongs after the upgrade alone");
}

/// Returns what is decided about an addon with these changes of its object: due, done, or neither.
fn after(changes: &[&Value]) -> &'static str {
    let repeats = decided(twice(NEW, changes));
    assert!(repeats.noted.is_empty());
    match (repeats.due.as_slice(), repeats.done.as_slice(), repeats.next) {
        ([(object, request)], [], Some(_)) => {
            assert_eq!((object.name(), request.as_str()), ("c1.cni", format!("{UPGRADE}/1/{NOW}").as_str()));
            "due"
        }
        ([], [_], None) => "done",
        ([], [], Some(_)) => "waits",
        ([], [], None) => "nothing",
        other => panic!("{other:?}"),
    }
}

#[test]
fn noted_addon_is_upgraded_once_more_after_the_upgrade() {
    let noted = annotated(&[(REPEAT_AFTER, UPGRADE)]);
    let at = |time: &str| format!("{UPGRADE}/1/{time}");
    let asked = |request: &str| annotated(&[(REQUESTED_AT, request), (FORCE_AT, request)]);
    let handled = |request: &str| json!({"status": {"lastHandledForceAt": request}});
    let helm = |revision: i64, action: &str| json!({"status": {"history": [{"version": revision, "status": "deployed", "chartVersion": "1", "action": action}]}});
    let (now, long_ago) = (at(NOW), at("2026-01-01T00:00:00Z"));
    let running =
        json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown", "observedGeneration": 2}]}});
    for (changes, expected, why) in [
        (vec![], "nothing", "the Cluster was created with this version"),
        (vec![annotated(&[(REPEAT_AFTER, EARLIER)])], "nothing", "an earlier upgrade"),
        (vec![noted.clone()], "due", "it moved before the upgrade"),
        (vec![noted.clone(), asked(&format!("{EARLIER}/1/{NOW}"))], "due", "asked after an earlier upgrade"),
        (vec![noted.clone(), asked("2026-11-20T10:00:00Z")], "due", "a user forced an upgrade before"),
        (vec![noted.clone(), suspended()], "nothing", "a user suspended it"),
        (
            vec![noted.clone(), json!({"spec": {"interval": "1s"}})],
            "nothing",
            "it is written, and Flux upgrades it",
        ),
        (vec![noted.clone(), running], "nothing", "Flux works on it"),
        (vec![noted.clone(), asked(&now)], "waits", "Flux is asked"),
        (vec![noted.clone(), asked(&long_ago)], "waits", "Flux has not seen it for long"),
        (vec![noted.clone(), asked(&now), handled(&now)], "waits", "handled without a new revision"),
        (vec![noted.clone(), asked(&long_ago), handled(&long_ago)], "due", "the same, long ago"),
        (
            vec![noted.clone(), annotated(&[(FORCE_AT, &long_ago), (REQUESTED_AT, "x")]), handled(&long_ago)],
            "due",
            "another request replaced it",
        ),
        (vec![noted.clone(), asked(&now), handled(&now), helm(2, "upgrade")], "done", "Helm has upgraded"),
    ] {
        assert_eq!(after(&changes.iter().collect::<Vec<_>>()), expected, "{why}");
    }
    let of_another_release = format!("docker-demo-1-34-v0/{NEW}");
    let again = twice(NEW, &[&annotated(&[(REPEAT_AFTER, &of_another_release)])]);
    let due = decided(again).due;
    assert_eq!(due.len(), 1, "the class has changed since the upgrade");
    assert_eq!(due[0].1, format!("{of_another_release}/1/{NOW}"));
    let rolled_back = [&noted, &asked(&now), &handled(&now), &helm(3, "rollback")];
    assert_eq!(after(&rolled_back), "waits", "Helm has rolled it back");
}

#[test]
fn nothing_is_repeated_before_the_end_of_the_upgrade() {
    let noted = annotated(&[(REPEAT_AFTER, UPGRADE)]);
    let mut begun = twice(NEW, &[&noted]);
    begun.cluster = reconciled(&json!({"runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade"}));
    begun.fixture.phase = Phase::Upgrading;
    let mut unreconciled = twice(NEW, &[&noted]);
    unreconciled.cluster = cluster(&json!({"spec": {"topology": {"version": NEW}}}));
    for (scene, why) in [
        (begun, "the nodes do not have the version yet"),
        (unreconciled, "Cluster API is not done"),
        (twice(OLD, &[&noted]), "the control plane does not have it"),
    ] {
        let repeats = decided(scene);
        assert_eq!((names(&repeats.noted), repeats.due), (vec![], vec![]), "{why}");
    }
}
