//! Annotations that are put on objects besides those that are applied.

use kube::Resource;
use serde_json::{Value, json};

use super::cache::{Cache, Cached, Key};
use super::world::World;
use crate::sink::cluster::{Kind, RequestError};

/// Gives these annotations to the object, and to no other one of its name.
pub(super) async fn annotate<K: Kind + Cached>(
    world: &World,
    cache: &Cache<K>,
    object: &K,
    annotations: &[(&str, &str)],
) -> Result<(), RequestError> {
    let written = world.api.patch(&Key::of(object), patch(object, annotations)).await?;
    cache.written(written);
    Ok(())
}

/// The JSON patch that gives these annotations to the object, and to no other one of its name.
pub(super) fn patch(object: &impl Resource, annotations: &[(&str, &str)]) -> Value {
    let (metadata, place) = (object.meta(), "/metadata/annotations");
    let same = json!({"op": "test", "path": "/metadata/uid", "value": metadata.uid});
    let none = metadata.annotations.is_none().then(|| json!({"op": "add", "path": place, "value": {}}));
    let add = annotations.iter().map(|(name, value)| {
        let path = format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
        json!({"op": "add", "path": path, "value": value})
    });
    [same].into_iter().chain(none).chain(add).collect()
}

#[cfg(test)]
mod tests;
