//! Tests of the report about a Cluster, and of the turn of removed addons.

use serde_json::json;

use super::*;
use crate::api::cluster_addon::AddonStatus;
use crate::foreign::flux::observed::SpecDigest;
use crate::plan::PlanError;
use crate::rollup::Verdict;

/// Returns the receipts with all addons of the release written.
fn written() -> Receipts {
    let digest = |name: &str| (name.to_owned(), SpecDigest::kept("d"));
    Receipts { expected: ["cni", "ccm", "policies"].map(digest).into(), ..Receipts::default() }
}

/// Formats a report: the reason of each addon, the applied release, and the reason of `Delivered`.
fn short(outcome: &Outcome) -> String {
    let status = &outcome.status;
    let addons = status.addons.iter().map(|addon| {
        let reason = addon.reason.as_deref().unwrap_or("-");
        format!("{} {reason}", addon.name)
    });
    let delivered = status.conditions.iter().find(|condition| condition.type_ == "Delivered").unwrap();
    let applied = status.release.as_ref().and_then(|release| release.applied.as_deref()).unwrap_or("-");
    format!("{}; {applied}; {}", addons.collect::<Vec<_>>().join(", "), delivered.reason)
}

/// Returns a status after the delivery of release `v0` with the addon `cni`.
fn delivered_before() -> Value {
    json!({"status": {
        "release": {"desired": "docker-demo-1-34-v0", "applied": "docker-demo-1-34-v0", "appliedNamespace": "stacks"},
        "committedBy": "stacks/demo",
        "addons": [{
            "name": "cni", "object": {"kind": "HelmRelease", "name": "c1.cni"},
            "expected": {"specDigest": "before"},
        }],
    }})
}

#[test]
fn receipts_give_reason_for_missing_delivery() {
    let scene = Scene::new();
    let facts = scene.facts();
    let cni = || "cni".to_owned();
    let hold = Hold { reason: Reason::Committing, message: String::new() };
    let exists = Hold { reason: Reason::AlreadyExists, message: String::new() };
    for (receipts, expected) in [
        (written(), "cni -, ccm -, policies -; docker-demo-1-34-v1; Delivered"),
        (
            Receipts { failures: [(cni(), "refused".to_owned())].into(), ..written() },
            "cni DeliveryFailed, ccm -, policies -; -; DeliveryFailed",
        ),
        (
            Receipts { existing: [(cni(), exists)].into(), ..written() },
            "cni AlreadyExists, ccm -, policies -; -; AlreadyExists",
        ),
        (
            Receipts { without_source: Some("refused".to_owned()), ..Receipts::default() },
            "cni DeliveryFailed, ccm DeliveryFailed, policies DeliveryFailed; -; DeliveryFailed",
        ),
        (
            Receipts { waiting: [cni()].into(), expected: Receipts::default().expected, ..written() },
            "cni Terminating, ccm -, policies -; -; Terminating",
        ),
        (
            Receipts { suspended: [cni()].into(), ..written() },
            "cni Suspended, ccm -, policies -; -; Suspended",
        ),
        (
            Receipts { on_their_way: [(cni(), hold.clone())].into(), ..written() },
            "cni Committing, ccm -, policies -; -; Committing",
        ),
    ] {
        assert_eq!(short(&roll_up(&facts, &receipts, &Pruning::default())), expected, "{receipts:?}");
    }
}

#[test]
fn left_objects_keep_a_release_from_being_delivered() {
    let scene = Scene::new();
    let left = Candidate {
        addon: "old".parse().unwrap(),
        delivers: AddonMatch::NotInRelease,
        object: flux_object("HelmRelease", "old", &json!({})),
        decision: PruneDecision::Delete,
        hold: Some(Hold { reason: Reason::AddonRemoved, message: "why".to_owned() }),
    };
    let pruning = Pruning { candidates: vec![left], ..Pruning::default() };
    let outcome = roll_up(&scene.facts(), &written(), &pruning);
    assert_eq!(short(&outcome), "cni -, ccm -, policies -, old AddonRemoved; -; AddonRemoved");
    assert!(outcome.holds.contains(&Reason::AddonRemoved));
    let mut scene = scene;
    scene.addon = deleted();
    let outcome = roll_up(&scene.facts(), &written(), &pruning);
    let left = outcome.status.addons.last().unwrap();
    assert_eq!(left.message.as_deref(), Some("why; the ClusterAddon is deleted after that"));
}

#[test]
fn unavailable_release_keeps_addons() {
    let mut scene = Scene::new();
    scene.addon = delivered_before();
    let facts = scene.facts_without_release();
    let receipts = Receipts::without_writes(&facts, &decide(&facts));
    let outcome = roll_up(&facts, &receipts, &Pruning::default());
    assert_eq!(outcome.status.addons.len(), 1);
    let release = outcome.status.release.as_ref().unwrap();
    assert_eq!(release.desired.as_deref(), Some("docker-demo-1-34-v2"));
    assert_eq!(release.applied.as_deref(), Some("docker-demo-1-34-v0"));
    assert_eq!(outcome.holds, [Reason::ClassUnknown]);
    assert!(!outcome.is_committer_new);
}

#[test]
fn cluster_without_a_plan_is_not_ready() {
    let mut scene = Scene::new();
    scene.addon = delivered_before();
    merge(&mut scene.addon, &json!({"status": {"ready": true}}));
    let error = PlanError::Name("_".parse::<AddonName>().unwrap_err());
    let facts = scene.facts_of(Target::without_plan(&scene.release.name, &error));
    let receipts = Receipts::without_writes(&facts, &decide(&facts));
    let status = roll_up(&facts, &receipts, &Pruning::default()).status;
    let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready").unwrap();
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "DeliveryFailed"));
    assert!(ready.message.contains("cannot plan docker-demo-1-34-v1: "), "{}", ready.message);
    assert!(!status.ready);
}

#[test]
fn held_cluster_keeps_addons_of_previous_release() {
    let mut scene = Scene::new();
    scene.fixture.edit_cluster = |cluster| cluster["status"] = json!({});
    let facts = scene.facts();
    let unchanged = || Receipts::without_writes(&facts, &decide(&facts));
    let names =
        |outcome: &Outcome| outcome.status.addons.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    let first = roll_up(&facts, &unchanged(), &Pruning::default());
    assert_eq!(names(&first), ["cni", "ccm", "policies"], "nothing was delivered before");
    scene.addon = delivered_before();
    let facts = scene.facts();
    let receipts = Receipts::without_writes(&facts, &decide(&facts));
    let outcome = roll_up(&facts, &receipts, &Pruning::default());
    assert_eq!(names(&outcome), ["cni"]);
    assert_eq!(outcome.status.release.unwrap().applied.as_deref(), Some("docker-demo-1-34-v0"));
}

#[test]
fn paused_cluster_reports_only_the_pause() {
    let mut scene = Scene::new();
    scene.addon = delivered_before();
    let asked = json!({
        "metadata": {"annotations": {labels::REQUESTED_AT: "two"}}, "status": {"lastHandledReconcileAt": "one"},
    });
    merge(&mut scene.addon, &asked);
    scene.cluster = cluster(&json!({"spec": {"paused": true}}));
    let facts = scene.facts_of(Target::Paused);
    let receipts = Receipts::without_writes(&facts, &decide(&facts));
    let outcome = roll_up(&facts, &receipts, &Pruning::default());
    let available = outcome.status.conditions.iter().find(|it| it.type_ == "ClusterAvailable").unwrap();
    assert_eq!(available.reason, "Paused");
    let handled = outcome.status.last_handled_reconcile_at.as_deref();
    assert_eq!(handled, Some("one"), "nothing has carried out the request");
    let before = cluster_addon(&scene.addon).status.unwrap();
    assert_eq!(outcome.status.release.unwrap().desired, before.release.unwrap().desired);
    assert_eq!(outcome.status.addons[0].expected, before.addons[0].expected);
    assert!(outcome.verdicts.is_empty() && outcome.next.is_none());
}

#[test]
fn counted_removal_of_a_file_stays_in_the_status() {
    let mut scene = Scene::new();
    let object = json!({"kind": "HelmRelease", "name": "c1.old"});
    let removed = json!({"name": "old", "object": object, "reason": "FileRemoved", "message": "why"});
    scene.addon = json!({"status": {"addons": [removed]}});
    scene.cluster = cluster(&json!({"spec": {"paused": true}}));
    for facts in [scene.facts_of(Target::Paused), scene.facts_without_release()] {
        let receipts = Receipts::without_writes(&facts, &decide(&facts));
        let status = roll_up(&facts, &receipts, &Pruning::default()).status;
        let kept = (status.addons[0].reason.as_deref(), status.addons[0].message.as_deref());
        assert_eq!(kept, (Some("FileRemoved"), Some("why")), "the budget counts it once");
    }
}

#[test]
fn new_committer_is_reported_before_it_commits() {
    let mut scene = Scene::new();
    let receipts = Receipts { committed_by: Some("stacks/demo".to_owned()), ..written() };
    let outcome = roll_up(&scene.facts(), &receipts, &Pruning::default());
    assert!(outcome.is_committer_new);
    assert_eq!(outcome.status.committed_by.as_deref(), Some("stacks/demo"));
    scene.addon = delivered_before();
    assert!(!roll_up(&scene.facts(), &receipts, &Pruning::default()).is_committer_new);
}

#[test]
fn written_object_is_judged_instead_of_the_one_before() {
    let mut scene = Scene::new();
    scene.objects = vec![flux_object("HelmRelease", "cni", &deleted())];
    let facts = scene.facts();
    let kinds =
        |outcome: &Outcome| outcome.verdicts.iter().map(|(_, verdict)| verdict.clone()).collect::<Vec<_>>();
    let before = roll_up(&facts, &written(), &Pruning::default());
    assert_eq!(kinds(&before), [Verdict::Terminating]);
    let object = flux_object("HelmRelease", "cni", &suspended());
    let receipts = Receipts { objects: vec![object], ..written() };
    assert_ne!(kinds(&roll_up(&facts, &receipts, &Pruning::default())), [Verdict::Terminating]);
}

#[test]
fn differing_suspended_objects_are_reported() {
    let mut scene = Scene::new();
    scene.is_suspended = true;
    let facts = scene.facts();
    let Target::Available(available) = &facts.target else { unreachable!() };
    let receipts = Receipts::without_writes(&facts, &decide(&facts));
    let planned: BTreeSet<String> = available.planned().map(|planned| addon_of(planned).to_owned()).collect();
    assert_eq!(receipts.suspended, planned, "none of them is there");
}

#[test]
fn suspended_object_without_an_owner_differs() {
    for (owners, expected, why) in [
        (&["addon", "namespace"][..], 0, "all of them are as planned"),
        (&["addon"][..], 3, "garbage collection would delete them with the ClusterAddon"),
        (&["namespace"][..], 3, "the ClusterAddon does not own them"),
    ] {
        let mut scene = Scene::new();
        scene.is_suspended = true;
        scene.deliver(owners);
        let facts = scene.facts();
        let receipts = Receipts::without_writes(&facts, &decide(&facts));
        assert_eq!(receipts.suspended.len(), expected, "{why}");
    }
}

#[test]
fn removed_addon_has_its_turn_after_all_others() {
    let name = |name: &str| -> AddonName { name.parse().unwrap() };
    let mut scene = Scene::new();
    let is_turn = |scene: &Scene, receipts: &Receipts, addon: &str| {
        let facts = scene.facts();
        let Target::Available(available) = &facts.target else { unreachable!() };
        is_prune_turn(available, (receipts, Phase::Steady), &name(addon))
    };
    let waiting = Receipts { waiting: ["cni".to_owned()].into(), ..Receipts::default() };
    for (receipts, addon, expected, why) in [
        (written(), "old", true, "all that the release has is written"),
        (Receipts::default(), "old", false, "nothing is written yet"),
        (waiting.clone(), "cni", true, "its new form only waits for that"),
        (waiting, "old", false, "another addon waits"),
        (
            Receipts { suspended: ["cni".to_owned()].into(), ..written() },
            "old",
            false,
            "one is not as planned",
        ),
    ] {
        assert_eq!(is_turn(&scene, &receipts, addon), expected, "{why}");
    }
    {
        let facts = scene.facts();
        let Target::Available(available) = &facts.target else { unreachable!() };
        for phase in [Phase::Requested, Phase::Waiting, Phase::Open, Phase::Upgrading] {
            assert!(!is_prune_turn(available, (&written(), phase), &name("old")), "an upgrade comes first");
        }
    }
    scene.is_suspended = true;
    assert!(!is_turn(&scene, &written(), "old"), "nothing is written while it is suspended");
    scene.is_suspended = false;
    scene.elsewhere = Some(Hold { reason: Reason::DeliveredElsewhere, message: String::new() });
    assert!(!is_turn(&scene, &written(), "old"), "another repository has its file");
    scene.elsewhere = None;
    scene.fixture.edit_cluster = |cluster| cluster["spec"]["controlPlaneEndpoint"] = json!({});
    assert!(!is_turn(&scene, &written(), "old"), "an addon of the release is held");
}

#[test]
fn moving_content_is_judged_by_what_flux_has_applied() {
    let condition = json!([{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": "",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    let found: FluxObject = serde_json::from_value(json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "one.limits", "namespace": "team", "generation": 1},
        "spec": {"sourceRef": {"kind": "GitRepository", "name": "s"}},
        "status": {"observedGeneration": 1, "conditions": condition, "lastAppliedRevision": "main@sha1:new"},
    }))
    .unwrap();
    let digest = found.spec_digest.to_string();
    let verdict = |source: &Value, version: &str| {
        let addon: AddonStatus = serde_json::from_value(json!({
            "name": "limits", "source": source, "expected": {"specDigest": digest, "version": version},
        }))
        .unwrap();
        judge_recorded(&addon, &found, &Scene::new().facts().snapshot.moment("Kustomization"))
    };
    let exact = json!({"url": "u", "revision": "main@sha1:old"});
    let moving = json!({"url": "u", "revision": "main@sha1:old", "follows": "branch main"});
    for (source, version, is_applied) in
        [(&exact, "main@sha1:new", true), (&exact, "main@sha1:old", false), (&moving, "main@sha1:old", true)]
    {
        let verdict = verdict(source, version).unwrap();
        assert_eq!(verdict == Verdict::Applied, is_applied, "{source}: {verdict:?}");
    }
}

/// Nothing else may happen at the time at which a delivery that fails becomes an issue.
#[test]
fn failing_delivery_is_looked_at_again() {
    let scene = Scene::new();
    let facts = scene.facts();
    let failures = [("cni".to_owned(), "refused".to_owned())].into();
    let outcome = roll_up(&facts, &Receipts { failures, ..written() }, &Pruning::default());
    let next = outcome.next.map(|next| next.duration_since(facts.snapshot.now).as_mins());
    assert_eq!(next, Some(5));
}
