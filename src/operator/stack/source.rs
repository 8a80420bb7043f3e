//! The stack repository of a `ClusterStack`, which Flux follows and the operator reads.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tracing::info;

use super::super::context::Context;
use super::super::deliver::{Desired, applied, deliver};
use super::super::git_delivery::pending_commits::{Change, CommitState, Unit};
use super::super::metrics::Queue;
use super::super::objects::index;
use super::super::reconcile::ReconcileError;
use super::super::release_cache::{CatalogKey, ReleaseCacheError};
use super::super::{git_delivery, ownership, request};
use crate::api::cluster_stack::FollowedSource;
use crate::api::{ClusterStack, Duration};
use crate::foreign::flux::observed::{GitRepository, GitRepositoryStatus, ObservedKind as _, SpecDigest};
use crate::inputs::stack::{Stack, StackError};
use crate::plan::{self, Plan, PlanError, PlannedObject};
use crate::rollup::{ConditionStatus, Report, SourceFacts, Verdict, followed_source, source_ready};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::source::artifact::{ArtifactRef, CatalogRead};
use crate::subscription::{is_source_confirmed, left_over_sources};

/// The content of the stack repository.
#[derive(Clone, Debug, Default)]
pub(super) struct Catalog {
    /// The readable releases; of an older commit if the newest cannot be read.
    pub(super) read: Option<Arc<CatalogRead>>,
    /// Whether `read` is what Flux fetched last for the present spec of the `ClusterStack`.
    pub(super) is_current: bool,
    /// The reason why the newest commit cannot be read.
    pub(super) error: Option<ReleaseCacheError>,
}

/// The source of a `ClusterStack`.
pub(super) struct Source {
    /// The `ClusterStack` as the input of plans; `None` if its source is invalid.
    pub(super) stack: Option<Stack>,
    /// The content of the stack repository.
    pub(super) catalog: Catalog,
    /// The report whether the source is followed and read.
    pub(super) ready: Report,
    /// The source in the status.
    pub(super) recorded: Option<FollowedSource>,
    /// Flux's verdict on the source.
    pub(super) verdict: Option<Verdict>,
    /// Interval at which Flux fetches the source.
    pub(super) interval: SignedDuration,
    /// Whether the source was written as planned, so that Flux fetches for the present spec.
    pub(super) is_followed: bool,
    /// The refusal to write the source, or to delete an earlier one.
    pub(super) failure: Option<ReconcileError>,
    /// Time of the snapshot.
    pub(super) now: Timestamp,
}

/// Interval of a source that does not exist or has an invalid interval.
const INTERVAL: SignedDuration = SignedDuration::from_mins(1);

/// Returns the interval at which Flux fetches the `GitRepository` that a `ClusterStack` follows.
fn interval(context: &Context, stack: &ClusterStack) -> SignedDuration {
    let found = context.source_key(stack).and_then(|key| context.caches.git_repositories.get(&key));
    let interval = found.and_then(|found| found.refers_to.interval.parse::<Duration>().ok());
    interval.and_then(|interval| interval.to_std().try_into().ok()).unwrap_or(INTERVAL)
}

/// Reads the stack repository, or the last known catalog if that fails.
async fn read_catalog(context: &Context, planned: &Stack) -> Catalog {
    let repository = repository_key(planned);
    let Some(found) = context.caches.git_repositories.get(&repository) else { return Catalog::default() };
    let key = CatalogKey { repository, path: planned.source.path.clone(), line: planned.line.clone() };
    let Some(artifact) = &found.status.artifact else { return Catalog::default() };
    let read = match ArtifactRef::new(artifact) {
        Ok(artifact) => context.release_cache.catalog(&key, &artifact).await,
        Err(error) => Err(error.into()),
    };
    match read {
        // After a change of the spec the artifact may still be that of another repository.
        Ok(read) => Catalog { read: Some(read), is_current: found.is_observed(), error: None },
        Err(error) => {
            Catalog { read: context.release_cache.known_catalog(&key), is_current: false, error: Some(error) }
        }
    }
}

impl Source {
    /// Returns the state of a `ClusterStack` with an invalid source.
    fn invalid(context: &Context, stack: &ClusterStack, error: &StackError) -> Self {
        Self {
            stack: None,
            catalog: Catalog::default(),
            ready: Report::new(ConditionStatus::False, error.reason().as_str(), &error.to_string()),
            recorded: stack.status.as_ref().and_then(|status| status.source.clone()),
            verdict: None,
            interval: interval(context, stack),
            is_followed: true,
            failure: None,
            now: context.clock.now(),
        }
    }
}

/// Reconciles the source of a `ClusterStack`: if the operator `writes`, writes its `GitRepository` and deletes those of
/// earlier sources; then reads the releases.
pub(super) async fn reconcile_source(
    context: &Context,
    stack: &ClusterStack,
    writes: bool,
) -> Result<Source, ReconcileError> {
    let planned = match context.stack(stack) {
        Ok(planned) => planned,
        Err(error) => return Ok(Source::invalid(context, stack, &error)),
    };
    let plan = Arc::new(plan::stack(&planned)?);
    let (expected, refusal) = match follow_source(context, stack, &planned, &plan, writes).await {
        Ok(expected) => (expected, None),
        Err(error) if error.is_reported() => (recorded_digest(stack, &planned), Some(error)),
        Err(error) => return Err(error),
    };
    let is_followed = refusal.is_none();
    if writes {
        forward_request(context, stack).await?;
    }
    let failure = match prune_sources(context, stack, writes).await {
        Ok(()) => refusal,
        Err(error) if error.is_reported() => refusal.or(Some(error)),
        Err(error) => return Err(error),
    };
    // Read after the write: until Flux has fetched for the new spec, the artifact may be of another repository.
    let catalog = read_catalog(context, &planned).await;
    let catalog = Catalog { is_current: catalog.is_current && is_followed, ..catalog };
    let now = context.clock.now();
    let key = repository_key(&planned);
    let (recorded, verdict) = followed_source(SourceFacts {
        found: context.caches.git_repositories.get(&key).as_deref(),
        key,
        is_ours: plan.objects().next().is_some(),
        expected,
        old: stack.status.as_ref().and_then(|status| status.source.as_ref()),
        is_read: catalog.error.is_none() && catalog.read.is_some(),
        moment: context.moment(GitRepositoryStatus::KIND, now),
    });
    let ready = match &failure {
        Some(error) => {
            let hold = error.hold();
            Report::new(ConditionStatus::Unknown, hold.reason.as_str(), &hold.message)
        }
        None => source_ready(verdict.as_ref(), catalog.error.as_ref()),
    };
    Ok(Source {
        stack: Some(planned),
        catalog,
        ready,
        recorded: Some(recorded),
        verdict,
        interval: interval(context, stack),
        is_followed,
        failure,
        now,
    })
}

/// Applies or commits the `GitRepository` of a `ClusterStack` if the operator `writes`, and returns the expected digest of
/// its spec.
async fn follow_source(
    context: &Context,
    stack: &ClusterStack,
    planned: &Stack,
    plan: &Arc<Plan>,
    writes: bool,
) -> Result<Option<SpecDigest>, ReconcileError> {
    let desired = plan.objects().next().filter(|_| writes);
    match planned.delivery.git() {
        Some(_) => Ok(commit(context, stack, plan, writes)),
        None => apply(context, stack, planned, desired).await,
    }
}

/// Forwards a request to reconcile to the followed source.
async fn forward_request(context: &Context, stack: &ClusterStack) -> Result<(), RequestError> {
    let Some(repository) = context.source_key(stack) else { return Ok(()) };
    let handled = stack.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_deref());
    request::forward(context, &context.caches.git_repositories, &repository, stack, handled).await
}

/// Deletes the `GitRepository`s of earlier sources that no `ClusterStack` follows, each after the API server confirms that
/// the source is another one.
async fn prune_sources(context: &Context, stack: &ClusterStack, writes: bool) -> Result<(), ReconcileError> {
    if !writes || context.source_key(stack).is_none() {
        return Ok(());
    }
    let stacks = context.caches.stacks.all();
    let followed: BTreeSet<Key> = stacks.iter().filter_map(|stack| context.source_key(stack)).collect();
    for made in left_over_sources(&made(context, stack), &followed) {
        let live: Option<ClusterStack> = context.api.get(&Key::of(stack)).await?;
        if is_source_confirmed(stack, live.as_ref()) {
            ownership::delete(context, &context.caches.git_repositories, &**made).await?;
            info!(repository = %Key::of(&**made), "deleted: the ClusterStack has another source");
        }
    }
    Ok(())
}

/// Returns the digest of the spec that was written last.
fn recorded_digest(stack: &ClusterStack, planned: &Stack) -> Option<SpecDigest> {
    stack.spec_digest_of(&repository_key(planned).to_string()).map(SpecDigest::kept)
}

/// Applies the `GitRepository` if the operator made it and it is not as planned, and returns the expected digest of its
/// spec.
async fn apply(
    context: &Context,
    stack: &ClusterStack,
    planned: &Stack,
    desired: Option<&PlannedObject>,
) -> Result<Option<SpecDigest>, ReconcileError> {
    let expected = recorded_digest(stack, planned);
    let Some(desired) = desired else { return Ok(expected) };
    let owners = [ownership::controller(stack)];
    let desired = Desired { planned: desired, expected: expected.as_ref(), owners: &owners, shared: false };
    let delivery = deliver(context, &context.caches.git_repositories, desired).await?;
    Ok(delivery.expected)
}

/// Enqueues the commit of the `GitRepository` to the repository that Flux applies, and returns the digest of its spec if
/// Flux has applied it.
fn commit(context: &Context, stack: &ClusterStack, plan: &Arc<Plan>, writes: bool) -> Option<SpecDigest> {
    if writes {
        let (key, change) = (Key::of(stack), Change::Planned(plan.clone()));
        git_delivery::commit(context, &key, Unit::Source, change, (Queue::ClusterStack, key.clone()));
    }
    plan.objects().next().and_then(|desired| applied(&context.caches.git_repositories, desired))
}

/// Enqueues the removal of the `GitRepository` of a deleted `ClusterStack` from the repository that Flux applies, and
/// returns whether the removal is committed or not needed: it is forgotten once the `ClusterStack` is deleted.
pub(super) fn remove_from_git(context: &Context, stack: &ClusterStack) -> Result<bool, PlanError> {
    let Some(planned) = context.stack(stack).ok().filter(|planned| planned.delivery.git().is_some()) else {
        return Ok(true);
    };
    let (key, plan) = (Key::of(stack), plan::stack(&planned)?);
    let states = plan.objects().map(|object| {
        let (unit, requester) = (Unit::Object(object.id.clone(), None), (Queue::ClusterStack, key.clone()));
        git_delivery::commit(context, &key, unit, Change::Gone, requester)
    });
    let states: Vec<CommitState> = states.collect();
    Ok(states.iter().all(|state| *state == CommitState::Committed))
}

/// Returns the `GitRepository`s that were made for a `ClusterStack`, including that of an earlier source.
pub(super) fn made(context: &Context, stack: &ClusterStack) -> Vec<Arc<GitRepository>> {
    let uid = stack.metadata.uid.as_ref();
    let found = context.caches.git_repositories.by_index(&index::owned_by("ClusterStack", &Key::of(stack)));
    let is_its = |found: &Arc<GitRepository>| {
        found.object.owner_references.iter().flatten().any(|owner| Some(&owner.uid) == uid)
    };
    found.into_iter().filter(is_its).collect()
}

/// Returns the key of the `GitRepository` that a `ClusterStack` follows.
fn repository_key(planned: &Stack) -> Key {
    Key::new(planned.source.namespace.as_str(), planned.source.name.as_str())
}
