//! Decides how to bring an object to its planned state, and which of its fields stackflux owns.

use serde_json::{Map, Value};

use super::PlannedObject;
use crate::api::labels::{FIELD_MANAGER, PLAN_DIGEST, SUSPEND_FIELD_MANAGER};
use crate::foreign::capi::{field, text};
use crate::foreign::flux::observed::{Observed, SpecDigest};

/// The action for one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is as planned.
    Nothing,
    /// Apply it: it is not there, or is as an earlier plan had it, or what our last write made of it is not known.
    Apply,
    /// Somebody else changed it: apply it, and take out what is not ours.
    Repair,
    /// It is being deleted, and is created again when it is gone.
    Wait,
}

/// Decides the action for a planned object. `found` is the object that is there, `expected` the digest of its spec as
/// our last write returned it, `owners` the UIDs that have to be among its owners.
#[must_use]
pub fn action<Status>(
    planned: &PlannedObject,
    found: Option<&Observed<Status>>,
    expected: Option<&SpecDigest>,
    owners: &[&str],
) -> Action {
    let Some(found) = found else { return Action::Apply };
    let digest = found.object.annotations.as_ref().and_then(|annotations| annotations.get(PLAN_DIGEST));
    let has_owner =
        |uid: &&str| found.object.owner_references.iter().flatten().any(|owner| owner.uid == *uid);
    let is_owned = owners.iter().all(has_owner);
    if found.metadata.terminating {
        Action::Wait
    } else if digest.map(String::as_str) != Some(planned.digest()) || !is_owned || expected.is_none() {
        Action::Apply
    } else if expected != Some(&found.spec_digest) {
        Action::Repair
    } else {
        Action::Nothing
    }
}

/// The fields of an object's spec that other field managers put there and that are none of ours, as JSON pointers
/// (RFC 6901). `object` is whole, with its `managedFields`.
///
/// Server-side apply leaves them alone, and Helm would install what they say. `suspend` is not among them.
#[must_use]
pub fn foreign_fields(object: &Value) -> Vec<String> {
    let entries = field(object, &["metadata", "managedFields"]).and_then(Value::as_array);
    let (ours, others): (Vec<&Value>, Vec<&Value>) =
        entries.into_iter().flatten().partition(|entry| text(entry, &["manager"]) == FIELD_MANAGER);
    let spec = |entry: &&Value| field(entry, &["fieldsV1", "f:spec"]).and_then(Value::as_object).cloned();
    let ours = ours.iter().filter_map(spec).fold(Map::new(), merged);
    let others = others.into_iter().filter(|entry| text(entry, &["manager"]) != SUSPEND_FIELD_MANAGER);
    let mut others = others.collect::<Vec<_>>().iter().filter_map(spec).fold(Map::new(), merged);
    others.remove("f:suspend");
    let mut found = Vec::new();
    collect(&others, &ours, "/spec", &mut found);
    found
}

/// An object as it was written: all fields of its spec but `suspend`, by any writer, and our fields of its metadata. The
/// status, and what the API server filled in by itself, are not in it. `object` is whole, with its `managedFields`.
#[must_use]
pub fn written(object: &Value) -> Value {
    let entries = field(object, &["metadata", "managedFields"]).and_then(Value::as_array);
    let mut fields = Map::new();
    for entry in entries.into_iter().flatten() {
        let mut of = field(entry, &["fieldsV1"]).and_then(Value::as_object).cloned().unwrap_or_default();
        let is_ours = text(entry, &["manager"]) == FIELD_MANAGER;
        of.retain(|part, _| part == "f:spec" || (is_ours && part == "f:metadata"));
        fields = merged(fields, of);
    }
    if let Some(Value::Object(spec)) = fields.get_mut("f:spec") {
        spec.remove("f:suspend");
    }
    if let Some(Value::Object(metadata)) = fields.get_mut("f:metadata") {
        metadata.retain(|name, _| name == "f:labels" || name == "f:annotations");
        metadata.extend(["f:name", "f:namespace"].map(|name| (name.to_owned(), Value::Object(Map::new()))));
    }
    fields.extend(["f:apiVersion", "f:kind"].map(|name| (name.to_owned(), Value::Object(Map::new()))));
    part_of(object, &fields)
}

/// The part of a value that is in a set of fields. What has no named fields below it is taken whole.
fn part_of(value: &Value, fields: &Map<String, Value>) -> Value {
    let below = |(key, below): (&String, &Value)| {
        Some((key.strip_prefix("f:")?.to_owned(), below.as_object()?.clone()))
    };
    let named: Vec<(String, Map<String, Value>)> = fields.iter().filter_map(below).collect();
    let (Value::Object(object), false) = (value, named.is_empty()) else { return value.clone() };
    let part =
        named.iter().filter_map(|(name, below)| Some((name.clone(), part_of(object.get(name)?, below))));
    Value::Object(part.collect())
}

/// Both sets of fields.
fn merged(mut one: Map<String, Value>, other: Map<String, Value>) -> Map<String, Value> {
    for (key, value) in other {
        let below = match (one.remove(&key), value) {
            (Some(Value::Object(one)), Value::Object(other)) => Value::Object(merged(one, other)),
            (_, value) => value,
        };
        one.insert(key, below);
    }
    one
}

/// The topmost fields of `others` that are not in `ours`.
fn collect(others: &Map<String, Value>, ours: &Map<String, Value>, path: &str, found: &mut Vec<String>) {
    for (key, below) in others {
        // Items of lists (`k:…`, `v:…`) have no place of their own; what Flux's specs have as lists is atomic.
        let Some(name) = key.strip_prefix("f:") else { continue };
        let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
        match (ours.get(key), below.as_object()) {
            (None, _) => found.push(path),
            (Some(Value::Object(ours)), Some(below)) => collect(below, ours, &path, found),
            (Some(_), _) => {}
        }
    }
}

#[cfg(test)]
mod tests;
