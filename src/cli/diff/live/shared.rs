//! The objects that all Clusters of a `ClusterStack` share, as the operator decides about them.

use std::collections::{BTreeMap, BTreeSet};

use kube::Resource as _;

use super::Live;
use crate::api::{ClusterStack, ClusterStackRelease, ConditionType, Reason};
use crate::cli::diff::HeldClass;
use crate::cli::live::prepared::{Prepared, Shared, Stacks};
use crate::compare::plans::ObjectChange;
use crate::explain::snapshot::mirrored;
use crate::foreign::flux::observed::{FluxObject, SpecDigest};
use crate::gate::Hold;
use crate::names::Key;
use crate::operator::objects::{controller_reference, owner_reference};
use crate::plan::delivery::{Action, applied, applied_namespace};
use crate::plan::holder::{self, HolderFacts};
use crate::plan::write::{RepairState, namespace_owner};
use crate::plan::{ObjectId, Plan, PlannedObject};
use crate::rollup::{Applier, ConditionStatus, DEADLINE, Moment, expected_object, judge, present_version};
use crate::subscription::{
    AllSteps, DeliveryFacts, DeliveryMode, FollowedRepository, ObjectState, ReleaseWrite, SourceWrite,
    decide_all_steps, provider_references, source_write,
};

/// The changes of what all Clusters of a `ClusterStack` share.
#[derive(Default)]
pub(super) struct SharedChanges {
    pub(super) objects: Vec<ObjectChange>,
    pub(super) held_classes: Vec<HeldClass>,
    /// The holds of the releases that no Cluster can have, because the name of a source is taken.
    pub(super) without_source: BTreeMap<Key, Hold>,
}

/// Returns the changes of the objects that all Clusters share.
pub(super) fn changes(live: &Live, stacks: &Stacks, shared: &Shared) -> SharedChanges {
    let mut changes = SharedChanges::default();
    // Releases share objects: of several actions the greatest counts.
    let mut actions: BTreeMap<ObjectId, Action> = BTreeMap::new();
    for planned in shared.source.objects() {
        actions.insert(planned.id.clone(), source_action(live, shared.stack, planned));
    }
    for (release, plan) in &shared.releases {
        let key = Key::of(*release);
        let Some(prepared) = stacks.release(&key) else { continue };
        if let Some(hold) = held_by_another(live, release, plan) {
            changes.without_source.insert(key, hold);
            continue;
        }
        let AllSteps { writes, taken, written } = decided(live, shared.stack, (release, prepared), plan);
        let writes = writes.into_iter().map(|(id, write)| (id, action_of(&write)));
        for (id, action) in writes.chain(taken.map(|id| (id, Action::Hold))) {
            let known = actions.entry(id).or_insert(action);
            *known = action.max(*known);
        }
        let is_without_source = written.is_without_source();
        match written.hold {
            Some(hold) if is_without_source => _ = changes.without_source.insert(key, hold),
            // An object whose name is taken is a change.
            Some(hold) if hold.reason != Reason::AlreadyExists => {
                changes.held_classes.push(HeldClass::new(key, hold));
            }
            _ => {}
        }
    }
    let objects = shared.plan.objects();
    let objects = objects.filter_map(|planned| live.found.change(planned, *actions.get(&planned.id)?));
    changes.objects = objects.collect();
    changes
}

/// Decides the action for the `GitRepository` that a `ClusterStack` follows.
fn source_action(live: &Live, stack: &ClusterStack, planned: &PlannedObject) -> Action {
    let expected = stack.spec_digest_of(&planned.id.key().to_string()).map(SpecDigest::kept);
    let repository = FollowedRepository {
        planned: Some(planned),
        found: live.found.objects.named(planned).map(|found| &**found),
        expected: expected.as_ref(),
        owner: &controller_reference(stack),
        repairs: &RepairState::NONE,
        made: &[],
        followed: &BTreeSet::new(),
    };
    match source_write(stack, &repository) {
        SourceWrite::Nothing => Action::Nothing,
        SourceWrite::Apply(write) => write.action(),
        SourceWrite::Commit(action) => action,
    }
}

/// Returns why nothing of a release is written: a release of another namespace has one of its sources.
fn held_by_another(live: &Live, release: &ClusterStackRelease, plan: &Plan) -> Option<Hold> {
    let created = |stack: &Key| Some(live.present.stacks.get(stack)?.meta().creation_timestamp.as_ref()?.0);
    let facts = HolderFacts {
        ours: release,
        all: &live.releases,
        live: |kind, key: &Key| live.found.objects.get(kind, key).cloned(),
        since: created,
    };
    holder::hold(plan.objects(), &facts)
}

/// Decides about the objects of a release.
fn decided(
    live: &Live,
    stack: &ClusterStack,
    (release, prepared): (&ClusterStackRelease, &Prepared),
    plan: &Plan,
) -> AllSteps {
    let mode = DeliveryMode::of(stack);
    let states = plan.objects().map(|planned| state(live, (release, prepared), planned, mode));
    let objects: Vec<ObjectState> = states.collect();
    let provider = provider_problem(stack, release);
    let facts =
        DeliveryFacts { release, plan, objects: &objects, mode, provider_problem: provider.as_deref() };
    decide_all_steps(&facts, |planned| {
        let found = live.found.objects.named(planned).filter(|_| live.found.keeps_spec(planned));
        is_ready(live, (release, prepared), planned, found.map(|found| (&**found, &found.spec_digest)))
    })
}

/// Whether Flux reports that an object is applied as planned, whose spec had this digest when it was written.
fn is_ready(
    live: &Live,
    (release, prepared): (&ClusterStackRelease, &Prepared),
    planned: &PlannedObject,
    written: Option<(&FluxObject, &SpecDigest)>,
) -> bool {
    let moment = Moment { now: live.now, applier: Applier::unknown(), deadline: DEADLINE };
    let verdict = written.and_then(|(found, digest)| {
        let fetched = present_version(found, |kind, key: &Key| live.found.objects.get(kind, key).cloned());
        let wanted = (digest, fetched.as_deref());
        let expected = expected_object(release, &prepared.inputs(), planned, wanted, live.now)?;
        Some(judge(found, &expected, &moment))
    });
    verdict.is_some_and(|verdict| verdict.report().status == ConditionStatus::True)
}

/// Returns the present state of a planned object of a release.
fn state(
    live: &Live,
    (release, prepared): (&ClusterStackRelease, &Prepared),
    planned: &PlannedObject,
    mode: DeliveryMode,
) -> ObjectState {
    let ObjectId { kind, namespace, name, .. } = &planned.id;
    let found = live.found.objects.named(planned).cloned();
    let recorded = || release.spec_digest_of(kind, namespace, name).map(SpecDigest::kept);
    let expected = match (mode, &found) {
        (DeliveryMode::Git, found) if planned.kind().is_some() => {
            found.as_ref().and_then(|found| applied(found, planned))
        }
        (DeliveryMode::Git, _) if live.found.namespace_uid(name).is_some() => {
            applied_namespace(live.found.namespace_digest(name), planned)
        }
        _ => recorded(),
    };
    let release_namespace = release.meta().namespace.as_deref().unwrap_or_default();
    let can_own = planned.can_be_owned_in(release_namespace);
    ObjectState {
        is_ready: is_ready(live, (release, prepared), planned, found.as_deref().zip(expected.as_ref())),
        occupant: None,
        namespace_state: live.found.namespace_state(name),
        owners: can_own.then(|| owner_reference(release)).into_iter().collect(),
        namespace: live.found.namespace_uid(namespace).map(|uid| namespace_owner(namespace, uid)),
        repairs: RepairState::NONE,
        found,
        expected,
    }
}

/// Returns the action that the write of an object of a release is.
fn action_of(write: &ReleaseWrite) -> Action {
    match write {
        ReleaseWrite::Nothing | ReleaseWrite::InItsTurn => Action::Nothing,
        ReleaseWrite::ByFlux(action) | ReleaseWrite::Namespace(action) => *action,
        ReleaseWrite::Flux { write, .. } => write.action(),
    }
}

/// Returns the reason why the provider's object of a release is not ready, as the operator last reported it.
fn provider_problem(stack: &ClusterStack, release: &ClusterStackRelease) -> Option<String> {
    provider_references(stack, release)?;
    let conditions = release.status.as_ref().map(|status| &status.conditions);
    let report = mirrored(&release.metadata, conditions, ConditionType::ProviderReady);
    (report.status != ConditionStatus::True).then_some(report.message)
}
