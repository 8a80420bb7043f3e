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
        Ok(written) if written.meta().deletion_timestamp.is_some() && others.is_empty() => {
            cache.ended(&written);
        }
        Ok(written) => _ = cache.written(written),
        Err(error) if error.is_not_found() => cache.remove(&key, object.uid().as_deref()),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Returns a patch that replaces the finalizers of this object, but not of another object with the same name, nor those that
/// another client has added since.
fn replace(object: &impl Resource, finalizers: &[String]) -> Value {
    let test = json!({"op": "test", "path": "/metadata/uid", "value": object.uid()});
    let path = "/metadata/finalizers";
    if object.finalizers().is_empty() {
        let version = object.resource_version();
        let unchanged = json!({"op": "test", "path": "/metadata/resourceVersion", "value": version});
        return json!([test, unchanged, {"op": "add", "path": path, "value": finalizers}]);
    }
    let unchanged = json!({"op": "test", "path": path, "value": object.finalizers()});
    json!([test, unchanged, {"op": "replace", "path": path, "value": finalizers}])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ClusterStack;

    fn stack(finalizers: &[&str]) -> ClusterStack {
        let metadata = json!({"name": "s", "uid": "u", "resourceVersion": "7", "finalizers": finalizers});
        let spec = json!({"provider": "docker", "name": "scs", "kubernetesVersion": "1.34", "versions": []});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
    }

    #[test]
    fn finalizers_of_another_client_are_not_removed() {
        let test = |field: &str, value: Value| json!({"op": "test", "path": format!("/metadata/{field}"), "value": value});
        let put = |op: &str, value: Value| json!({"op": op, "path": "/metadata/finalizers", "value": value});
        let ours = json!([labels::FINALIZER]);
        assert_eq!(
            replace(&stack(&[]), &[labels::FINALIZER.to_owned()]),
            json!([test("uid", json!("u")), test("resourceVersion", json!("7")), put("add", ours.clone())]),
            "the cache may not show the finalizer of another client yet"
        );
        assert_eq!(
            replace(&stack(&[labels::FINALIZER]), &[]),
            json!([test("uid", json!("u")), test("finalizers", ours), put("replace", json!([]))])
        );
    }
}
