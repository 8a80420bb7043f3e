//! Sets fields of objects that no plan owns: annotations, and `spec.suspend` of Flux objects.

use kube::Resource;
use serde_json::{Value, json};

use super::context::Context;
use crate::api::labels::SUSPEND_FIELD_MANAGER;
use crate::runtime::api_server::{Kind, RequestError};
use crate::runtime::cache::{Cache, Cached, Key};

/// Sets annotations of this object, but not of another object with the same name.
pub(super) async fn annotate<K: Kind + Cached>(
    context: &Context,
    cache: &Cache<K>,
    object: &K,
    annotations: &[(&str, &str)],
) -> Result<(), RequestError> {
    let written = context.api.patch(&Key::of(object), patch(object, annotations)).await?;
    cache.written(written);
    Ok(())
}

/// Sets or unsets `spec.suspend` of a Flux object, with a separate field manager.
pub(super) async fn suspend<K: Kind>(context: &Context, key: &Key, suspend: bool) -> Result<K, RequestError> {
    let patch = json!({"spec": {"suspend": suspend.then_some(true)}});
    context.api.merge(key, patch, SUSPEND_FIELD_MANAGER).await
}

/// Returns a JSON patch that sets annotations of this object, but not of another object with the same name.
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
