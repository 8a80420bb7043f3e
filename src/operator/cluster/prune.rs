//! Deletes the objects of addons that the Cluster's release does not have, or has in another form. The operator confirms
//! each deletion with the API server before the decision, and deletes after the status counts it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::ResourceExt as _;
use tracing::{info, warn};

use super::super::budget::Reservation;
use super::super::context::{Context, Resolution};
use super::super::events;
use super::super::objects::{ClusterObject, addon_key, index};
use super::super::reconcile::REQUEUE_SOON_AFTER;
use super::super::release::users;
use super::super::write;
use super::flux_objects;
use crate::addons::{
    Candidate, Facts, PruneFacts, Pruning, Snapshot, Spent, Target, are_requests_confirmed,
    decide_within_budget, has_present_settings, is_prune_confirmed, is_prune_pending, is_still_due,
    unconfirmed,
};
use crate::api::cluster_stack::Pruned;
use crate::api::{ClusterAddon, ClusterAddonOverride, ClusterStack, Reason};
use crate::foreign::capi::Cluster;
use crate::inputs::ClusterInputs;
use crate::inputs::overrides::Requests;
use crate::names::ReleaseName;
use crate::rollup::ConditionStatus;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::{Next, at};

/// Whether the objects of addons that the release does not have will be deleted without further changes. Suspended objects,
/// an invalid release and files of another `ClusterStack` may stay forever. With `is_owned`, a `ClusterStack` will read a
/// release that is not read yet.
pub(super) fn is_pending(
    context: &Context,
    (addon, cluster): (&ClusterAddon, &Cluster),
    release: Option<&Resolution>,
    is_owned: bool,
) -> bool {
    let resolved = match release {
        None => return is_owned,
        Some(Resolution::Unusable(report)) => return is_owned && report.status == ConditionStatus::Unknown,
        Some(Resolution::Usable(resolved)) => resolved,
    };
    let objects = flux_objects::by_index(context, &index::owned_by("ClusterAddon", &Key::of(addon)));
    // The removal of their files determines when they are deleted, not whether.
    let requested = context.caches.overrides.get(&cluster.key());
    let requests = &Requests::decide(requested.as_ref(), &resolved.stack, &resolved.release, cluster);
    let without_file = BTreeSet::new();
    let by_git = resolved.stack.delivery.git().is_some();
    let facts = PruneFacts::recorded(addon, &resolved.inputs(), (cluster, requests), &without_file);
    let facts = PruneFacts { objects: &objects, by_git, ..facts };
    is_prune_pending(&facts, (&resolved.stack_key, resolved.suspended))
}

/// The facts on which the removal of due objects depends beside those about their Cluster.
pub(super) struct Confirmed {
    stack: Key,
    /// The sum of the deletions in the status of the `ClusterStack`.
    recorded: Option<Pruned>,
    /// The number of objects of each `ClusterAddon` of the `ClusterStack`, and the deletions that its status records.
    parts: BTreeMap<Key, (usize, Option<Pruned>)>,
}

/// Gathers what the removal of due objects depends on; `None` if none is due, or the API server does not confirm the
/// removal.
pub(super) async fn gather(
    context: &Context,
    facts: &Facts<'_>,
    candidates: &[Candidate],
) -> Result<Option<Confirmed>, RequestError> {
    let Target::Available(available) = &facts.target else { return Ok(None) };
    if !candidates.iter().any(Candidate::is_due)
        || !confirm(context, facts.cluster, &facts.snapshot.addon).await?
        || !are_requests_present(context, &available.inputs).await?
    {
        return Ok(None);
    }
    let stack = Key::new(available.stack.namespace.as_str(), available.stack.name.as_str());
    let addons = addons_of(context, &stack);
    fetch_missing(context, &addons).await?;
    // A list without the ClusterStack hides the sum.
    let live: Option<ClusterStack> = context.api.get(&stack).await?;
    if !has_present_settings(available.stack, &available.requests, live.as_ref()) {
        return Ok(None);
    }
    let recorded = live.and_then(|live| live.status?.pruned_addons);
    // The reservations have what a status does not record, or what the cache lacks.
    let addons = addons.into_iter().chain(context.budgets.reserved(&stack));
    let parts = addons.map(|key| {
        let objects = flux_objects::by_index(context, &index::owned_by("ClusterAddon", &key)).len();
        let addon: Option<Arc<ClusterAddon>> = context.caches.addons.get(&key);
        let recorded = addon.and_then(|addon| addon.status.as_ref()?.pruned.clone());
        (key, (objects, recorded))
    });
    let parts = parts.collect();
    Ok(Some(Confirmed { stack, recorded, parts }))
}

/// Decides what to delete now. The reservation counts against the budget until the status records it.
pub(super) fn decide<'w>(
    context: &'w Context,
    facts: &Facts<'_>,
    candidates: Vec<Candidate>,
    confirmed: Option<&Confirmed>,
) -> (Pruning, Option<Reservation<'w>>) {
    let Snapshot { addon, now, .. } = &facts.snapshot;
    if !candidates.iter().any(Candidate::is_due) {
        return (Pruning { candidates, ..Pruning::default() }, None);
    }
    let Some(Confirmed { stack, recorded, parts }) = confirmed else {
        warn!(
            "the cache has a release without an addon, but the API server does not confirm that: the addon is kept"
        );
        return (unconfirmed(candidates, *now), None);
    };
    let key = Key::of(&**addon);
    context.budgets.decide((stack, &key), recorded.as_ref(), *now, |reserved, sum| {
        let mut spent = Spent::default();
        for (key, (objects, recorded)) in parts {
            spent.add(*objects, recorded.as_ref(), reserved.get(key));
        }
        // Another Cluster may have reserved deletions since the parts were gathered.
        for (_, pruned) in reserved.iter().filter(|(key, _)| !parts.contains_key(*key)) {
            spent.add(0, None, Some(pruned));
        }
        decide_within_budget(facts, candidates, spent, (reserved.get(&key), sum))
    })
}

/// Whether the API server confirms that addons of a Cluster are removed.
async fn confirm(context: &Context, cluster: &Cluster, addon: &ClusterAddon) -> Result<bool, RequestError> {
    let Some(kind) = context.cluster_resource() else { return Ok(false) };
    let key = Key::new(cluster.namespace().as_str(), cluster.name().as_str());
    let live_cluster: Option<ClusterObject> = context.api.get_dynamic(&key, kind).await?;
    let live_addon: Option<ClusterAddon> = context.api.get(&Key::of(addon)).await?;
    let live = (live_cluster.as_ref().map(|now| &now.cluster), live_addon.as_ref());
    Ok(is_prune_confirmed((cluster, addon), live))
}

/// Whether the API server has the requests for the addons of a Cluster that its plan was made with.
pub(super) async fn are_requests_present(
    context: &Context,
    inputs: &ClusterInputs,
) -> Result<bool, RequestError> {
    let live: Option<ClusterAddonOverride> = context.api.get(&inputs.cluster.key()).await?;
    Ok(are_requests_confirmed(inputs.requested().map(|planned| &**planned), live.as_ref()))
}

/// Returns the keys of the `ClusterAddon`s of a `ClusterStack`.
fn addons_of(context: &Context, stack: &Key) -> BTreeSet<Key> {
    let releases = context.caches.releases.by_index(&index::owned_by("ClusterStack", stack));
    let names = releases.iter().filter_map(|release| release.name_any().parse::<ReleaseName>().ok());
    let clusters = names.flat_map(|name| users::of(context, &stack.namespace, &name));
    clusters.map(|cluster| addon_key(&Key::of(&*cluster))).collect()
}

/// Updates the cache with the `ClusterAddon`s that it lacks: a list without them hides the deletions that their statuses
/// record.
async fn fetch_missing(context: &Context, addons: &BTreeSet<Key>) -> Result<(), RequestError> {
    for key in addons {
        if context.caches.addons.get(key).is_none() {
            write::refresh::<ClusterAddon>(context, key).await?;
        }
    }
    Ok(())
}

/// Deletes what was decided after the status counts it, and returns when to reconcile again.
pub(super) async fn prune(
    context: &Context,
    facts: &Facts<'_>,
    pruning: &Pruning,
) -> Result<Next, RequestError> {
    for candidate in pruning.due() {
        delete(context, &facts.snapshot.addon, candidate).await?;
    }
    let soon = pruning.due().next().map(|_| Next::After(REQUEUE_SOON_AFTER));
    let later = |limit| {
        let Next::After(left) = at(limit, facts.snapshot.now) else { return Next::Await };
        Next::After(left.max(REQUEUE_SOON_AFTER))
    };
    Ok(soon.or(pruning.next.map(later)).unwrap_or(Next::Await))
}

/// Deletes an object if it did not change since the decision.
async fn delete(context: &Context, addon: &ClusterAddon, candidate: &Candidate) -> Result<(), RequestError> {
    let (kind, key) = (candidate.object.kind(), Key::of(&*candidate.object));
    let Some(live) = write::present(context, kind, &key).await? else { return Ok(()) };
    if !is_still_due(candidate, &live, addon) {
        return flux_objects::refresh(context, live).await;
    }
    write::delete(context, &live).await?;
    let why = candidate.hold.as_ref().map(|hold| hold.message.as_str()).unwrap_or_default();
    let note = format!("deleted {kind} {} of addon {}: {why}", key.name, candidate.addon);
    info!("{note}");
    events::normal(context, addon, Reason::AddonRemoved, &note).await;
    Ok(())
}
