//! The deletion of objects whose addons the release of the Cluster does not have, or has in another form: each is confirmed
//! with the API server before it is decided on, and deleted after the status counts it.

use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt as _;
use tracing::{info, warn};

use super::super::budget::{Reservation, Reserved};
use super::super::context::{Context, Preparation, Prepared};
use super::super::events;
use super::super::objects::{ClusterObject, addon_key, committing_stack, term};
use super::super::release::users;
use super::{SOON, addons, flux_objects};
use crate::addons::{
    Budget, Candidate, FluxObject, PruneFacts, Pruning, candidates, decide_prune, is_prune_confirmed,
    is_still_due, kind_of, unconfirmed,
};
use crate::api::cluster_stack::Pruned;
use crate::api::{ClusterAddon, Reason};
use crate::names::{AddonName, ReleaseName};
use crate::release::Release;
use crate::rollup::{AddonFacts, ConditionStatus};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::{Next, at};
use crate::subscription::known;

/// Whether the objects of an addon that the release does not have will be deleted without anything else happening. Suspended
/// objects, an invalid release and files of another `ClusterStack` may stay so for ever. `is_owned` says that a `ClusterStack`
/// reads the release, if it was not read yet.
pub(super) fn is_pending(
    context: &Context,
    addon: &ClusterAddon,
    release: Option<&Preparation>,
    is_owned: bool,
) -> bool {
    let prepared = match release {
        None => return is_owned,
        Some(Preparation::Unusable(report)) => return is_owned && report.status == ConditionStatus::Unknown,
        Some(Preparation::Usable(prepared)) => prepared,
    };
    let is_theirs = committing_stack(addon).as_ref() != Some(&prepared.stack_key);
    if addon.spec.suspend || prepared.suspended || is_theirs {
        return false;
    }
    let owned = owned(context, addon);
    let found = candidates(&facts(context, addon, &prepared.release, &owned), |_| false);
    found.iter().any(|candidate| !candidate.object.is_suspended())
}

fn owned(context: &Context, addon: &ClusterAddon) -> Vec<FluxObject> {
    flux_objects::by_index(context, &term::owned_by("ClusterAddon", &Key::of(addon)))
}

fn facts<'a>(
    context: &Context,
    addon: &'a ClusterAddon,
    release: &'a Release,
    objects: &'a [FluxObject],
) -> PruneFacts<'a> {
    let without_file = objects.iter().filter(|object| flux_objects::is_without_file(context, object));
    PruneFacts {
        addon,
        release: release.addons.iter().map(|of| (&of.name, kind_of(of))).collect(),
        objects,
        without_file: without_file.map(|object| (object.kind(), object.name().to_owned())).collect(),
    }
}

/// Decides what is deleted now. `is_turn` says for which addons nothing else comes first. The reservation counts in the budget
/// until the status says what is spent.
pub(super) async fn decide<'w>(
    context: &'w Context,
    cluster: &ClusterObject,
    addon: &ClusterAddon,
    prepared: &Prepared,
    is_turn: impl Fn(&AddonName) -> bool,
) -> Result<(Pruning, Option<Reservation<'w>>), RequestError> {
    let (now, owned) = (Timestamp::now(), owned(context, addon));
    let found = candidates(&facts(context, addon, &prepared.release, &owned), is_turn);
    let decided = Pruning { candidates: found, ..Pruning::default() };
    if decided.due().next().is_none() {
        return Ok((decided, None));
    }
    if !confirm(context, cluster, addon).await? {
        warn!(
            "the cache has a release without an addon, but the API server does not confirm that: the addon is kept"
        );
        return Ok((unconfirmed(decided.candidates, now), None));
    }
    Ok(context.budgets.decide(&Key::of(addon), |reserved| {
        let (spent, total) = spent_so_far(context, &prepared.stack_key, reserved);
        let said = addon.status.as_ref().and_then(|status| status.pruned.as_ref());
        let budget = Budget {
            stack: &prepared.stack_key.to_string(),
            release: &prepared.release.name,
            allowed: prepared.allowed_deletions.as_deref(),
            spent: &spent,
            total,
            own: known(said, reserved.get(&Key::of(addon))),
        };
        let pruning = decide_prune(decided.candidates, &budget, now);
        let spent = pruning.pruned.clone();
        (pruning, spent)
    }))
}

/// Asks the API server whether addons of a Cluster are removed.
async fn confirm(
    context: &Context,
    cluster: &ClusterObject,
    addon: &ClusterAddon,
) -> Result<bool, RequestError> {
    let Some(kind) = context.cluster_kind() else { return Ok(false) };
    let live_cluster: Option<ClusterObject> = context.api.get_dynamic(&Key::of(cluster), kind).await?;
    let live_addon: Option<ClusterAddon> = context.api.get(&Key::of(addon)).await?;
    let live = (live_cluster.as_ref().map(|now| &now.cluster), live_addon.as_ref());
    Ok(is_prune_confirmed((&cluster.cluster, addon), live))
}

/// What was deleted from the clusters of a `ClusterStack` lately or is about to be, and how many objects they have in all.
fn spent_so_far(context: &Context, stack: &Key, reserved: &Reserved) -> (Vec<Pruned>, usize) {
    let (mut spent, mut total) = (Vec::new(), 0);
    for release in context.caches.releases.find(&term::owned_by("ClusterStack", stack)) {
        let Ok(name) = release.name_any().parse::<ReleaseName>() else { continue };
        for cluster in users::of(context, &stack.namespace, &name) {
            let key = addon_key(&Key::of(&*cluster));
            let owned = term::owned_by("ClusterAddon", &key);
            total += context.caches.helm_releases.find(&owned).len()
                + context.caches.kustomizations.find(&owned).len();
            let addon: Option<Arc<ClusterAddon>> = context.caches.addons.get(&key);
            let said = addon.as_ref().and_then(|addon| addon.status.as_ref()?.pruned.as_ref());
            spent.extend(known(said, reserved.get(&key)).cloned());
        }
    }
    (spent, total)
}

/// Adds the state of what is left of removed addons, in place of the state of addons that have another form now.
pub(super) fn add_left(
    context: &Context,
    addon: &ClusterAddon,
    pruning: &Pruning,
    facts: &mut Vec<AddonFacts>,
) {
    for left in &pruning.candidates {
        let before = addons::as_it_is(context, addon, &left.addon, &left.object.reference());
        facts.retain(|known| known.name != left.addon);
        facts.push(AddonFacts { hold: left.hold.clone(), ..before });
    }
}

/// Deletes what was decided on, now that the status counts it; returns when to look again.
pub(super) async fn prune(
    context: &Context,
    addon: &ClusterAddon,
    pruning: &Pruning,
) -> Result<Next, RequestError> {
    for candidate in pruning.due() {
        delete(context, addon, candidate).await?;
    }
    let soon = pruning.due().next().map(|_| Next::After(SOON));
    let later = |limit| {
        let Next::After(left) = at(limit, Timestamp::now()) else { return Next::Await };
        Next::After(left.max(SOON))
    };
    Ok(soon.or(pruning.next.map(later)).unwrap_or(Next::Await))
}

/// Deletes one object if it still is what it was when that was decided.
async fn delete(context: &Context, addon: &ClusterAddon, candidate: &Candidate) -> Result<(), RequestError> {
    let (kind, key) = (candidate.object.kind(), flux_objects::key(&candidate.object));
    let Some(live) = flux_objects::get_live(context, kind, &key).await? else { return Ok(()) };
    if !is_still_due(candidate, &live, addon) {
        flux_objects::refresh(context, &live);
        return Ok(());
    }
    flux_objects::delete(context, &live).await?;
    let why = candidate.hold.as_ref().map(|hold| hold.message.as_str()).unwrap_or_default();
    let note = format!("deleted {kind} {} of addon {}: {why}", key.name, candidate.addon);
    info!("{note}");
    events::normal(context, addon, Reason::AddonRemoved, &note).await;
    Ok(())
}
