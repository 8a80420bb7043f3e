//! The operator's finalizer on its own objects.

use std::sync::Arc;

use kube::{Resource, ResourceExt as _};
use serde_json::{Value, json};

use super::caches::Stored;
use super::context::Context;
use crate::api::labels;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;

/// Adds the operator's finalizer if missing, and returns the object.
pub async fn ensure<K: Stored<DynamicType = ()>>(
    context: &Context,
    object: Arc<K>,
) -> Result<Arc<K>, RequestError> {
    if labels::has_finalizer(&*object) {
        return Ok(object);
    }
    let mut finalizers = object.finalizers().to_vec();
    finalizers.push(labels::FINALIZER.to_owned());
    let written = context.api.patch(&Key::of(&*object), replace(&*object, &finalizers), &()).await?;
    Ok(K::cache(&context.caches, &()).written(written))
}

/// Removes the operator's finalizer, if present.
pub async fn remove<K: Stored<DynamicType = ()>>(context: &Context, object: &K) -> Result<(), RequestError> {
    let (key, cache) = (Key::of(object), K::cache(&context.caches, &()));
    let others = object.finalizers().iter().filter(|finalizer| *finalizer != labels::FINALIZER);
    let others: Vec<String> = others.cloned().collect();
    if others.len() == object.finalizers().len() {
        return Ok(());
    }
    match context.api.patch::<K>(&key, replace(object, &others), &()).await {
        Ok(written) if written.meta().deletion_timestamp.is_some() && others.is_empty() => cache.remove(&key),
        Ok(written) => _ = cache.written(written),
        Err(error) if error.is_not_found() => cache.remove(&key),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Returns a patch that replaces the finalizers of this object, but not of another object with the same name.
fn replace(object: &impl Resource, finalizers: &[String]) -> Value {
    let test = json!({"op": "test", "path": "/metadata/uid", "value": object.uid()});
    let path = "/metadata/finalizers";
    if object.finalizers().is_empty() {
        return json!([test, {"op": "add", "path": path, "value": finalizers}]);
    }
    let unchanged = json!({"op": "test", "path": path, "value": object.finalizers()});
    json!([test, unchanged, {"op": "replace", "path": path, "value": finalizers}])
}
