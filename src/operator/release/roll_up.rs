//! Rolls up the reconcile of a release from the facts, the decision and the results of the writes: without effects.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt as _;

use super::super::context::{Resolution, ResolvedRelease};
use super::content::{Content, Known};
use super::delivery::Receipts;
use super::{Decision, Facts, Found, tear_down};
use crate::api::{ClusterStackReleaseStatus, labels};
use crate::foreign::flux::FluxKind;
use crate::rollup::{
    ConditionStatus, ContentFacts, ReleaseFacts, Report, cluster_stack_release, kept_object, ready_of,
};
use crate::runtime::cache::Key;
use crate::runtime::queue::{Next, at};
use crate::subscription::ReleaseAction;

/// Delay before a retry if the kind of the provider's object is not listed yet.
const REQUEUE_UNLISTED_AFTER: Duration = Duration::from_secs(5);

/// Delay before a retry if a release of another namespace has a source of the release.
const REQUEUE_HELD_AFTER: Duration = Duration::from_mins(1);

/// Delay before a retry if a deleted release is in use.
const REQUEUE_USED_AFTER: Duration = Duration::from_mins(1);

/// The result of a reconcile.
pub(super) struct Outcome {
    /// The status; `None` if it stays as it is.
    pub(super) status: Option<ClusterStackReleaseStatus>,
    /// What the Clusters of the release can have.
    pub(super) share: Share,
    /// Time of the next reconcile.
    pub(super) next: Next,
}

/// What the Clusters of a release can have.
pub(super) enum Share {
    /// The same as before.
    Unchanged,
    /// This; `None` if this operator does not deliver to them.
    Changed(Option<Resolution>),
}

/// Rolls up a reconcile.
pub(super) fn roll_up(facts: &Facts, decision: &Decision, receipts: &Receipts) -> Outcome {
    let status = status(facts, decision, receipts);
    let share = shared(facts, decision, receipts, status.as_ref().map(ready_of));
    let next = receipts.next().earlier(next(facts, receipts, status.as_ref()));
    Outcome { status, share, next }
}

/// Returns the status of a release; `None` if it stays as it is.
fn status(facts: &Facts, decision: &Decision, receipts: &Receipts) -> Option<ClusterStackReleaseStatus> {
    if let ReleaseAction::TearDown(teardown) = &decision.action {
        return tear_down::roll_up(facts.object, teardown, facts.now);
    }
    let found = facts.found.as_ref().filter(|_| decision.action != ReleaseAction::Await)?;
    let content = match &found.content {
        Content::Known(known) => {
            ContentFacts::Known { release: &known.release, mutated: known.mutated.clone() }
        }
        Content::Invalid(report) => ContentFacts::Unusable(report.clone()),
        Content::Held(hold) => {
            let report = Report::new(ConditionStatus::False, hold.reason.as_str(), &hold.message);
            ContentFacts::Unusable(report)
        }
        Content::NotRead(report) | Content::Unavailable(report) => ContentFacts::Unread(report.clone()),
    };
    let rolled = ReleaseFacts {
        generation: facts.object.metadata.generation.unwrap_or_default(),
        requested_at: facts.object.annotations().get(labels::REQUESTED_AT).cloned(),
        pin: facts.object.pin(),
        content,
        provider: found.provider.report.clone(),
        objects: receipts.objects.clone(),
        class_hold: receipts.class_hold.clone(),
        usage: found.usage.clone(),
        deletion_hold: decision.hold.clone(),
    };
    let old = facts.object.status.clone().unwrap_or_default();
    Some(cluster_stack_release(rolled, &old, facts.now))
}

/// Returns what the Clusters of a release can have. `ready` is the `Ready` of its status.
fn shared(facts: &Facts, decision: &Decision, receipts: &Receipts, ready: Option<Report>) -> Share {
    if let ReleaseAction::Forget(hold) = &decision.action {
        // The operator stops delivering to the Clusters: after a change of the ClusterStack's labels the operator of
        // another shard delivers to them. If the release is deleted but kept for Clusters that use it, no operator does.
        let report = hold
            .as_ref()
            .map(|hold| Report::new(ConditionStatus::Unknown, hold.reason.as_str(), &hold.message));
        return Share::Changed(report.map(Resolution::Unusable));
    }
    let Some(found) = &facts.found else { return Share::Unchanged };
    let resolution = match (&found.content, ready) {
        // The addons would get the content of another client.
        (Content::Known(_), Some(ready)) if receipts.is_without_source => Resolution::Unusable(ready),
        (Content::Known(known), Some(ready)) => resolution(found, known, ready),
        (Content::Invalid(_) | Content::Held(_), Some(ready)) => Resolution::Unusable(ready),
        // A usable resolution of this process stays: pinned content does not change. A status from an earlier process may
        // be outdated.
        (Content::NotRead(report) | Content::Unavailable(report), _) if !facts.is_usable => {
            Resolution::Unusable(report.clone())
        }
        _ => return Share::Unchanged,
    };
    Share::Changed(Some(resolution))
}

fn resolution(found: &Found, known: &Known, ready: Report) -> Resolution {
    Resolution::Usable(Arc::new(ResolvedRelease {
        stack_key: Key::of(found.owner),
        suspended: found.owner.spec.suspend,
        allowed_deletions: found.owner.annotations().get(labels::PRUNE).cloned(),
        ready,
        stack: known.stack.clone(),
        release: known.release.clone(),
        contents: known.contents.clone(),
        versions: found.planned.versions.clone(),
    }))
}

/// Returns when a written status may change without an event.
fn next(facts: &Facts, receipts: &Receipts, status: Option<&ClusterStackReleaseStatus>) -> Next {
    let Some((found, status)) = facts.found.as_ref().zip(status) else { return Next::Await };
    let limits = receipts.objects.iter().filter_map(|object| {
        let moment = facts.moments.get(&FluxKind::of(&object.id.kind)?)?;
        let since = kept_object(&status.objects, &object.id)?.since.as_ref()?;
        moment.next_limit(object.verdict.as_ref()?, since.0)
    });
    let mut next = limits.min().map_or(Next::Await, |limit| at(limit, facts.now));
    if found.provider.is_unlisted {
        // No event announces that no API serves a kind.
        next = next.earlier(Next::After(REQUEUE_UNLISTED_AFTER));
    }
    if matches!(found.content, Content::Held(_)) {
        // Nothing in this namespace changes when the other release lets go of the source.
        next = next.earlier(Next::After(REQUEUE_HELD_AFTER));
    }
    if facts.teardown.is_used {
        // A Cluster that only the API server has shown may go without an event.
        next = next.earlier(Next::After(REQUEUE_USED_AFTER));
    }
    next
}
