//! Reconciles a `ClusterStack`: follows its stack repository, maintains a `ClusterStackRelease` for each release that is in
//! use or on offer, and reports the state of its releases and clusters.

mod clusters;
mod delete;
mod pins;
mod releases;
mod retire;
mod roll_up;
mod source;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::context::Context;
use super::git_delivery::progress::Progress;
use super::metrics::Queue;
use super::reconcile::{REQUEUE_SOON_AFTER, ReconcileError};
use super::{finalizer, status};
use crate::api::ClusterStack;
use crate::api::cluster_stack::Pruned;
use crate::foreign::flux::FluxKind;
use crate::gate::Hold;
use crate::inputs::stack::StackError;
use crate::names::ReleaseName;
use crate::rollup::{Moment, Report, Verdict};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;
use crate::subscription::{
    DeliveryMode, ReleasesFacts, RetirementFacts, StackDecision, StackPruning, SubscriptionFacts,
    decide_stack,
};
use clusters::User;
use pins::{PinReceipts, Pins};
use releases::Releases;
use roll_up::{Outcome, roll_up};
use source::{Receipt, Source};

/// The facts about a `ClusterStack`: one snapshot at one time.
struct Facts {
    now: Timestamp,
    key: Key,
    stack: Arc<ClusterStack>,
    /// The reason why it is kept although it is deleted.
    hold: Option<Hold>,
    source: Result<Source, StackError>,
    /// The followed `GitRepository` before the writes.
    repository: Receipt,
    /// The time, with source-controller.
    moment: Moment,
    releases: Releases,
    pins: Pins,
    /// The releases that are due and unused, according to the API server.
    confirmed: BTreeSet<ReleaseName>,
    /// The Clusters that count for it.
    users: Vec<User>,
    /// The objects of addons that were deleted in its clusters within the hour.
    pruned_addons: Option<Pruned>,
    /// Whether it has an upstream source.
    has_upstream: bool,
    /// The last report of the publisher.
    published: Option<Report>,
    /// The reason why the operator does not serve its built-in stack repository, if it has one that is closed.
    closed: Option<String>,
    /// The refusal to delete the `GitRepository` of an earlier source, in the last reconcile.
    undeletable: Option<Hold>,
}

/// The results of the writes.
struct Receipts {
    /// The `ClusterStack` with its finalizer.
    stack: Arc<ClusterStack>,
    source: Receipt,
    releases: PinReceipts,
    /// The progress of commits, and the number of uncommitted subjects.
    commits: Option<(Progress, usize)>,
}

impl Receipts {
    /// Returns what to delete after the writes.
    fn pruning(&self, decision: &StackDecision) -> StackPruning {
        decision.pruning_after(&self.stack, self.source.is_refused())
    }
}

/// Reconciles the `ClusterStack` with that key.
pub async fn reconcile(context: &Context, key: &Key) -> Result<Next, ReconcileError> {
    let Some(stack) = context.caches.stacks.get(key) else {
        context.metrics.remove(Queue::ClusterStack, &key.to_string());
        context.note_not_installed(key, None);
        context.undeletable_sources.set(key, None);
        return Ok(Next::Await);
    };
    if stack.metadata.deletion_timestamp.is_some() {
        return Box::pin(delete::delete(context, stack)).await;
    }
    maintain(context, stack, None).await
}

/// Maintains a `ClusterStack` that exists, or that is deleted but kept because of a hold.
async fn maintain(
    context: &Context,
    stack: Arc<ClusterStack>,
    hold: Option<Hold>,
) -> Result<Next, ReconcileError> {
    let facts = gather(context, stack, hold).await?;
    let decision = decide(&facts);
    if !source::confirm(context, &facts, &decision).await? {
        return Ok(Next::After(REQUEUE_SOON_AFTER));
    }
    let receipts = act(context, &facts, &decision).await?;
    let outcome = roll_up(&facts, &decision, &receipts);
    write_status(context, &facts, &receipts, &outcome).await?;
    let left_over = prune(context, &facts, &receipts.pruning(&decision)).await?;
    let refusal = receipts.source.refusal.or(left_over).or(receipts.releases.failure);
    refusal.filter(|_| facts.hold.is_none()).map_or(Ok(outcome.next), Err)
}

/// Gathers the facts about a `ClusterStack`. Fetches the content of the stack repository, and from the API server what
/// deletions depend on.
#[expect(clippy::disallowed_methods, reason = "gather takes the time once")]
async fn gather(
    context: &Context,
    stack: Arc<ClusterStack>,
    hold: Option<Hold>,
) -> Result<Facts, ReconcileError> {
    let (key, now) = (Key::of(&*stack), context.clock.now());
    let source = source::gather(context, &stack, now).await?;
    let read = source.as_ref().ok();
    let repository = Receipt::unchanged(read, source::repository(context, &stack));
    let releases = Releases::gather(context, &stack, read.and_then(|source| source.catalog.read.as_deref()));
    let users = clusters::users(context, &key.namespace, &releases);
    let pins = pins::gather(context, read.map(|source| &source.stack), &releases).await?;
    let recorded = stack.status.as_ref();
    let mut facts = Facts {
        now,
        moment: context.moment(FluxKind::GitRepository.as_str(), now),
        pruned_addons: context.budgets.sum(
            &key,
            recorded.and_then(|status| status.pruned_addons.as_ref()),
            clusters::pruned(&users),
            now,
        ),
        has_upstream: context.upstream(&stack).is_some(),
        published: context.published.get(&key),
        closed: stack.metadata.uid.as_ref().and_then(|uid| context.builtin.closed(uid)),
        undeletable: context.undeletable_sources.get(&key),
        confirmed: BTreeSet::new(),
        key,
        stack,
        hold,
        source,
        repository,
        releases,
        pins,
        users,
    };
    if facts.hold.is_none() && DeliveryMode::of(&facts.stack).writes() {
        facts.confirmed = retire::gather_confirmed(context, &facts.retirement()).await?;
    }
    Ok(facts)
}

impl Facts {
    fn retirement(&self) -> RetirementFacts<'_> {
        let Releases { owned, roles, .. } = &self.releases;
        RetirementFacts { stack: &self.stack, owned, roles, now: self.now }
    }
}

/// Decides what to write and to delete.
fn decide(facts: &Facts) -> StackDecision {
    let source = facts.source.as_ref().ok().map(|source| {
        let silence = match roll_up::followed(facts, &facts.repository) {
            (_, Some(Verdict::ApplierUnavailable(silence))) => Some(silence.to_string()),
            _ => None,
        };
        let releases = ReleasesFacts {
            stack: &facts.stack,
            planned: &source.stack,
            catalog: source.catalog.facts(),
            silence,
            releases: facts.pins.found(&facts.releases),
            now: facts.now,
        };
        (source.followed(&facts.repository), releases)
    });
    let is_not_allowed = matches!(facts.source, Err(StackError::SourceNotAllowed { .. }));
    let (retirement, confirmed) = (facts.retirement(), &facts.confirmed);
    decide_stack(SubscriptionFacts { source, is_not_allowed, retirement, confirmed })
}

/// Writes the finalizer, the source and the releases, as decided.
async fn act(context: &Context, facts: &Facts, decision: &StackDecision) -> Result<Receipts, ReconcileError> {
    let mut stack = facts.stack.clone();
    if decision.adds_finalizer {
        stack = finalizer::ensure(context, stack).await?;
    }
    let source = source::act(context, facts, decision).await?;
    let releases = pins::act(context, &facts.key, &decision.releases).await?;
    let progress = context.git.progress.get(&facts.key);
    let waiting = context.git.pending_commits.outstanding(&facts.key);
    let commits = progress.map(|progress| (progress, waiting));
    Ok(Receipts { stack, source, releases, commits })
}

/// Writes the status if it changed, and reports to the reconciles that read the result.
async fn write_status(
    context: &Context,
    facts: &Facts,
    receipts: &Receipts,
    outcome: &Outcome,
) -> Result<(), RequestError> {
    let verdicts = outcome.verdict.iter().map(|verdict| (FluxKind::GitRepository.as_str(), verdict));
    context.metrics.found(Queue::ClusterStack, &facts.key.to_string(), verdicts, []);
    context.note_not_installed(&facts.key, Some(outcome.not_installed.clone()));
    // The reconcile of a release reads its users and the content of the stack repository.
    let releases = facts.releases.owned.values().chain(receipts.releases.written.values());
    releases.for_each(|release| context.triggers.releases.now(Key::of(&**release)));
    status::write(context, &*receipts.stack, &outcome.status).await
}

/// Deletes the releases that are no longer used, which the status has counted: a process that dies in between has spent its
/// budget. A failure does not stop the deletion of the sources that are no longer followed, and the first of their failures
/// is returned.
async fn prune(
    context: &Context,
    facts: &Facts,
    pruning: &StackPruning,
) -> Result<Option<ReconcileError>, RequestError> {
    let retired = retire::prune(context, facts, &pruning.retirement).await;
    let failure = source::prune(context, &facts.stack, &pruning.left_over).await;
    retired.map(|()| failure)
}

#[cfg(test)]
mod tests;
