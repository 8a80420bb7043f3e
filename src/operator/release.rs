//! Reconciles a `ClusterStackRelease`: reads its content, delivers its sources, node images and cluster class, reports to
//! its Clusters what they can have, and writes its status. A deleted release is kept, orphaned or uninstalled.

mod content;
mod delivery;
mod inventory;
mod objects;
mod provider;
mod tear_down;
pub(super) mod users;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;
use tracing::debug;

use super::context::{Context, Resolution, ResolvedRelease};
use super::metrics::Queue;
use super::objects::index;
use super::reconcile::ReconcileError;
use super::{retry, status};
use crate::api::{ClusterStack, ClusterStackRelease, ClusterStackReleaseStatus, Reason, labels};
use crate::gate::Hold;
use crate::names::{AddonName, ReleaseName};
use crate::plan::holder::{self, HolderFacts};
use crate::plan::{self, Plan};
use crate::rollup::{
    ConditionStatus, ContentFacts, ObjectFacts, ReleaseFacts, Report, Usage, cluster_stack_release, ready_of,
};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;
use crate::subscription::{
    ContentState, DeliveryMode, ReleaseAction, ReleaseActionFacts, Teardown, decide_release_action,
    decide_teardown, is_retiring,
};
use content::{Content, Known};
use delivery::{Receipts, act};
use provider::Provider;

/// Maximum number of Clusters that the status of a release lists as users.
const MAX_RECORDED_USERS: usize = 5;

/// Delay before a retry if the kind of the provider's object is not listed yet.
const REQUEUE_UNLISTED_AFTER: Duration = Duration::from_secs(5);

/// Delay before a retry if a release of another namespace has a source of the release.
const REQUEUE_HELD_AFTER: Duration = Duration::from_mins(1);

/// The facts about a release: one snapshot at one time.
struct Facts {
    now: Timestamp,
    key: Key,
    name: ReleaseName,
    object: Arc<ClusterStackRelease>,
    /// Its `ClusterStack`, if this operator watches it.
    owner: Option<Key>,
    teardown: Teardown,
    /// `None` if the release is torn down, or this operator has no `ClusterStack` for it.
    found: Option<Found>,
}

/// The facts about a release that is not torn down.
struct Found {
    owner: Arc<ClusterStack>,
    content: Content,
    /// The plan for the content, if the content is known.
    planned: Planned,
    provider: Provider,
    /// The present state of the objects that the status lists.
    recorded: Vec<ObjectFacts>,
    usage: Usage,
}

/// The plan of a release.
#[derive(Default)]
struct Planned {
    plan: Arc<Plan>,
    /// The present state of the plan's objects, except those that the operator applies itself.
    observed: Vec<ObjectFacts>,
    /// The applied version of each addon.
    versions: BTreeMap<AddonName, String>,
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
    let facts = gather(context, object, name).await?;
    let action = decide_release_action(&facts.action_facts());
    let receipts = act(context, &facts, &action).await?;
    let status = roll_up(&facts, &action, &receipts);
    let next = write_status(context, &facts, &receipts, status.as_ref()).await?;
    share(context, &facts, &action, &receipts, status.as_ref());
    let next = next.earlier(receipts.next());
    let next = next.earlier(prune(context, &facts, &action).await?);
    receipts.failure.map_or(Ok(next), Err)
}

/// Gathers the facts about a release.
async fn gather(
    context: &Context,
    object: Arc<ClusterStackRelease>,
    name: ReleaseName,
) -> Result<Facts, ReconcileError> {
    let owner = stack_of(context, &object);
    let teardown = decide_teardown(&tear_down::gather(context, &object, &name, owner.as_deref()).await?);
    let owner_key = owner.as_deref().map(Key::of);
    let owner = owner.filter(|_| matches!(teardown, Teardown::Keep(_)));
    let read = match &owner {
        Some(owner) => Some(content::content(context, &object, owner, &name).await),
        None => None,
    };
    let now = context.clock.now();
    let found = match owner.zip(read) {
        Some((owner, read)) => {
            let planned = planned(context, &object, &owner, &read, now)?;
            Some(Found {
                content: unless_held(context, &object, read, &planned.plan),
                planned,
                provider: provider::provider(context, &object, &owner),
                recorded: objects::recorded_objects(context, &object, now),
                usage: usage(context, &object, &name),
                owner,
            })
        }
        None => None,
    };
    Ok(Facts { now, key: Key::of(&*object), name, object, owner: owner_key, teardown, found })
}

/// Plans a release, and observes the planned objects.
fn planned(
    context: &Context,
    object: &ClusterStackRelease,
    owner: &ClusterStack,
    read: &Content,
    now: Timestamp,
) -> Result<Planned, ReconcileError> {
    let Content::Known(known) = read else { return Ok(Planned::default()) };
    let inputs = known.inputs();
    let plan = plan::release(&inputs)?;
    let delivery = objects::Delivery { context, object, known, now };
    let observed = delivery.observed(&plan, DeliveryMode::of(owner));
    Ok(Planned { plan: Arc::new(plan), observed, versions: objects::versions(context, &inputs) })
}

/// Returns the content, or the report that a release of another namespace has one of its sources.
fn unless_held(context: &Context, object: &ClusterStackRelease, read: Content, plan: &Plan) -> Content {
    let all = context.caches.releases.all();
    let live = |kind, key: &Key| context.caches.flux.get(kind, key);
    let since = |stack: &Key| Some(context.caches.stacks.get(stack)?.metadata.creation_timestamp.as_ref()?.0);
    match holder::hold(plan.objects(), &HolderFacts { ours: object, all: &all, live, since }) {
        Some(hold) => content::held(&hold),
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

impl Facts {
    fn action_facts(&self) -> ReleaseActionFacts<'_> {
        ReleaseActionFacts {
            teardown: &self.teardown,
            owner: self.found.as_ref().map(|found| &*found.owner),
            is_pinned: self.object.spec.source.is_some(),
            content: self.found.as_ref().map_or(ContentState::NotRead, |found| found.content.state()),
        }
    }

    /// The reason why a deleted release is kept, if any.
    fn hold(&self) -> Option<&Hold> {
        match &self.teardown {
            Teardown::Keep(hold) => hold.as_ref(),
            _ => None,
        }
    }
}

/// Returns the status of a release; `None` if it stays as it is.
fn roll_up(facts: &Facts, action: &ReleaseAction, receipts: &Receipts) -> Option<ClusterStackReleaseStatus> {
    if let ReleaseAction::TearDown(teardown) = action {
        return tear_down::roll_up(&facts.object, teardown, facts.now);
    }
    let found = facts.found.as_ref().filter(|_| *action != ReleaseAction::Await)?;
    let content = match &found.content {
        Content::Known(known) => {
            ContentFacts::Known { release: &known.release, mutated: known.mutated.clone() }
        }
        Content::Invalid(report) => ContentFacts::Unusable(report.clone()),
        Content::NotRead(report) | Content::Unavailable(report) => ContentFacts::Unread(report.clone()),
    };
    let rolled = ReleaseFacts {
        generation: facts.object.metadata.generation.unwrap_or_default(),
        requested_at: facts.object.annotations().get(labels::REQUESTED_AT).cloned(),
        content,
        provider: found.provider.report.clone(),
        objects: receipts.objects.clone(),
        class_hold: receipts.class_hold.clone(),
        usage: found.usage.clone(),
        deletion_hold: facts.hold().cloned(),
    };
    let old = facts.object.status.clone().unwrap_or_default();
    Some(cluster_stack_release(rolled, &old, facts.now))
}

/// Writes the status if it changed, and returns when it may change without an event.
async fn write_status(
    context: &Context,
    facts: &Facts,
    receipts: &Receipts,
    status: Option<&ClusterStackReleaseStatus>,
) -> Result<Next, ReconcileError> {
    let Some(status) = status else { return Ok(Next::Await) };
    let Some(found) = &facts.found else {
        status::write_deletion(context, &*facts.object, status).await?;
        return Ok(Next::Await);
    };
    let verdicts: Vec<_> = receipts
        .objects
        .iter()
        .filter_map(|object| Some((object.id.clone(), object.verdict.clone()?)))
        .collect();
    let holds = receipts.class_hold.iter().map(|hold| hold.reason);
    let by_kind = verdicts.iter().map(|(id, verdict)| (id.kind.as_str(), verdict));
    context.metrics.found(Queue::ClusterStackRelease, &facts.key.to_string(), by_kind, holds);
    let next = objects::next_limit(context, &verdicts, status, facts.now);
    // No event announces that no API serves a kind.
    let is_unlisted = found.provider.report.reason == Reason::NotYetReported.as_str();
    let next = if is_unlisted { next.earlier(Next::After(REQUEUE_UNLISTED_AFTER)) } else { next };
    // Nothing in this namespace changes when the other release lets go of the source.
    let is_held = matches!(&found.content, Content::Invalid(report) if report.reason == Reason::ReleaseClaimed.as_str());
    let next = if is_held { next.earlier(Next::After(REQUEUE_HELD_AFTER)) } else { next };
    status::write(context, &*facts.object, status).await?;
    Ok(next)
}

/// Reports to the reconciles of the Clusters of a release what they can have.
fn share(
    context: &Context,
    facts: &Facts,
    action: &ReleaseAction,
    receipts: &Receipts,
    status: Option<&ClusterStackReleaseStatus>,
) {
    let record = |found| context.set_resolution(&facts.key, &facts.name.class_name(), found);
    if let ReleaseAction::Forget(hold) = action {
        debug!("its ClusterStack does not exist, or belongs to another operator");
        // The operator stops delivering to the Clusters: after a change of the ClusterStack's labels the operator of
        // another shard delivers to them. If the release is deleted but kept for Clusters that use it, no operator does.
        let held = hold.as_ref().map(|hold| {
            let report = Report::new(ConditionStatus::Unknown, hold.reason.as_str(), &hold.message);
            Resolution::Unusable(report)
        });
        record(held);
        context.metrics.remove(Queue::ClusterStackRelease, &facts.key.to_string());
    }
    let Some(found) = &facts.found else { return };
    let ready = status.map(ready_of);
    match (&found.content, ready) {
        // The addons would get the content of another client.
        (Content::Known(_), Some(ready)) if receipts.is_without_source => {
            record(Some(Resolution::Unusable(ready)));
        }
        (Content::Known(known), Some(ready)) => record(Some(resolution(found, known, ready))),
        (Content::Invalid(_), Some(ready)) => record(Some(Resolution::Unusable(ready))),
        // A usable resolution of this process stays: pinned content does not change. A status from an earlier process may
        // be outdated.
        (Content::NotRead(report) | Content::Unavailable(report), _)
            if !matches!(context.resolution(&facts.key), Some(Resolution::Usable(_))) =>
        {
            record(Some(Resolution::Unusable(report.clone())));
        }
        _ => {}
    }
}

fn resolution(found: &Found, known: &Known, ready: Report) -> Resolution {
    Resolution::Usable(Arc::new(ResolvedRelease {
        stack_key: Key::of(&*found.owner),
        suspended: found.owner.spec.suspend,
        allowed_deletions: found.owner.annotations().get(labels::PRUNE).cloned(),
        ready,
        stack: known.stack.clone(),
        release: known.release.clone(),
        contents: known.contents.clone(),
        versions: found.planned.versions.clone(),
    }))
}

/// Deletes the objects of a deleted release. For other releases, asks Flux to retry the installations that it gave up on.
async fn prune(context: &Context, facts: &Facts, action: &ReleaseAction) -> Result<Next, RequestError> {
    match action {
        ReleaseAction::TearDown(teardown) => tear_down::prune(context, &facts.object, teardown).await,
        ReleaseAction::Deliver(mode) if mode.writes() => {
            retry::retry(context, &index::owned_by("ClusterStackRelease", &facts.key)).await
        }
        ReleaseAction::ReportUnavailable { retry: true } => Ok(Next::Retry),
        _ => Ok(Next::Await),
    }
}

/// Whether the `ClusterStack` of a release exists, according to a request to the API server.
pub(super) async fn is_stack_there(
    context: &Context,
    object: &ClusterStackRelease,
) -> Result<bool, RequestError> {
    let namespace = object.namespace().unwrap_or_default();
    let Some(owner) = object.stack_owner() else { return Ok(false) };
    let found: Option<ClusterStack> = context.api.get(&Key::new(&namespace, &owner.name)).await?;
    Ok(found.is_some_and(|found| found.uid().as_ref() == Some(&owner.uid)))
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
    let namespace = object.namespace().unwrap_or_default();
    let owner = object.stack_owner()?;
    let stack = context.caches.stacks.get(&Key::new(&namespace, &owner.name))?;
    object.is_owned_by(&stack).then_some(stack)
}
