//! Tests of what waits for addons that Flux cannot wait for.

use serde_json::{Value, json};

use super::*;
use crate::addons::dependents::hold_dependents;

/// What has happened to an addon.
#[derive(Clone, Copy, PartialEq)]
enum Progress {
    /// It has no object.
    Absent,
    /// It is applied as an earlier plan had it.
    Earlier,
    /// Its object is as planned, and Flux has not applied it.
    Written,
    /// It was applied as planned, and fails now.
    Failing,
    /// It is applied as planned.
    Applied,
}

/// Sets the object of an addon, which is delivered, and what the status says about it.
fn set(scene: &mut Scene, addon: &str, progress: Progress) {
    let at = scene.objects.iter().position(|object| object.addon() == Some(addon)).unwrap();
    let found = scene.objects[at].clone();
    let planned = scene.fixture.plan("v1", &["c1"]);
    let mut object = planned.addons().find(|planned| planned.addon() == addon).unwrap().value.clone();
    let status = if progress == Progress::Failing { "False" } else { "True" };
    let ready = json!({"type": "Ready", "status": status, "reason": "Any", "message": "it is", "observedGeneration": 2});
    let observed = if progress == Progress::Written { 1 } else { 2 };
    let status = json!({
        "observedGeneration": observed, "lastAttemptedGeneration": observed, "lastAttemptedRevision": "1",
        "lastAppliedRevision": "1", "conditions": [ready],
        "history": [{"version": 1, "status": "deployed", "chartVersion": "1"}],
    });
    let mut status = status;
    if found.kind() == FluxKind::Kustomization {
        status["history"] = json!([]);
    }
    let metadata = json!({
        "uid": format!("c1.{addon}"), "generation": 2, "ownerReferences": found.object.owner_references,
    });
    merge(&mut object, &json!({"metadata": metadata, "status": status}));
    if progress == Progress::Earlier {
        merge(
            &mut object,
            &json!({"metadata": {"annotations": {labels::PLAN_DIGEST: "other"}}, "spec": {"interval": "1s"}}),
        );
    }
    let object: FluxObject = serde_json::from_value(object).unwrap();
    let kept = scene.addon["status"]["addons"].as_array_mut().unwrap();
    let kept = kept.iter_mut().find(|kept| kept["name"] == addon).unwrap();
    kept["expected"] = json!({"specDigest": object.spec_digest.to_string(), "version": "1"});
    scene.objects[at] = Arc::new(object);
    if progress == Progress::Absent {
        scene.objects.remove(at);
        let kept = scene.addon["status"]["addons"].as_array_mut().unwrap();
        kept.retain(|kept| kept["name"] != addon);
    }
}

fn scene(settings: &Value, states: [(&str, Progress); 3]) -> Scene {
    let mut scene = Scene::new();
    scene.cluster = cluster(&json!({"spec": {"topology": {"version": "v1.34.2"}}}));
    scene.fixture.stack.flux = serde_json::from_value(json!({"addons": settings})).unwrap();
    scene.release = scene.fixture.release("v1");
    scene.versions = states.map(|(addon, _)| (addon.parse().unwrap(), "1".to_owned())).into();
    scene.deliver(&["addon", "namespace"]);
    for (addon, progress) in states {
        set(&mut scene, addon, progress);
    }
    scene
}

/// Returns the addons that are held after the judgement, and asserts that the plan has all others.
fn held(scene: &Scene) -> Vec<(String, String)> {
    let mut facts = scene.facts();
    hold_dependents(&mut facts);
    let plan = facts.plan().unwrap().clone();
    let held = plan.held().iter().map(|held| {
        assert_eq!(held.hold.reason, Reason::WaitingForDependency);
        (held.addon.as_ref().unwrap().to_string(), held.hold.message.clone())
    });
    let held: Vec<_> = held.collect();
    let planned: Vec<&str> = plan.addons().map(PlannedObject::addon).collect();
    for addon in ["ccm", "cni", "policies"] {
        assert_ne!(planned.contains(&addon), held.iter().any(|(held, _)| held == addon), "{addon}");
    }
    held
}

#[test]
fn addon_waits_for_what_flux_cannot_wait_for() {
    use Progress::{Absent, Applied, Earlier, Failing, Written};
    let chart = json!({"cni": {"dependsOn": ["policies"]}});
    let manifests = json!({"policies": {"dependsOn": ["cni"]}});
    let chain = json!({"cni": {"dependsOn": ["policies"]}, "policies": {"dependsOn": ["ccm"]}});
    let charts = json!({"cni": {"dependsOn": ["ccm"]}});
    for (settings, cni, policies, ccm, expected, why) in [
        (&chart, Absent, Absent, Applied, vec!["cni"], "nothing is installed"),
        (&chart, Absent, Written, Applied, vec!["cni"], "Flux has not applied the manifests"),
        (&chart, Absent, Earlier, Applied, vec!["cni"], "the manifests are those of an earlier release"),
        (&chart, Absent, Failing, Applied, vec!["cni"], "the manifests fail"),
        (&chart, Absent, Applied, Applied, vec![], "the manifests are applied"),
        (&chart, Earlier, Earlier, Applied, vec!["cni"], "an upgrade of both"),
        (&chart, Earlier, Written, Applied, vec!["cni"], "an upgrade, and the manifests are on their way"),
        (&chart, Earlier, Applied, Applied, vec![], "an upgrade whose manifests are applied"),
        (&chart, Applied, Earlier, Applied, vec![], "nothing changes in the chart"),
        (&chart, Applied, Failing, Applied, vec![], "the manifests fail later"),
        (&chart, Failing, Applied, Absent, vec![], "others do not count"),
        (&manifests, Earlier, Earlier, Applied, vec!["policies"], "manifests wait for a chart"),
        (&manifests, Written, Absent, Applied, vec!["policies"], "manifests wait for a chart on its way"),
        (&manifests, Applied, Absent, Applied, vec![], "the chart is applied"),
        (&chain, Absent, Absent, Absent, vec!["cni", "policies"], "nothing is installed"),
        (&chain, Absent, Absent, Applied, vec!["cni"], "the first is applied"),
        (&chain, Absent, Applied, Failing, vec![], "the second is applied"),
        (&charts, Absent, Applied, Absent, vec![], "Flux waits itself"),
    ] {
        let found = held(&scene(settings, [("cni", cni), ("policies", policies), ("ccm", ccm)]));
        let names: Vec<&str> = found.iter().map(|(addon, _)| addon.as_str()).collect();
        assert_eq!(names, expected, "{why}: {settings}");
    }
}

#[test]
fn message_says_what_the_addon_waits_for() {
    use Progress::{Absent, Applied, Failing};
    let settings = json!({"cni": {"dependsOn": ["policies"]}});
    for (policies, expected) in [
        (
            Absent,
            "waits until policies is applied, as dependsOn says; policies: its object is not as planned yet",
        ),
        (Failing, "waits until policies is applied, as dependsOn says; policies: it is"),
    ] {
        let scene = scene(&settings, [("cni", Absent), ("policies", policies), ("ccm", Applied)]);
        assert_eq!(held(&scene), [("cni".to_owned(), expected.to_owned())]);
    }
}

/// The old form is uninstalled only when the new one may be written.
#[test]
fn addon_of_another_form_waits_with_the_old_one() {
    let settings = json!({"cni": {"dependsOn": ["policies"]}});
    for (policies, expected) in [(Progress::Earlier, vec!["cni"]), (Progress::Applied, vec![])] {
        let states = [("cni", Progress::Absent), ("policies", policies), ("ccm", Progress::Applied)];
        let mut scene = scene(&settings, states);
        scene.objects.push(flux_object("Kustomization", "cni", &json!({})));
        let found = held(&scene);
        assert_eq!(found.iter().map(|(addon, _)| addon.as_str()).collect::<Vec<_>>(), expected);
    }
}

/// Nothing would be written anyway.
#[test]
fn suspended_addons_wait_for_nothing() {
    let settings = json!({"cni": {"dependsOn": ["policies"]}});
    let states = [("cni", Progress::Absent), ("policies", Progress::Absent), ("ccm", Progress::Applied)];
    let mut scene = scene(&settings, states);
    scene.is_suspended = true;
    assert_eq!(held(&scene), []);
}
