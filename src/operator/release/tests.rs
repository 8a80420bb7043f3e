//! Tests of the decision about a release and of what its Clusters can have, from facts without an API server.

use serde_json::json;

use super::content::Known;
use super::*;
use crate::api::{Reason, labels};
use crate::inputs::content::{Contents, Owned};
use crate::plan::tests::fixture::Fixture;
use crate::rollup::{ConditionStatus, Report};
use crate::subscription::Inventory;

const NOW: &str = "2026-11-23T02:00:00Z";

fn stack() -> ClusterStack {
    serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
        "metadata": {"name": "demo", "namespace": "stacks", "uid": "demo"},
        "spec": {"provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "noProvider": true},
    }))
    .unwrap()
}

fn release() -> ClusterStackRelease {
    serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
        "metadata": {
            "name": "docker-demo-1-34-v1", "namespace": "stacks", "uid": "v1", "finalizers": [labels::FINALIZER],
        },
        "spec": {},
    }))
    .unwrap()
}

fn deleted() -> ClusterStackRelease {
    let mut release = release();
    release.metadata.deletion_timestamp = serde_json::from_value(json!(NOW)).unwrap();
    release
}

fn known() -> Content {
    let fixture = Fixture::new();
    let release = Arc::new(fixture.release("v1"));
    let class = Owned { name: "class".parse().unwrap(), claim: None };
    let contents = Contents { addons: BTreeMap::new(), pins: BTreeMap::new(), class };
    Content::Known(Box::new(Known { stack: fixture.stack, release, contents, mutated: None }))
}

fn report(reason: Reason) -> Report {
    Report::new(ConditionStatus::Unknown, reason.as_str(), "m")
}

fn hold(reason: Reason) -> Hold {
    Hold { reason, message: "m".to_owned() }
}

/// Returns the facts about a release. `owner` is its `ClusterStack`, if this operator watches it.
fn facts<'a>(
    object: &'a ClusterStackRelease,
    owner: Option<&'a ClusterStack>,
    content: Option<Content>,
) -> Facts<'a> {
    let found = owner.zip(content).map(|(owner, content)| Found {
        outdated: crate::subscription::Outdated::default(),
        owner,
        content,
        planned: Planned::default(),
        unplanned: None,
        provider: Report::new(ConditionStatus::True, Reason::NotNeeded.as_str(), "m").into(),
        recorded: Vec::new(),
        usage: Usage::default(),
        requested: Vec::new(),
        helm_releases: Vec::new(),
    });
    let live = object.metadata.deletion_timestamp.is_some().then(|| object.clone());
    let (is_of_other_shard, is_used, shared) = (false, false, None);
    let made = Inventory::default();
    Facts {
        now: NOW.parse().unwrap(),
        key: Key::of(object),
        name: "docker-demo-1-34-v1".parse().unwrap(),
        object,
        teardown: TeardownFacts { release: object, owner, is_of_other_shard, live, is_used, shared, made },
        found,
        is_usable: false,
        moments: BTreeMap::new(),
    }
}

/// Formats what the Clusters can have.
fn in_short(share: &Share) -> String {
    match share {
        Share::Unchanged => "unchanged".to_owned(),
        Share::Changed(None) => "nothing".to_owned(),
        Share::Changed(Some(Resolution::Usable(_))) => "usable".to_owned(),
        Share::Changed(Some(Resolution::Unusable(report))) => format!("unusable {}", report.reason),
    }
}

#[test]
fn deletion_precedes_content_of_release() {
    let (stack, existing, deleted) = (stack(), release(), deleted());
    let uninstall = || ReleaseAction::TearDown(Teardown::Uninstall(Inventory::default()));
    for (what, object, owner, is_used, expected) in [
        ("delivered", &existing, true, false, (ReleaseAction::Deliver(DeliveryMode::Api), None)),
        ("of no watched stack", &existing, false, false, (ReleaseAction::Forget(None), None)),
        ("deleted", &deleted, true, false, (uninstall(), None)),
        ("used", &deleted, true, true, (ReleaseAction::Deliver(DeliveryMode::Api), Some(Reason::InUse))),
    ] {
        let mut facts = facts(object, owner.then_some(&stack), Some(known()));
        facts.teardown.is_used = is_used;
        let Decision { action, hold, .. } = decide(&facts);
        assert_eq!((action, hold.map(|hold| hold.reason)), expected, "{what}");
    }
    let mut facts = facts(&deleted, None, None);
    facts.teardown.is_used = true;
    assert!(
        matches!(decide(&facts).action, ReleaseAction::Forget(Some(hold)) if hold.reason == Reason::InUse)
    );
}

#[test]
fn clusters_have_release_with_known_content_only() {
    let (stack, object) = (stack(), release());
    let not_read = || Content::NotRead(report(Reason::NotYetReported));
    let unavailable = || Content::Unavailable(report(Reason::ArtifactUnavailable));
    for (content, is_usable, is_without_source, expected) in [
        (known(), false, false, "usable"),
        (known(), true, true, "unusable NotYetReported"),
        (Content::Invalid(report(Reason::Invalid)), true, false, "unusable Invalid"),
        (Content::Held(hold(Reason::ReleaseClaimed)), true, false, "unusable ReleaseClaimed"),
        (not_read(), false, false, "unusable NotYetReported"),
        (unavailable(), false, false, "unusable ArtifactUnavailable"),
        // Pinned content does not change.
        (not_read(), true, false, "unchanged"),
        (unavailable(), true, false, "unchanged"),
    ] {
        let state = content.state();
        let facts = Facts { is_usable, ..facts(&object, Some(&stack), Some(content)) };
        let receipts = Receipts { is_without_source, ..Receipts::default() };
        let outcome = roll_up(&facts, &decide(&facts), &receipts);
        assert_eq!(in_short(&outcome.share), expected, "{state:?} {is_usable} {is_without_source}");
    }
    for (owner, object, expected) in [(None, &object, "nothing"), (Some(&stack), &deleted(), "unchanged")] {
        let facts = facts(object, owner, None);
        assert_eq!(in_short(&roll_up(&facts, &decide(&facts), &Receipts::default()).share), expected);
    }
    let deleted = deleted();
    let mut facts = facts(&deleted, None, None);
    facts.teardown.is_used = true;
    let outcome = roll_up(&facts, &decide(&facts), &Receipts::default());
    assert_eq!(in_short(&outcome.share), "unusable InUse");
}

#[test]
fn clusters_know_whether_their_stack_is_suspended() {
    let object = release();
    for suspend in [false, true] {
        let mut stack = stack();
        stack.spec.suspend = suspend;
        let facts = facts(&object, Some(&stack), Some(known()));
        let outcome = roll_up(&facts, &decide(&facts), &Receipts::default());
        let Share::Changed(Some(Resolution::Usable(resolved))) = &outcome.share else { panic!() };
        assert_eq!(resolved.suspended, suspend);
    }
}

#[test]
fn release_without_a_plan_is_not_ready() {
    let (stack, object) = (stack(), release());
    let error = PlanError::Name("_".parse::<ReleaseName>().unwrap_err());
    let content = Content::without_plan(&"docker-demo-1-34-v1".parse().unwrap(), &error);
    let facts = Facts { is_usable: true, ..facts(&object, Some(&stack), Some(content)) };
    let outcome = roll_up(&facts, &decide(&facts), &Receipts::default());
    let ready = outcome.status.unwrap().conditions.into_iter().find(|ready| ready.type_ == "Ready").unwrap();
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "DeliveryFailed"), "{ready:?}");
    assert_eq!(in_short(&outcome.share), "unusable DeliveryFailed");
}

#[test]
fn next_check_follows_what_sends_no_event() {
    let (stack, object) = (stack(), release());
    let held = || Content::Held(hold(Reason::ReleaseClaimed));
    let claimed = || Content::Invalid(report(Reason::ReleaseClaimed));
    for (content, is_unlisted, expected) in [
        (known(), false, None),
        (known(), true, Some(5)),
        (held(), false, Some(60)),
        (held(), true, Some(5)),
        // The reason of a report says nothing.
        (claimed(), false, None),
        // Its status stays as it is until the ClusterStack pins it.
        (Content::NotRead(report(Reason::NotYetReported)), true, None),
    ] {
        let state = content.state();
        let mut facts = facts(&object, Some(&stack), Some(content));
        if let Some(found) = &mut facts.found {
            found.provider.is_unlisted = is_unlisted;
        }
        let outcome = roll_up(&facts, &decide(&facts), &Receipts::default());
        let expected =
            expected.map_or(Next::Await, |seconds| Next::After(std::time::Duration::from_secs(seconds)));
        assert_eq!(outcome.next, expected, "{state:?} {is_unlisted}");
    }
}
