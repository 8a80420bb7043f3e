//! One `ClusterStack`: follow its stack repository, keep a `ClusterStackRelease` for each release that is wanted, say
//! how they and their clusters are.

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
use tracing::info;

use super::cache::Key;
use super::metrics::Queue;
use super::queue::{Next, at};
use super::reconcile::ReconcileError;
use super::world::World;
use super::{events, finalizer, publisher};
use crate::api::cluster_stack::{CommittedDelivery, Pruned};
use crate::api::{ClusterStack, ClusterStackStatus, Reason, labels};
use crate::foreign::flux::observed::{GitRepositoryStatus, ObservedKind as _};
use crate::gate::Hold;
use crate::names::ReleaseName;
use crate::rollup::cluster_stack::{self as rollup, ReleaseState, StackFacts, Trouble, cluster_stack};
use crate::rollup::{ConditionStatus, Report};
use crate::sink::cluster::RequestError;
use crate::subscription::{self, Role};
use releases::Releases;
use source::Source;

pub(super) use source::source_key;

/// Reconciles the `ClusterStack` of that key.
pub async fn reconcile(world: &World, key: &Key) -> Result<Next, ReconcileError> {
    let Some(stack) = world.caches.stacks.get(key) else {
        world.metrics.forgot(Queue::ClusterStack, &key.to_string());
        world.note_not_installed(key, None);
        return Ok(Next::Await);
    };
    if stack.metadata.deletion_timestamp.is_some() {
        return delete::delete(world, key, &stack).await;
    }
    let writes = !stack.spec.suspend;
    let stack = if writes { finalizer::ensure(world, &world.caches.stacks, stack).await? } else { stack };
    let mut source = Source::of(world, &stack, writes).await?;
    let unfollowed = source.failure.take();
    let retires = writes && source.is_followed;
    let mut releases = Releases::of(world, &stack, &source);
    let (mut troubles, failure) = pins::sync(world, &stack, &source, &mut releases, writes).await?;
    let retirement = retire::plan(world, &stack, &releases, &mut troubles, retires).await?;
    let (pruned, due) = (retirement.pruned.clone(), retirement.next);
    let found = Found { source, releases, troubles, pruned, stays: None };
    // The status counts what goes before it goes: a process that dies in between has used up its budget.
    let next = finish(world, key, &stack, &found).await?;
    retirement.carry_out(world, &stack).await?;
    if let Some(failure) = unfollowed.or(failure) {
        return Err(failure);
    }
    Ok(next.earlier(due.map_or(Next::Await, |due| at(due, Timestamp::now()))))
}

/// All that was found of a `ClusterStack`.
struct Found {
    source: Source,
    releases: Releases,
    troubles: BTreeMap<ReleaseName, Trouble>,
    pruned: Option<Pruned>,
    stays: Option<Hold>,
}

/// Writes the status where it changed, and says when to look again.
async fn finish(
    world: &World,
    key: &Key,
    stack: &Arc<ClusterStack>,
    found: &Found,
) -> Result<Next, ReconcileError> {
    let now = Timestamp::now();
    let old = stack.status.clone().unwrap_or_default();
    let verdicts = found.source.verdict.iter().map(|verdict| ("GitRepository", verdict));
    world.metrics.found(Queue::ClusterStack, &key.to_string(), verdicts, []);
    let without_release = clusters::without_release(world, stack, found);
    let status = cluster_stack(facts(world, stack, found, &without_release), &old, now);
    world.note_not_installed(key, Some(without_release));
    let missing = rollup::next_limit(found.source.interval, &status, now);
    let missing = missing.map_or(Next::Await, |limit| at(limit, now));
    let next = if found.source.catalog.error.is_some() { Next::Retry } else { next_limit(world, found, now) };
    let next = next.earlier(missing);
    // They look at who uses them, and at what the stack repository has.
    found.releases.owned.values().for_each(|release| world.triggers.releases.now(Key::of(&**release)));
    put_status(world, stack, &status).await?;
    Ok(next)
}

/// Writes a status where it changed.
async fn put_status(
    world: &World,
    stack: &ClusterStack,
    status: &ClusterStackStatus,
) -> Result<(), RequestError> {
    let (key, old) = (Key::of(stack), stack.status.clone().unwrap_or_default());
    if *status == old {
        world.metrics.skipped("ClusterStack");
        return Ok(());
    }
    let before = stack.metadata.resource_version.as_deref();
    let _writing = world.caches.stacks.writing(&key);
    let written: ClusterStack = world.api.write_status(&key, status, before).await?;
    let written = world.caches.stacks.written(written);
    events::ready_changed(world, &*written, &old.conditions, &status.conditions).await;
    info!(releases = status.summary.len(), "status written");
    Ok(())
}

/// When what Flux says of the source may change though nothing happens.
fn next_limit(world: &World, found: &Found, now: Timestamp) -> Next {
    let moment = world.moment(GitRepositoryStatus::KIND, now);
    let told = found.source.told.as_ref();
    let limit = found.source.verdict.as_ref().zip(told.and_then(|told| told.since.as_ref()));
    let limit = limit.and_then(|(verdict, since)| moment.next_limit(verdict, since.0));
    limit.map_or(Next::Await, |limit| at(limit, now))
}

fn facts<'a>(
    world: &World,
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
        source: source.told.clone(),
        interval: source.interval,
        available,
        releases: releases.roles.iter().map(state).collect(),
        troubles: found.troubles.clone(),
        clusters: clusters::states(world, stack, found, without_release),
        note: subscription::ignored(&stack.spec),
        pruned: found.pruned.clone(),
        delivered: delivered(world, stack, found),
        published: published(world, stack),
        stays: found.stays.clone(),
    }
}

/// Whether what is wanted upstream is published, where the `ClusterStack` has an upstream source.
fn published(world: &World, stack: &ClusterStack) -> Option<Report> {
    publisher::upstream(stack)?;
    if stack.spec.suspend {
        return Some(suspended());
    }
    Some(world.publisher.report(&Key::of(stack)).unwrap_or_else(Report::not_yet_reported))
}

/// What is said of what is not looked at while the `ClusterStack` is suspended.
fn suspended() -> Report {
    let message = "is not looked at while the ClusterStack is suspended";
    Report::new(ConditionStatus::Unknown, Reason::Suspended.as_str(), message)
}

/// How far commits are, where the `ClusterStack` is delivered through Git.
fn delivered(
    world: &World,
    stack: &ClusterStack,
    found: &Found,
) -> Option<(Report, Option<CommittedDelivery>)> {
    stack.spec.delivery.git()?;
    let key = Key::of(stack);
    let told = || stack.status.as_ref().and_then(|status| status.delivery.clone());
    if stack.spec.suspend {
        return Some((suspended(), told()));
    }
    let Some(progress) = world.git.progress(&key) else {
        return Some((Report::not_yet_reported(), told()));
    };
    let waiting = world.git.outbox.outstanding(&key);
    let not_applied = clusters::not_applied(world, found);
    Some((progress.report(waiting, &not_applied), Some(progress.told())))
}
