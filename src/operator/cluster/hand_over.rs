//! Handles a `ClusterAddon` that is deleted while its Cluster stays. It is removed from the owners of its objects before it
//! is deleted, because garbage collection would delete the objects, and Flux would then uninstall their addons.
//!
//! If a `ClusterStack` has the Cluster's class, the next `ClusterAddon` takes over all objects, including those that are to
//! be removed. If the `ClusterStack` is deleted and orphans everything, the objects are suspended, and stay until another
//! `ClusterStack` has the class.

use std::sync::Arc;

use tracing::{info, warn};

use super::super::context::Context;
use super::super::git_delivery::forget_cluster;
use super::super::metrics::Queue;
use super::super::objects::{ClusterObject, index, owner_reference};
use super::super::reconcile::REQUEUE_SOON_AFTER;
use super::super::reconcile::ReconcileError;
use super::super::release::live_owners;
use super::super::{events, finalizer, write};
use super::gather::Gathered;
use super::{flux_objects, upgrade};
use crate::addons::{Disown, Heir, LetGo, LetGoFacts, adoption, decide_let_go, is_handover_confirmed};
use crate::api::{ClusterAddon, ClusterStackRelease, Reason, labels};
use crate::foreign::capi::upgrade::UPGRADE_HOOK;
use crate::foreign::flux::observed::FluxObject;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;
use crate::subscription::orphaning_stack;

/// The reason why a `ClusterAddon` ends while its Cluster stays.
#[derive(Clone, Copy)]
enum Cause<'a> {
    /// It is deleted, and the Cluster is not.
    AddonDeleted,
    /// This `ClusterStack` is deleted and orphans the objects of this release.
    Orphaning { stack: &'a Key, release: &'a ClusterStackRelease },
}

/// The facts about a `ClusterAddon` whose objects stay.
struct Facts<'a> {
    key: &'a Key,
    addon: &'a ClusterAddon,
    cause: Cause<'a>,
    /// Whether the API server confirms the cause.
    is_confirmed: bool,
    /// The objects that the `ClusterAddon` owns according to the cache.
    owned: Vec<Arc<FluxObject>>,
}

/// Keeps the objects of a deleted `ClusterAddon` for the next one, once the API server confirms that the Cluster stays.
pub(super) async fn hand_over(
    context: &Context,
    key: &Key,
    addon: &ClusterAddon,
) -> Result<Next, ReconcileError> {
    let_go(context, key, addon, Cause::AddonDeleted).await
}

/// Orphans the addons of a Cluster, and deletes their `ClusterAddon`, once the API server confirms that its `ClusterStack`
/// is deleted with orphaning, and that no other one keeps the release.
pub(super) async fn orphan(
    context: &Context,
    key: &Key,
    gathered: &Gathered,
) -> Result<Next, ReconcileError> {
    let (Some(addon), Some((stack, release))) = (&gathered.addon, &gathered.orphaned_by) else {
        return Ok(Next::Await);
    };
    let_go(context, key, addon, Cause::Orphaning { stack, release }).await
}

/// Ends a `ClusterAddon` whose objects stay.
async fn let_go(
    context: &Context,
    key: &Key,
    addon: &ClusterAddon,
    cause: Cause<'_>,
) -> Result<Next, ReconcileError> {
    let facts = gather(context, key, addon, cause).await?;
    let Some(decision) = decide(&facts) else {
        warn_unconfirmed(cause);
        return Ok(Next::After(REQUEUE_SOON_AFTER));
    };
    if let Cause::Orphaning { .. } = cause {
        open_gate(context, key, addon).await?;
    }
    let is_owner = act(context, addon, &decision).await?;
    if is_owner {
        return Ok(Next::After(REQUEUE_SOON_AFTER));
    }
    Ok(prune(context, &facts, &decision).await?)
}

/// Gathers the facts about a `ClusterAddon`. Reads the objects after all requests: Flux or a user may have written one in
/// between.
async fn gather<'a>(
    context: &Context,
    key: &'a Key,
    addon: &'a ClusterAddon,
    cause: Cause<'a>,
) -> Result<Facts<'a>, RequestError> {
    let is_confirmed = match cause {
        Cause::AddonDeleted => confirm_handover(context, key, addon).await?,
        Cause::Orphaning { release, .. } => confirm_orphaning(context, release).await?,
    };
    let owned = flux_objects::by_index(context, &index::owned_by("ClusterAddon", &Key::of(addon)));
    Ok(Facts { key, addon, cause, is_confirmed, owned })
}

/// Decides how to end the `ClusterAddon`.
fn decide<'a>(facts: &'a Facts) -> Option<LetGo<'a>> {
    let heir = match facts.cause {
        Cause::AddonDeleted => Heir::Next(&facts.key.name),
        Cause::Orphaning { .. } => Heir::Orphaned,
    };
    let Facts { addon, is_confirmed, ref owned, .. } = *facts;
    decide_let_go(&LetGoFacts { addon, heir, is_confirmed, owned })
}

/// Removes the annotation that delays upgrades of a Cluster: nothing of stackflux would remove it later. If the API server
/// refuses that, the addons are orphaned nevertheless.
async fn open_gate(context: &Context, key: &Key, addon: &ClusterAddon) -> Result<(), RequestError> {
    let Some(cluster) = context.caches.clusters.get(key) else { return Ok(()) };
    if cluster.cluster.annotation(UPGRADE_HOOK).is_none() {
        return Ok(());
    }
    if let Some(refusal) = upgrade::remove_hook(context, &cluster).await?.refusal {
        let note = format!(
            "orphaned with the annotation {UPGRADE_HOOK}, which delays its upgrades: run stackflux gate release --all when \
             the API server lets the Cluster be changed: {refusal}"
        );
        events::warning(context, addon, Reason::GateNotWritable, &note).await;
    }
    Ok(())
}

/// Removes the `ClusterAddon` from the owners of its objects. Returns whether it still owns one, according to the API server.
async fn act(context: &Context, addon: &ClusterAddon, decision: &LetGo<'_>) -> Result<bool, RequestError> {
    for (object, writes) in &decision.objects {
        disown(context, object, addon, *writes).await?;
    }
    flux_objects::owns_any(context, addon, &decision.to_confirm).await
}

/// Ends the `ClusterAddon`, which owns nothing now.
async fn prune(context: &Context, facts: &Facts<'_>, decision: &LetGo<'_>) -> Result<Next, RequestError> {
    finalizer::remove(context, facts.addon).await?;
    if decision.deletes_addon {
        write::delete(context, facts.addon).await?;
    }
    match facts.cause {
        Cause::AddonDeleted => {
            info!("the ClusterAddon was deleted: the next ClusterAddon takes over its addons");
            Ok(Next::After(REQUEUE_SOON_AFTER))
        }
        Cause::Orphaning { stack, .. } => {
            forget_cluster(context, facts.key);
            context.metrics.remove(Queue::Cluster, &facts.key.to_string());
            info!(%stack, "orphaned the addons: their Flux objects stay, suspended; the ClusterAddon is deleted");
            Ok(Next::Await)
        }
    }
}

fn warn_unconfirmed(cause: Cause) {
    match cause {
        Cause::AddonDeleted => warn!(
            "the cache has a deleted ClusterAddon of a Cluster that exists, but the API server does not confirm that: \
             nothing is handed over"
        ),
        Cause::Orphaning { stack, .. } => warn!(
            %stack,
            "the cache has a deleted ClusterStack, but the API server does not confirm that, or another ClusterStack keeps \
             the release: nothing is orphaned"
        ),
    }
}

/// Whether the API server confirms that a `ClusterAddon` is deleted and its Cluster stays.
async fn confirm_handover(context: &Context, key: &Key, addon: &ClusterAddon) -> Result<bool, RequestError> {
    let Some(kind) = context.cluster_resource() else { return Ok(false) };
    let live_addon: Option<ClusterAddon> = context.api.get(&Key::of(addon)).await?;
    let live_cluster: Option<ClusterObject> = context.api.get_dynamic(key, kind).await?;
    let live = (live_addon.as_ref(), live_cluster.as_ref().map(|live| &live.cluster));
    Ok(is_handover_confirmed(addon, live))
}

/// Whether the API server confirms that a deleted `ClusterStack` orphans the objects of a release, and no other one keeps it.
async fn confirm_orphaning(context: &Context, release: &ClusterStackRelease) -> Result<bool, RequestError> {
    let live: Option<ClusterStackRelease> = context.api.get(&Key::of(release)).await?;
    let Some(live) = live else { return Ok(false) };
    Ok(orphaning_stack(&live, &live_owners(context, &live).await?).is_some())
}

/// Makes a `ClusterAddon` the owner of objects that an earlier one left.
pub(super) async fn adopt(
    context: &Context,
    addon: &ClusterAddon,
    left: &[Arc<FluxObject>],
) -> Result<(), RequestError> {
    let owner = owner_reference(addon);
    for object in left {
        write::patch(context, &**object, adoption(object, &owner)).await?;
        let (kind, object) = (object.kind(), Key::of(&**object));
        info!(kind = kind.as_str(), %object, "taken over from an earlier ClusterAddon");
    }
    Ok(())
}

async fn disown(
    context: &Context,
    object: &Arc<FluxObject>,
    addon: &ClusterAddon,
    writes: Disown<'_>,
) -> Result<(), RequestError> {
    let object = if writes.suspend {
        let Some(suspended) = flux_objects::suspend(context, object).await? else { return Ok(()) };
        suspended
    } else {
        object.clone()
    };
    if writes.remove_owner {
        let annotation = writes.handed_over.map(|cluster| (labels::HANDED_OVER, cluster));
        write::drop_owner(context, &*object, addon.metadata.uid.as_deref(), annotation.as_slice()).await?;
    }
    Ok(())
}
