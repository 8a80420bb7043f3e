//! The point of its course at which a Cluster is according to its status.

use serde_json::{Value, json};

use super::*;
use crate::inputs::ReleaseInputs;
use crate::release::{Action, Hook, Stage};

const V1: &str = "docker-demo-1-34-v1";
const V2: &str = "docker-demo-1-34-v2";

/// A Cluster of the first release, whose list before an upgrade deletes `cni` and installs it again.
fn scene(status: &Value) -> Scene {
    let mut scene = Scene::new();
    scene.cluster = cluster(&json!({"spec": {"topology": {"version": "v1.34.2"}}}));
    let stage = |action| Stage { addon: "cni".parse().unwrap(), action };
    let list = vec![stage(Action::Delete), stage(Action::Apply)];
    scene.release.stages = BTreeMap::from([(Hook::BeforeClusterUpgrade, list)]);
    scene.addon = json!({"status": status});
    scene
}

#[test]
fn status_decides_where_a_cluster_is() {
    let stages =
        json!([{"name": "cni", "action": "delete", "phase": "done"}, {"name": "cni", "phase": "Pending"}]);
    let at = |desired: &str, of: &str, applied: Value| json!({"desired": desired, "desiredNamespace": of, "applied": applied, "appliedNamespace": "stacks"});
    let running =
        |release: Value| json!({"release": release, "hook": "BeforeClusterUpgrade", "stages": stages});
    let new = Some((Hook::AfterControlPlaneInitialized, 0));
    let before = |done: usize| Some((Hook::BeforeClusterUpgrade, done));
    for (status, expected, why) in [
        (json!({}), new, "nothing was delivered"),
        (json!({"release": at(V1, "stacks", json!(V1))}), None, "this release was delivered"),
        (json!({"release": at(V1, "stacks", json!(V2))}), before(0), "another one was"),
        (running(at(V1, "stacks", json!(V2))), before(1), "it is on its way"),
        (running(at(V2, "stacks", json!(V2))), before(0), "the progress is that to another release"),
        (running(at(V1, "other", json!(V2))), before(0), "the progress is that to one of another namespace"),
        (json!({"release": at(V2, "stacks", json!(V1))}), None, "the other release has not begun"),
        (running(at(V2, "stacks", json!(V1))), before(0), "the addons may be those of the other release"),
        (running(at(V1, "stacks", json!(V1))), before(1), "it is on its way back"),
    ] {
        let scene = scene(&status);
        let found = scene.course();
        // After the deletion the addon is applied.
        let first = found.step(&scene.release).first();
        let done = usize::from(first.is_some_and(|stage| stage.action == Action::Apply));
        assert_eq!(found.hook().map(|hook| (hook, done)), expected, "{why}");
    }
}

/// An addon that waits for a stage says what the first addon of that stage lacks.
#[test]
fn waiting_addon_names_what_it_waits_for() {
    let mut scene = scene(&json!({"release": {"applied": V2, "desired": V1}}));
    let stage = |addon: &str| Stage { addon: addon.parse().unwrap(), action: Action::Apply };
    scene.release.stages = BTreeMap::from([
        (Hook::AfterControlPlaneInitialized, ["cni", "ccm", "policies"].map(stage).to_vec()),
        (Hook::BeforeClusterUpgrade, vec![stage("cni")]),
    ]);
    let contents = scene.fixture.contents("v1");
    let inputs = ReleaseInputs { stack: &scene.fixture.stack, release: &scene.release, contents: &contents };
    let mut facts = scene.facts();
    let Target::Available(available) = &mut facts.target else { panic!() };
    available.plan = Arc::new(crate::plan::cluster(&inputs, &available.inputs, &available.course).unwrap());
    judge_waits(&mut facts, Some(&inputs)).unwrap();
    let held = facts.plan().unwrap().held();
    assert_eq!(held.len(), 2, "{held:?}");
    for held in held {
        let expected = "stays as it is until all addons that move first, at BeforeClusterUpgrade, are applied; cni: its \
                        object is not as planned yet";
        assert_eq!(held.hold.message, expected, "{:?}", held.addon);
    }
}

/// What could not be installed again is not deleted.
#[test]
fn held_addon_is_not_deleted_by_a_stage() {
    let invalid = json!({"addons": {"cni": {"dependsOn": ["nothing"]}}});
    for (settings, expected) in
        [(json!({}), "cni Delete Some(AddonRemoved)"), (invalid, "cni Blocked Some(DependencyInvalid)")]
    {
        let mut scene = scene(&json!({"release": {"applied": V2, "desired": V1}}));
        scene.fixture.stack.flux = serde_json::from_value(settings).unwrap();
        scene.objects = vec![flux_object("HelmRelease", "cni", &json!({}))];
        let mut facts = scene.facts();
        let contents = scene.fixture.contents("v1");
        let inputs =
            ReleaseInputs { stack: &scene.fixture.stack, release: &scene.release, contents: &contents };
        let Target::Available(available) = &mut facts.target else { panic!() };
        available.plan =
            Arc::new(crate::plan::cluster(&inputs, &available.inputs, &available.course).unwrap());
        let receipts = Receipts::if_accepted(&facts, &decide(&facts));
        let found = prune_candidates(&facts, &receipts);
        let told = found.iter().map(|of| {
            let hold = of.hold.as_ref().map(|hold| hold.reason);
            format!("{} {:?} {hold:?}", of.addon, of.decision)
        });
        let found: Vec<String> = told.collect();
        assert_eq!(found, [expected]);
    }
}

/// A label that another client changed does not hide an object from the stage that deletes it.
#[test]
fn stage_deletes_an_object_with_another_label() {
    let mut scene = scene(&json!({"release": {"applied": V2, "desired": V1}}));
    let label = json!({"metadata": {"labels": {labels::ADDON: "other"}}});
    scene.objects = vec![flux_object("HelmRelease", "cni", &label)];
    let facts = scene.facts();
    let found = prune_candidates(&facts, &Receipts::if_accepted(&facts, &decide(&facts)));
    assert_eq!(found.iter().map(|of| of.addon.as_str()).collect::<Vec<_>>(), ["cni"]);
}
