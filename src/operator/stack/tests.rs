//! Tests of the decision and the status of a `ClusterStack`, from facts without an API server.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::deliver::REQUEUE_EXISTING_AFTER;
use super::super::objects::controller_reference;
use super::super::release_cache::ReleaseCacheError;
use super::source::Catalog;
use super::*;
use crate::api::{AddonSettings, ClusterStackRelease, Reason};
use crate::foreign::flux::observed::FluxObject;
use crate::inputs::content::CatalogEntry;
use crate::inputs::stack::Stack;
use crate::plan;
use crate::plan::write::RepairState;
use crate::release::catalog::Others;
use crate::release::{Digest, Files, Findings};
use crate::runtime::metrics::Verb;
use crate::source::artifact::CatalogRead;
use crate::subscription::{ReleaseDecision, ReleaseProblem, Role};

const NOW: &str = "2026-11-23T02:00:00Z";
const LONG_AGO: &str = "2026-11-23T01:00:00Z";

fn name(version: &str) -> ReleaseName {
    format!("docker-demo-1-34-{version}").parse().unwrap()
}

fn stack() -> ClusterStack {
    serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
        "metadata": {"name": "demo", "namespace": "stacks", "uid": "demo", "finalizers": ["f"]},
        "spec": {
            "provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "noProvider": true,
            "source": {"git": {"url": "https://git.example.org/a.git", "ref": {"branch": "main"}}},
        },
    }))
    .unwrap()
}

/// Returns the release v0, which is unused for long enough.
fn retiring() -> ClusterStackRelease {
    let condition = json!({
        "type": "InUse", "status": "False", "reason": "Retiring", "message": "", "lastTransitionTime": LONG_AGO,
    });
    let annotations = json!({"clusterstack.x-k8s.io/retiring-since": LONG_AGO});
    serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
        "metadata": {"name": name("v0").to_string(), "namespace": "stacks", "uid": "v0", "annotations": annotations},
        "spec": {}, "status": {"conditions": [condition]},
    }))
    .unwrap()
}

/// Returns the `GitRepository` as planned. Flux has observed generation 1.
fn repository(source: &Source, metadata: &Value) -> Arc<FluxObject> {
    repository_with(source, metadata, &json!({"observedGeneration": 1}))
}

/// Returns the same with this status.
fn repository_with(source: &Source, metadata: &Value, status: &Value) -> Arc<FluxObject> {
    let mut object = source.plan.objects().next().unwrap().value.clone();
    let owner = json!([{"apiVersion": "x", "kind": "ClusterStack", "name": "demo", "uid": "demo"}]);
    object["metadata"]["ownerReferences"] = owner;
    object["metadata"]["generation"] = json!(1);
    object["status"] = status.clone();
    let fields = metadata.as_object().cloned().unwrap_or_default();
    object["metadata"].as_object_mut().unwrap().extend(fields);
    Arc::new(serde_json::from_value(object).unwrap())
}

/// Returns the facts about a `ClusterStack` whose source is as planned and which owns v0.
fn facts() -> Facts {
    let (stack, now) = (stack(), NOW.parse().unwrap());
    let planned = Stack::new(&stack, None, std::iter::empty()).unwrap();
    let plan = Arc::new(plan::stack(&planned).unwrap());
    let (made, followed) = (Vec::new(), BTreeSet::new());
    let mut source = Source {
        owner: controller_reference(&stack),
        repairs: RepairState::NONE,
        occupant: None,
        stack: planned,
        plan,
        catalog: Catalog::default(),
        expected: None,
        made,
        followed,
    };
    source.made = vec![repository(&source, &json!({"name": "before"}))];
    let repository = repository(&source, &json!({}));
    source.expected = Some(repository.spec_digest.clone());
    Facts {
        now,
        key: Key::of(&stack),
        repository: Receipt::unchanged(Some(&source), Some(repository)),
        source: Ok(source),
        stack: Arc::new(stack),
        hold: None,
        moment: Moment::at(now),
        releases: Releases::owning([(name("v0"), Arc::new(retiring()), Role::Retiring)]),
        pins: Pins::default(),
        confirmed: [name("v0")].into(),
        users: Vec::new(),
        pruned_addons: None,
        has_upstream: false,
        published: None,
        closed: None,
        undeletable: None,
    }
}

/// Returns the receipts of writes after which the `GitRepository` is this.
fn receipts(facts: &Facts, repository: Option<Arc<FluxObject>>) -> Receipts {
    let expected = repository.as_ref().map(|repository| repository.spec_digest.clone());
    let source = Receipt { repository, expected, ..Receipt::default() };
    let (stack, releases) = (facts.stack.clone(), PinReceipts::default());
    Receipts { stack, source, releases, commits: None }
}

fn refusal() -> ReconcileError {
    RequestError::answered(Verb::Delete, 403, "forbidden").into()
}

fn condition<'a>(outcome: &'a Outcome, kind: &str) -> (&'a str, &'a str) {
    let found = outcome.status.conditions.iter().find(|condition| condition.type_ == kind).unwrap();
    (&found.status, &found.reason)
}

#[test]
fn refused_source_spends_no_budget() {
    let facts = facts();
    let decision = decide(&facts);
    assert_eq!(decision.pruning.retirement.delete, [name("v0")]);
    let mut receipts = receipts(&facts, facts.repository.repository.clone());
    let outcome = roll_up(&facts, &decision, &receipts);
    assert_eq!(outcome.status.pruned.map(|pruned| pruned.count), Some(1));

    receipts.source.refusal = Some(refusal());
    let outcome = roll_up(&facts, &decision, &receipts);
    assert_eq!(outcome.status.pruned, None);
    assert_eq!(condition(&outcome, "SourceReady"), ("Unknown", "DeliveryFailed"));

    receipts.source.refusal = None;
    receipts.source.hold = Some(Hold {
        reason: Reason::AlreadyExists,
        message: "GitRepository demo/x exists already".to_owned(),
    });
    let outcome = roll_up(&facts, &decision, &receipts);
    assert_eq!(outcome.status.pruned, None);
    assert_eq!(condition(&outcome, "SourceReady"), ("False", "AlreadyExists"));
    assert!(
        matches!(outcome.next, Next::After(delay) if delay <= REQUEUE_EXISTING_AFTER),
        "{:?}",
        outcome.next
    );
}

/// The followed `GitRepository` with an artifact, and with Flux's answer to the last fetch.
fn repository_that_is(facts: &Facts, ready: &str) -> Arc<FluxObject> {
    let reason = if ready == "True" { "Succeeded" } else { "GitOperationFailed" };
    let status = json!({
        "observedGeneration": 1,
        "artifact": {"revision": "main@sha1:c0ffee", "url": "http://source/a.tar.gz"},
        "conditions": [{"type": "Ready", "status": ready, "reason": reason, "message": "503"}],
    });
    repository_with(facts.source.as_ref().unwrap(), &json!({}), &status)
}

#[test]
fn refused_deletion_of_old_source_is_reported() {
    for (ready, is_left, is_refused, expected) in [
        ("True", true, false, ("True", "Fetched")),
        ("True", true, true, ("Unknown", "DeliveryFailed")),
        // It was deleted since.
        ("True", false, true, ("True", "Fetched")),
        // A followed source that does not work is worse.
        ("False", true, true, ("False", "GitOperationFailed")),
    ] {
        let mut facts = facts();
        facts.undeletable = is_refused.then(|| refusal().hold());
        if let Ok(source) = &mut facts.source {
            source.made.retain(|_| is_left);
        }
        let decision = decide(&facts);
        let found = repository_that_is(&facts, ready);
        let outcome = roll_up(&facts, &decision, &receipts(&facts, Some(found)));
        assert_eq!(condition(&outcome, "SourceReady"), expected);
        assert_eq!(outcome.status.pruned.map(|pruned| pruned.count), Some(1), "releases are deleted");
    }
}

#[test]
fn closed_built_in_repository_is_the_cause_of_a_failed_fetch() {
    let message = |ready: &str, closed: Option<&str>| {
        let mut facts = facts();
        facts.closed = closed.map(str::to_owned);
        let decision = decide(&facts);
        let found = repository_that_is(&facts, ready);
        let outcome = roll_up(&facts, &decision, &receipts(&facts, Some(found)));
        assert_eq!(condition(&outcome, "SourceReady").0, ready);
        let conditions = outcome.status.conditions;
        conditions.into_iter().find(|condition| condition.type_ == "SourceReady").unwrap().message
    };
    let ours = "the operator does not serve the built-in stack repository now: no password";
    assert_eq!(message("False", Some("no password")), ours);
    assert!(message("False", None).contains("503"));
    // Flux has what it fetched before.
    assert!(!message("True", Some("no password")).contains("no password"));
}

#[test]
fn written_source_is_read_again_if_no_event_follows() {
    let not_owned = |facts: &Facts| {
        let found = repository(facts.source.as_ref().unwrap(), &json!({"ownerReferences": []}));
        Receipt { repository: Some(found), ..receipts(facts, facts.repository.repository.clone()).source }
    };
    let absent = |_: &Facts| Receipt::default();
    let unchanged = |facts: &Facts| receipts(facts, facts.repository.repository.clone()).source;
    for (what, before, after, expected) in [
        ("as planned", &unchanged as &dyn Fn(&Facts) -> Receipt, json!({}), false),
        ("the write changed only its owner", &not_owned, json!({}), true),
        // Flux fetches for the new spec, and its status is an event.
        ("the write changed its spec", &not_owned, json!({"generation": 2}), false),
        ("the write created it", &absent, json!({"generation": 2}), false),
        ("the write left it to another owner", &not_owned, json!({"ownerReferences": []}), false),
    ] {
        let mut facts = facts();
        facts.repository = before(&facts);
        let decision = decide(&facts);
        let after = repository(facts.source.as_ref().unwrap(), &after);
        let outcome = roll_up(&facts, &decision, &receipts(&facts, Some(after)));
        assert_eq!(outcome.next == Next::After(Duration::ZERO), expected, "{what}");
    }
}

#[test]
fn unread_repository_is_retried_and_kept_stack_waits() {
    let mut facts = facts();
    let decision = decide(&facts);
    let receipts = receipts(&facts, facts.repository.repository.clone());
    if let Ok(source) = &mut facts.source {
        source.catalog.error = Some(ReleaseCacheError::Aborted);
    }
    assert_eq!(roll_up(&facts, &decision, &receipts).next, Next::Retry);
    facts.hold = Some(Hold { reason: Reason::InUse, message: "a Cluster uses it".to_owned() });
    let outcome = roll_up(&facts, &decision, &receipts);
    assert_eq!(outcome.next, Next::After(delete::REQUEUE_AFTER));
    assert_eq!(condition(&outcome, "Ready"), ("False", "InUse"));
}

#[test]
fn invalid_source_keeps_status_of_the_last_one() {
    let mut facts = facts();
    let mut stack = stack();
    let source = json!({"gitRepository": "stacks/demo-catalog", "revision": "main@sha1:c0ffee"});
    stack.status = serde_json::from_value(json!({"source": source})).unwrap();
    stack.spec.source = None;
    let error = Stack::new(&stack, None, std::iter::empty());
    (facts.stack, facts.source) = (Arc::new(stack), Err(error.unwrap_err()));
    let decision = decide(&facts);
    let outcome = roll_up(&facts, &decision, &receipts(&facts, None));
    assert_eq!(condition(&outcome, "SourceReady"), ("False", "NoSource"));
    let recorded = outcome.status.source.and_then(|source| source.revision);
    assert_eq!(recorded.as_deref(), Some("main@sha1:c0ffee"));
}

#[test]
fn refused_release_hides_no_issue_of_the_release() {
    let facts = facts();
    let problem = |is_issue, reason| {
        let hold = Hold { reason, message: String::new() };
        ReleaseProblem { is_issue, hold }
    };
    for (known, expected) in [
        (None, "DeliveryFailed"),
        (Some(problem(false, Reason::ReleaseClaimed)), "DeliveryFailed"),
        (Some(problem(true, Reason::ReleaseMutated)), "ReleaseMutated"),
    ] {
        let mut decision = decide(&facts);
        let known = ReleaseDecision { problem: known, ..ReleaseDecision::default() };
        decision.releases = [(name("v1"), known)].into();
        let mut receipts = receipts(&facts, facts.repository.repository.clone());
        receipts.releases.refused = [(name("v1"), problem(true, Reason::DeliveryFailed))].into();
        let outcome = roll_up(&facts, &decision, &receipts);
        assert_eq!(condition(&outcome, "ReleasesSynced").1, expected);
    }
}

#[test]
fn release_of_a_cluster_is_counted_as_used() {
    let mut facts = facts();
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "a", "namespace": "stacks"},
    });
    let cluster = Arc::new(serde_json::from_value(cluster).unwrap());
    for (clusters, expected) in [(vec![], (0, 1)), (vec![cluster], (1, 0))] {
        facts.releases.clusters = [(name("v0"), clusters)].into();
        let decision = decide(&facts);
        let outcome = roll_up(&facts, &decision, &receipts(&facts, None));
        let counts = outcome.status.releases.unwrap();
        assert_eq!((counts.used, counts.unused), expected);
    }
}

#[test]
fn settings_without_addon_are_noted_once_all_releases_are_known() {
    let mut facts = facts();
    let mut stack = stack();
    stack.spec.flux.addons = [("cni".to_owned(), AddonSettings::default())].into();
    facts.stack = Arc::new(stack);
    facts.releases.roles = [(name("v0"), Role::Used)].into();
    let digest = Digest::of(&Files::default(), "");
    let entry = |addon: &str| CatalogEntry {
        revision: "4f2d1c0a9b8e7f6a5d4c3b2a1908f7e6d5c4b3a2".parse().unwrap(),
        digest,
        addons: [(addon.parse().unwrap(), digest)].into(),
    };
    let note = "spec.flux.addons.cni has no effect";
    for (releases, expected) in [
        (BTreeMap::from([(name("v0"), Ok(entry("cilium")))]), true),
        (BTreeMap::from([(name("v0"), Ok(entry("cni")))]), false),
        (BTreeMap::from([(name("v0"), Err(Findings::default()))]), false),
        (BTreeMap::from([(name("v1"), Ok(entry("cilium")))]), false),
    ] {
        let revision = entry("cni").revision;
        let read = CatalogRead { revision, releases, others: Others::default() };
        let Ok(source) = &mut facts.source else { panic!() };
        source.catalog.read = Some(Arc::new(read));
        let outcome = roll_up(&facts, &decide(&facts), &receipts(&facts, None));
        let conditions = &outcome.status.conditions;
        let synced = conditions.iter().find(|condition| condition.type_ == "ReleasesSynced").unwrap();
        assert_eq!(synced.message.contains(note), expected, "{}", synced.message);
    }
}
