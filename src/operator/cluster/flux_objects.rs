//! Reads and writes the Flux objects of addons, independent of their kind.

use std::sync::Arc;

use serde_json::Value;

use super::super::annotations;
use super::super::context::Context;
use super::super::{git_delivery, ownership, request};
use crate::addons::FluxObject;
use crate::api::ClusterAddon;
use crate::api::labels::REQUESTED_AT;
use crate::foreign::flux::observed::{HelmReleaseStatus, KustomizationStatus, ObservedKind as _};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;

/// Evaluates an expression for either kind: `$found` is the object, `$cache` the cache of its kind.
macro_rules! either {
    ($context:expr, $object:expr, |$cache:ident, $found:ident| $run:expr) => {
        match $object {
            FluxObject::HelmRelease($found) => {
                let $cache = &$context.caches.helm_releases;
                $run
            }
            FluxObject::Kustomization($found) => {
                let $cache = &$context.caches.kustomizations;
                $run
            }
        }
    };
}

/// Returns the objects with an index key.
pub(super) fn by_index(context: &Context, key: &str) -> Vec<FluxObject> {
    let releases = context.caches.helm_releases.by_index(key).into_iter().map(FluxObject::HelmRelease);
    let kustomizations =
        context.caches.kustomizations.by_index(key).into_iter().map(FluxObject::Kustomization);
    releases.chain(kustomizations).collect()
}

/// Returns the cached object with that kind and key.
pub(super) fn get(context: &Context, kind: &str, key: &Key) -> Option<FluxObject> {
    match kind {
        HelmReleaseStatus::KIND => context.caches.helm_releases.get(key).map(FluxObject::HelmRelease),
        KustomizationStatus::KIND => context.caches.kustomizations.get(key).map(FluxObject::Kustomization),
        _ => None,
    }
}

/// Returns the key of an object.
pub(super) fn key(object: &FluxObject) -> Key {
    Key::new(object.object().namespace.as_deref().unwrap_or_default(), object.name())
}

/// Whether the file of an object is removed from the repository that Flux applies it from.
pub(super) fn is_without_file(context: &Context, object: &FluxObject) -> bool {
    match object {
        FluxObject::HelmRelease(found) => git_delivery::is_removed_from_git(context, &**found),
        FluxObject::Kustomization(found) => git_delivery::is_removed_from_git(context, &**found),
    }
}

/// Fetches an object as it is now, and removes it from the cache if it does not exist.
pub(super) async fn get_live(
    context: &Context,
    kind: &str,
    key: &Key,
) -> Result<Option<FluxObject>, RequestError> {
    Ok(if kind == HelmReleaseStatus::KIND {
        let found = ownership::present(context, &context.caches.helm_releases, key).await?;
        found.map(|found| FluxObject::HelmRelease(Arc::new(found)))
    } else {
        let found = ownership::present(context, &context.caches.kustomizations, key).await?;
        found.map(|found| FluxObject::Kustomization(Arc::new(found)))
    })
}

/// Updates the cache with a fetched object.
pub(super) fn refresh(context: &Context, live: &FluxObject) {
    either!(context, live, |cache, found| _ = cache.written(found.as_ref().clone()));
}

/// Deletes this object, but not another object with the same name. Flux uninstalls the addon unless the object is
/// suspended.
pub(super) async fn delete(context: &Context, object: &FluxObject) -> Result<bool, RequestError> {
    either!(context, object, |cache, found| ownership::delete(context, cache, &**found).await)
}

/// Suspends an object; `None` if it does not exist.
pub(super) async fn suspend(
    context: &Context,
    object: &FluxObject,
) -> Result<Option<FluxObject>, RequestError> {
    if object.is_suspended() {
        return Ok(Some(object.clone()));
    }
    let (caches, key) = (&context.caches, key(object));
    let suspended = match object {
        FluxObject::HelmRelease(_) => annotations::suspend(context, &key, true)
            .await
            .map(|written| FluxObject::HelmRelease(caches.helm_releases.written(written))),
        FluxObject::Kustomization(_) => annotations::suspend(context, &key, true)
            .await
            .map(|written| FluxObject::Kustomization(caches.kustomizations.written(written))),
    };
    match suspended {
        Ok(suspended) => Ok(Some(suspended)),
        Err(error) if error.is_not_found() => {
            either!(context, object, |cache, _found| cache.remove(&key));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Patches an object, and removes it from the cache if it does not exist.
pub(super) async fn patch(
    context: &Context,
    object: &FluxObject,
    operations: Value,
) -> Result<(), RequestError> {
    let key = key(object);
    either!(context, object, |cache, _found| match context.api.patch(&key, operations).await {
        Ok(written) => _ = cache.written(written),
        Err(error) if error.is_not_found() => cache.remove(&key),
        Err(error) => return Err(error),
    });
    Ok(())
}

/// Removes a `ClusterAddon` from the owners of an object, and sets annotations in the same write.
pub(super) async fn drop_owner(
    context: &Context,
    object: &FluxObject,
    owner: &ClusterAddon,
    annotations: &[(&str, &str)],
) -> Result<(), RequestError> {
    let uid = owner.metadata.uid.as_deref();
    either!(context, object, |cache, found| {
        ownership::drop_owner(context, cache, found, uid, annotations).await
    })
}

/// Asks Flux to reconcile an object now. `at` is the current time, as the value of the annotation.
pub(super) async fn request_reconcile(
    context: &Context,
    object: &FluxObject,
    at: &str,
) -> Result<(), RequestError> {
    either!(context, object, |cache, found| request::ask(context, cache, found, at, &[REQUESTED_AT]).await)
}
