//! Tests of the desired `ClusterStackRelease`s and their problems.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::api::cluster_stack_release::PinnedSource;
use crate::api::{ClusterStackRelease, labels};
use crate::inputs::content::CatalogEntry;
use crate::inputs::stack::Stack;
use crate::names::Revision;
use crate::release::{Digest, Finding, Findings, Reason as Wrong};

const NOW: &str = "2026-11-23T02:00:00Z";
const COMMIT: &str = "c0ffee0000000000000000000000000000000000";
const OLD: &str = "0000000000000000000000000000000000000001";

/// The content of a release in the stack repository.
#[derive(Clone, Copy)]
enum Has {
    Content(&'static str),
    Broken,
    Nothing,
}

/// One row: the facts about release v1, and the decision.
struct Row {
    role: Role,
    claim: Claim,
    /// Digest of the pin of the `ClusterStackRelease`, if it exists; empty without a pin.
    object: Option<&'static str>,
    has: Option<Has>,
    is_current: bool,
    left_pin: Option<&'static str>,
}

impl Default for Row {
    fn default() -> Self {
        let has = Some(Has::Content("one"));
        Self { role: Role::Offered, claim: Claim::Ours, object: None, has, is_current: true, left_pin: None }
    }
}

fn demo() -> ClusterStack {
    let mut demo = stack("demo", "2026-11-20T10:00:00Z", &["v1"], false);
    let source = json!({"git": {"url": "https://git.example.org/stacks.git", "ref": {"branch": "main"}}});
    demo.spec.source = Some(serde_json::from_value(source).unwrap());
    demo
}

fn digest(content: &str) -> Digest {
    Digest::of_bytes(content.as_bytes())
}

fn object(content: &str, metadata: &Value) -> ClusterStackRelease {
    let pin = json!({"revision": OLD, "digest": digest(content).to_string(), "path": "releases/docker-demo-1-34-v1"});
    let mut object = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
        "metadata": {
            "name": "docker-demo-1-34-v1", "namespace": "stacks", "uid": "release",
            "finalizers": [labels::FINALIZER],
            "ownerReferences": [{"apiVersion": "x", "kind": "ClusterStack", "name": "demo", "uid": "demo"}],
        },
        "spec": if content.is_empty() { json!({}) } else { json!({"source": pin}) },
    });
    let fields = metadata.as_object().cloned().unwrap_or_default();
    object["metadata"].as_object_mut().unwrap().extend(fields);
    serde_json::from_value(object).unwrap()
}

fn decided(row: &Row, metadata: &Value) -> ReleaseDecision {
    let (demo, name) = (demo(), release("v1"));
    let planned = Stack::new(&demo, None, std::iter::empty()).unwrap();
    let object = row.object.map(|content| object(content, metadata));
    let revision: Revision = COMMIT.parse().unwrap();
    let entry = match row.has {
        Some(Has::Content(content)) => {
            let addons = BTreeMap::new();
            Some(Ok(CatalogEntry { revision: revision.clone(), digest: digest(content), addons }))
        }
        Some(Has::Broken) => {
            let mut findings = Findings::default();
            findings.push(Finding::error(Wrong::UnknownAction, "clusteraddon.yaml", "unknown action"));
            Some(Err(findings))
        }
        Some(Has::Nothing) | None => None,
    };
    let entries = entry.map(|entry| (name.clone(), entry)).into_iter().collect();
    let (revision, is_current) = (&revision, row.is_current);
    let found = FoundRelease {
        role: row.role,
        claim: row.claim.clone(),
        object: object.as_ref(),
        is_owned: object.is_some(),
        unwatched_owner: None,
        left_pin: row.left_pin.map(|content| (OLD.to_owned(), digest(content).to_string())),
        clusters: 2,
    };
    let facts = ReleasesFacts {
        stack: &demo,
        planned: &planned,
        catalog: row.has.map(|_| CatalogFacts { revision, releases: &entries, is_current }),
        silence: None,
        releases: [(name.clone(), found)].into(),
        now: NOW.parse::<Timestamp>().unwrap(),
    };
    decide_releases(&facts).remove(&name).unwrap()
}

/// Formats a decision: what is written, and the reason of a problem, with `!` if it is an issue.
fn in_short(decision: &ReleaseDecision) -> String {
    let pin = |pin: &PinnedSource| {
        let known = ["one", "two"].into_iter().find(|content| digest(content).to_string() == pin.digest);
        format!("pin {} of {}", known.unwrap_or("?"), short(&pin.revision))
    };
    let written = match &decision.apply {
        Some(desired) => {
            let retiring = desired.retiring_since.as_ref().map(|since| format!(" retiring since {since}"));
            let pin = desired.spec.source.as_ref().map_or("no pin".to_owned(), pin);
            format!("apply with {pin}{}", retiring.unwrap_or_default())
        }
        None if decision.is_unchanged => "unchanged".to_owned(),
        None => "nothing".to_owned(),
    };
    let problem = decision.problem.as_ref().map(|problem| {
        format!(", {}{}", problem.hold.reason.as_str(), if problem.is_issue { "!" } else { "" })
    });
    written + &problem.unwrap_or_default()
}

#[test]
fn release_is_pinned_once_and_keeps_its_pin() {
    let theirs = || Claim::Theirs("other".to_owned());
    let disputed = || Claim::Disputed("other".to_owned());
    for (row, expected) in [
        (Row::default(), "apply with pin one of c0ffee000000"),
        // Nothing is pinned before the first read, or from an earlier source.
        (Row { has: None, ..Row::default() }, "nothing"),
        (Row { is_current: false, ..Row::default() }, "apply with no pin"),
        (Row { has: Some(Has::Nothing), ..Row::default() }, "nothing, ReleaseNotFound!"),
        (Row { has: Some(Has::Nothing), role: Role::Used, ..Row::default() }, "nothing, ReleaseNotFound"),
        (Row { has: Some(Has::Broken), ..Row::default() }, "apply with no pin, Invalid!"),
        // A pin stays, whatever the repository has now.
        (Row { object: Some("one"), ..Row::default() }, "unchanged"),
        (Row { object: Some("two"), ..Row::default() }, "unchanged, ReleaseMutated!"),
        (Row { object: Some("one"), has: Some(Has::Broken), ..Row::default() }, "unchanged, ReleaseMutated!"),
        (
            Row { object: Some("one"), has: Some(Has::Nothing), ..Row::default() },
            "unchanged, ReleaseNotFound",
        ),
        (
            Row { object: Some("one"), has: Some(Has::Nothing), is_current: false, ..Row::default() },
            "unchanged",
        ),
        (Row { object: Some("one"), has: None, ..Row::default() }, "unchanged"),
        (Row { object: Some(""), ..Row::default() }, "apply with pin one of c0ffee000000"),
        // The pin of a GitRepository that outlived its release precedes the present content.
        (Row { left_pin: Some("two"), ..Row::default() }, "apply with pin two of 000000000000"),
        (Row { left_pin: Some("two"), has: None, ..Row::default() }, "apply with pin two of 000000000000"),
        // A release of another namespace that has the source shares it if both have the same content.
        // A release of another ClusterStack is not written.
        (Row { claim: theirs(), ..Row::default() }, "nothing, ReleaseClaimed!"),
        (Row { claim: theirs(), object: Some("one"), ..Row::default() }, "nothing, ReleaseClaimed!"),
        (Row { claim: disputed(), object: Some("one"), ..Row::default() }, "unchanged, ReleaseClaimed"),
        // A release that is neither offered nor used is not created, and an existing one retires.
        (Row { role: Role::Kept, ..Row::default() }, "nothing"),
        (Row { role: Role::Retiring, ..Row::default() }, "nothing"),
        (Row { role: Role::Kept, object: Some("one"), ..Row::default() }, "unchanged"),
        (
            Row { role: Role::Retiring, object: Some("one"), ..Row::default() },
            "apply with pin one of 000000000000 retiring since 2026-11-23T02:00:00Z",
        ),
    ] {
        let shown = (row.role, row.claim.clone(), row.object, row.is_current, row.left_pin);
        assert_eq!(in_short(&decided(&row, &json!({}))), expected, "{shown:?}");
    }
}

#[test]
fn release_that_differs_is_written_unless_deleted() {
    let row = || Row { object: Some("one"), ..Row::default() };
    let since = json!({"annotations": {labels::RETIRING_SINCE: "2026-11-23T01:00:00Z"}});
    let again = "apply with pin one of 000000000000";
    for (metadata, expected) in [
        (json!({"finalizers": []}), again),
        (json!({"ownerReferences": []}), again),
        (json!({"finalizers": [], "deletionTimestamp": NOW}), "nothing"),
        // It is offered again.
        (since.clone(), again),
    ] {
        assert_eq!(in_short(&decided(&row(), &metadata)), expected, "{metadata}");
    }
    let retiring = Row { role: Role::Retiring, ..row() };
    assert_eq!(in_short(&decided(&retiring, &since)), "unchanged", "the time is not written again");
}

#[test]
fn release_of_other_shard_is_reported_not_written() {
    let (demo, name) = (demo(), release("v1"));
    let planned = Stack::new(&demo, None, std::iter::empty()).unwrap();
    let found = FoundRelease {
        role: Role::Offered,
        claim: Claim::Ours,
        object: None,
        is_owned: false,
        unwatched_owner: Some("far".to_owned()),
        left_pin: Some((OLD.to_owned(), digest("one").to_string())),
        clusters: 0,
    };
    let (now, releases) = (NOW.parse().unwrap(), [(name.clone(), found)].into());
    let facts =
        ReleasesFacts { stack: &demo, planned: &planned, catalog: None, silence: None, releases, now };
    let decision = decide_releases(&facts).remove(&name).unwrap();
    assert_eq!(in_short(&decision), "nothing, ReleaseClaimed!");
    assert!(decision.problem.unwrap().hold.message.contains("far, which is in another shard"));
}
