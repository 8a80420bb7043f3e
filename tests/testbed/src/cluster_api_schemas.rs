//! Makes Cluster API's CRDs usable without its conversion webhooks.
//!
//! No webhook runs here, so an object changes its `apiVersion` and nothing else between v1beta1 and v1beta2. What
//! one version's schema does not know would be dropped on the way through the other, and Flux would see drift for
//! ever. So every object of every schema keeps unknown fields; what a schema does know, it still checks.

use serde_json::{Map, Value, json};

const KEEP: &str = "x-kubernetes-preserve-unknown-fields";

/// Lets all versions of a CRD keep each other's fields, and labels it with the contracts it serves, as
/// `config/crd/kustomization.yaml` of each provider does (Cluster API finds versions by these labels).
pub(crate) fn adapt(crd: &mut Value) {
    let mut labels = Map::new();
    let versions = crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        if let Some(name) = version.get("name").and_then(Value::as_str) {
            labels.insert(format!("cluster.x-k8s.io/{name}"), json!(name));
        }
        if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
            keep_unknown_fields(schema);
        }
    }
    if let Some(metadata) = crd.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("labels".to_owned(), Value::Object(labels));
    }
}

fn keep_unknown_fields(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(keep_unknown_fields);
        schema.insert(KEEP.to_owned(), Value::Bool(true));
    }
    for nested in ["items", "additionalProperties"] {
        if let Some(nested) = schema.get_mut(nested) {
            keep_unknown_fields(nested);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adapted_schema_keeps_unknown_fields_and_items() {
        let mut crd = json!({
            "metadata": {"name": "things"},
            "spec": {"versions": [{"name": "v1beta1", "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "items": {"type": "string"},
                    "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
                    "map": {"type": "object", "additionalProperties": {"type": "string"}},
                },
            }}}]},
        });
        adapt(&mut crd);
        let schema = crd.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap();
        assert_eq!(schema[KEEP], json!(true));
        assert_eq!(schema["properties"]["items"], json!({"type": "string"}));
        assert_eq!(schema["properties"]["list"]["items"][KEEP], json!(true));
        assert_eq!(schema["properties"]["map"].get(KEEP), None);
        assert_eq!(crd["metadata"]["labels"], json!({"cluster.x-k8s.io/v1beta1": "v1beta1"}));
    }
}
