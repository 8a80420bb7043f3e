//! Tests of what an upgrade of the Cluster waits for.

use serde_json::{Value, json};

use super::*;
use crate::api::labels::OPEN_UPGRADE_GATE;
use crate::foreign::capi::upgrade::UPGRADE_HOOK;
use crate::inputs::ReleaseInputs;

/// Returns a Cluster whose `cni` belongs before the upgrade, and is applied as planned. `changes` are those of its object.
pub(super) fn scene(changes: &Value) -> Scene {
    let mut scene = Scene::new();
    scene.cluster = cluster(&json!({"spec": {"topology": {"version": "v1.34.2"}}}));
    scene.fixture.before_upgrade = &["cni"];
    scene.fixture.phase = Phase::Waiting;
    scene.fixture.stack.flux =
        serde_json::from_value(json!({"addons": {"cni": {"driftDetection": "warn"}}})).unwrap();
    scene.release = scene.fixture.release("v1");
    scene.versions = [("cni".parse().unwrap(), "1".to_owned())].into();
    scene.deliver(&["addon", "namespace"]);
    for addon in scene.addon["status"]["addons"].as_array_mut().unwrap() {
        addon["expected"]["version"] = json!("1");
    }
    let plan = scene.fixture.plan("v1", &["c1"]);
    let mut object = plan.addons().find(|planned| addon_of(planned) == "cni").unwrap().value.clone();
    let ready =
        json!({"type": "Ready", "status": "True", "reason": "UpgradeSucceeded", "observedGeneration": 2});
    let history = [json!({"version": 1, "status": "deployed", "chartVersion": "1"})];
    let at = scene.objects.iter().position(|object| object.addon() == Some("cni")).unwrap();
    merge(
        &mut object,
        &json!({
            "metadata": {
                "uid": "c1.cni", "generation": 2, "ownerReferences": scene.objects[at].object.owner_references,
            },
            "status": {"observedGeneration": 2, "lastAttemptedGeneration": 2, "history": history, "conditions": [ready]},
        }),
    );
    merge(&mut object, changes);
    scene.objects[at] = Arc::new(serde_json::from_value(object).unwrap());
    scene
}

fn judged(scene: &Scene) -> Before {
    let facts = scene.facts();
    before_upgrade(&facts, &decide(&facts))
}

fn failed(condition: &str) -> Value {
    let condition = json!({
        "type": condition, "status": "False", "reason": "UpgradeFailed", "message": "timed out",
        "observedGeneration": 2,
    });
    json!({"status": {"conditions": [condition]}})
}

#[test]
fn upgrade_waits_for_what_belongs_before_it() {
    assert_eq!(judged(&scene(&json!({}))), Before::Done, "ccm and policies belong after it");
    let ready =
        json!({"type": "Ready", "status": "True", "reason": "UpgradeSucceeded", "observedGeneration": 2});
    let drift = json!({"type": "Drifted", "status": "True", "reason": "DriftDetected", "message": "Service/a", "observedGeneration": 2});
    let drifted = json!({"status": {"conditions": [ready, drift]}});
    assert_eq!(judged(&scene(&drifted)), Before::Done, "it was applied, and only reports drift");
    for (changes, expected, why) in [
        (failed("Ready"), "timed out", "the upgrade failed"),
        (json!({"metadata": {"generation": 3}}), "Flux", "Flux has not seen the last change"),
        (suspended(), "is suspended", "a user suspended it"),
        (json!({"spec": {"interval": "1s"}}), "not as planned", "a user changed it"),
        (json!({"status": null}), "", "Flux has not reported"),
        (
            json!({"status": {"history": [{"version": 1, "status": "deployed", "chartVersion": "0"}]}}),
            "",
            "old chart",
        ),
    ] {
        let Before::Behind(behind) = judged(&scene(&changes)) else { panic!("{why}") };
        let names: Vec<&str> = behind.iter().map(|behind| behind.addon.as_str()).collect();
        assert_eq!(names, ["cni"], "{why}");
        assert!(behind[0].why.contains(expected) && !behind[0].why.is_empty(), "{why}: {}", behind[0].why);
    }
}

#[test]
fn upgrade_waits_while_all_is_held() {
    let mut scene = scene(&json!({}));
    scene.is_suspended = true;
    let reason = |judged: Before| match judged {
        Before::Held(report) => report.reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(judged(&scene)), "Suspended");
    let facts = scene.facts_without_release();
    assert_eq!(reason(before_upgrade(&facts, &decide(&facts))), "ClassUnknown");
}

const AWAITED: &str = "annotation before-upgrade.hook.cluster.cluster.x-k8s.io/stackflux is set";

/// Returns a Cluster that is to be upgraded from the version before that of its release, with these changes.
fn due(more: &Value) -> Scene {
    let mut scene = scene(&json!({}));
    scene.control_plane = Some("v1.34.1");
    let mut changes = json!({
        "metadata": {"annotations": {UPGRADE_HOOK: ""}},
        "spec": {"topology": {"version": "v1.34.2"}},
        "status": {"conditions": [{"type": "TopologyReconciled", "status": "False", "message": AWAITED}]},
    });
    merge(&mut changes, more);
    scene.cluster = cluster(&changes);
    scene
}

/// Returns the changes of a Cluster that Cluster API has begun to upgrade.
fn begun() -> Value {
    let pending = json!({"runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade"});
    json!({"metadata": {"annotations": pending}, "status": {"conditions": []}})
}

fn without_applied_cni(mut scene: Scene) -> Scene {
    let at = scene.objects.iter().position(|object| object.addon() == Some("cni")).unwrap();
    scene.objects.remove(at);
    scene
}

/// Returns the phase, the change of the annotation, and the number of addons that are held.
fn decided(scene: &Scene) -> (Phase, Option<HookChange>, usize) {
    let mut facts = scene.facts();
    let contents = scene.fixture.contents("v1");
    let inputs = ReleaseInputs { stack: &scene.fixture.stack, release: &scene.release, contents: &contents };
    judge_waits(&mut facts, Some(&inputs)).unwrap();
    let held = facts.plan().unwrap().held().len();
    (facts.upgrade.phase, decide(&facts).hook, held)
}

#[test]
fn gate_opens_when_the_addons_are_applied() {
    let not_awaited = json!({"status": {"conditions": []}});
    let begun = begun();
    let forced = json!({"metadata": {"annotations": {OPEN_UPGRADE_GATE: "v1.34.2"}}});
    let without_hook = json!({"metadata": {"annotations": null}});
    let rows: Vec<(Scene, _, &str)> = vec![
        (due(&json!({})), (Phase::Open, Some(HookChange::Remove), 2), "all is applied"),
        (due(&not_awaited), (Phase::Open, Some(HookChange::Remove), 2), "whether Cluster API waits or not"),
        (due(&without_hook), (Phase::Open, None, 2), "it is removed"),
        (without_applied_cni(due(&json!({}))), (Phase::Waiting, None, 2), "cni is not applied"),
        (
            without_applied_cni(due(&without_hook)),
            (Phase::Waiting, Some(HookChange::Set), 2),
            "a user removed it",
        ),
        (without_applied_cni(due(&not_awaited)), (Phase::Requested, None, 3), "nothing moves"),
        (without_applied_cni(due(&begun)), (Phase::Upgrading, None, 2), "it cannot be taken back"),
        (
            without_applied_cni(due(&forced)),
            (Phase::Open, None, 2),
            "a user opens it, whatever the addons are",
        ),
    ];
    for (scene, expected, why) in rows {
        assert_eq!(decided(&scene), expected, "{why}");
    }
}

#[test]
fn cluster_that_does_not_wait_has_no_annotation() {
    let (with, without) = (due(&json!({})).cluster, due(&json!({"metadata": {"annotations": null}})).cluster);
    let change = |cluster: &Cluster, gate, current: &str| {
        Upgrade::new(cluster, gate, ControlPlane::Version(current.to_owned())).hook_change(cluster)
    };
    for current in ["v1.34.1", "v1.34.2"] {
        for gate in [Gate::Off, Gate::NotOurs] {
            assert_eq!(change(&with, gate, current), Some(HookChange::Remove));
            assert_eq!(change(&without, gate, current), None);
        }
        assert_eq!(change(&with, Gate::Unknown, current), None, "it may be another shard's");
        assert_eq!(change(&without, Gate::Unknown, current), None);
        assert_eq!(change(&with, Gate::Enforced, current), None);
        assert_eq!(change(&without, Gate::Enforced, current), Some(HookChange::Set));
    }
}

/// What the API server has may differ from what the decision was made from.
#[test]
fn opening_is_confirmed_by_what_the_api_server_has() {
    let scene = due(&json!({}));
    let is_confirmed = |now: &Scene| is_opening_confirmed(&scene.cluster, &now.facts());
    assert!(is_confirmed(&due(&json!({}))));
    let rows: Vec<(Scene, &str)> = vec![
        (without_applied_cni(due(&json!({}))), "an object is gone"),
        (due(&json!({"metadata": {"uid": "other"}})), "another Cluster has the name"),
        (due(&deleted()), "it is being deleted"),
        (due(&json!({"spec": {"paused": true}})), "it is paused"),
        (due(&json!({"spec": {"topology": {"classRef": {"name": "docker-demo-1-34-v2"}}}})), "another class"),
        (due(&json!({"spec": {"topology": {"version": "v1.34.3"}}})), "another version"),
        (due(&json!({"spec": {"topology": {"version": "v1.34.1"}}})), "it went back"),
        (due(&begun()), "Cluster API has begun"),
    ];
    for (now, why) in rows {
        assert!(!is_confirmed(&now), "{why}");
    }
}

#[test]
fn unreadable_control_plane_has_a_stand_in() {
    let control_plane =
        json!({"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "c1"});
    let inputs = |more: &Value, object: Option<&Value>| {
        let mut changes = json!({
            "metadata": {"generation": 3},
            "spec": {"topology": {"version": "v1.35.0"}, "controlPlaneRef": control_plane},
        });
        merge(&mut changes, more);
        ClusterInputs::new(cluster(&changes), |_| object)
    };
    let version = |version: &str| ControlPlane::Version(version.to_owned());
    let found = json!({"spec": {"version": "v1.34.0"}});
    assert_eq!(ControlPlane::of(&inputs(&json!({}), Some(&found)), Some("v1.33.0")), version("v1.34.0"));
    let instead = |inputs: &ClusterInputs| match ControlPlane::of(inputs, Some("v1.33.0")) {
        ControlPlane::Unreadable { instead, .. } => instead.unwrap(),
        other => panic!("{other:?}"),
    };
    let reconciled = |generation: u8| {
        let condition =
            json!({"type": "TopologyReconciled", "status": "True", "observedGeneration": generation});
        json!({"status": {"conditions": [condition]}})
    };
    assert_eq!(instead(&inputs(&json!({}), None)), "v1.33.0", "that of the applied release");
    assert_eq!(instead(&inputs(&json!({}), Some(&json!({"spec": {}})))), "v1.33.0");
    assert_eq!(instead(&inputs(&reconciled(3), None)), "v1.35.0", "Cluster API is done");
    assert_eq!(instead(&inputs(&reconciled(2), None)), "v1.33.0", "it was done with an earlier version");
    let unnamed = inputs(&json!({"spec": {"controlPlaneRef": null}}), None);
    assert_eq!(ControlPlane::of(&unnamed, Some("v1.33.0")), ControlPlane::Unnamed);

    // Without a stand-in, an initialized control plane may have any version.
    let new = json!({"status": {"initialization": {"controlPlaneInitialized": false}}});
    for (changes, expected) in [(json!({}), Phase::Requested), (new, Phase::Steady)] {
        let inputs = inputs(&changes, None);
        let upgrade = Upgrade::new(&inputs.cluster, Gate::Enforced, ControlPlane::of(&inputs, None));
        assert_eq!(upgrade.phase, expected, "{changes}");
        let says = upgrade.report(&inputs.cluster).unreadable.unwrap();
        assert_eq!(says.contains("waits for its upgrade"), expected == Phase::Requested, "{says}");
    }
}

/// Cluster API before 1.12 waits for the annotation while an earlier upgrade is not over.
#[test]
fn next_upgrade_waits_before_the_end_of_an_earlier_one() {
    let says = |message: &str| {
        let condition = json!({"type": "TopologyReconciled", "status": "False", "message": message});
        json!({"conditions": [condition]})
    };
    let waits = format!("hook \"BeforeClusterUpgrade\" is blocking: annotation [{UPGRADE_HOOK}] is set");
    let pending = ("runtime.cluster.x-k8s.io/pending-hooks", "AfterClusterUpgrade");
    for (hook, message, current, expected) in [
        (Some("v1.34.0"), waits.as_str(), "v1.34.0", Phase::Waiting),
        (Some("v1.34.0"), "KubeadmControlPlane rolling out", "v1.34.0", Phase::Upgrading),
        (None, waits.as_str(), "v1.34.0", Phase::Upgrading),
        (Some("v1.34.0"), waits.as_str(), "v1.35.0", Phase::Upgrading),
    ] {
        let annotations = json!({UPGRADE_HOOK: hook, pending.0: pending.1});
        let cluster = cluster(&json!({
            "metadata": {"annotations": annotations}, "spec": {"topology": {"version": "v1.35.0"}},
            "status": says(message),
        }));
        let upgrade = Upgrade::new(&cluster, Gate::Enforced, ControlPlane::Version(current.to_owned()));
        assert_eq!(upgrade.phase, expected, "{hook:?} {message} {current}");
    }
}

#[test]
fn end_of_an_upgrade_is_asked_for_while_the_addons_are_older() {
    let found = due(&json!({})).cluster;
    let seems = |gate, version: &str, applied: Option<&str>| {
        Upgrade::new(&found, gate, ControlPlane::Version(version.to_owned())).seems_ended(&found, applied)
    };
    assert!(seems(Gate::Enforced, "v1.34.2", Some("v1.34.1")));
    assert!(seems(Gate::Enforced, "v1.34.2", None), "the release is not known");
    assert!(!seems(Gate::Enforced, "v1.34.2", Some("v1.34.2")), "another class at the same version");
    assert!(!seems(Gate::Enforced, "v1.34.1", Some("v1.34.1")), "it has not begun");
    assert!(!seems(Gate::Off, "v1.34.2", Some("v1.34.1")), "nothing waits");

    let seems = |hook: &str| {
        let found = due(&json!({"metadata": {"annotations": {UPGRADE_HOOK: hook}}})).cluster;
        let upgrade = Upgrade::new(&found, Gate::Enforced, ControlPlane::Version("v1.34.2".to_owned()));
        upgrade.seems_ended(&found, Some("v1.34.2"))
    };
    assert!(seems("v1.34.1"), "the annotation of before");
    assert!(!seems("v1.34.2"));
}

#[test]
fn end_of_an_upgrade_is_confirmed_by_the_same_cluster() {
    let cached = due(&json!({})).cluster;
    assert!(Upgrade::is_end_confirmed(&cached, Some(&cached)));
    assert!(!Upgrade::is_end_confirmed(&cached, None), "it is gone");
    for changes in [
        json!({"metadata": {"annotations": {"runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade"}}}),
        json!({"metadata": {"uid": "other"}}),
        json!({"metadata": {"annotations": {UPGRADE_HOOK: "v1.34.2"}}}),
        json!({"metadata": {"annotations": null}}),
        json!({"spec": {"topology": {"version": "v1.34.3"}}}),
        json!({"spec": {"topology": {"classRef": {"name": "docker-demo-1-34-v2"}}}}),
    ] {
        assert!(!Upgrade::is_end_confirmed(&cached, Some(&due(&changes).cluster)), "{changes}");
    }
}

/// A version that is none holds no addon of the Cluster, but no gate opens for it.
#[test]
fn gate_stays_closed_for_a_release_of_another_version() {
    for version in ["v1.34.3", "1.34", "newest"] {
        let scene = due(&json!({"spec": {"topology": {"version": version}}}));
        let (phase, change, _) = decided(&scene);
        assert_eq!((phase, change), (Phase::Waiting, None), "{version}");
    }
}
