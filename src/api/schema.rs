//! The schemas of fields whose types are not ours.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::{JsonSchema as _, Schema, SchemaGenerator, json_schema};

/// Describes a list of `metav1.Condition`, merged by type, with the limits of the markers on the Go type.
pub(super) fn conditions(generator: &mut SchemaGenerator) -> Schema {
    let mut condition = Condition::json_schema(generator);
    for (field, limits) in [
        ("message", serde_json::json!({"maxLength": 32768})),
        (
            "reason",
            serde_json::json!({
                "minLength": 1,
                "maxLength": 1024,
                "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
            }),
        ),
        ("status", serde_json::json!({"enum": ["True", "False", "Unknown"]})),
        (
            "type",
            serde_json::json!({
                "maxLength": 316,
                "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
            }),
        ),
    ] {
        let property =
            condition.pointer_mut(&format!("/properties/{field}")).and_then(|value| value.as_object_mut());
        if let (Some(property), serde_json::Value::Object(limits)) = (property, limits) {
            property.extend(limits);
        }
    }
    json_schema!({
        "type": "array",
        "items": condition,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    })
}

/// Describes a mapping with any content.
pub(super) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}
