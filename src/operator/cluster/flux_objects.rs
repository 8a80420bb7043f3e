//! Reads and writes the Flux objects of addons.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt as _;
use kube::core::ApiResource;
use serde_json::Value;

use super::super::context::Context;
use super::super::objects::is_owned_by;
use super::super::{annotations, write};
use crate::addons::{is_labelled, is_still_owned};
use crate::api::ClusterAddon;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::plan::delivery::{Purpose, suspension};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;

/// Returns the objects of addons with an index key.
pub(super) fn by_index(context: &Context, key: &str) -> Vec<Arc<FluxObject>> {
    context.caches.flux.by_index(&FluxKind::DELIVERING, key)
}

/// Updates the cache with a fetched object. The watches select by the operator's label: an object that lost it gets it again,
/// because no event would report what happens to it.
pub(super) async fn refresh(context: &Context, live: FluxObject) -> Result<(), RequestError> {
    if is_labelled(&live) {
        context.caches.flux.of(live.kind()).fetched(live);
        return Ok(());
    }
    write::patch(context, &live, annotations::label(&live)).await
}

/// Fetches these objects, and updates the cache with those that a `ClusterAddon` still owns: a list may have lacked them.
/// Returns whether there are any.
pub(super) async fn owns_any(
    context: &Context,
    addon: &ClusterAddon,
    objects: &BTreeSet<(FluxKind, String)>,
) -> Result<bool, RequestError> {
    let owned = fetch_owned(context, addon, objects).await?;
    let any = !owned.is_empty();
    for live in owned {
        refresh(context, live).await?;
    }
    Ok(any)
}

/// Whether the API server lists an object that a `ClusterAddon` owns and that is not being deleted.
pub(super) async fn any_listed(context: &Context, addon: &ClusterAddon) -> Result<bool, RequestError> {
    let uid = addon.uid().unwrap_or_default();
    for kind in [FluxKind::HelmRelease, FluxKind::Kustomization] {
        let resource = ApiResource::erase::<FluxObject>(&kind);
        let is_its = |object: Value| {
            is_owned_by(&object, &uid) && object.pointer("/metadata/deletionTimestamp").is_none()
        };
        if context.api.any_listed(addon.metadata.namespace.as_deref(), &resource, is_its).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Fetches these objects, and returns those that a `ClusterAddon` still owns.
pub(super) async fn fetch_owned(
    context: &Context,
    addon: &ClusterAddon,
    objects: &BTreeSet<(FluxKind, String)>,
) -> Result<Vec<FluxObject>, RequestError> {
    let namespace = addon.metadata.namespace.as_deref().unwrap_or_default();
    let mut owned = Vec::new();
    for (kind, name) in objects {
        let live = write::present(context, *kind, &Key::new(namespace, name)).await?;
        owned.extend(live.filter(|live| is_still_owned(live, addon)));
    }
    Ok(owned)
}

/// Suspends an object that stays or is deleted; `None` if it does not exist.
pub(super) async fn suspend(
    context: &Context,
    object: &Arc<FluxObject>,
) -> Result<Option<Arc<FluxObject>>, RequestError> {
    let Some(suspend) = suspension(object, Purpose::Retain) else { return Ok(Some(object.clone())) };
    let cache = context.caches.flux.of(object.kind());
    match annotations::suspend(context, object, suspend).await {
        Ok(suspended) => Ok(Some(cache.written(suspended))),
        Err(error) if error.is_not_found() => {
            cache.remove(&Key::of(&**object));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
