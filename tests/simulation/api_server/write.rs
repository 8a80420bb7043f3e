//! The common part of all writes: resource versions, generations, finalizers, and the log that watches read.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::answer::{Answer, Subject, patch_failed};
use super::fields::{self, Depth, Manager, Writer};
use super::kinds::{KINDS, NAMESPACE};
use super::patch::is_same;
use super::{ApiServer, Place, Stored, Target, Watched, with_managers};

impl ApiServer {
    /// Applies an object with force.
    pub(super) fn apply(&mut self, place: &Place, applied: &Value, manager: &str) -> Result<Answer, Answer> {
        let writer = self.writer(place, manager, false);
        let of = |field: &str| applied["metadata"][field].as_str();
        let (wanted, uid) = (of("resourceVersion"), of("uid"));
        let Some(found) = self.objects.get(place) else {
            if let Some(uid) = uid {
                return Err(Subject::of(place).missing_uid(uid));
            }
            self.check_namespace(place)?;
            let (mut new, mut managers) = (self.created(place), Vec::new());
            fields::apply(&mut new, &mut managers, applied, &writer);
            if KINDS[place.0].is_custom() {
                remove(&mut new, "status");
            }
            let body = self.store(place, new, managers);
            return Ok(Answer { code: 201, body });
        };
        if wanted.is_some_and(|wanted| found.object["metadata"]["resourceVersion"] != wanted) {
            return Err(Subject::of(place).modified());
        }
        if let Some(uid) = uid.filter(|uid| found.object["metadata"]["uid"] != *uid) {
            return Err(Subject::of(place).other_uid(uid));
        }
        let (mut new, mut managers) = (Value::clone(&found.object), found.managers.clone());
        fields::apply(&mut new, &mut managers, applied, &writer);
        keep(&mut new, &found.object, "status");
        check_finalizers(place, &found.object, &new)?;
        let body = self.store(place, new, managers);
        Ok(Answer { code: 200, body })
    }

    /// Changes an object, or its status alone, by a patch; `change` returns whether the patch fits.
    pub(super) fn patch(
        &mut self,
        target: &Target,
        manager: &str,
        change: impl FnOnce(&mut Value) -> bool,
    ) -> Result<Answer, Answer> {
        let place = &target.place;
        let of_status = target.subresource.as_deref() == Some("status");
        let writer = self.writer(place, manager, of_status);
        let found = self.objects.get(place).ok_or_else(|| Subject::of(place).not_found())?;
        let mut object = Value::clone(&found.object);
        if !change(&mut object) {
            return Err(patch_failed());
        }
        if object["metadata"]["resourceVersion"] != found.object["metadata"]["resourceVersion"] {
            return Err(Subject::of(place).modified());
        }
        if of_status {
            keep_all_but_status(&mut object, &found.object);
        } else {
            keep(&mut object, &found.object, "status");
        }
        complete(place, &mut object);
        check_finalizers(place, &found.object, &object)?;
        let changed = changed_parts(&found.object, &object);
        if changed.is_empty() {
            return Ok(Answer { code: 200, body: found.sent.clone() });
        }
        let mut managers = found.managers.clone();
        fields::update((&*found.object, &object), &changed, &mut managers, &writer);
        let body = self.store(place, object, managers);
        Ok(Answer { code: 200, body })
    }

    /// Deletes an object in the background, if the preconditions in the options hold.
    pub(super) fn delete(&mut self, place: &Place, options: &Value) -> Result<Answer, Answer> {
        let subject = Subject::of(place);
        let Some(found) = self.objects.get(place) else { return Err(subject.not_found()) };
        let metadata = &found.object["metadata"];
        for (field, what, may) in
            [("uid", "UID", "deleted and then recreated"), ("resourceVersion", "ResourceVersion", "modified")]
        {
            let (wanted, is) = (options["preconditions"][field].as_str(), metadata[field].as_str());
            if wanted.is_some_and(|wanted| is != Some(wanted)) {
                return Err(subject.precondition(
                    what,
                    wanted.unwrap_or_default(),
                    is.unwrap_or_default(),
                    may,
                ));
            }
        }
        let is_held = place.0 == NAMESPACE
            || metadata["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
        if !is_held {
            let uid = metadata["uid"].clone();
            self.remove(place);
            return Ok(subject.deleted(&uid));
        }
        let (mut new, managers) = (Value::clone(&found.object), found.managers.clone());
        let metadata = &mut new["metadata"];
        if metadata.get("deletionTimestamp").is_none() {
            metadata["deletionTimestamp"] = json!(self.time());
            if KINDS[place.0].is_custom() {
                metadata["deletionGracePeriodSeconds"] = json!(0);
                metadata["generation"] = json!(metadata["generation"].as_i64().unwrap_or_default() + 1);
            }
        }
        let body = self.store(place, new, managers);
        Ok(Answer { code: 200, body })
    }

    /// Stores an object, unless nothing changed; returns it as it is sent.
    fn store(&mut self, place: &Place, mut new: Value, managers: Vec<Manager>) -> Arc<Value> {
        complete(place, &mut new);
        if let Some(old) = self.objects.get(place) {
            let changed = changed_parts(&old.object, &new);
            if changed.is_empty() && are_same(&managers, &old.managers) {
                return old.sent.clone();
            }
            let is_counted = changed.iter().any(|part| !["metadata", "status"].contains(part));
            if KINDS[place.0].is_custom() && is_counted {
                let generation = old.object["metadata"]["generation"].as_i64().unwrap_or_default();
                new["metadata"]["generation"] = json!(generation + 1);
            }
        }
        let metadata = &new["metadata"];
        let is_going = metadata.get("deletionTimestamp").is_some() && place.0 != NAMESPACE;
        if is_going && metadata.get("finalizers").is_none() {
            // The write itself is not stored.
            let new = self.stored(place, new, managers);
            let body = new.sent.clone();
            self.objects.insert(place.clone(), new);
            self.remove(place);
            return body;
        }
        let new = self.next_version(place, new, managers);
        let object = new.sent.clone();
        self.objects.insert(place.clone(), new);
        self.log.push(Watched { place: place.clone(), is_deleted: false, object: object.clone() });
        object
    }

    /// Removes an object.
    pub(super) fn remove(&mut self, place: &Place) {
        if let Some(gone) = self.objects.remove(place) {
            let gone = self.next_version(place, Arc::unwrap_or_clone(gone.object), gone.managers);
            self.log.push(Watched { place: place.clone(), is_deleted: true, object: gone.sent });
        }
    }

    fn next_version(&mut self, place: &Place, mut object: Value, managers: Vec<Manager>) -> Stored {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.stored(place, object, managers)
    }

    fn stored(&self, place: &Place, object: Value, managers: Vec<Manager>) -> Stored {
        let object = Arc::new(object);
        let sent = match self.managers_read {
            None => with_managers(&object, &managers, Depth::All),
            Some(kinds) if kinds.contains(&KINDS[place.0].name) => {
                with_managers(&object, &managers, Depth::Names)
            }
            Some(_) => object.clone(),
        };
        Stored { object, managers, sent }
    }

    /// The fields that the API server itself sets in a new object.
    fn created(&mut self, (kind, namespace, name): &Place) -> Value {
        self.uids += 1;
        let kind = &KINDS[*kind];
        let mut metadata = json!({
            "name": name,
            "uid": format!("00000000-0000-4000-8000-{:012x}", self.uids),
            "creationTimestamp": self.time(),
        });
        if kind.is_custom() {
            metadata["namespace"] = json!(namespace);
            metadata["generation"] = json!(1);
        } else {
            metadata["labels"] = json!({"kubernetes.io/metadata.name": name});
        }
        json!({"apiVersion": kind.api_version(), "kind": kind.name, "metadata": metadata})
    }

    /// Whether an object can be created in a namespace.
    fn check_namespace(&self, place: &Place) -> Result<(), Answer> {
        if place.0 == NAMESPACE {
            return Ok(());
        }
        let namespace = (NAMESPACE, String::new(), place.1.clone());
        match self.objects.get(&namespace) {
            None => Err(Subject::of(&namespace).not_found()),
            Some(found) if found.object["metadata"].get("deletionTimestamp").is_some() => {
                Err(Subject::of(place).terminating())
            }
            Some(_) => Ok(()),
        }
    }

    fn writer<'a>(&self, place: &Place, name: &'a str, of_status: bool) -> Writer<'a> {
        Writer { name, of_status, api_version: KINDS[place.0].api_version(), time: self.time() }
    }

    fn time(&self) -> String {
        Timestamp::from_second(self.now).unwrap().to_string()
    }
}

fn are_same(one: &[Manager], other: &[Manager]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_same(other))
}

/// The parts (`spec`, `status`) in which two objects differ.
fn changed_parts<'a>(before: &'a Value, after: &'a Value) -> Vec<&'a str> {
    let parts = |object: &'a Value| object.as_object().into_iter().flatten();
    let changed =
        parts(after).filter(|(name, value)| before.get(*name).is_none_or(|old| !is_same(old, value)));
    let gone = parts(before).filter(|(name, _)| after.get(*name).is_none());
    changed.chain(gone).map(|(name, _)| name.as_str()).collect()
}

/// An object that is being deleted gets no new finalizer.
fn check_finalizers(place: &Place, before: &Value, after: &Value) -> Result<(), Answer> {
    if before["metadata"].get("deletionTimestamp").is_none() {
        return Ok(());
    }
    let of = |object: &Value| object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let (old, new) = (of(before), of(after));
    let added: Vec<&str> = new.iter().filter(|name| !old.contains(name)).filter_map(Value::as_str).collect();
    if added.is_empty() { Ok(()) } else { Err(Subject::of(place).new_finalizers(&added)) }
}

/// Adds the defaults of the schema, and drops empty metadata fields.
fn complete(place: &Place, object: &mut Value) {
    KINDS[place.0].add_defaults(object);
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else { return };
    metadata.retain(|_, value| match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    });
}

fn remove(object: &mut Value, name: &str) {
    if let Value::Object(fields) = object {
        fields.shift_remove(name);
    }
}

/// Copies all fields but the status from another object.
fn keep_all_but_status(object: &mut Value, from: &Value) {
    if changed_parts(from, object).iter().any(|part| *part != "status") {
        let status = object.get("status").cloned();
        *object = from.clone();
        put(object, "status", status);
    }
}

/// Copies a field from another object.
fn keep(object: &mut Value, from: &Value, name: &str) {
    put(object, name, from.get(name).cloned());
}

fn put(object: &mut Value, name: &str, value: Option<Value>) {
    match value {
        Some(value) => object[name] = value,
        None => remove(object, name),
    }
}
