//! Owner references of Flux objects, and their end.

use kube::ResourceExt as _;
use serde_json::json;

use super::cache::{Cache, Key};
use super::world::World;
use crate::foreign::flux::observed::{Observed, ObservedKind};
use crate::sink::cluster::{Deleted, RequestError};

/// Takes the owner of this UID off an object that stays.
pub async fn drop_owner<Status: ObservedKind>(
    world: &World,
    cache: &Cache<Observed<Status>>,
    object: &Observed<Status>,
    owner: Option<&str>,
) -> Result<(), RequestError> {
    let owners = object.owner_references();
    let others: Vec<_> = owners.iter().filter(|other| Some(other.uid.as_str()) != owner).collect();
    if others.len() == owners.len() {
        return Ok(());
    }
    let key = Key::of(object);
    let operations = json!([
        {"op": "test", "path": "/metadata/ownerReferences", "value": owners},
        {"op": "replace", "path": "/metadata/ownerReferences", "value": others},
    ]);
    match world.api.patch(&key, operations).await {
        Ok(written) => _ = cache.written(written),
        Err(error) if error.is_not_found() => cache.gone(&key),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Deletes an object, and no other one of its name. Whether it is gone.
pub async fn delete<Status: ObservedKind>(
    world: &World,
    cache: &Cache<Observed<Status>>,
    object: &Observed<Status>,
) -> Result<bool, RequestError> {
    let key = Key::of(object);
    if object.metadata.terminating {
        return Ok(false);
    }
    match world.api.delete(&key, object.uid().as_deref().unwrap_or_default()).await? {
        Deleted::Gone => {
            cache.gone(&key);
            Ok(true)
        }
        Deleted::Terminating(object) => {
            cache.written(*object);
            Ok(false)
        }
    }
}
