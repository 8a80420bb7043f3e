//! The stack repository of a `ClusterStack`: as plans see it, followed by Flux, and read.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tracing::info;

use super::super::context::Context;
use super::super::deliver::deliver;
use super::super::deliver::{Wanted, applied};
use super::super::git_delivery::outbox::{Change, Standing, Unit};
use super::super::library::{CatalogKey, LibraryError};
use super::super::metrics::Queue;
use super::super::objects::term;
use super::super::reconcile::ReconcileError;
use super::super::{git_delivery, ownership, request};
use crate::api::cluster_stack::FollowedSource;
use crate::api::cluster_stack_release::GeneratedObject;
use crate::api::{ClusterStack, Duration};
use crate::error::{Class, Classify};
use crate::foreign::flux::observed::{GitRepository, GitRepositoryStatus, ObservedKind as _, SpecDigest};
use crate::inputs::stack::Stack;
use crate::plan::{self, ObjectId, Plan, PlanError, PlannedObject, Step};
use crate::rollup::{
    ConditionStatus, Expected, Moment, ObjectFacts, Report, Verdict, git_repository, object_since,
};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::source::artifact::{ArtifactRef, CatalogRead};

/// What the stack repository has.
#[derive(Clone, Debug, Default)]
pub(super) struct Catalog {
    /// Its releases; of an older commit where the newest cannot be read.
    pub(super) read: Option<Arc<CatalogRead>>,
    /// Whether that is what Flux has fetched last for what the `ClusterStack` says now.
    pub(super) is_current: bool,
    /// Why the newest cannot be read.
    pub(super) error: Option<LibraryError>,
}

/// The source of a `ClusterStack`, as it was found.
pub(super) struct Source {
    /// The `ClusterStack` as plans see it; none where its source cannot be.
    pub(super) stack: Option<Stack>,
    /// What the stack repository has.
    pub(super) catalog: Catalog,
    /// Whether it is followed and was read.
    pub(super) ready: Report,
    /// What the status says of it.
    pub(super) told: Option<FollowedSource>,
    /// What Flux says of it.
    pub(super) verdict: Option<Verdict>,
    /// How often Flux fetches it.
    pub(super) interval: SignedDuration,
    /// Whether it is as it is wanted: what Flux has fetched is of the spec of now.
    pub(super) is_followed: bool,
    /// Why it could not be written or be asked for, or an earlier one not be deleted.
    pub(super) failure: Option<ReconcileError>,
}

/// The interval of a source that is not there, or whose own cannot be read.
const INTERVAL: SignedDuration = SignedDuration::from_mins(1);

/// How often Flux fetches the `GitRepository` that a `ClusterStack` follows.
fn interval(context: &Context, stack: &ClusterStack) -> SignedDuration {
    let found = context.source_key(stack).and_then(|key| context.caches.git_repositories.get(&key));
    let interval = found.and_then(|found| found.refers_to.interval.parse::<Duration>().ok());
    interval.and_then(|interval| interval.to_std().try_into().ok()).unwrap_or(INTERVAL)
}

/// What the stack repository has, as far as it can be read.
async fn catalog(context: &Context, planned: &Stack) -> Catalog {
    let repository = Key::new(planned.source.namespace.as_str(), planned.source.name.as_str());
    let Some(found) = context.caches.git_repositories.get(&repository) else { return Catalog::default() };
    let key = CatalogKey { repository, path: planned.source.path.clone(), line: planned.line.clone() };
    let Some(artifact) = &found.status.artifact else { return Catalog::default() };
    let read = match ArtifactRef::new(artifact) {
        Ok(artifact) => context.library.catalog(&key, &artifact).await,
        Err(error) => Err(error.into()),
    };
    match read {
        // A changed spec may mean another repository, whose artifact is still to come.
        Ok(read) => Catalog { read: Some(read), is_current: found.is_observed(), error: None },
        Err(error) => {
            Catalog { read: context.library.known_catalog(&key), is_current: false, error: Some(error) }
        }
    }
}

impl Source {
    /// Has the stack repository followed where `writes`, and reads it.
    pub(super) async fn of(
        context: &Context,
        stack: &ClusterStack,
        writes: bool,
    ) -> Result<Self, ReconcileError> {
        let planned = match context.stack(stack) {
            Ok(planned) => planned,
            Err(error) => {
                let told = stack.status.as_ref().and_then(|status| status.source.clone());
                let reason = error.reason().as_str();
                let ready = Report::new(ConditionStatus::False, reason, &error.to_string());
                let (catalog, interval) = (Catalog::default(), interval(context, stack));
                return Ok(Self {
                    stack: None,
                    catalog,
                    ready,
                    told,
                    verdict: None,
                    interval,
                    is_followed: true,
                    failure: None,
                });
            }
        };
        let plan = Arc::new(plan::stack(&planned)?);
        let wanted = plan.objects().next();
        let (expected, unfollowed) = match followed(context, stack, &planned, &plan, writes).await {
            Ok(expected) => (expected, None),
            Err(error) if error.is_told() => (kept(stack, &planned), Some(error)),
            Err(error) => return Err(error),
        };
        let is_followed = unfollowed.is_none();
        let failure = match tidied(context, stack, writes).await {
            Ok(()) => unfollowed,
            Err(error) if error.is_told() => unfollowed.or(Some(error)),
            Err(error) => return Err(error),
        };
        let catalog = catalog(context, &planned).await;
        let catalog = Catalog { is_current: catalog.is_current && is_followed, ..catalog };
        let (told, verdict) = judge(context, stack, &planned, wanted.is_some(), expected, &catalog);
        let ready = match &failure {
            Some(error) => {
                let hold = error.hold();
                Report::new(ConditionStatus::Unknown, hold.reason.as_str(), &hold.message)
            }
            None => ready(verdict.as_ref(), &catalog),
        };
        let interval = interval(context, stack);
        Ok(Self {
            stack: Some(planned),
            catalog,
            ready,
            told: Some(told),
            verdict,
            interval,
            is_followed,
            failure,
        })
    }
}

/// Has the stack repository followed where `writes`; the digest of the spec that is expected.
async fn followed(
    context: &Context,
    stack: &ClusterStack,
    planned: &Stack,
    plan: &Arc<Plan>,
    writes: bool,
) -> Result<Option<SpecDigest>, ReconcileError> {
    let wanted = plan.objects().next().filter(|_| writes);
    match planned.delivery.git() {
        Some(_) => Ok(commit(context, stack, plan, writes)),
        None => follow(context, stack, planned, wanted).await,
    }
}

/// Where `writes`, hands a request to reconcile on to the source that is followed, and deletes those of before.
async fn tidied(context: &Context, stack: &ClusterStack, writes: bool) -> Result<(), ReconcileError> {
    let Some(repository) = context.source_key(stack).filter(|_| writes) else { return Ok(()) };
    let handled = stack.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_deref());
    request::forward(context, &context.caches.git_repositories, &repository, stack, handled).await?;
    Ok(remove_left_over(context, stack).await?)
}

/// The digest of the spec that was written last.
fn kept(stack: &ClusterStack, planned: &Stack) -> Option<SpecDigest> {
    stack.spec_digest_of(&repository_name(planned)).map(SpecDigest::kept)
}

/// Writes the `GitRepository` where it is ours and not as planned; the digest of the spec that is expected.
async fn follow(
    context: &Context,
    stack: &ClusterStack,
    planned: &Stack,
    wanted: Option<&PlannedObject>,
) -> Result<Option<SpecDigest>, ReconcileError> {
    let expected = kept(stack, planned);
    let Some(wanted) = wanted else { return Ok(expected) };
    let owners = [ownership::controller(stack)];
    let wanted = Wanted { planned: wanted, expected: expected.as_ref(), owners: &owners, shared: false };
    let delivery = deliver(context, &context.caches.git_repositories, wanted).await?;
    Ok(delivery.expected)
}

/// Wants the `GitRepository` in the repository that Flux applies; the digest of its spec where Flux has applied it.
fn commit(context: &Context, stack: &ClusterStack, plan: &Arc<Plan>, writes: bool) -> Option<SpecDigest> {
    if writes {
        let (key, change) = (Key::of(stack), Change::Planned(plan.clone()));
        git_delivery::commit(context, &key, Unit::Source, change, (Queue::ClusterStack, key.clone()));
    }
    plan.objects().next().and_then(|wanted| applied(&context.caches.git_repositories, wanted))
}

/// Takes the `GitRepository` of a `ClusterStack` that goes out of the repository that Flux applies it from. Whether that is
/// done, or was never needed: nobody remembers it once the `ClusterStack` is gone.
pub(super) fn is_taken_out(context: &Context, stack: &ClusterStack) -> Result<bool, PlanError> {
    let Some(planned) = context.stack(stack).ok().filter(|planned| planned.delivery.git().is_some()) else {
        return Ok(true);
    };
    let (key, plan) = (Key::of(stack), plan::stack(&planned)?);
    let standings = plan.objects().map(|object| {
        let (unit, asker) = (Unit::Object(object.id.clone(), None), (Queue::ClusterStack, key.clone()));
        git_delivery::commit(context, &key, unit, Change::Gone, asker)
    });
    let standings: Vec<Standing> = standings.collect();
    Ok(standings.iter().all(|standing| *standing == Standing::Committed))
}

/// The `GitRepository`s that were made for a `ClusterStack`: one, and that of an earlier source.
pub(super) fn made(context: &Context, stack: &ClusterStack) -> Vec<Arc<GitRepository>> {
    let uid = stack.metadata.uid.as_ref();
    let found = context.caches.git_repositories.find(&term::owned_by("ClusterStack", &Key::of(stack)));
    let is_its = |found: &Arc<GitRepository>| {
        found.object.owner_references.iter().flatten().any(|owner| Some(&owner.uid) == uid)
    };
    found.into_iter().filter(is_its).collect()
}

/// Deletes what was made for a source that the `ClusterStack` has no more, as the API server says, and that no other
/// `ClusterStack` follows.
async fn remove_left_over(context: &Context, stack: &ClusterStack) -> Result<(), RequestError> {
    let stacks = context.caches.stacks.all();
    let followed: BTreeSet<Key> = stacks.iter().filter_map(|stack| context.source_key(stack)).collect();
    let left_over =
        |made: &Arc<GitRepository>| !made.metadata.terminating && !followed.contains(&Key::of(&**made));
    for made in made(context, stack).into_iter().filter(left_over) {
        let now: Option<ClusterStack> = context.api.get(&Key::of(stack)).await?;
        let is_same = |now: ClusterStack| {
            now.metadata.uid == stack.metadata.uid && now.spec.source == stack.spec.source
        };
        if now.is_some_and(is_same) {
            ownership::delete(context, &context.caches.git_repositories, &*made).await?;
            info!(repository = %Key::of(&*made), "deleted: the ClusterStack has another source");
        }
    }
    Ok(())
}

fn repository_name(planned: &Stack) -> String {
    format!("{}/{}", planned.source.namespace, planned.source.name)
}

/// What Flux says of the followed `GitRepository`, for the status.
fn judge(
    context: &Context,
    stack: &ClusterStack,
    planned: &Stack,
    is_ours: bool,
    expected: Option<SpecDigest>,
    catalog: &Catalog,
) -> (FollowedSource, Option<Verdict>) {
    let (now, name) = (Timestamp::now(), repository_name(planned));
    let key = Key::new(planned.source.namespace.as_str(), planned.source.name.as_str());
    let found = context.caches.git_repositories.get(&key);
    // The spec of a GitRepository that stackflux did not write is what its owner wants.
    let spec_digest = if is_ours { expected } else { found.as_ref().map(|found| found.spec_digest.clone()) };
    let old = stack.status.as_ref().and_then(|status| status.source.clone());
    let old = old.filter(|old| old.git_repository == name);
    let id = ObjectId {
        api_version: format!("{}/{}", GitRepositoryStatus::GROUP, GitRepositoryStatus::VERSION),
        kind: GitRepositoryStatus::KIND.to_owned(),
        namespace: key.namespace,
        name: key.name,
    };
    let before = old.as_ref().map(|old| remembered(&id, old));
    let verdict = found.as_deref().zip(spec_digest.as_ref()).map(|(found, digest)| {
        let since = object_since(before.as_ref(), &digest.to_string(), now);
        verdict(found, digest, since, &context.moment(GitRepositoryStatus::KIND, now))
    });
    let facts = ObjectFacts { id, step: Step::Sources, expected: spec_digest, verdict: verdict.clone() };
    let before: Vec<GeneratedObject> = before.into_iter().collect();
    let told = facts.told(&before, now);
    let revision = found.and_then(|found| Some(found.status.artifact.as_ref()?.revision.clone()));
    let revision = revision.filter(|_| catalog.error.is_none() && catalog.read.is_some());
    let source = FollowedSource {
        git_repository: name,
        revision: revision.or_else(|| old.and_then(|old| old.revision)),
        verdict: told.verdict,
        spec_digest: told.spec_digest,
        since: told.since,
    };
    (source, verdict)
}

fn remembered(id: &ObjectId, old: &FollowedSource) -> GeneratedObject {
    GeneratedObject {
        kind: id.kind.clone(),
        namespace: id.namespace.clone(),
        name: id.name.clone(),
        verdict: old.verdict.clone(),
        reason: None,
        spec_digest: old.spec_digest.clone(),
        since: old.since.clone(),
    }
}

/// A branch moves, so what is expected is whatever was fetched last: a fetch is always to come, and waits for
/// source-controller.
fn verdict(found: &GitRepository, digest: &SpecDigest, since: Timestamp, moment: &Moment) -> Verdict {
    let artifact = found.status.artifact.as_ref();
    let commit = artifact.and_then(|artifact| artifact.revision.rsplit(':').next());
    let expected = Expected { spec_digest: digest.clone(), version: commit.map(str::to_owned), since };
    match (git_repository(found, &expected, moment), moment.dead()) {
        (Verdict::Fetched, Some(silence)) => Verdict::ApplierUnavailable(silence),
        (verdict, _) => verdict,
    }
}

fn ready(verdict: Option<&Verdict>, catalog: &Catalog) -> Report {
    let Some(verdict) = verdict else { return Report::not_yet_reported() };
    match &catalog.error {
        Some(error) if *verdict == Verdict::Fetched => {
            let status = match error.class() {
                Class::Terminal => ConditionStatus::False,
                Class::Transient => ConditionStatus::Unknown,
            };
            Report::new(status, error.reason(), &error.to_string())
        }
        _ => verdict.report(),
    }
}
