//! Reconciles a `ClusterStackRelease`: reads its content, delivers its sources, node images and cluster class, reports to
//! its Clusters what they can have, and writes its status. A deleted release is kept, orphaned or uninstalled.

mod content;
mod delivery;
mod inventory;
mod objects;
mod outdated;
mod provider;
mod roll_up;
mod tear_down;
pub(super) mod users;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt as _;
use tracing::debug;

use super::context::{Context, Resolution};
use super::metrics::Queue;
use super::objects::index;
use super::reconcile::ReconcileError;
use super::{deliver, retry, status};
use crate::api::{ClusterStack, ClusterStackRelease, ClusterStackReleaseStatus};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::gate::Hold;
use crate::names::{AddonName, ReleaseName};
use crate::plan::holder::{self, HolderFacts};
use crate::plan::{self, Plan, PlanError};
use crate::rollup::{Moment, ObjectFacts, Retries, Usage, due_retries};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;
use crate::subscription::{
    self, ContentState, DeliveryFacts, DeliveryMode, Forward, ObjectState, Outdated, OutdatedFacts,
    ReleaseAction, ReleaseActionFacts, ReleaseDelivery, Teardown, TeardownFacts, decide_delivery,
    decide_release_action, decide_teardown, forward, is_retiring, kinds_of_users,
};
use content::Content;
use delivery::{Receipts, act};
use provider::Provider;
use roll_up::{Share, roll_up};

/// Maximum number of Clusters that the status of a release lists as users.
const MAX_RECORDED_USERS: usize = 5;

/// The facts about a release: one snapshot at one time.
struct Facts<'a> {
    now: Timestamp,
    key: Key,
    name: ReleaseName,
    object: &'a ClusterStackRelease,
    /// The facts about its deletion.
    teardown: TeardownFacts<'a>,
    /// `None` if the release is torn down, or this operator has no `ClusterStack` for it.
    found: Option<Found<'a>>,
    /// Whether the operator can plan for its Clusters since an earlier reconcile.
    is_usable: bool,
    /// The time, with the controller of each kind.
    moments: BTreeMap<FluxKind, Moment>,
}

/// The facts about a release that is not torn down.
struct Found<'a> {
    owner: &'a ClusterStack,
    content: Content,
    /// The plan for the content, if the content is known.
    planned: Planned,
    /// The error because of which there is no plan.
    unplanned: Option<PlanError>,
    provider: Provider,
    /// The present state of the objects that the status lists.
    recorded: Vec<ObjectFacts>,
    usage: Usage,
    /// The sources and the class that the status lists, as far as they exist.
    requested: Vec<Arc<FluxObject>>,
    /// The Helm releases that it owns.
    helm_releases: Vec<Arc<FluxObject>>,
    /// The sources and charts that it has, and that its plan lacks.
    outdated: Outdated,
}

/// The plan of a release.
#[derive(Default)]
struct Planned {
    plan: Arc<Plan>,
    /// The present states of the plan's objects.
    objects: Vec<ObjectState>,
    /// The applied version of each addon.
    versions: BTreeMap<AddonName, String>,
}

/// The decision about a release.
struct Decision<'a> {
    action: ReleaseAction,
    /// The decision about its objects; `None` unless it is delivered.
    delivery: Option<ReleaseDelivery<'a>>,
    /// The reason why a deleted release is kept, if any.
    hold: Option<Hold>,
    /// The request to reconcile that is forwarded to its objects.
    forward: Option<Forward>,
    /// The installations that Flux is asked to retry.
    retries: Retries,
    /// The sources and charts that it no longer has.
    outdated: Outdated,
}

/// Reconciles the release with that key.
pub async fn reconcile(context: &Context, key: &Key) -> Result<Next, ReconcileError> {
    let Ok(name) = key.name.parse::<ReleaseName>() else {
        debug!("not the name of a release: not written by the operator");
        return Ok(Next::Await);
    };
    let Some(object) = context.caches.releases.get(key) else {
        context.set_resolution(key, &name.class_name(), None);
        context.metrics.remove(Queue::ClusterStackRelease, &key.to_string());
        return Ok(Next::Await);
    };
    let owner = stack_of(context, &object);
    let facts = gather(context, &object, owner.as_deref(), name).await?;
    let decision = decide(&facts);
    let receipts = act(context, &facts, &decision).await?;
    let outcome = roll_up(&facts, &decision, &receipts);
    write_status(context, &facts, &receipts, outcome.status.as_ref()).await?;
    share(context, &facts, &decision, outcome.share);
    let next = outcome.next.earlier(prune(context, &facts, &decision).await?);
    let unplanned = facts.found.and_then(|found| found.unplanned).map(ReconcileError::from);
    receipts.failure.or(unplanned).map_or(Ok(next), Err)
}

/// Gathers the facts about a release. The content of a release that is torn down is not read.
#[expect(clippy::disallowed_methods, reason = "gather takes the time once")]
async fn gather<'a>(
    context: &Context,
    object: &'a ClusterStackRelease,
    owner: Option<&'a ClusterStack>,
    name: ReleaseName,
) -> Result<Facts<'a>, ReconcileError> {
    let teardown = tear_down::gather(context, object, &name, owner).await?;
    let owner = owner.filter(|_| matches!(decide_teardown(&teardown), Teardown::Keep(_)));
    let read = match owner {
        Some(owner) => Some(content::content(context, object, owner, &name).await),
        None => None,
    };
    let now = context.clock.now();
    let found = match owner.zip(read) {
        Some((owner, read)) => Some(found(context, (object, &name), owner, read, now).await?),
        None => None,
    };
    let key = Key::of(object);
    let is_usable = matches!(context.resolution(&key), Some(Resolution::Usable(_)));
    let moments = FluxKind::ALL.map(|kind| (kind, context.moment(kind.as_str(), now))).into();
    Ok(Facts { now, key, name, object, teardown, found, is_usable, moments })
}

/// Gathers the facts about a release with this content.
async fn found<'a>(
    context: &Context,
    (object, name): (&ClusterStackRelease, &ReleaseName),
    owner: &'a ClusterStack,
    read: Content,
    now: Timestamp,
) -> Result<Found<'a>, RequestError> {
    let plan = match &read {
        Content::Known(known) => plan::release(&known.inputs()),
        _ => Ok(Plan::default()),
    };
    let (plan, read, unplanned) = match plan {
        Ok(plan) => (plan, read, None),
        Err(error) => (Plan::default(), Content::without_plan(name, &error), Some(error)),
    };
    deliver::look_again(context, &plan, now).await?;
    let planned = planned(context, object, owner, (&read, plan), now);
    let by_owner = index::owned_by("ClusterStackRelease", &Key::of(object));
    let users = || context.caches.flux.all(&kinds_of_users().collect::<Vec<_>>());
    let outdated = subscription::outdated(
        &OutdatedFacts {
            release: object,
            plan: &planned.plan,
            others: &context.caches.releases.all(),
            candidates: &candidates(context, object, owner),
            is_put_off: &|source| outdated::is_put_off(context, source, now),
        },
        users,
    );
    Ok(Found {
        content: unless_held(context, object, read, &planned.plan),
        planned,
        unplanned,
        provider: provider::provider(context, object, owner),
        recorded: objects::recorded_objects(context, object, now),
        requested: objects::requested(context, object),
        usage: usage(context, object, name),
        helm_releases: context.caches.flux.of(FluxKind::HelmRelease).by_index(&by_owner),
        outdated,
        owner,
    })
}

/// Returns the sources and charts that a release may have had. It owns none that Flux applies from a repository.
fn candidates(context: &Context, object: &ClusterStackRelease, owner: &ClusterStack) -> Vec<Arc<FluxObject>> {
    if owner.spec.delivery.git().is_some() {
        return context.caches.flux.all(&[
            FluxKind::HelmChart,
            FluxKind::GitRepository,
            FluxKind::OCIRepository,
        ]);
    }
    let by_owner = index::owned_by("ClusterStackRelease", &Key::of(object));
    context.caches.flux.by_index(&FluxKind::ALL, &by_owner)
}

/// Observes the planned objects of a release.
fn planned(
    context: &Context,
    object: &ClusterStackRelease,
    owner: &ClusterStack,
    (read, plan): (&Content, Plan),
    now: Timestamp,
) -> Planned {
    let Content::Known(known) = read else { return Planned::default() };
    let delivery = objects::Delivery { context, object, known, now };
    let objects = delivery.states(&plan, DeliveryMode::of(owner));
    Planned { plan: Arc::new(plan), objects, versions: objects::versions(context, &known.inputs()) }
}

/// Returns the content, or the hold while a release of another namespace has one of its sources.
fn unless_held(context: &Context, object: &ClusterStackRelease, read: Content, plan: &Plan) -> Content {
    let all = context.caches.releases.all();
    let live = |kind, key: &Key| context.caches.flux.get(kind, key);
    let since = |stack: &Key| Some(context.caches.stacks.get(stack)?.metadata.creation_timestamp.as_ref()?.0);
    match holder::hold(plan.objects(), &HolderFacts { ours: object, all: &all, live, since }) {
        Some(hold) => Content::Held(hold),
        None => read,
    }
}

fn usage(context: &Context, object: &ClusterStackRelease, name: &ReleaseName) -> Usage {
    let users = users::of(context, &object.namespace().unwrap_or_default(), name);
    Usage {
        clusters: users.len(),
        first: users.iter().take(MAX_RECORDED_USERS).map(|cluster| Key::of(&**cluster).to_string()).collect(),
        retiring: is_retiring(object),
        deleted: object.metadata.deletion_timestamp.is_some(),
    }
}

/// Decides what to do.
fn decide<'a>(facts: &'a Facts) -> Decision<'a> {
    let teardown = decide_teardown(&facts.teardown);
    let action = decide_release_action(&ReleaseActionFacts {
        teardown: &teardown,
        owner: facts.teardown.owner,
        is_pinned: facts.object.pin().is_some(),
        content: facts.found.as_ref().map_or(ContentState::NotRead, |found| found.content.state()),
    });
    let delivery = match (&action, &facts.found) {
        (ReleaseAction::Deliver(mode), Some(found)) => Some(decide_delivery(&DeliveryFacts {
            release: facts.object,
            plan: &found.planned.plan,
            objects: &found.planned.objects,
            mode: *mode,
            provider_problem: found.provider.problem(),
        })),
        _ => None,
    };
    let retries = match (&action, &facts.found) {
        (ReleaseAction::Deliver(mode), Some(found)) if mode.writes() => {
            let is_written =
                |release: &FluxObject| delivery.as_ref().is_some_and(|delivery| delivery.writes(release));
            let unchanged = found.helm_releases.iter().filter(|release| !is_written(release));
            due_retries(unchanged, facts.now)
        }
        _ => Retries::default(),
    };
    let outdated = match (&action, &facts.found) {
        (ReleaseAction::Deliver(DeliveryMode::Api | DeliveryMode::Git), Some(found)) => {
            found.outdated.clone()
        }
        _ => Outdated::default(),
    };
    let hold = if let Teardown::Keep(hold) = teardown { hold } else { None };
    let found = facts.found.as_ref().filter(|found| !found.content.is_not_allowed());
    let forward = found.and_then(|found| forward(facts.object, found.owner, &found.requested));
    Decision { action, delivery, hold, forward, retries, outdated }
}

/// Writes the status if it changed.
async fn write_status(
    context: &Context,
    facts: &Facts<'_>,
    receipts: &Receipts,
    status: Option<&ClusterStackReleaseStatus>,
) -> Result<(), RequestError> {
    let Some(status) = status else { return Ok(()) };
    if facts.found.is_none() {
        return status::write_deletion(context, facts.object, status).await.map(drop);
    }
    let verdicts = receipts
        .objects
        .iter()
        .filter_map(|object| Some((object.id.kind.as_str(), object.verdict.as_ref()?)));
    let holds = receipts.class_hold.iter().map(|hold| hold.reason);
    context.metrics.found(Queue::ClusterStackRelease, &facts.key.to_string(), verdicts, holds);
    status::write(context, facts.object, status).await
}

/// Reports to the reconciles of the Clusters of a release what they can have.
fn share(context: &Context, facts: &Facts, decision: &Decision, share: Share) {
    if let ReleaseAction::Forget(_) = decision.action {
        debug!("its ClusterStack does not exist, or belongs to another operator");
        context.metrics.remove(Queue::ClusterStackRelease, &facts.key.to_string());
    }
    if let Share::Changed(resolution) = share {
        context.set_resolution(&facts.key, &facts.name.class_name(), resolution);
    }
}

/// Deletes the objects of a deleted release. For other releases, deletes the sources that they no longer have, and asks Flux to
/// retry the installations that it gave up on.
async fn prune(context: &Context, facts: &Facts<'_>, decision: &Decision<'_>) -> Result<Next, RequestError> {
    match &decision.action {
        ReleaseAction::TearDown(teardown) => tear_down::prune(context, facts.object, teardown).await,
        ReleaseAction::Deliver(_) => {
            let next = outdated::prune(context, facts, &decision.outdated).await?;
            Ok(next.earlier(retry::ask(context, &decision.retries, facts.now).await?))
        }
        ReleaseAction::ReportUnavailable { retry: true } => Ok(Next::Retry),
        _ => Ok(Next::Await),
    }
}

/// Returns the name of the `ClusterStack` of a release if the API server has it, and the cache does not: it is in another
/// shard, or the watch has not reported it.
pub(super) async fn unwatched_stack(
    context: &Context,
    object: &ClusterStackRelease,
) -> Result<Option<String>, RequestError> {
    let Some(key) = object.stack_key().filter(|_| stack_of(context, object).is_none()) else {
        return Ok(None);
    };
    let found: Option<ClusterStack> = context.api.get(&key).await?;
    Ok(found.filter(|found| object.is_owned_by(found)).map(|_| key.name))
}

/// Returns the `ClusterStack`s that a release names as owners, as the API server has them now: this operator may not watch
/// all of them.
pub(super) async fn live_owners(
    context: &Context,
    object: &ClusterStackRelease,
) -> Result<Vec<ClusterStack>, RequestError> {
    let namespace = object.namespace().unwrap_or_default();
    let mut found = Vec::new();
    for owner in object.stack_owners() {
        found.extend(context.api.get::<ClusterStack>(&Key::new(&namespace, &owner.name)).await?);
    }
    Ok(found)
}

/// Returns the `ClusterStack` that a release belongs to.
pub(super) fn stack_of(context: &Context, object: &ClusterStackRelease) -> Option<Arc<ClusterStack>> {
    let stack = context.caches.stacks.get(&object.stack_key()?)?;
    object.is_owned_by(&stack).then_some(stack)
}

#[cfg(test)]
mod tests;
