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
    let cni = plan.addons().find(|planned| addon_of(planned) == "cni").unwrap();
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
    plan.addons().find(|planned| addon_of(planned) == "cni").unwrap().value.clone()
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
    let addon = status.addons.iter().find(|addon| addon.name == "cni")?;
    addon.revision_before.as_ref().map(|before| before.number)
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
    scene.addon["status"]["addons"][at]["revisionBefore"] =
        json!({"number": 3, "generation": 2, "chart": "cni-000000000000"});
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

/// The schemas of the chart in three releases, which differ in nothing else.
const RELEASES: [&str; 3] = [
    r#"{"additionalProperties": false, "title": "1"}"#,
    r#"{"additionalProperties": false, "title": "2"}"#,
    r#"{"additionalProperties": false, "title": "3"}"#,
];

/// What happens to a Cluster whose `cni` has the first release at generation 2 and revision 3.
#[derive(Clone, Copy)]
enum Event {
    /// The Cluster's class is that of a release.
    Class(usize),
    /// The operator reconciles, and what it writes is accepted.
    Written,
    /// The operator reconciles, and what it writes is refused, or waits in a pull request.
    Unwritten,
    /// Another setting of the object changes.
    Settings,
    /// The object is created again.
    Again,
    /// Flux reports the success of the present generation, with this revision of Helm.
    Success(i64),
}
use Event::{Again, Class, Settings, Success, Unwritten, Written};

/// A Cluster to which events happen.
struct Story {
    scene: Scene,
    object: Value,
    generation: i64,
    /// The generation that Flux attempted last, and the revision of Helm after it.
    attempted: (i64, i64),
}

impl Story {
    fn new() -> Self {
        let mut scene = scene(&json!({}), 3, RELEASES[0]);
        let object = planned(&scene);
        scene.addon = json!({"status": rolled_up(&scene, &[])});
        Self { scene, object, generation: 2, attempted: (2, 3) }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Class(release) => {
                let schema = RELEASES[release - 1];
                self.scene.fixture.more = vec![("cluster-addon/cni/values.schema.json".to_owned(), schema)];
                self.scene.release = self.scene.fixture.release("v1");
            }
            Settings => self.generation += 1,
            Again => self.generation = 1,
            Success(revision) => self.attempted = (self.generation, revision),
            Written => self.reconcile(true),
            Unwritten => self.reconcile(false),
        }
        self.store();
    }

    /// Brings the object into the scene.
    fn store(&mut self) {
        let (attempted, revision) = self.attempted;
        let ready = json!({
            "type": "Ready", "status": "True", "reason": "UpgradeSucceeded", "observedGeneration": attempted,
        });
        let status = json!({
            "observedGeneration": attempted, "lastAttemptedGeneration": attempted, "conditions": [ready],
        });
        let state = json!({"metadata": {"generation": self.generation}, "status": status});
        set(&mut self.scene, self.object.clone(), &state, revision);
    }

    fn reconcile(&mut self, is_accepted: bool) {
        let facts = self.scene.facts();
        let decision = decide(&facts);
        if let Some(status) = ready_taken_back(&facts, &decision) {
            self.scene.addon = json!({"status": status});
        }
        let is_written = !decision.actions["cni"].write.is_nothing();
        let before = self.scene.objects.clone();
        if is_written && is_accepted {
            self.object = planned(&self.scene);
            self.generation += 1;
            self.store();
        }
        // The snapshot is from before the write.
        let after = std::mem::replace(&mut self.scene.objects, before);
        let facts = self.scene.facts();
        let mut receipts = Receipts::if_accepted(&facts, &decision);
        if is_written && !is_accepted && decision.delivery == Delivery::Apply {
            let failures = [("cni".to_owned(), "refused by a webhook".to_owned())].into();
            receipts = Receipts { failures, ..Receipts::unchanged(&facts.snapshot.addon) };
        } else if decision.delivery == Delivery::Apply {
            let digest = |of: &Arc<FluxObject>| (of.addon().unwrap().to_owned(), of.spec_digest.clone());
            receipts.expected = after.iter().map(digest).collect();
        }
        receipts.objects = after;
        let status = roll_up(&facts, &receipts, &Pruning::default()).status;
        self.scene.addon = json!({"status": status});
    }

    /// Returns the noted revision, the phase, and whether a forced upgrade is due.
    fn end(&self) -> (Option<i64>, String, bool) {
        let facts = self.scene.facts();
        let status = facts.snapshot.addon.status.as_ref().unwrap();
        let forced = decide(&facts).forced_upgrades;
        (noted(status), phase(status).unwrap().to_owned(), !forced.is_empty())
    }
}

#[test]
fn forced_upgrade_needs_a_revision_of_other_content() {
    let applied = (None, "Applied".to_owned(), false);
    let retrying = |revision| (Some(revision), "Retrying".to_owned(), true);
    let change = [Class(2), Written];
    for (events, expected, why) in [
        (&[Class(2), Written, Success(4), Written][..], applied.clone(), "an upgrade"),
        (&[Class(2), Written, Success(3), Written], retrying(3), "it failed before Helm stored a revision"),
        (&[Class(2), Unwritten, Class(1), Written], applied.clone(), "nothing was written"),
        (
            &[Class(2), Unwritten, Unwritten, Class(3), Unwritten, Class(1), Written],
            applied.clone(),
            "twice nothing",
        ),
        (
            &[Class(2), Unwritten, Success(4), Class(1), Written],
            applied.clone(),
            "a forced upgrade of a user meanwhile",
        ),
        (
            &[Class(2), Written, Class(3), Unwritten, Class(2), Success(3), Written],
            retrying(3),
            "the first write is still open",
        ),
        (
            &[Class(2), Written, Success(3), Class(3), Unwritten, Class(2), Written],
            retrying(3),
            "the first write had failed",
        ),
        (
            &[Class(2), Written, Success(4), Class(3), Unwritten, Class(2), Written],
            applied.clone(),
            "it had succeeded",
        ),
        (
            &[Class(2), Written, Success(4), Settings, Written, Success(4), Written],
            applied.clone(),
            "only settings changed",
        ),
        (
            &[Class(2), Written, Success(3), Settings, Written, Success(3), Written],
            retrying(3),
            "it failed, and settings changed",
        ),
        (
            &[Class(2), Written, Class(1), Written, Success(3), Written],
            applied.clone(),
            "there and back before Flux looked",
        ),
        (&[Class(2), Written, Again, Success(4), Written], applied.clone(), "it was created again"),
        (&[Class(2), Written, Again, Success(3), Written], retrying(3), "it was created again, and failed"),
    ] {
        let mut story = Story::new();
        for event in events {
            story.happen(*event);
        }
        assert_eq!(story.end(), expected, "{why}");
    }
    // Flux ends the upgrade to the second release after the first one is written again.
    let mut story = Story::new();
    for event in change {
        story.happen(event);
    }
    let second = story.generation;
    for event in [Class(1), Written] {
        story.happen(event);
    }
    story.attempted = (second, 4);
    story.store();
    for event in [Written, Success(4), Written] {
        story.happen(event);
    }
    assert_eq!(story.end(), retrying(4), "revision 4 is of the second release");
}

#[test]
fn open_pull_request_needs_no_forced_upgrade() {
    let mut story = Story::new();
    let git = json!({"mode": "Git", "git": {"url": "https://git.example.org/fleet.git", "branch": "main", "path": "fleet"}});
    story.scene.fixture.stack.delivery = serde_json::from_value(git).unwrap();
    for event in [Class(2), Unwritten, Unwritten] {
        story.happen(event);
    }
    assert_eq!(story.end().0, Some(3));
    for event in [Class(1), Written] {
        story.happen(event);
    }
    assert_eq!(story.end(), (None, "Applied".to_owned(), false));
}

#[test]
fn unwritten_content_changes_no_verdict() {
    let mut story = Story::new();
    for event in [Class(2), Unwritten] {
        story.happen(event);
    }
    let facts = story.scene.facts_without_release();
    let status = roll_up(&facts, &Receipts::unchanged(&facts.snapshot.addon), &Pruning::default()).status;
    assert_eq!((noted(&status), phase(&status)), (Some(3), Some("Applied")));
}
