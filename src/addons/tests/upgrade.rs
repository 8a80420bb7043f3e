//! Tests of what an upgrade of the Cluster waits for.

use serde_json::{Value, json};

use super::*;
use crate::gate::upgrade::Phase;

/// Returns a Cluster whose `cni` belongs before the upgrade, and is applied as planned. `changes` are those of its object.
fn scene(changes: &Value) -> Scene {
    let mut scene = Scene::new();
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
    assert_eq!(judged(&scene), Before::Held);
    let facts = scene.facts_without_release();
    assert_eq!(before_upgrade(&facts, &decide(&facts)), Before::Held);
}
