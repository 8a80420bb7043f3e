//! JSON patches (RFC 6902) and JSON merge patches (RFC 7386).

use serde_json::{Map, Value};

/// Changes a value by a JSON patch. Whether the patch fits; if not, the value may be partly changed.
pub(super) fn json_patch(target: &mut Value, patch: &Value) -> bool {
    let operations = patch.as_array().expect("a JSON patch is a list");
    operations.iter().all(|operation| {
        let (pointer, value) = (operation["path"].as_str().unwrap(), &operation["value"]);
        match operation["op"].as_str().unwrap() {
            "test" => target.pointer(pointer).unwrap_or(&Value::Null) == value,
            // The library of the real one also replaces a missing value.
            "add" | "replace" => put(target, pointer, value.clone()),
            "remove" => remove(target, pointer),
            other => panic!("the operation {other} is not in use"),
        }
    })
}

/// The parent of a pointer's target, and the last part of the pointer.
fn parent<'a>(target: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let (above, last) = path.rsplit_once('/')?;
    Some((target.pointer_mut(above)?, last.replace("~1", "/").replace("~0", "~")))
}

fn put(target: &mut Value, path: &str, value: Value) -> bool {
    match parent(target, path) {
        Some((Value::Object(parent), name)) => {
            parent.insert(name, value);
            true
        }
        Some((Value::Array(_), _)) => panic!("items of lists are not patched: {path}"),
        _ => false,
    }
}

fn remove(target: &mut Value, path: &str) -> bool {
    match parent(target, path) {
        Some((Value::Object(parent), name)) => parent.shift_remove(&name).is_some(),
        _ => false,
    }
}

/// Whether a JSON merge patch changes nothing in a value.
pub(super) fn is_merged(target: &Value, patch: &Value) -> bool {
    let (Value::Object(patch), Value::Object(target)) = (patch, target) else {
        return is_same(target, patch);
    };
    patch.iter().all(|(name, change)| match target.get(name) {
        None => change.is_null(),
        Some(_) if change.is_null() => false,
        Some(value) => is_merged(value, change),
    })
}

/// Whether two values are equal. Mappings with the same order of keys, as most, are compared without a search for each key.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => {
            one.values().zip(other.values()).all(|(one, other)| is_same(one, other))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (one, other) => one == other,
    }
}

/// Changes a value by a JSON merge patch.
pub(super) fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (name, change) in patch {
        if change.is_null() {
            target.shift_remove(name);
        } else {
            merge_patch(target.entry(name).or_insert(Value::Null), change);
        }
    }
}
