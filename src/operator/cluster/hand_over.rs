//! A `ClusterAddon` that goes while its Cluster stays: what it owns loses it as its owner before it is deleted, because garbage
//! collection deletes what a deleted object owns, and Flux then uninstalls it.
//!
//! If a `ClusterStack` has the Cluster's class, the next `ClusterAddon` takes all of it over, with what waits for its
//! removal. If the `ClusterStack` is deleted and leaves everything as it is, nothing is taken over until another one has the
//! class, and all of it is suspended.

use std::collections::BTreeSet;

use kube::ResourceExt as _;
use serde_json::json;
use tracing::{info, warn};

use super::super::context::Context;
use super::super::metrics::Queue;
use super::super::objects::{ClusterObject, term};
use super::super::reconcile::ReconcileError;
use super::super::{finalizer, ownership};
use super::gather::{Gathered, is_orphan};
use super::let_go::{is_deleted, suspended};
use super::{SOON, addons, identity};
use crate::api::{ClusterAddon, ClusterStack, labels};
use crate::foreign::flux::observed::{Observed, ObservedKind};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Cache, Key};
use crate::runtime::queue::Next;

/// What becomes of the objects that lose their owner.
#[derive(Clone, Copy)]
enum Rest<'a> {
    /// The next `ClusterAddon` of this Cluster takes them over.
    HandedOver(&'a Key),
    /// They stay as they are, and suspended.
    Abandoned,
}

/// Keeps what a deleted `ClusterAddon` owns for the next one, once the API server itself says that there will be one.
pub(super) async fn hand_over(
    context: &Context,
    key: &Key,
    addon: &ClusterAddon,
) -> Result<Next, ReconcileError> {
    if !is_deleted(context, addon).await? || !is_there(context, key, addon).await? {
        warn!(
            "the cache has a deleted ClusterAddon of a Cluster that exists, but the API server does not confirm that: \
             nothing is handed over"
        );
        return Ok(Next::After(SOON));
    }
    if !disowned(context, addon, Rest::HandedOver(key)).await? {
        return Ok(Next::After(SOON));
    }
    finalizer::remove(context, &context.caches.addons, addon).await?;
    info!("the ClusterAddon was deleted: the next ClusterAddon takes over its addons");
    Ok(Next::After(SOON))
}

/// Leaves the addons of a Cluster to themselves, and deletes their `ClusterAddon`, once the API server itself says that its
/// `ClusterStack` is deleted so.
pub(super) async fn abandon(
    context: &Context,
    key: &Key,
    gathered: &Gathered,
) -> Result<Next, ReconcileError> {
    let (Some(addon), Some(stack)) = (&gathered.addon, &gathered.orphaned_by) else {
        return Ok(Next::Await);
    };
    let now: Option<ClusterStack> = context.api.get(stack).await?;
    if !now.is_some_and(|now| is_orphan(&now.metadata)) {
        warn!(
            %stack,
            "the cache has a deleted ClusterStack, but the API server does not confirm that: nothing is orphaned"
        );
        return Ok(Next::After(SOON));
    }
    if !disowned(context, addon, Rest::Abandoned).await? {
        return Ok(Next::After(SOON));
    }
    finalizer::remove(context, &context.caches.addons, &**addon).await?;
    ownership::delete(context, &context.caches.addons, &**addon).await?;
    context.git.outbox.forget_cluster(key);
    context.metrics.forgot(Queue::Cluster, &key.to_string());
    info!(%stack, "orphaned the addons: their Flux objects stay, suspended; the ClusterAddon is deleted");
    Ok(Next::Await)
}

/// Gives what an earlier `ClusterAddon` has left to the present one.
pub(super) async fn take_over(
    context: &Context,
    key: &Key,
    addon: &ClusterAddon,
) -> Result<(), RequestError> {
    take_over_all(context, &context.caches.helm_releases, key, addon).await?;
    take_over_all(context, &context.caches.kustomizations, key, addon).await
}

async fn take_over_all<Status: ObservedKind>(
    context: &Context,
    cache: &Cache<Observed<Status>>,
    cluster: &Key,
    addon: &ClusterAddon,
) -> Result<(), RequestError> {
    for object in cache.find(&term::handed_over(cluster)) {
        let key = Key::of(&*object);
        let annotation = format!("/metadata/annotations/{}", labels::HANDED_OVER.replace('/', "~1"));
        let owner = ownership::owner(addon);
        let owners: Vec<_> = std::iter::once(&owner).chain(object.owner_references()).collect();
        let operations = json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": object.resource_version()},
            {"op": "add", "path": "/metadata/ownerReferences", "value": owners},
            {"op": "remove", "path": annotation},
        ]);
        match context.api.patch(&key, operations).await {
            Ok(written) => _ = cache.written(written),
            Err(error) if error.is_not_found() => cache.gone(&key),
            Err(error) => return Err(error),
        }
        info!(kind = Status::KIND, object = %key, "taken over from an earlier ClusterAddon");
    }
    Ok(())
}

/// Whether the Cluster of a `ClusterAddon` is there and stays, as the API server says now.
async fn is_there(context: &Context, key: &Key, addon: &ClusterAddon) -> Result<bool, RequestError> {
    let Some(kind) = context.cluster_kind() else { return Ok(false) };
    let now: Option<ClusterObject> = context.api.get_dynamic(key, kind).await?;
    let is_its = |now: &ClusterObject| identity::cluster_uid(addon).is_none_or(|uid| now.uid() == Some(uid));
    Ok(now.is_some_and(|now| is_its(&now) && !now.cluster.deleting()))
}

/// Takes a `ClusterAddon` off all that it owns. Whether the API server has nothing any longer that it owns.
async fn disowned(context: &Context, addon: &ClusterAddon, rest: Rest<'_>) -> Result<bool, RequestError> {
    let caches = &context.caches;
    Ok(disowned_all(context, &caches.helm_releases, addon, rest).await?
        && disowned_all(context, &caches.kustomizations, addon, rest).await?)
}

async fn disowned_all<Status: ObservedKind>(
    context: &Context,
    cache: &Cache<Observed<Status>>,
    addon: &ClusterAddon,
    rest: Rest<'_>,
) -> Result<bool, RequestError> {
    let keys = keys(cache, addon);
    for object in cache.find(&term::owned_by("ClusterAddon", &Key::of(addon))) {
        disown(context, cache, &object, addon, rest).await?;
    }
    for key in keys {
        let Some(found) = ownership::present(context, cache, &key).await? else { continue };
        if addons::is_owner(addon, &found) && !found.metadata.terminating {
            // A write that the cache had not seen yet.
            cache.written(found);
            return Ok(false);
        }
    }
    Ok(true)
}

/// The objects of a kind that a `ClusterAddon` owns as the cache has it, and those that its status names.
fn keys<Status: ObservedKind>(cache: &Cache<Observed<Status>>, addon: &ClusterAddon) -> BTreeSet<Key> {
    let owned = cache.find(&term::owned_by("ClusterAddon", &Key::of(addon)));
    let named = addon.status.iter().flat_map(|status| &status.addons).filter_map(|told| told.object.as_ref());
    let namespace = addon.namespace().unwrap_or_default();
    let named = named.filter(|object| object.kind == Status::KIND);
    let named = named.map(|object| Key::new(&namespace, &object.name));
    owned.iter().map(|object| Key::of(&**object)).chain(named).collect()
}

/// Takes a `ClusterAddon` off one object. One that is being deleted is suspended: Flux would uninstall it.
async fn disown<Status: ObservedKind>(
    context: &Context,
    cache: &Cache<Observed<Status>>,
    object: &std::sync::Arc<Observed<Status>>,
    addon: &ClusterAddon,
    rest: Rest<'_>,
) -> Result<(), RequestError> {
    let uid = addon.uid();
    match rest {
        Rest::HandedOver(_) if object.metadata.terminating => {
            suspended(context, cache, object).await?;
            Ok(())
        }
        Rest::HandedOver(cluster) => {
            let told = [(labels::HANDED_OVER, cluster.name.as_str())];
            ownership::drop_owner(context, cache, object, uid.as_deref(), &told).await
        }
        Rest::Abandoned => {
            let Some(object) = suspended(context, cache, object).await? else { return Ok(()) };
            ownership::drop_owner(context, cache, &object, uid.as_deref(), &[]).await
        }
    }
}
