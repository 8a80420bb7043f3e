//! Sets fields of objects without a plan: annotations, the operator's label, and `spec.suspend` of Flux objects.

use std::sync::Arc;

use kube::Resource;
use serde_json::{Value, json};

use super::caches::Stored;
use super::context::Context;
use crate::api::labels::{FIELD_MANAGER, MANAGED_BY, SUSPEND_FIELD_MANAGER};
use crate::foreign::flux::observed::FluxObject;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;

/// Sets annotations of this object, but not of another object with the same name. Returns the object.
pub(super) async fn annotate<K: Stored>(
    context: &Context,
    object: &K,
    annotations: &[(&str, &str)],
) -> Result<Arc<K>, RequestError> {
    write(context, object, patch(object, annotations)).await
}

/// Sets annotations of this object. Conflicts if it changed since it was read.
pub(super) async fn annotate_unchanged<K: Stored>(
    context: &Context,
    object: &K,
    annotations: &[(&str, &str)],
) -> Result<Arc<K>, RequestError> {
    write(context, object, patch_unchanged(object, annotations)).await
}

/// Removes an annotation that this object has. Conflicts if it changed since it was read.
pub(super) async fn remove_unchanged<K: Stored>(
    context: &Context,
    object: &K,
    annotation: &str,
) -> Result<Arc<K>, RequestError> {
    write(context, object, removal(object, annotation)).await
}

async fn write<K: Stored>(context: &Context, object: &K, operations: Value) -> Result<Arc<K>, RequestError> {
    let (key, kind) = (Key::of(object), object.resource());
    let cache = K::cache(&context.caches, &kind);
    // The watch may report the write before the API server answers: it is no reason to reconcile again.
    let _writing = cache.writing(&key);
    let written = context.api.patch(&key, operations, &kind).await?;
    Ok(cache.written(written))
}

/// Sets or unsets `spec.suspend` of this Flux object, but not of another object with the same name. The field has a separate
/// field manager.
pub(super) async fn suspend(
    context: &Context,
    object: &FluxObject,
    suspend: bool,
) -> Result<FluxObject, RequestError> {
    let operations = suspension(object, suspend);
    context.api.patch_as(&Key::of(object), operations, SUSPEND_FIELD_MANAGER, &object.kind()).await
}

/// Returns a JSON patch that sets or unsets `spec.suspend` of this object, but not of another object with the same name. To
/// unset it, the object must not have changed: a late request must not resume an object that is suspended to be deleted, whose
/// addon Flux would then uninstall.
fn suspension(object: &FluxObject, suspend: bool) -> Value {
    let place = "/spec/suspend";
    let unchanged = (!suspend).then(|| is_unchanged(object));
    let add = json!({"op": "add", "path": place, "value": true});
    // A field that is not there cannot be removed.
    let remove = (!suspend).then(|| json!({"op": "remove", "path": place}));
    std::iter::once(is_same(object)).chain(unchanged).chain([add]).chain(remove).collect()
}

/// Returns a JSON patch that sets annotations of this object, but not of another object with the same name.
pub(super) fn patch(object: &impl Resource, annotations: &[(&str, &str)]) -> Value {
    set(object, "/metadata/annotations", object.meta().annotations.is_some(), annotations)
}

/// Returns a JSON patch that sets annotations of this object if it did not change.
fn patch_unchanged(object: &impl Resource, annotations: &[(&str, &str)]) -> Value {
    let mut operations = patch(object, annotations);
    if let Value::Array(operations) = &mut operations {
        operations.insert(0, is_unchanged(object));
    }
    operations
}

/// Returns a JSON patch that removes an annotation of this object if it did not change.
fn removal(object: &impl Resource, annotation: &str) -> Value {
    let remove = json!({"op": "remove", "path": place_of("/metadata/annotations", annotation)});
    json!([is_unchanged(object), is_same(object), remove])
}

/// Returns a JSON patch that sets the operator's label of this object, but not of another object with the same name.
pub(super) fn label(object: &impl Resource) -> Value {
    set(object, "/metadata/labels", object.meta().labels.is_some(), &[(MANAGED_BY, FIELD_MANAGER)])
}

/// Returns a JSON patch that sets fields of the map at a place, and adds the map if the object does not have it. To add the
/// map would remove the fields that another client has added since: the patch then fails if the object changed.
fn set(object: &impl Resource, place: &str, has_map: bool, fields: &[(&str, &str)]) -> Value {
    let map = [is_unchanged(object), json!({"op": "add", "path": place, "value": {}})];
    let map = map.into_iter().filter(|_| !has_map);
    let add = fields
        .iter()
        .map(|(name, value)| json!({"op": "add", "path": place_of(place, name), "value": value}));
    [is_same(object)].into_iter().chain(map).chain(add).collect()
}

/// Returns the JSON pointer to a field of the map at a place.
fn place_of(place: &str, name: &str) -> String {
    format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Returns the operation of a JSON patch that fails for another object with the same name.
fn is_same(object: &impl Resource) -> Value {
    json!({"op": "test", "path": "/metadata/uid", "value": object.meta().uid})
}

/// Returns the operation of a JSON patch that fails for an object that changed.
fn is_unchanged(object: &impl Resource) -> Value {
    json!({"op": "test", "path": "/metadata/resourceVersion", "value": object.meta().resource_version})
}

#[cfg(test)]
mod tests;
