//! The stack repository of a `ClusterStack`, which Flux follows and the operator reads.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use tracing::info;

use super::super::context::Context;
use super::super::deliver::{self, Delivery};
use super::super::git_delivery::pending_commits::{Change, CommitState, Subject};
use super::super::metrics::Queue;
use super::super::objects::{controller_reference, index};
use super::super::reconcile::ReconcileError;
use super::super::release_cache::{CatalogKey, ReleaseCacheError};
use super::super::{git_delivery, request, write};
use super::Facts;
use crate::api::ClusterStack;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{FluxObject, SpecDigest};
use crate::gate::Hold;
use crate::inputs::stack::{Stack, StackError};
use crate::plan::existing::is_ours;
use crate::plan::repair::Wait;
use crate::plan::write::{RepairState, Write};
use crate::plan::{self, ObjectId, Plan, PlanError, PlannedObject, delivery};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::source::artifact::{ArtifactRef, CatalogRead};
use crate::subscription::{
    CatalogFacts, FollowedRepository, SourceWrite, StackDecision, is_source_confirmed, takes_over,
};

/// The source of a `ClusterStack`.
pub(super) struct Source {
    /// The `ClusterStack` as the input of plans.
    pub(super) stack: Stack,
    /// The plan of the `GitRepository`; empty if another owner writes it.
    pub(super) plan: Arc<Plan>,
    /// The content of the stack repository.
    pub(super) catalog: Catalog,
    /// Digest of the spec of the `GitRepository` as the last write returned it, or as Flux applied it.
    pub(super) expected: Option<SpecDigest>,
    /// The `ClusterStack` as the owner of the `GitRepository`.
    pub(super) owner: OwnerReference,
    /// The repairs of the `GitRepository`.
    pub(super) repairs: RepairState,
    /// The object of another client that has its name, if a write conflicted with one.
    pub(super) occupant: Option<Arc<FluxObject>>,
    /// The `GitRepository`s that were made for the `ClusterStack`, including that of an earlier source.
    pub(super) made: Vec<Arc<FluxObject>>,
    /// The keys of the `GitRepository`s that any `ClusterStack` follows.
    pub(super) followed: BTreeSet<Key>,
}

/// The content of the stack repository.
#[derive(Clone, Debug, Default)]
pub(super) struct Catalog {
    /// The readable releases; of an older commit if the newest cannot be read.
    pub(super) read: Option<Arc<CatalogRead>>,
    /// Whether `read` is what Flux fetched last for the present spec of the `GitRepository`.
    pub(super) is_observed: bool,
    /// The reason why the newest commit cannot be read.
    pub(super) error: Option<ReleaseCacheError>,
}

/// The followed `GitRepository` after the writes.
#[derive(Default)]
pub(super) struct Receipt {
    /// The object, if it exists.
    pub(super) repository: Option<Arc<FluxObject>>,
    /// Digest of its spec as the last write returned it, or as Flux applied it.
    pub(super) expected: Option<SpecDigest>,
    /// The refusal to write it, to retry the reconcile.
    pub(super) refusal: Option<ReconcileError>,
    /// The hold while an object of another client has its name.
    pub(super) hold: Option<Hold>,
    /// The repair that waits, because another client changes the object again and again.
    pub(super) wait: Option<Wait>,
}

impl Catalog {
    /// Returns the facts for decisions.
    pub(super) fn facts(&self) -> Option<CatalogFacts<'_>> {
        let read = self.read.as_ref()?;
        let (revision, releases) = (&read.revision, &read.releases);
        Some(CatalogFacts { revision, releases, is_current: self.is_observed })
    }
}

impl Source {
    /// Returns the facts for decisions, with the `GitRepository` of a receipt.
    pub(super) fn followed<'a>(&'a self, receipt: &'a Receipt) -> FollowedRepository<'a> {
        FollowedRepository {
            planned: self.plan.objects().next(),
            found: receipt.repository.as_deref().or(self.occupant.as_deref()),
            expected: receipt.expected.as_ref(),
            owner: &self.owner,
            repairs: &self.repairs,
            made: &self.made,
            followed: &self.followed,
        }
    }
}

impl Receipt {
    /// Returns the receipt of a reconcile that writes nothing.
    pub(super) fn unchanged(source: Option<&Source>, repository: Option<Arc<FluxObject>>) -> Self {
        let expected = source.and_then(|source| source.expected.clone());
        Self { repository, expected, ..Self::default() }
    }

    /// Whether the source is not written, so that nothing else is deleted.
    pub(super) fn is_refused(&self) -> bool {
        self.refusal.is_some() || self.hold.is_some()
    }
}

/// Gathers the source of a `ClusterStack`, and reads its releases.
pub(super) async fn gather(
    context: &Context,
    stack: &ClusterStack,
    now: Timestamp,
) -> Result<Result<Source, StackError>, ReconcileError> {
    let planned = match context.stack(stack) {
        Ok(planned) => planned,
        Err(error) => return Ok(Err(error)),
    };
    let plan = Arc::new(plan::stack(&planned)?);
    deliver::look_again(context, &plan, now).await?;
    let own = plan.objects().next().filter(|_| planned.delivery.git().is_none());
    let catalog = read_catalog(context, stack, &planned, own).await;
    let expected = match planned.delivery.git() {
        Some(_) => {
            let found = repository(context, stack);
            found.zip(plan.objects().next()).and_then(|(found, planned)| delivery::applied(&found, planned))
        }
        None => stack.spec_digest_of(&repository_key(&planned).to_string()).map(SpecDigest::kept),
    };
    let stacks = context.caches.stacks.all();
    let followed = stacks.iter().filter_map(|stack| context.source_key(stack)).collect();
    let (kind, own) = (FluxKind::GitRepository, repository_key(&planned));
    Ok(Ok(Source {
        owner: controller_reference(stack),
        repairs: deliver::repairs(context, (kind, &own), now),
        occupant: context.occupants.get(kind, &own),
        stack: planned,
        plan,
        catalog,
        expected,
        made: made(context, stack),
        followed,
    }))
}

/// Returns the `GitRepository` that a `ClusterStack` follows, if it exists.
pub(super) fn repository(context: &Context, stack: &ClusterStack) -> Option<Arc<FluxObject>> {
    context.caches.flux.get(FluxKind::GitRepository, &context.source_key(stack)?)
}

/// Whether the artifact of a `GitRepository` is that of its spec, which may have changed while the artifact was read: it may be
/// that of another repository.
fn is_still_observed(found: &FluxObject, now: Option<&FluxObject>) -> bool {
    let is_same = |now: &FluxObject| now.metadata.generation == found.metadata.generation;
    found.is_observed() && now.is_some_and(is_same)
}

/// Reads the stack repository, or the last known catalog if that fails. `own` is the plan of the `GitRepository` if the
/// operator applies it: one of another client with its name has another repository.
async fn read_catalog(
    context: &Context,
    stack: &ClusterStack,
    planned: &Stack,
    own: Option<&PlannedObject>,
) -> Catalog {
    let found = repository(context, stack);
    let found = found.filter(|found| own.is_none_or(|own| is_ours((&**found).into(), own)));
    let Some(found) = found else { return Catalog::default() };
    let key = CatalogKey::of(planned);
    let Some(artifact) = found.status.artifact() else { return Catalog::default() };
    let read = match ArtifactRef::new(artifact) {
        Ok(artifact) => context.release_cache.catalog(&key, &artifact).await,
        Err(error) => Err(error.into()),
    };
    match read {
        Ok(read) => {
            let is_observed = is_still_observed(&found, repository(context, stack).as_deref());
            Catalog { read: Some(read), is_observed, error: None }
        }
        Err(error) => {
            let read = context.release_cache.known_catalog(&key);
            Catalog { read, is_observed: false, error: Some(error) }
        }
    }
}

/// Asks the API server for the `ClusterStack` that becomes the owner of a `GitRepository` which another one has left. Returns
/// whether the decision can be carried out.
pub(super) async fn confirm(
    context: &Context,
    facts: &Facts,
    decision: &StackDecision,
) -> Result<bool, RequestError> {
    let SourceWrite::Apply(write) = &decision.source else { return Ok(true) };
    if !takes_over(&facts.stack, write, facts.repository.repository.as_deref()) {
        return Ok(true);
    }
    let live: Option<ClusterStack> = context.api.get(&facts.key).await?;
    let live = live.filter(|live| live.metadata.deletion_timestamp.is_none());
    Ok(is_source_confirmed(&facts.stack, live.as_ref()))
}

/// Applies the `GitRepository` or enqueues its commit, and forwards a request to reconcile to it, as decided.
pub(super) async fn act(
    context: &Context,
    facts: &Facts,
    decision: &StackDecision,
) -> Result<Receipt, ReconcileError> {
    let source = facts.source.as_ref().ok();
    let mut receipt = Receipt::unchanged(source, None);
    if let Some(source) = source {
        match &decision.source {
            SourceWrite::Nothing => {}
            SourceWrite::Commit(_) => {
                let requester = (Queue::ClusterStack, facts.key.clone());
                let change = Change::Planned(source.plan.clone());
                git_delivery::commit(context, &facts.key, Subject::Source, change, requester);
            }
            SourceWrite::Apply(write) => match apply(context, facts, source, write).await {
                Ok(delivery) => {
                    (receipt.expected, receipt.hold) = (delivery.expected, delivery.hold);
                    receipt.wait = delivery.wait;
                }
                Err(error) if error.is_reported() => receipt.refusal = Some(error),
                Err(error) => return Err(error),
            },
        }
    }
    if receipt.hold.is_some() {
        return Ok(receipt);
    }
    receipt.repository = repository(context, &facts.stack);
    if let Some(request) = &decision.forwards
        && let Some(found) = receipt.repository.take()
    {
        receipt.repository = Some(request::forward(context, found, &*facts.stack, request).await?);
    }
    Ok(receipt)
}

/// Carries out the write of the `GitRepository`.
async fn apply(
    context: &Context,
    facts: &Facts,
    source: &Source,
    write: &Write,
) -> Result<Delivery, ReconcileError> {
    let Some(planned) = source.plan.objects().next() else { return Ok(Delivery::default()) };
    let before = (facts.repository.repository.clone(), source.expected.as_ref());
    Ok(deliver::carry_out(context, (FluxKind::GitRepository, planned, write), before, facts.now).await?)
}

/// Deletes the `GitRepository`s of earlier sources. Returns the first failure. The next reconcile reports a refusal.
pub(super) async fn prune(
    context: &Context,
    stack: &ClusterStack,
    left_over: &[Arc<FluxObject>],
) -> Option<ReconcileError> {
    let mut failure: Option<ReconcileError> = None;
    for repository in left_over {
        if let Err(error) = delete_left_over(context, stack, repository).await {
            failure = failure.or_else(|| Some(error.into()));
        }
    }
    let refusal = failure.as_ref().filter(|failure| failure.is_reported()).map(ReconcileError::hold);
    let (key, is_deleted) = (Key::of(stack), failure.is_none());
    // The retry of a failure reports it.
    if context.undeletable_sources.set(&key, refusal) && is_deleted {
        context.triggers.stacks.now(key);
    }
    failure
}

/// Deletes the `GitRepository` of an earlier source, unless the API server does not confirm that it is one.
async fn delete_left_over(
    context: &Context,
    stack: &ClusterStack,
    repository: &FluxObject,
) -> Result<(), RequestError> {
    let live: Option<ClusterStack> = context.api.get(&Key::of(stack)).await?;
    if is_source_confirmed(stack, live.as_ref()) {
        write::delete(context, repository).await?;
        info!(repository = %Key::of(repository), "deleted: the ClusterStack has another source");
    }
    Ok(())
}

/// Returns the objects of the source of a `ClusterStack` in the repository of `delivery.git`, if it has one.
pub(super) fn committed(context: &Context, stack: &ClusterStack) -> Result<Vec<ObjectId>, PlanError> {
    let Some(planned) = context.stack(stack).ok().filter(|planned| planned.delivery.git().is_some()) else {
        return Ok(Vec::new());
    };
    Ok(plan::stack(&planned)?.objects().map(|object| object.id.clone()).collect())
}

/// Enqueues the removal of objects of a deleted `ClusterStack` from the repository that Flux applies, and returns whether all
/// removals are committed: they are forgotten once the `ClusterStack` is deleted.
pub(super) fn remove_from_git(context: &Context, key: &Key, committed: &[ObjectId]) -> bool {
    let states = committed.iter().map(|id| {
        let (subject, requester) = (Subject::Object(id.clone(), None), (Queue::ClusterStack, key.clone()));
        git_delivery::commit(context, key, subject, Change::Gone, requester)
    });
    let states: Vec<CommitState> = states.collect();
    states.iter().all(|state| *state == CommitState::Committed)
}

/// Returns the `GitRepository`s that were made for a `ClusterStack`, including that of an earlier source.
pub(super) fn made(context: &Context, stack: &ClusterStack) -> Vec<Arc<FluxObject>> {
    let owned = index::owned_by("ClusterStack", &Key::of(stack));
    let found = context.caches.flux.of(FluxKind::GitRepository).by_index(&owned);
    found.into_iter().filter(|found| is_made_by(found, stack)).collect()
}

/// Returns whether a `GitRepository` belongs to this `ClusterStack`.
pub(super) fn is_made_by(repository: &FluxObject, stack: &ClusterStack) -> bool {
    let owners = repository.object.owner_references.iter().flatten();
    owners.into_iter().any(|owner| Some(&owner.uid) == stack.metadata.uid.as_ref())
}

/// Returns the key of the `GitRepository` that a `ClusterStack` follows.
pub(super) fn repository_key(planned: &Stack) -> Key {
    Key::new(planned.source.namespace.as_str(), planned.source.name.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_still_observed;
    use crate::foreign::flux::observed::FluxObject;

    fn repository(generation: i64, observed: i64) -> FluxObject {
        serde_json::from_value(json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": "a", "namespace": "n", "generation": generation},
            "spec": {}, "status": {"observedGeneration": observed},
        }))
        .unwrap()
    }

    #[test]
    fn artifact_of_an_earlier_spec_is_not_observed() {
        let read = repository(1, 1);
        assert!(is_still_observed(&read, Some(&repository(1, 1))));
        assert!(!is_still_observed(&read, Some(&repository(2, 1))), "it follows another repository since");
        assert!(!is_still_observed(&read, None), "it is gone");
        assert!(!is_still_observed(&repository(2, 1), Some(&repository(2, 1))), "Flux has not seen its spec");
    }
}
