//! Reads and writes the Flux objects of addons.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt as _;
use kube::core::ApiResource;

use super::super::context::Context;
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

/// Lists kind and name of the objects that a `ClusterAddon` owns.
pub(super) async fn listed(
    context: &Context,
    addon: &ClusterAddon,
) -> Result<BTreeSet<(FluxKind, String)>, RequestError> {
    let (namespace, uid) = (addon.namespace().unwrap_or_default(), addon.uid().unwrap_or_default());
    let mut found = BTreeSet::new();
    for kind in FluxKind::DELIVERING {
        let resource = ApiResource::erase::<FluxObject>(&kind);
        let names = context.api.listed_of(&namespace, &resource, &uid).await?;
        found.extend(names.into_iter().map(|name| (kind, name)));
    }
    Ok(found)
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
            cache.remove(&Key::of(&**object), object.uid().as_deref());
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
