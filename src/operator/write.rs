//! Writes to objects that other objects own: removes owners, and deletes objects.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::annotations;
use super::caches::Stored;
use super::context::Context;
use super::git_delivery::remove_from_git;
use super::objects::{committing_stack, owner_of_applied};
use crate::api::{ClusterAddon, ClusterStack};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::runtime::api_server::{Deleted, RequestError};
use crate::runtime::cache::Key;

/// A resource version that no object has, because the store is past it when the first object is written. An apply with it
/// creates the object, and conflicts if the object exists.
pub const ABSENT: &str = "1";

/// Fetches the Flux object as it is now, and removes it from the cache if it does not exist. Fails if the status cannot be
/// read: a deletion must not depend on what it does not say.
pub async fn present(
    context: &Context,
    kind: FluxKind,
    key: &Key,
) -> Result<Option<FluxObject>, RequestError> {
    let cache = context.caches.flux.of(kind);
    let before = cache.uid(key);
    let found = context.api.get_dynamic(key, &kind).await?;
    match &found {
        Some(found) => cache.exists(found),
        None => cache.missing(key, before.as_deref()),
    }
    match found.as_ref().and_then(|found| found.unreadable_status.as_deref()) {
        Some(why) => {
            Err(RequestError::unreadable(&format!("{kind} {key}"), &format!("cannot read its status: {why}")))
        }
        None => Ok(found),
    }
}

/// Fetches an object of our API that a write conflicted with, or that the cache lacks, and caches it as it is now.
pub async fn refresh<K: Stored<DynamicType = ()>>(context: &Context, key: &Key) -> Result<(), RequestError> {
    let cache = K::cache(&context.caches, &());
    let before = cache.uid(key);
    match context.api.get(key).await? {
        Some(found) => cache.fetched(found),
        None => cache.missing(key, before.as_deref()),
    }
    Ok(())
}

/// Removes the owner with this UID from an object that stays, and sets annotations in the same write.
pub async fn drop_owner<K: Stored>(
    context: &Context,
    object: &K,
    owner: Option<&str>,
    set: &[(&str, &str)],
) -> Result<(), RequestError> {
    let owners = object.owner_references();
    let others: Vec<_> = owners.iter().filter(|other| Some(other.uid.as_str()) != owner).collect();
    if others.len() == owners.len() {
        return Ok(());
    }
    let mut operations = annotations::patch(object, set);
    if let Some(operations) = operations.as_array_mut() {
        operations.push(json!({"op": "test", "path": "/metadata/ownerReferences", "value": owners}));
        operations.push(json!({"op": "replace", "path": "/metadata/ownerReferences", "value": others}));
    }
    patch(context, object, operations).await
}

/// Patches an object, and removes it from the cache if it does not exist.
pub async fn patch<K: Stored>(context: &Context, object: &K, operations: Value) -> Result<(), RequestError> {
    let (key, kind) = (Key::of(object), object.resource());
    let cache = K::cache(&context.caches, &kind);
    match context.api.patch::<K>(&key, operations, &kind).await {
        Ok(written) => _ = store(context, written, &kind).await?,
        Err(error) if error.is_not_found() => cache.remove(&key, object.uid().as_deref()),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Stores the API server's answer to a write of an object that stays. If a list lacked the object meanwhile, fetches it: an
/// object that the cache lacks is missing in decisions about deletions.
pub async fn store<K: Stored>(
    context: &Context,
    written: K,
    kind: &K::DynamicType,
) -> Result<Arc<K>, RequestError> {
    let (key, cache) = (Key::of(&written), K::cache(&context.caches, kind));
    let is_terminating = written.meta().deletion_timestamp.is_some();
    let written = cache.written(written);
    if cache.get(&key).is_none() && !is_terminating {
        let found: Option<K> = context.api.get_dynamic(&key, kind).await?;
        match found {
            Some(found) => cache.fetched(found),
            // The cache had none when the fetch began.
            None => cache.missing(&key, None),
        }
    }
    Ok(written)
}

/// Deletes this object, but not another object with the same name. If Flux applies it from a repository of the operator,
/// removes it from there instead, and Flux deletes it. Returns whether the object is gone.
pub async fn delete<K: Stored>(context: &Context, object: &K) -> Result<bool, RequestError> {
    delete_if(context, object, None).await
}

/// Like [`delete`], but keeps the object if it changed since it was read: another release may have become an owner of it.
pub async fn delete_unchanged(context: &Context, object: &FluxObject) -> Result<bool, RequestError> {
    match delete_if(context, object, object.resource_version()).await {
        Err(error) if error.is_conflict() => Ok(false),
        deleted => deleted,
    }
}

/// Fetches the `ClusterAddon` of an object that Flux applies, and the `ClusterStack` that commits it, if the cache lacks them: a
/// list may have lacked them, and Flux would apply again what only the operator deletes.
async fn fetch_committer(context: &Context, object: &ObjectMeta) -> Result<(), RequestError> {
    let Some(("ClusterAddon", owner)) = owner_of_applied(object) else { return Ok(()) };
    if context.caches.addons.get(&owner).is_none() {
        refresh::<ClusterAddon>(context, &owner).await?;
    }
    let addon = context.caches.addons.get(&owner);
    // A ClusterStack of another shard must not be cached: this operator would reconcile it.
    match addon.and_then(|addon| committing_stack(&addon)).filter(|_| !context.is_sharded()) {
        Some(stack) if context.caches.stacks.get(&stack).is_none() => {
            refresh::<ClusterStack>(context, &stack).await
        }
        _ => Ok(()),
    }
}

async fn delete_if<K: Stored>(
    context: &Context,
    object: &K,
    version: Option<String>,
) -> Result<bool, RequestError> {
    let (key, kind) = (Key::of(object), object.resource());
    fetch_committer(context, object.meta()).await?;
    if object.meta().deletion_timestamp.is_some() || remove_from_git(context, object, &kind) {
        return Ok(false);
    }
    let cache = K::cache(&context.caches, &kind);
    match context.api.delete(&key, object.uid().as_deref().unwrap_or_default(), version, &kind).await? {
        Deleted::Gone => {
            cache.remove(&key, object.uid().as_deref());
            Ok(true)
        }
        Deleted::Terminating(object) => {
            cache.written(*object);
            Ok(false)
        }
    }
}
