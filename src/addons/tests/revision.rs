//! Tests of the revision of a Helm release that does not have the planned content.

use serde_json::{Value, json};

use super::*;

/// Returns a Cluster whose `cni` refuses unknown values, with the object of `cni` at a revision of Helm, and the receipts after
/// it is written. `changes` are the differences from the plan before the write.
fn scene(changes: &Value, revision: i64, schema: &'static str) -> Scene {
    let mut scene = Scene::new();
    scene.fixture.more = vec![("cluster-addon/cni/values.schema.json".to_owned(), schema)];
    scene.release = scene.fixture.release("v1");
    scene.deliver(&["addon", "namespace"]);
    let plan = scene.fixture.plan("v1", &["c1"]);
    let cni = planned_addons(&plan).find(|planned| addon_of(planned) == "cni").unwrap();
    scene.versions = [("cni".parse().unwrap(), "1".to_owned())].into();
    set(&mut scene, cni.value.clone(), changes, revision);
    scene
}

/// Replaces the object of `cni`.
fn set(scene: &mut Scene, mut object: Value, changes: &Value, revision: i64) {
    let ready =
        json!({"type": "Ready", "status": "True", "reason": "UpgradeSucceeded", "observedGeneration": 2});
    let history = [json!({"version": revision, "status": "deployed", "chartVersion": "1"})];
    merge(
        &mut object,
        &json!({
            "metadata": {"uid": "c1.cni", "generation": 2},
            "status": {"observedGeneration": 2, "lastAttemptedGeneration": 2, "history": history, "conditions": [ready]},
        }),
    );
    let at = scene.objects.iter().position(|object| object.addon() == Some("cni")).unwrap();
    let owners = scene.objects[at].object.owner_references.clone();
    merge(&mut object, &json!({"metadata": {"ownerReferences": owners}}));
    merge(&mut object, changes);
    scene.objects[at] = Arc::new(serde_json::from_value(object).unwrap());
}

/// Returns the planned object of `cni` as it is.
fn planned(scene: &Scene) -> Value {
    let plan = scene.fixture.plan("v1", &["c1"]);
    planned_addons(&plan).find(|planned| addon_of(planned) == "cni").unwrap().value.clone()
}

/// Returns other content of the chart.
fn other_content() -> Value {
    json!({
        "metadata": {"annotations": {labels::PLAN_DIGEST: "sha256:0"}},
        "spec": {"chartRef": {"name": "cni-000000000000"}},
    })
}

const CLOSED: &str = r#"{"additionalProperties": false}"#;
const OPEN: &str = r#"{"type": "object"}"#;

/// Returns the noted revision in a status.
fn noted(status: &ClusterAddonStatus) -> Option<i64> {
    status.addons.iter().find(|addon| addon.name == "cni")?.revision_before
}

/// Returns the status after all writes.
fn rolled_up(scene: &Scene, written: &[Arc<FluxObject>]) -> ClusterAddonStatus {
    let facts = scene.facts();
    let mut receipts = Receipts::if_accepted(&facts, &decide(&facts));
    for object in scene.objects.iter().chain(written) {
        let addon = object.addon().unwrap().to_owned();
        receipts.expected.insert(addon, object.spec_digest.clone());
    }
    receipts.objects = written.to_vec();
    roll_up(&facts, &receipts, &Pruning::default()).status
}

#[test]
fn write_of_other_content_notes_the_revision() {
    let before = |scene: &Scene| {
        let facts = scene.facts();
        ready_taken_back(&facts, &decide(&facts)).as_ref().and_then(noted)
    };
    assert_eq!(before(&scene(&other_content(), 3, CLOSED)), Some(3), "also if it is not ready");
    assert_eq!(before(&scene(&other_content(), 3, OPEN)), None, "its values name the content");
    let settings =
        json!({"metadata": {"annotations": {labels::PLAN_DIGEST: "sha256:0"}}, "spec": {"interval": "1s"}});
    assert_eq!(before(&scene(&settings, 3, CLOSED)), None, "the content is the same");
    let installing = json!({"status": {"history": []}});
    let mut first = other_content();
    merge(&mut first, &installing);
    assert_eq!(before(&scene(&first, 3, CLOSED)), None, "nothing is installed");
    // A status that has the note is not written for it again.
    let mut scene = scene(&other_content(), 3, CLOSED);
    let at = scene.addon["status"]["addons"]
        .as_array()
        .unwrap()
        .iter()
        .position(|addon| addon["name"] == "cni")
        .unwrap();
    scene.addon["status"]["addons"][at]["revisionBefore"] = json!(3);
    let facts = scene.facts();
    assert_eq!(ready_taken_back(&facts, &decide(&facts)), None);
}

#[test]
fn noted_revision_stays_until_another_is_deployed() {
    let mut scene = scene(&other_content(), 3, CLOSED);
    // The answer to the write: another generation, and the status of before.
    let mut written = planned(&scene);
    merge(
        &mut written,
        &json!({
            "metadata": {"uid": "c1.cni", "generation": 3},
            "status": {"lastAttemptedGeneration": 2, "history": [{"version": 4, "status": "deployed", "chartVersion": "1"}]},
        }),
    );
    let status = rolled_up(&scene, &[Arc::new(serde_json::from_value(written).unwrap())]);
    assert_eq!(noted(&status), Some(4), "an upgrade to the content before ended meanwhile");

    scene.addon = json!({"status": status});
    let object = planned(&scene);
    set(&mut scene, object.clone(), &json!({}), 4);
    let status = rolled_up(&scene, &[]);
    assert_eq!(noted(&status), Some(4), "Flux reports success at the revision of before");
    assert_eq!(phase(&status), Some("Retrying"));
    let facts = scene.facts();
    let forced = decide(&facts).forced_upgrades;
    assert_eq!(forced.iter().map(|object| object.name()).collect::<Vec<_>>(), ["c1.cni"]);

    set(&mut scene, object, &json!({}), 5);
    let status = rolled_up(&scene, &[]);
    assert_eq!((noted(&status), phase(&status)), (None, Some("Applied")));
}

fn phase(status: &ClusterAddonStatus) -> Option<&str> {
    status.addons.iter().find(|addon| addon.name == "cni")?.phase.as_deref()
}

#[test]
fn unchanged_release_needs_no_note() {
    let scene = scene(&json!({}), 3, CLOSED);
    let status = rolled_up(&scene, &[]);
    assert_eq!((noted(&status), phase(&status)), (None, Some("Applied")));
    let facts = scene.facts();
    assert_eq!(decide(&facts).forced_upgrades, []);
}

#[test]
fn commit_of_other_content_notes_the_revision() {
    let mut scene = scene(&other_content(), 3, CLOSED);
    let git = json!({"mode": "Git", "git": {"url": "https://git.example.org/fleet.git", "branch": "main", "path": "fleet"}});
    scene.fixture.stack.delivery = serde_json::from_value(git).unwrap();
    let facts = scene.facts();
    let receipts = Receipts::if_accepted(&facts, &decide(&facts));
    let status = roll_up(&facts, &receipts, &Pruning::default()).status;
    assert_eq!(noted(&status), Some(3));
}
