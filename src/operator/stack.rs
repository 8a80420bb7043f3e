//! Reconciles a `ClusterStack`: follows its stack repository, maintains a `ClusterStackRelease` for each release that is in
//! use or on offer, and reports the state of its releases and clusters.

mod clusters;
mod delete;
mod pins;
mod releases;
mod retire;
mod source;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt as _;

use super::context::Context;
use super::metrics::Queue;
use super::reconcile::ReconcileError;
use super::{finalizer, status};
use crate::api::cluster_stack::{CommittedDelivery, Pruned};
use crate::api::{ClusterStack, Reason, labels};
use crate::foreign::flux::observed::{GitRepositoryStatus, ObservedKind as _};
use crate::gate::Hold;
use crate::names::ReleaseName;
use crate::rollup::cluster_stack::{self as rollup, ReleaseState, StackFacts, cluster_stack};
use crate::rollup::{ConditionStatus, Report};
use crate::runtime::cache::Key;
use crate::runtime::queue::{Next, at};
use crate::subscription::{self, ReleaseDecision, ReleaseProblem, Retirement, Role};
use pins::Receipts;
use releases::Releases;
use source::{Source, reconcile_source};

/// Reconciles the `ClusterStack` with that key.
pub async fn reconcile(context: &Context, key: &Key) -> Result<Next, ReconcileError> {
    let Some(stack) = context.caches.stacks.get(key) else {
        context.metrics.remove(Queue::ClusterStack, &key.to_string());
        context.note_not_installed(key, None);
        return Ok(Next::Await);
    };
    if stack.metadata.deletion_timestamp.is_some() {
        return delete::delete(context, key, &stack).await;
    }
    let writes = !stack.spec.suspend;
    let stack = if writes { finalizer::ensure(context, &context.caches.stacks, stack).await? } else { stack };
    let source = reconcile_source(context, &stack, writes).await?;
    let now = source.now;
    let mut releases = Releases::of(context, &stack, &source);
    let decisions = pins::decide(context, &stack, &source, &releases, now).await?;
    let receipts = if writes { pins::act(context, key, &decisions).await? } else { Receipts::default() };
    releases.owned.extend(receipts.written.clone());
    let retirement = if writes && source.is_followed {
        retire::decide(context, &stack, &releases, now).await?
    } else {
        Retirement::none(&stack)
    };
    let problems = problems(decisions, receipts.refused, retirement.problems.clone());
    let found = Found { source, releases, problems, pruned: retirement.pruned.clone(), deletion_hold: None };
    // The status must count deletions before they happen: a process that dies in between has spent its budget.
    let next = finish(context, key, &stack, &found).await?;
    retire::prune(context, &stack, &found.releases, &retirement).await?;
    if let Some(failure) = found.source.failure.or(receipts.failure) {
        return Err(failure);
    }
    Ok(next.earlier(retirement.next.map_or(Next::Await, |due| at(due, now))))
}

/// Returns the problem of each release. An issue of the release itself hides a refused write, which is its consequence.
fn problems(
    decisions: BTreeMap<ReleaseName, ReleaseDecision>,
    refused: BTreeMap<ReleaseName, ReleaseProblem>,
    held_by_budget: BTreeMap<ReleaseName, ReleaseProblem>,
) -> BTreeMap<ReleaseName, ReleaseProblem> {
    let decided = decisions.into_iter().filter_map(|(name, decision)| Some((name, decision.problem?)));
    let mut problems: BTreeMap<_, _> = decided.collect();
    for (name, problem) in refused {
        if problems.get(&name).is_none_or(|known| !known.is_issue) {
            problems.insert(name, problem);
        }
    }
    problems.extend(held_by_budget);
    problems
}

/// The facts about a `ClusterStack`.
struct Found {
    source: Source,
    releases: Releases,
    problems: BTreeMap<ReleaseName, ReleaseProblem>,
    pruned: Option<Pruned>,
    deletion_hold: Option<Hold>,
}

/// Writes the status if it changed, and returns when to reconcile again.
async fn finish(
    context: &Context,
    key: &Key,
    stack: &Arc<ClusterStack>,
    found: &Found,
) -> Result<Next, ReconcileError> {
    let now = found.source.now;
    let old = stack.status.clone().unwrap_or_default();
    let verdicts = found.source.verdict.iter().map(|verdict| ("GitRepository", verdict));
    context.metrics.found(Queue::ClusterStack, &key.to_string(), verdicts, []);
    let without_release = clusters::without_release(context, stack, found);
    let status = cluster_stack(facts(context, stack, found, &without_release), &old, now);
    context.note_not_installed(key, Some(without_release));
    let missing = rollup::next_limit(found.source.interval, &status, now);
    let missing = missing.map_or(Next::Await, |limit| at(limit, now));
    let next =
        if found.source.catalog.error.is_some() { Next::Retry } else { next_limit(context, found, now) };
    let next = next.earlier(missing);
    // The reconcile of a release reads its users and the content of the stack repository.
    found.releases.owned.values().for_each(|release| context.triggers.releases.now(Key::of(&**release)));
    status::write(context, &**stack, &status).await?;
    Ok(next)
}

/// Returns when the verdict on the source may change without an event.
fn next_limit(context: &Context, found: &Found, now: Timestamp) -> Next {
    let moment = context.moment(GitRepositoryStatus::KIND, now);
    let recorded = found.source.recorded.as_ref();
    let limit = found.source.verdict.as_ref().zip(recorded.and_then(|recorded| recorded.since.as_ref()));
    let limit = limit.and_then(|(verdict, since)| moment.next_limit(verdict, since.0));
    limit.map_or(Next::Await, |limit| at(limit, now))
}

fn facts<'a>(
    context: &Context,
    stack: &ClusterStack,
    found: &'a Found,
    without_release: &BTreeMap<ReleaseName, Report>,
) -> StackFacts<'a> {
    let (source, releases) = (&found.source, &found.releases);
    let state = |(name, role): (&ReleaseName, &Role)| {
        let clusters = releases.clusters.get(name).map_or(0, Vec::len);
        let release = releases.owned.get(name).map(|release| &**release);
        (name.clone(), ReleaseState { role: *role, clusters, release })
    };
    let available = releases
        .available
        .as_ref()
        .map(|available| (subscription::latest(&stack.spec, available).cloned(), available.len()));
    StackFacts {
        generation: stack.metadata.generation.unwrap_or_default(),
        requested_at: stack.annotations().get(labels::REQUESTED_AT).cloned(),
        source_ready: source.ready.clone(),
        source: source.recorded.clone(),
        interval: source.interval,
        available,
        releases: releases.roles.iter().map(state).collect(),
        problems: found.problems.clone(),
        clusters: clusters::states(context, stack, found, without_release),
        note: subscription::ignored(&stack.spec),
        pruned: found.pruned.clone(),
        delivered: delivered(context, stack, found),
        published: published(context, stack),
        deletion_hold: found.deletion_hold.clone(),
    }
}

/// Reports whether all offered upstream releases are published; `None` if the `ClusterStack` has no upstream source.
fn published(context: &Context, stack: &ClusterStack) -> Option<Report> {
    stack.upstream()?;
    if stack.spec.suspend {
        return Some(suspended());
    }
    Some(context.publisher.report(&Key::of(stack)).unwrap_or_else(Report::not_yet_reported))
}

/// Reports that nothing is checked while the `ClusterStack` is suspended.
fn suspended() -> Report {
    let message = "not checked while the ClusterStack is suspended";
    Report::new(ConditionStatus::Unknown, Reason::Suspended.as_str(), message)
}

/// Reports the progress of commits; `None` unless the `ClusterStack` is delivered through Git.
fn delivered(
    context: &Context,
    stack: &ClusterStack,
    found: &Found,
) -> Option<(Report, Option<CommittedDelivery>)> {
    stack.spec.delivery.git()?;
    let key = Key::of(stack);
    let recorded = || stack.status.as_ref().and_then(|status| status.delivery.clone());
    if stack.spec.suspend {
        return Some((suspended(), recorded()));
    }
    let Some(progress) = context.git.progress(&key) else {
        return Some((Report::not_yet_reported(), recorded()));
    };
    let waiting = context.git.pending_commits.outstanding(&key);
    let not_applied = clusters::not_applied(context, found);
    Some((progress.report(waiting, &not_applied), Some(progress.to_status())))
}
