//! Tests of the decision about a `ClusterStack`: its source, its releases, and what is deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};

use super::retirement::retiring;
use super::*;
use crate::api::{ClusterStackRelease, labels};
use crate::foreign::flux::observed::{FluxObject, SpecDigest};
use crate::inputs::content::CatalogEntry;
use crate::inputs::stack::Stack;
use crate::names::{Key, Revision};
use crate::plan;
use crate::plan::write::{RepairState, Write};
use crate::release::Digest;

const NOW: &str = "2026-11-23T02:00:00Z";
const LONG_AGO: &str = "2026-11-23T01:00:00Z";
const A: &str = "https://git.example.org/a.git";
const B: &str = "https://git.example.org/b.git";

/// Returns a `ClusterStack` that follows this repository, with changes.
fn following(url: &str, change: impl Fn(&mut ClusterStack)) -> ClusterStack {
    let mut stack = stack("demo", "2026-11-20T10:00:00Z", &["v1"], false);
    let source = json!({"git": {"url": url, "ref": {"branch": "main"}}});
    stack.spec.source = Some(serde_json::from_value(source).unwrap());
    stack.metadata.finalizers = Some(vec![labels::FINALIZER.to_owned()]);
    stack.metadata.annotations = Some([(labels::REQUESTED_AT.to_owned(), NOW.to_owned())].into());
    change(&mut stack);
    stack
}

fn by_git(stack: &mut ClusterStack) {
    let git = json!({"url": "https://git.example.org/fleet.git", "branch": "main", "path": "clusters"});
    stack.spec.delivery = serde_json::from_value(json!({"mode": "Git", "git": git})).unwrap();
}

fn suspended(stack: &mut ClusterStack) {
    stack.spec.suspend = true;
}

fn deleted(stack: &mut ClusterStack) {
    stack.metadata.deletion_timestamp = serde_json::from_value(json!(NOW)).unwrap();
}

/// Returns the `GitRepository` that was written for a `ClusterStack`, with other metadata.
fn written_for(stack: &ClusterStack, metadata: &Value) -> FluxObject {
    let plan = plan::stack(&Stack::new(stack, None, std::iter::empty()).unwrap()).unwrap();
    let mut object = plan.objects().next().unwrap().value.clone();
    let owner = json!([{"apiVersion": "x", "kind": "ClusterStack", "name": "demo", "uid": "demo"}]);
    object["metadata"]["ownerReferences"] = owner;
    let fields = metadata.as_object().cloned().unwrap_or_default();
    object["metadata"].as_object_mut().unwrap().extend(fields);
    serde_json::from_value(object).unwrap()
}

/// One row: a `ClusterStack` that offers v1 and owns v0, which retires.
struct Row {
    stack: ClusterStack,
    found: Option<FluxObject>,
    /// Digest of the last write; by default that of the existing object.
    expected: Option<SpecDigest>,
    /// Whether Flux has fetched for the present spec of the existing object.
    is_observed: bool,
    /// The object of v0.
    old: ClusterStackRelease,
    /// Whether the owner of the repository has not allowed the `ClusterStack`.
    is_not_allowed: bool,
}

impl Row {
    fn new(stack: ClusterStack, found: FluxObject) -> Self {
        let expected = Some(found.spec_digest.clone());
        let old = retiring(LONG_AGO, "Retiring");
        Self { stack, found: Some(found), expected, is_observed: true, old, is_not_allowed: false }
    }

    /// A `ClusterStack` whose source is as planned.
    fn planned(stack: ClusterStack) -> Self {
        let found = written_for(&stack, &json!({}));
        Self::new(stack, found)
    }

    fn decided(&self, has_source: bool) -> StackDecision {
        let now: Timestamp = NOW.parse().unwrap();
        let planned = Stack::new(&self.stack, None, std::iter::empty()).unwrap();
        let plan = plan::stack(&planned).unwrap();
        let revision: Revision = "c0ffee0000000000000000000000000000000000".parse().unwrap();
        let digest = Digest::of_bytes(b"one");
        let entry = CatalogEntry { revision: revision.clone(), digest, addons: BTreeMap::new() };
        let entries = [(release("v1"), Ok(entry))].into();
        let catalog = CatalogFacts { revision: &revision, releases: &entries, is_current: self.is_observed };
        let found = |role, object| FoundRelease {
            role,
            claim: Claim::Ours,
            object,
            is_owned: object.is_some(),
            unwatched_owner: None,
            left_pin: None,
            clusters: 0,
        };
        let before = written_for(&self.stack, &json!({"name": "before"}));
        let made: Vec<_> = self.found.iter().cloned().chain([before]).map(Arc::new).collect();
        let followed = BTreeSet::from([Key::new("stacks", "demo-catalog")]);
        let reference = OwnerReference {
            uid: self.stack.metadata.uid.clone().unwrap_or_default(),
            ..OwnerReference::default()
        };
        let repository = FollowedRepository {
            planned: plan.objects().next(),
            found: self.found.as_ref(),
            expected: self.expected.as_ref(),
            owner: &reference,
            repairs: &RepairState::NONE,
            made: &made,
            followed: &followed,
        };
        let releases = ReleasesFacts {
            stack: &self.stack,
            planned: &planned,
            catalog: self.found.as_ref().map(|_| catalog),
            silence: None,
            releases: [
                (release("v0"), found(Role::Retiring, Some(&self.old))),
                (release("v1"), found(Role::Offered, None)),
            ]
            .into(),
            now,
        };
        let owned = [(release("v0"), Arc::new(self.old.clone()))].into();
        let roles = [(release("v0"), Role::Retiring), (release("v1"), Role::Offered)].into();
        decide_stack(SubscriptionFacts {
            source: has_source.then_some((repository, releases)),
            is_not_allowed: self.is_not_allowed,
            retirement: RetirementFacts { stack: &self.stack, owned: &owned, roles: &roles, now },
            confirmed: &self::releases("v0"),
        })
    }
}

/// Formats the write of the source and of v1.
fn written(row: &Row) -> String {
    let decision = row.decided(true);
    let v1 = match &decision.releases[&release("v1")].apply {
        None => "not written",
        Some(desired) if desired.spec.source.is_none() => "not pinned",
        Some(_) => "pinned",
    };
    format!("{}, v1 {v1}", write_in_short(&decision.source))
}

#[test]
fn changed_source_pins_nothing_until_flux_fetched() {
    let ours = || following(B, |_| ());
    let of_a = || written_for(&following(A, |_| ()), &json!({}));
    let planned = || Row::planned(ours());
    let another = json!([{"apiVersion": "x", "kind": "ClusterStack", "name": "demo", "uid": "another"}]);
    let referring = following(B, |stack| {
        let source = json!({"gitRepositoryRef": {"name": "demo-catalog"}});
        stack.spec.source = Some(serde_json::from_value(source).unwrap());
    });
    for (row, expected) in vec![
        (Row { found: None, expected: None, ..planned() }, "Apply(Apply), v1 not written"),
        // The artifact is that of another repository, and Flux has fetched it for the spec before the write.
        (Row::new(ours(), of_a()), "Apply(Apply), v1 not pinned"),
        (Row { is_observed: false, ..planned() }, "Apply(Nothing), v1 not pinned"),
        (planned(), "Apply(Nothing), v1 pinned"),
        // Another field manager changed it.
        (Row { expected: Some(of_a().spec_digest), ..planned() }, "Apply(Repair), v1 not pinned"),
        (Row { expected: None, ..planned() }, "Apply(Apply), v1 not pinned"),
        (
            Row::new(ours(), written_for(&ours(), &json!({"ownerReferences": another}))),
            "Apply(Apply), v1 not pinned",
        ),
        (
            Row::new(ours(), written_for(&ours(), &json!({"deletionTimestamp": NOW}))),
            "Apply(AfterDeletion), v1 not pinned",
        ),
        (Row { is_observed: false, ..Row::planned(following(B, by_git)) }, "Commit(Nothing), v1 not pinned"),
        (Row::planned(following(B, by_git)), "Commit(Nothing), v1 pinned"),
    ] {
        assert_eq!(written(&row), expected, "{:?}", row.found.map(|found| found.object));
    }
    assert_eq!(source_write(&referring, &unplanned()), SourceWrite::Nothing, "another owner writes it");
}

/// Returns a `GitRepository` that another owner writes.
fn unplanned() -> FollowedRepository<'static> {
    static FOLLOWED: BTreeSet<Key> = BTreeSet::new();
    static OWNER: LazyLock<OwnerReference> = LazyLock::new(OwnerReference::default);
    FollowedRepository {
        planned: None,
        found: None,
        expected: None,
        owner: &OWNER,
        repairs: &RepairState::NONE,
        made: &[],
        followed: &FOLLOWED,
    }
}

/// Formats the write of a source.
fn write_in_short(write: &SourceWrite) -> String {
    match write {
        SourceWrite::Apply(Write::Apply(apply)) if apply.manager.is_some() => "Apply(Repair)".to_owned(),
        SourceWrite::Apply(Write::Apply(_)) => "Apply(Apply)".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Formats a decision.
fn in_short(decision: &StackDecision) -> String {
    let names = |names: Vec<String>| names.join(" ");
    let written = decision.releases.iter().filter(|(_, release)| release.apply.is_some());
    format!(
        "{}{}{}, write [{}], delete [{}], left [{}]",
        if decision.adds_finalizer { "finalizer, " } else { "" },
        write_in_short(&decision.source),
        if decision.forwards.is_some() { ", forward" } else { "" },
        names(written.map(|(name, _)| name.version().to_string()).collect()),
        names(decision.pruning.retirement.delete.iter().map(|name| name.version().to_string()).collect()),
        names(decision.pruning.left_over.iter().map(|left| Key::of(&**left).to_string()).collect()),
    )
}

/// A change of the ClusterStack, whether its source is valid, and the decision.
type Case<'a> = (&'a dyn Fn(&mut ClusterStack), bool, &'a str);

#[test]
fn stack_is_written_only_while_it_may_be() {
    let without_finalizer = |stack: &mut ClusterStack| stack.metadata.finalizers = None;
    let both = |stack: &mut ClusterStack| {
        suspended(stack);
        deleted(stack);
    };
    let rows: [Case; 8] = [
        (&|_| (), true, "Apply(Nothing), forward, write [v0 v1], delete [v0], left [stacks/before]"),
        (
            &without_finalizer,
            true,
            "finalizer, Apply(Nothing), forward, write [v0 v1], delete [v0], left [stacks/before]",
        ),
        (&by_git, true, "Commit(Nothing), forward, write [v0 v1], delete [v0], left [stacks/before]"),
        // A deleted one is kept with its source, and its releases stay as they are.
        (&deleted, true, "Apply(Nothing), forward, write [], delete [], left [stacks/before]"),
        (&suspended, true, "Nothing, write [], delete [], left []"),
        (&both, true, "Nothing, write [], delete [], left []"),
        // An invalid source does not stop the retirement.
        (&|_| (), false, "Nothing, write [], delete [v0], left []"),
        (&suspended, false, "Nothing, write [], delete [], left []"),
    ];
    for (change, has_source, expected) in rows {
        let stack = following(A, change);
        let status = json!({"pruned": {"since": LONG_AGO, "count": 7}});
        let stack = ClusterStack { status: serde_json::from_value(status).unwrap(), ..stack };
        let decision = Row::planned(stack.clone()).decided(has_source);
        assert_eq!(in_short(&decision), expected, "{stack:?}");
        let Retirement { delete, pruned, .. } = decision.pruning.retirement;
        let counted = if delete.is_empty() { 7 } else { 1 };
        assert_eq!(pruned.map(|pruned| pruned.count), Some(counted), "{stack:?}");
    }
}

#[test]
fn stack_without_consent_keeps_everything() {
    let stack = following(A, |_| ());
    let decision = Row { is_not_allowed: true, ..Row::planned(stack) }.decided(false);
    assert_eq!(in_short(&decision), "Nothing, write [], delete [], left []");
}

#[test]
fn refused_source_stops_all_deletions() {
    for (pruned, is_refused, deleted, waiting, counted) in [
        (json!({}), false, "v0, before", 0, Some(1)),
        (json!({}), true, "", 0, None),
        // Deletions that were counted before stay counted.
        (json!({"pruned": {"since": NOW, "count": 7}}), false, "before", 1, Some(7)),
        (json!({"pruned": {"since": NOW, "count": 7}}), true, "", 0, Some(7)),
        (json!({"pruned": {"since": LONG_AGO, "count": 7}}), false, "v0, before", 0, Some(1)),
        (json!({"pruned": {"since": LONG_AGO, "count": 7}}), true, "", 0, Some(7)),
    ] {
        let stack = following(A, |stack| stack.status = serde_json::from_value(pruned.clone()).unwrap());
        let decision = Row::planned(stack.clone()).decided(true);
        let StackPruning { retirement, left_over } = decision.pruning_after(&stack, is_refused);
        let names = retirement.delete.iter().map(|name| name.version().to_string());
        let found: Vec<String> = names.chain(left_over.iter().map(|left| Key::of(&**left).name)).collect();
        let counts = (retirement.problems.len(), retirement.pruned.map(|pruned| pruned.count));
        assert_eq!(
            (found.join(", ").as_str(), counts),
            (deleted, (waiting, counted)),
            "{pruned} {is_refused}"
        );
    }
}

#[test]
fn retiring_release_is_due_in_ten_minutes() {
    let mut begins = retiring(LONG_AGO, "Retiring");
    begins.metadata.annotations = None;
    let decision = Row { old: begins, ..Row::planned(following(A, |_| ())) }.decided(true);
    assert_eq!(
        decision.releases[&release("v0")].apply.as_ref().unwrap().retiring_since.as_deref(),
        Some(NOW)
    );
    let Retirement { next, delete, .. } = decision.pruning.retirement;
    let left = next.unwrap().duration_since(NOW.parse().unwrap());
    assert_eq!((left, delete), (SignedDuration::from_mins(10), Vec::new()));
}
