//! Requests to reconcile that are handed on, as `flux reconcile --with-source` does.

use kube::{Resource, ResourceExt as _};
use serde_json::{Value, json};

use super::cache::{Cache, Key};
use super::world::World;
use crate::api::labels::REQUESTED_AT;
use crate::foreign::flux::observed::{Observed, ObservedKind};
use crate::sink::cluster::RequestError;

/// Asks Flux to look at `target`, where somebody asked that of `object` and it was not [handled](REQUESTED_AT) yet.
pub async fn forward<Status: ObservedKind>(
    world: &World,
    cache: &Cache<Observed<Status>>,
    target: &Key,
    object: &impl Resource,
    handled: Option<&str>,
) -> Result<(), RequestError> {
    let Some(wanted) = object.annotations().get(REQUESTED_AT) else { return Ok(()) };
    let Some(found) = cache.get(target).filter(|_| handled != Some(wanted)) else { return Ok(()) };
    if found.metadata.requested_at.as_ref() == Some(wanted) {
        return Ok(());
    }
    ask(world, cache, &found, wanted, &[REQUESTED_AT]).await
}

/// Asks Flux by these annotations to look at an object now. `wanted` is what it has not handled yet: the time, for a request
/// that we make up.
pub async fn ask<Status: ObservedKind>(
    world: &World,
    cache: &Cache<Observed<Status>>,
    found: &Observed<Status>,
    wanted: &str,
    annotations: &[&str],
) -> Result<(), RequestError> {
    let place = "/metadata/annotations";
    let none = found.object.annotations.is_none().then(|| json!({"op": "add", "path": place, "value": {}}));
    let add = annotations.iter().map(|name| {
        let path = format!("{place}/{}", name.replace('/', "~1"));
        json!({"op": "add", "path": path, "value": wanted})
    });
    let operations: Value = none.into_iter().chain(add).collect();
    cache.written(world.api.patch(&Key::of(found), operations).await?);
    Ok(())
}
