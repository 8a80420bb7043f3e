//! The managers of fields: server-side apply, and the effect of other writes on them (`structured-merge-diff`).
//!
//! Mappings are merged by key, `metadata.finalizers` is a set, `metadata.ownerReferences` is merged by UID, and all
//! other lists are atomic, as in our and in Flux's definitions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

/// The path of a field in `managedFields`, `f:spec` and `f:interval`, with [`BELOW`] between its parts: the order of such
/// paths is that of their parts.
type Field = String;

/// The character between the parts of a [`Field`], which no part has.
const BELOW: char = '\0';

/// A field manager of an object.
#[derive(Clone, Debug)]
pub(super) struct Manager {
    pub(super) name: String,
    applies: bool,
    of_status: bool,
    api_version: String,
    time: String,
    fields: Fields,
}

/// The fields of a manager, which most writes leave as they are.
#[derive(Clone, Debug)]
struct Fields {
    set: Arc<BTreeSet<Field>>,
    /// The fields as in `managedFields`, by [`Depth`], once they were read.
    trees: Arc<[OnceLock<Value>; 2]>,
}

/// The fields of `managedFields` that are sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Depth {
    /// All.
    All,
    /// The names of those directly below a part (`spec`) of an object.
    Names,
}

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.set, &other.set) || self.set == other.set
    }
}

impl From<BTreeSet<Field>> for Fields {
    fn from(set: BTreeSet<Field>) -> Self {
        Self { set: Arc::new(set), trees: Arc::default() }
    }
}

impl Fields {
    fn retain(&mut self, keeps: impl Fn(&Field) -> bool) {
        if !self.set.iter().all(&keeps) {
            *self = self.set.iter().filter(|field| keeps(field)).cloned().collect::<BTreeSet<_>>().into();
        }
    }

    fn tree(&self, depth: Depth) -> &Value {
        let (tree, parts) = match depth {
            Depth::All => (&self.trees[0], usize::MAX),
            Depth::Names => (&self.trees[1], 2),
        };
        tree.get_or_init(|| {
            let mut tree = Value::Object(Map::new());
            for field in &*self.set {
                let mut at = &mut tree;
                for part in field.split(BELOW).take(parts) {
                    at = &mut at[part];
                    if at.is_null() {
                        *at = Value::Object(Map::new());
                    }
                }
            }
            tree
        })
    }
}

/// The writer, and the time of the write.
pub(super) struct Writer<'a> {
    pub(super) name: &'a str,
    pub(super) of_status: bool,
    pub(super) api_version: String,
    pub(super) time: String,
}

/// The fields of the metadata that the API server itself manages.
const SYSTEM: [&str; 9] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
];

/// The fields of an object with their values.
pub(super) fn fields(object: &Value) -> BTreeMap<Field, &Value> {
    fields_in(object, |_| true)
}

/// The fields in those parts of an object (`spec`, `status`) whose names are wanted.
fn fields_in(object: &Value, is_wanted: impl Fn(&str) -> bool) -> BTreeMap<Field, &Value> {
    let mut found = BTreeMap::new();
    for (name, value) in object.as_object().into_iter().flatten().filter(|(name, _)| is_wanted(name)) {
        let mut field = format!("f:{name}");
        match name.as_str() {
            "apiVersion" | "kind" => {}
            "metadata" => {
                let own = value.as_object().into_iter().flatten();
                for (name, value) in own.filter(|(name, _)| !SYSTEM.contains(&name.as_str())) {
                    below(&mut field, "f:", name, |field| collect(value, field, &mut found));
                }
            }
            _ => collect(value, &mut field, &mut found),
        }
    }
    found
}

fn collect<'a>(value: &'a Value, field: &mut Field, found: &mut BTreeMap<Field, &'a Value>) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            if is_open(field) {
                found.insert(field.clone(), &MEMBER);
            }
            for (name, value) in object {
                below(field, "f:", name, |field| collect(value, field, found));
            }
        }
        Value::Array(items) if is_set(field) => {
            for item in items {
                below(field, "v:", &item.to_string(), |field| found.insert(field.clone(), item));
            }
        }
        Value::Array(items) if is_owners(field) => {
            for item in items {
                below(field, "", &owner_part(item), |field| found.insert(field.clone(), item));
            }
        }
        value => _ = found.insert(field.clone(), value),
    }
}

/// Calls a function with a field below this one.
fn below<T>(field: &mut Field, kind: &str, name: &str, call: impl FnOnce(&mut Field) -> T) {
    let length = field.len();
    if length > 0 {
        field.push(BELOW);
    }
    field.extend([kind, name]);
    call(field);
    field.truncate(length);
}

/// The part of an object (`spec`, `status`) that has a field.
fn part(field: &str) -> &str {
    field.split(BELOW).next().and_then(|part| part.strip_prefix("f:")).unwrap_or_default()
}

/// The value of a mapping that is a field of its own beside its content.
static MEMBER: Value = Value::Null;

/// Whether no schema names the field: a mapping there is applied and removed as a whole.
fn is_open(field: &str) -> bool {
    field.starts_with("f:spec\0f:values\0")
}

fn is_set(field: &str) -> bool {
    field == "f:metadata\0f:finalizers"
}

fn is_owners(field: &str) -> bool {
    field == "f:metadata\0f:ownerReferences"
}

fn owner_part(owner: &Value) -> String {
    format!("k:{}", json!({"uid": owner["uid"]}))
}

/// Merges an applied object into the present one. Fields that this manager alone applied before and no longer applies
/// are removed.
pub(super) fn apply(object: &mut Value, managers: &mut Vec<Manager>, applied: &Value, writer: &Writer<'_>) {
    let new = fields(applied);
    let is_writer = |manager: &Manager| manager.applies && manager.name == writer.name;
    let old = managers.iter().find(|manager| is_writer(manager)).map(|manager| manager.fields.clone());
    for field in old.iter().flat_map(|old| old.set.iter()).filter(|field| !has(&new, field)) {
        // A manager that set the field without applying it does not keep it.
        let mut others = managers.iter().filter(|manager| manager.applies && !is_writer(manager));
        if !others.any(|manager| manager.fields.set.contains(field)) {
            take_out(object, field);
        }
    }
    let others = managers.iter().filter(|manager| !is_writer(manager));
    let of_others: BTreeSet<&Field> = others.flat_map(|manager| &*manager.fields.set).collect();
    let parts: BTreeSet<String> = of_others.iter().map(|field| part(field).to_owned()).collect();
    let is_of_others = |part: &str| parts.contains(part);
    let before = fields_in(object, is_of_others);
    let is_changed =
        |field: &&&Field| new.get(**field).is_some_and(|value| before.get(**field) != Some(value));
    let changed: BTreeSet<Field> =
        of_others.iter().filter(is_changed).map(|field| (*field).clone()).collect();
    merge(object, applied, &mut Field::new());
    let left = fields_in(object, is_of_others);
    for manager in managers.iter_mut().filter(|manager| !is_writer(manager)) {
        manager.fields.retain(|field| left.contains_key(field) && !changed.contains(field));
    }
    note(managers, writer, true, new.into_keys().collect());
}

/// Whether a field, or one below it, is among these.
fn has(fields: &BTreeMap<Field, &Value>, field: &str) -> bool {
    let next = fields.range::<str, _>((Bound::Included(field), Bound::Unbounded)).next();
    let rest = next.and_then(|(found, _)| found.strip_prefix(field));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(BELOW))
}

/// Notes the changes of a write other than an apply, which are in these parts of the object.
pub(super) fn update(
    (before, after): (&Value, &Value),
    parts: &[&str],
    managers: &mut Vec<Manager>,
    writer: &Writer<'_>,
) {
    let is_other = |name: &str| parts.contains(&name);
    let (old, new) = (fields_in(before, is_other), fields_in(after, is_other));
    let changed = |field: &Field| old.get(field) != new.get(field);
    let keeps = |field: &Field| !old.contains_key(field) || (new.contains_key(field) && !changed(field));
    for manager in managers.iter_mut() {
        manager.fields.retain(keeps);
    }
    managers.retain(|manager| !manager.fields.set.is_empty());
    let of_writer = |manager: &&Manager| {
        !manager.applies && (manager.name.as_str(), manager.of_status) == (writer.name, writer.of_status)
    };
    let known = managers.iter().find(of_writer).map(|manager| &manager.fields.set);
    let is_known = |field: &Field| known.is_some_and(|known| known.contains(field));
    let mut added = new.keys().filter(|field| changed(field) && !is_known(field)).cloned().peekable();
    if known.is_some() && added.peek().is_none() {
        return;
    }
    let own = known.into_iter().flat_map(|known| known.iter().cloned()).chain(added).collect();
    note(managers, writer, false, own);
}

/// Assigns these fields to a manager. A manager without fields is removed. The time is that of the last change.
fn note(managers: &mut Vec<Manager>, writer: &Writer<'_>, applies: bool, fields: BTreeSet<Field>) {
    let is_writer = |manager: &Manager| {
        (manager.name.as_str(), manager.applies, manager.of_status)
            == (writer.name, applies, writer.of_status)
    };
    match managers.iter_mut().find(|manager| is_writer(manager)) {
        Some(manager) if *manager.fields.set == fields => {}
        Some(manager) => {
            manager.fields = fields.into();
            manager.time.clone_from(&writer.time);
        }
        None => managers.push(Manager {
            name: writer.name.to_owned(),
            applies,
            of_status: writer.of_status,
            api_version: writer.api_version.clone(),
            time: writer.time.clone(),
            fields: fields.into(),
        }),
    }
    managers.retain(|manager| !manager.fields.set.is_empty());
}

/// Removes a field from an object, and its parents that become empty.
fn take_out(object: &mut Value, field: &str) {
    if field.is_empty() {
        return;
    }
    let (first, rest) = field.split_once(BELOW).unwrap_or((field, ""));
    if let Value::Array(items) = object {
        items.retain(|item| owner_part(item) != first && format!("v:{item}") != first);
        return;
    }
    let Value::Object(parent) = object else { return };
    let name = first.strip_prefix("f:").unwrap_or(first);
    let Some(value) = parent.get_mut(name) else { return };
    take_out(value, rest);
    let is_empty =
        value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty);
    if rest.is_empty() || is_empty {
        parent.shift_remove(name);
    }
}

/// Merges an applied object into an object.
fn merge(object: &mut Value, applied: &Value, field: &mut Field) {
    match (&mut *object, applied) {
        (Value::Object(object), Value::Object(applied)) => {
            let is_metadata = field == "f:metadata";
            let is_system = |name: &str| is_metadata && SYSTEM.contains(&name);
            for (name, value) in applied.iter().filter(|(name, _)| !is_system(name)) {
                let member = object.entry(name).or_insert(Value::Null);
                below(field, "f:", name, |field| merge(member, value, field));
            }
        }
        (Value::Array(items), Value::Array(applied)) if is_set(field) => {
            let new: Vec<_> = applied.iter().filter(|item| !items.contains(item)).cloned().collect();
            items.extend(new);
        }
        (Value::Array(items), Value::Array(applied)) if is_owners(field) => {
            for owner in applied {
                match items.iter_mut().find(|item| item["uid"] == owner["uid"]) {
                    Some(item) => *item = owner.clone(),
                    None => items.push(owner.clone()),
                }
            }
        }
        (object, applied) => *object = applied.clone(),
    }
}

impl Manager {
    /// The manager as an entry of `managedFields`.
    pub(super) fn shown(&self, depth: Depth) -> Value {
        let mut entry = json!({
            "manager": self.name,
            "operation": if self.applies { "Apply" } else { "Update" },
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
        });
        entry["fieldsV1"] = self.fields.tree(depth).clone();
        if self.of_status {
            entry["subresource"] = json!("status");
        }
        entry
    }

    /// Whether two managers differ in more than their times.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let parts = |manager: &Self| (manager.applies, manager.of_status);
        (&self.name, &self.api_version, parts(self), &self.fields)
            == (&other.name, &other.api_version, parts(other), &other.fields)
    }
}
