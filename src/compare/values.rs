//! The values of Helm in two objects, compared one by one.

use serde::Serialize;
use serde_json::Value;

use crate::plan;

/// A value that is another than it was, or is there on one side only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ValueChange {
    /// The path, as Helm's `--set` spells it: `cilium.operator.replicas`, `tolerations[0].key`, and `labels.a\.b`
    /// for a key with a dot.
    pub path: String,
    /// The old value, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The new value, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// The differences below `spec.values` of two objects, in the order of the second one, then what only the first has.
#[must_use]
pub fn changes(old: &Value, new: &Value) -> Vec<ValueChange> {
    let [old, new] = [old, new].map(plan::rendered_values);
    differences(old.as_ref(), new.as_ref())
}

/// The same of two values; `None` is none at all.
#[must_use]
pub fn differences(old: Option<&Value>, new: Option<&Value>) -> Vec<ValueChange> {
    let mut changes = Vec::new();
    between("", old, new, &mut changes);
    changes
}

/// Mappings and lists are walked where both sides have one; all else is one value.
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
        // A mapping on one side only is shown by its content.
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
mod tests;
