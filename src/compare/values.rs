//! Compares the Helm values of two objects, value by value.

use serde::Serialize;
use serde_json::Value;

use crate::plan;

/// A value that differs, or that only one side has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ValueChange {
    /// The path in the notation of Helm's `--set`: `cilium.operator.replicas`, `tolerations[0].key`, or `labels.a\.b`
    /// for a key with a dot.
    pub path: String,
    /// The old value, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The new value, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// Returns the differences below `spec.values` of two objects: in the order of the second one, then the values that
/// only the first one has.
#[must_use]
pub fn changes(old: &Value, new: &Value) -> Vec<ValueChange> {
    let [old, new] = [old, new].map(plan::rendered_values);
    differences(old.as_ref(), new.as_ref())
}

/// Returns the differences between two values; `None` is a missing value.
#[must_use]
pub fn differences(old: Option<&Value>, new: Option<&Value>) -> Vec<ValueChange> {
    let mut changes = Vec::new();
    between("", old, new, &mut changes);
    changes
}

/// Compares mappings and lists entry by entry if both sides have one, and everything else as one value.
fn between(path: &str, old: Option<&Value>, new: Option<&Value>, changes: &mut Vec<ValueChange>) {
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            for (key, value) in new {
                between(&below(path, key), old.get(key), Some(value), changes);
            }
            for (key, value) in old.iter().filter(|(key, _)| !new.contains_key(*key)) {
                between(&below(path, key), Some(value), None, changes);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            for at in 0..old.len().max(new.len()) {
                between(&format!("{path}[{at}]"), old.get(at), new.get(at), changes);
            }
        }
        // A mapping on one side only is shown entry by entry.
        (None, Some(Value::Object(entries))) if !entries.is_empty() => {
            entries.iter().for_each(|(key, value)| between(&below(path, key), None, Some(value), changes));
        }
        (Some(Value::Object(entries)), None) if !entries.is_empty() => {
            entries.iter().for_each(|(key, value)| between(&below(path, key), Some(value), None, changes));
        }
        (old, new) if old == new => {}
        (old, new) => changes.push(ValueChange {
            path: path.to_owned(),
            from: old.map(Value::to_string),
            to: new.map(Value::to_string),
        }),
    }
}

fn below(path: &str, key: &str) -> String {
    let key = key.replace('\\', "\\\\").replace('.', "\\.").replace('[', "\\[");
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::changes;

    /// Returns the changes as `path: old → new`, with `-` for a missing value.
    fn lines(old: &Value, new: &Value) -> Vec<String> {
        let object = |values: &Value| json!({"spec": {"values": values}});
        let side = |side: Option<String>| side.unwrap_or_else(|| "-".to_owned());
        let changes = changes(&object(old), &object(new)).into_iter();
        changes
            .map(|change| format!("{}: {} → {}", change.path, side(change.from), side(change.to)))
            .collect()
    }

    #[test]
    fn differing_values_are_listed_by_path() {
        let old = json!({"a": {"kept": 1, "other": 1, "gone": {"deep": true}}, "list": [1, 2, 3], "kind": {"x": 1}});
        let new = json!({"list": [1, {"k": "v"}], "a": {"kept": 1, "other": "1", "new": {"deep": [] }}, "kind": [1]});
        assert_eq!(
            lines(&old, &new),
            [
                "list[1]: 2 → {\"k\":\"v\"}",
                "list[2]: 3 → -",
                "a.other: 1 → \"1\"",
                "a.new.deep: - → []",
                "a.gone.deep: true → -",
                "kind: {\"x\":1} → [1]",
            ]
        );
    }

    #[test]
    fn key_with_dots_is_not_a_path() {
        let (old, new) = (json!({}), json!({"a.b": {"c[0]": 1}, "d\\": 2}));
        assert_eq!(lines(&old, &new), ["a\\.b.c\\[0]: - → 1", "d\\\\: - → 2"]);
    }

    #[test]
    fn missing_and_empty_values_are_distinguished() {
        assert!(lines(&json!({"a": null}), &json!({"a": null})).is_empty());
        assert_eq!(lines(&json!({}), &json!({"a": {}})), ["a: - → {}"]);
        assert_eq!(lines(&json!({"a": null}), &json!({})), ["a: null → -"]);
        let without = json!({"spec": {}});
        assert!(changes(&without, &without).is_empty());
    }
}
