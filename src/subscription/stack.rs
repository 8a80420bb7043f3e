//! Decides what the reconcile of a `ClusterStack` writes and deletes: its source, its releases, and the sources that it no
//! longer follows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::delivery::DeliveryMode;
use super::releases::{ReleaseDecision, ReleasesFacts, decide_releases};
use super::retirement::{Retirement, RetirementFacts, decide_retirement, retirement_end};
use super::sources::left_over_sources;
use crate::api::{ClusterStack, labels};
use crate::foreign::flux::observed::{FluxObject, SpecDigest};
use crate::names::{Key, ReleaseName};
use crate::plan::PlannedObject;
use crate::plan::delivery::{Action, Baseline, action};
use crate::plan::write::{RepairState, Write, WriteFacts, write};

/// The `GitRepository` that a `ClusterStack` follows, and those that were made for it.
#[derive(Clone, Copy, Debug)]
pub struct FollowedRepository<'a> {
    /// The planned object; `None` if another owner writes it.
    pub planned: Option<&'a PlannedObject>,
    /// The existing object.
    pub found: Option<&'a FluxObject>,
    /// Digest of its spec as returned by the operator's last write, if known.
    pub expected: Option<&'a SpecDigest>,
    /// The `ClusterStack` as its owner.
    pub owner: &'a OwnerReference,
    /// Its repairs.
    pub repairs: &'a RepairState,
    /// The objects that were made for the `ClusterStack`, including that of an earlier source.
    pub made: &'a [Arc<FluxObject>],
    /// The keys of the objects that any `ClusterStack` follows.
    pub followed: &'a BTreeSet<Key>,
}

/// The facts about a `ClusterStack` that exists, or that is deleted but kept.
#[derive(Clone, Debug)]
pub struct SubscriptionFacts<'a> {
    /// The source and its releases, with the catalog as Flux fetched it for the present spec of the existing
    /// `GitRepository`; `None` if the source is invalid.
    pub source: Option<(FollowedRepository<'a>, ReleasesFacts<'a>)>,
    /// Whether the owner of the referenced `GitRepository` has not allowed the `ClusterStack`: then nothing is deleted.
    pub is_not_allowed: bool,
    /// The `ClusterStack` and the releases that it owns.
    pub retirement: RetirementFacts<'a>,
    /// The releases that are due and unused, according to the API server.
    pub confirmed: &'a BTreeSet<ReleaseName>,
}

/// The write of the `GitRepository` that a `ClusterStack` follows.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SourceWrite {
    /// It is not written: the `ClusterStack` is suspended or invalid, or another owner writes it.
    #[default]
    Nothing,
    /// The operator writes it.
    Apply(Write),
    /// The operator commits it, and Flux applies it; this is what Flux does, or has done.
    Commit(Action),
}

/// The decision about a `ClusterStack`.
#[derive(Clone, Debug, PartialEq)]
pub struct StackDecision {
    /// Whether the finalizer is added before all other writes.
    pub adds_finalizer: bool,
    /// The write of the source.
    pub source: SourceWrite,
    /// The request to reconcile that is forwarded to the source.
    pub forwards: Option<String>,
    /// The releases to write, and the problems of releases.
    pub releases: BTreeMap<ReleaseName, ReleaseDecision>,
    /// What is deleted after the status, unless the write of the source is [refused](Self::pruning_after).
    pub pruning: StackPruning,
}

/// The objects that the reconcile of a `ClusterStack` deletes after its status, each once the API server confirms the cause.
#[derive(Clone, Debug, PartialEq)]
pub struct StackPruning {
    /// The releases, which have to be [unused](super::is_confirmed).
    pub retirement: Retirement,
    /// The `GitRepository`s of earlier sources: the source has to be [the same](super::is_source_confirmed) as in the
    /// decision.
    pub left_over: Vec<Arc<FluxObject>>,
}

impl StackPruning {
    /// Returns the decision to delete nothing now.
    fn none(stack: &ClusterStack) -> Self {
        Self { retirement: Retirement::none(stack), left_over: Vec::new() }
    }
}

impl StackDecision {
    /// Returns what to delete after the writes: nothing if the write of the source was refused. The budget then stays as it
    /// is, and the earlier source until the new one exists.
    #[must_use]
    pub fn pruning_after(&self, stack: &ClusterStack, is_source_refused: bool) -> StackPruning {
        if is_source_refused { StackPruning::none(stack) } else { self.pruning.clone() }
    }
}

/// Decides the write of the `GitRepository` that a `ClusterStack` follows.
#[must_use]
pub fn source_write(stack: &ClusterStack, repository: &FollowedRepository) -> SourceWrite {
    let FollowedRepository { found, expected, owner, repairs, .. } = *repository;
    match (DeliveryMode::of(stack), repository.planned) {
        (DeliveryMode::Git, planned) => {
            let by_flux = |planned| action(planned, found.map(Into::into), Baseline::Plan);
            SourceWrite::Commit(planned.map_or(Action::Nothing, by_flux))
        }
        (DeliveryMode::Api, Some(planned)) => {
            let owners = std::slice::from_ref(owner);
            let facts = WriteFacts { found, expected, owners, namespace: None, is_shared: false, repairs };
            SourceWrite::Apply(write(planned, facts))
        }
        (DeliveryMode::Api, None) | (DeliveryMode::Suspended, _) => SourceWrite::Nothing,
    }
}

/// Decides about a `ClusterStack` that exists, or that is deleted but kept.
///
/// A reconcile that changes the source pins nothing: the artifact may be that of another repository until Flux has fetched
/// for the new spec. The same holds while the result of the last write is unknown, such as when the status that records it
/// cannot be written: the digest of the plan in the annotations stays when another field manager changes the spec, and a
/// pin is for good.
#[must_use]
pub fn decide_stack(facts: SubscriptionFacts) -> StackDecision {
    let SubscriptionFacts { source, is_not_allowed, retirement, confirmed } = facts;
    let (stack, now) = (retirement.stack, retirement.now);
    let writes = DeliveryMode::of(stack).writes();
    let is_maintained = writes && stack.metadata.deletion_timestamp.is_none();
    let mut decision = StackDecision {
        adds_finalizer: is_maintained && !labels::has_finalizer(stack),
        source: SourceWrite::Nothing,
        forwards: None,
        releases: BTreeMap::new(),
        pruning: StackPruning::none(stack),
    };
    if let Some((repository, mut releases)) = source {
        decision.source = source_write(stack, &repository);
        if let (SourceWrite::Apply(write), Some(catalog)) = (&decision.source, &mut releases.catalog) {
            catalog.is_current &= *write == Write::Nothing;
        }
        decision.releases = decide_releases(&releases);
        if writes {
            let handled =
                stack.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_deref());
            decision.forwards = labels::open_request(stack, handled);
            let left_over = left_over_sources(repository.made, repository.followed);
            decision.pruning.left_over = left_over.cloned().collect();
        }
    }
    if is_not_allowed {
        return decision;
    }
    if is_maintained {
        let mut retirement = decide_retirement(&retirement, confirmed);
        let ends = decision.releases.values().filter_map(new_end).filter(|end| *end > now);
        retirement.next = retirement.next.into_iter().chain(ends).min();
        decision.pruning.retirement = retirement;
    } else {
        for release in decision.releases.values_mut() {
            *release = ReleaseDecision { problem: release.problem.take(), ..ReleaseDecision::default() };
        }
    }
    decision
}

/// Returns the time at which a release that is about to be written will be unused for long enough, if it retires.
fn new_end(decision: &ReleaseDecision) -> Option<Timestamp> {
    retirement_end(decision.apply.as_ref()?.retiring_since.as_deref()?)
}
