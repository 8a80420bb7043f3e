//! The `values.schema.json` of a chart, against which Helm checks values.

use serde_json::Value;

/// The keywords of a schema that no unknown key of an object can break.
const HARMLESS: [&str; 14] = [
    "$schema",
    "$id",
    "id",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "definitions",
    "$defs",
    "properties",
    "required",
    "minProperties",
    "deprecated",
];

/// Whether a schema accepts values with a key that it does not name, whose value is a text. A schema that refers to others, or
/// has conditions, may refuse the key.
pub(super) fn accepts_unknown_key(schema: &[u8]) -> bool {
    match serde_json::from_slice(schema) {
        Ok(Value::Bool(accepts)) => accepts,
        Ok(Value::Object(schema)) => schema.iter().all(|(keyword, value)| match keyword.as_str() {
            "type" => is_object(value),
            "additionalProperties" => is_any(value),
            other => HARMLESS.contains(&other),
        }),
        _ => false,
    }
}

/// Whether a `type` allows objects.
fn is_object(types: &Value) -> bool {
    types == "object" || types.as_array().is_some_and(|types| types.iter().any(|name| name == "object"))
}

/// Whether a schema accepts everything.
fn is_any(schema: &Value) -> bool {
    *schema == Value::Bool(true) || schema.as_object().is_some_and(serde_json::Map::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_key_needs_an_open_schema() {
        for (schema, expected) in [
            ("{}", true),
            ("true", true),
            ("false", false),
            (
                r#"{"type": "object", "properties": {"a": {"additionalProperties": false}}, "required": ["a"]}"#,
                true,
            ),
            (
                r#"{"$schema": "https://json-schema.org/draft-07/schema#", "type": ["object", "null"], "title": "t"}"#,
                true,
            ),
            (r#"{"additionalProperties": true}"#, true),
            (r#"{"additionalProperties": {}}"#, true),
            (r#"{"additionalProperties": false}"#, false),
            (r#"{"additionalProperties": {"type": "object"}}"#, false),
            (r#"{"unevaluatedProperties": false}"#, false),
            (r#"{"maxProperties": 3}"#, false),
            (r#"{"propertyNames": {"pattern": "^[a-z]+$"}}"#, false),
            (r#"{"patternProperties": {".*": {"type": "integer"}}}"#, false),
            (r##"{"$ref": "#/definitions/values"}"##, false),
            (r#"{"allOf": [{"additionalProperties": false}]}"#, false),
            (r#"{"type": "array"}"#, false),
            (r#"{"enum": [{}]}"#, false),
            ("{", false),
            ("[]", false),
        ] {
            assert_eq!(accepts_unknown_key(schema.as_bytes()), expected, "{schema}");
        }
    }
}
