//! Reads and writes the Flux objects of addons.

use std::sync::Arc;

use super::super::annotations;
use super::super::context::Context;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::plan::delivery::{Purpose, suspension};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;

/// Returns the objects of addons with an index key.
pub(super) fn by_index(context: &Context, key: &str) -> Vec<Arc<FluxObject>> {
    context.caches.flux.by_index(&FluxKind::DELIVERING, key)
}

/// Updates the cache with a fetched object.
pub(super) fn refresh(context: &Context, live: FluxObject) {
    context.caches.flux.of(live.kind()).written(live);
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
