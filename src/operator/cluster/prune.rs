//! Deletes the objects of addons that the Cluster's release does not have, or has in another form. The operator confirms
//! each deletion with the API server before the decision, and deletes after the status counts it.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt as _;
use tracing::{info, warn};

use super::super::budget::{Reservation, Reserved};
use super::super::context::{Context, Resolution};
use super::super::enqueue::on_addon_status;
use super::super::events;
use super::super::objects::{ClusterObject, addon_key, index};
use super::super::release::users;
use super::super::write;
use super::{REQUEUE_SOON_AFTER, flux_objects};
use crate::addons::{
    Candidate, Facts, PruneFacts, Pruning, Receipts, Snapshot, Spent, Target, decide_within_budget,
    is_prune_confirmed, is_prune_pending, is_still_due, kinds, prune_candidates, unconfirmed,
};
use crate::api::{ClusterAddon, ClusterStack, Reason};
use crate::foreign::capi::Cluster;
use crate::names::ReleaseName;
use crate::rollup::ConditionStatus;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Change, Key};
use crate::runtime::queue::{Next, at};

/// Whether the objects of addons that the release does not have will be deleted without further changes. Suspended objects,
/// an invalid release and files of another `ClusterStack` may stay forever. With `is_owned`, a `ClusterStack` will read a
/// release that is not read yet.
pub(super) fn is_pending(
    context: &Context,
    addon: &ClusterAddon,
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
    let (release, without_file) = (kinds(&resolved.release), BTreeSet::new());
    let by_git = resolved.stack.delivery.git().is_some();
    let facts = PruneFacts { addon, release, objects: &objects, by_git, without_file: &without_file };
    is_prune_pending(&facts, (&resolved.stack_key, resolved.suspended))
}

/// Decides what to delete now. The reservation counts against the budget until the status records it.
pub(super) async fn decide<'w>(
    context: &'w Context,
    facts: &Facts<'_>,
    receipts: &Receipts,
) -> Result<(Pruning, Option<Reservation<'w>>), RequestError> {
    let Target::Available(available) = &facts.target else { return Ok((Pruning::default(), None)) };
    let Snapshot { addon, now, .. } = &facts.snapshot;
    let decided = Pruning { candidates: prune_candidates(facts, receipts), ..Pruning::default() };
    if decided.due().next().is_none() {
        return Ok((decided, None));
    }
    if !confirm(context, facts.cluster, addon).await? {
        warn!(
            "the cache has a release without an addon, but the API server does not confirm that: the addon is kept"
        );
        return Ok((unconfirmed(decided.candidates, *now), None));
    }
    let stack = Key::new(available.stack.namespace.as_str(), available.stack.name.as_str());
    let addons = addons_of(context, &stack);
    fetch_missing(context, &addons).await?;
    // A list without the ClusterStack hides the sum.
    let live: Option<ClusterStack> = context.api.get(&stack).await?;
    let recorded = live.as_ref().and_then(|stack| stack.status.as_ref()?.pruned_addons.as_ref());
    Ok(context.budgets.decide((&stack, &Key::of(&**addon)), recorded, *now, |reserved, sum| {
        let spent = spent_so_far(context, &addons, reserved);
        decide_within_budget(facts, decided.candidates, spent, (reserved.get(&Key::of(&**addon)), sum))
    }))
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
        if context.caches.addons.get(key).is_none()
            && let Some(live) = write::refresh::<ClusterAddon>(context, key).await?
        {
            let now = Some(live);
            // No watch reports what the cache already has.
            on_addon_status(context, &Change { before: None, now });
        }
    }
    Ok(())
}

/// Counts the deletions in the clusters of a `ClusterStack`. `reserved` has those that a status does not record, or that the
/// cache lacks.
fn spent_so_far(context: &Context, addons: &BTreeSet<Key>, reserved: &Reserved) -> Spent {
    let mut spent = Spent::default();
    let keys: BTreeSet<&Key> = addons.iter().chain(reserved.keys()).collect();
    for key in keys {
        let objects = flux_objects::by_index(context, &index::owned_by("ClusterAddon", key)).len();
        let addon: Option<Arc<ClusterAddon>> = context.caches.addons.get(key);
        let recorded = addon.as_ref().and_then(|addon| addon.status.as_ref()?.pruned.as_ref());
        spent.add(objects, recorded, reserved.get(key));
    }
    spent
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
