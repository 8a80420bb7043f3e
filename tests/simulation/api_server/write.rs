//! The common part of all writes: resource versions, generations, finalizers, and the log that watches read.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::answer::{Answer, Subject, patch_failed};
use super::fields::{self, Manager, Writer};
use super::kinds::{KINDS, NAMESPACE};
use super::{ApiServer, Place, Stored, Target, Watched};

impl ApiServer {
    /// Applies an object with force.
    pub(super) fn apply(&mut self, place: &Place, applied: &Value, manager: &str) -> Result<Answer, Answer> {
        let writer = self.writer(place, manager, false);
        let wanted = applied["metadata"]["resourceVersion"].as_str();
        let Some(found) = self.objects.get(place) else {
            self.check_namespace(place)?;
            let mut new = Stored::new(self.created(place), Vec::new());
            fields::apply(&mut new.object, &mut new.managers, applied, &writer);
            if KINDS[place.0].is_custom() {
                remove(&mut new.object, "status");
            }
            let body = self.store(place, new);
            return Ok(Answer { code: 201, body });
        };
        if wanted.is_some_and(|wanted| found.object["metadata"]["resourceVersion"] != wanted) {
            return Err(Subject::of(place).modified());
        }
        let mut new = found.clone();
        fields::apply(&mut new.object, &mut new.managers, applied, &writer);
        keep(&mut new.object, &found.object, "status");
        check_finalizers(place, &found.object, &new.object)?;
        let body = self.store(place, new);
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
        let mut object = found.object.clone();
        if !change(&mut object) {
            return Err(patch_failed());
        }
        if of_status {
            let status = object.get("status").cloned();
            object = found.object.clone();
            put(&mut object, "status", status);
        } else {
            keep(&mut object, &found.object, "status");
        }
        complete(place, &mut object);
        check_finalizers(place, &found.object, &object)?;
        if object == found.object {
            return Ok(Answer { code: 200, body: found.sent.clone() });
        }
        let mut managers = found.managers.clone();
        fields::update(&found.object, &object, &mut managers, &writer);
        let body = self.store(place, Stored::new(object, managers));
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
        let mut new = found.clone();
        let metadata = &mut new.object["metadata"];
        if metadata.get("deletionTimestamp").is_none() {
            metadata["deletionTimestamp"] = json!(self.time());
            if KINDS[place.0].is_custom() {
                metadata["deletionGracePeriodSeconds"] = json!(0);
                metadata["generation"] = json!(metadata["generation"].as_i64().unwrap_or_default() + 1);
            }
        }
        let body = self.store(place, new);
        Ok(Answer { code: 200, body })
    }

    /// Stores an object, unless nothing changed; returns it as it is sent.
    fn store(&mut self, place: &Place, mut new: Stored) -> Arc<Value> {
        complete(place, &mut new.object);
        if let Some(old) = self.objects.get(place) {
            if new.object == old.object && are_same(&new.managers, &old.managers) {
                return old.sent.clone();
            }
            if KINDS[place.0].is_custom() && content(&new.object) != content(&old.object) {
                let generation = old.object["metadata"]["generation"].as_i64().unwrap_or_default();
                new.object["metadata"]["generation"] = json!(generation + 1);
            }
        }
        let metadata = &new.object["metadata"];
        let is_going = metadata.get("deletionTimestamp").is_some() && place.0 != NAMESPACE;
        if is_going && metadata.get("finalizers").is_none() {
            // The write itself is not stored.
            new.finish();
            let body = new.sent.clone();
            self.objects.insert(place.clone(), new);
            self.remove(place);
            return body;
        }
        self.version += 1;
        new.set_version(self.version);
        new.finish();
        let object = new.sent.clone();
        self.objects.insert(place.clone(), new);
        self.log.push(Watched { place: place.clone(), is_deleted: false, object: object.clone() });
        object
    }

    /// Removes an object.
    pub(super) fn remove(&mut self, place: &Place) {
        if let Some(mut gone) = self.objects.remove(place) {
            self.version += 1;
            gone.set_version(self.version);
            gone.finish();
            self.log.push(Watched { place: place.clone(), is_deleted: true, object: gone.sent });
        }
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

/// The parts that count for the generation: all but the metadata and the status.
fn content(object: &Value) -> Vec<(&String, &Value)> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(name, _)| !["metadata", "status"].contains(&name.as_str())).collect()
}

/// An object that is being deleted gets no new finalizer.
fn check_finalizers(place: &Place, before: &Value, after: &Value) -> Result<(), Answer> {
    let of = |object: &Value| object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let (old, new) = (of(before), of(after));
    let added: Vec<&str> = new.iter().filter(|name| !old.contains(name)).filter_map(Value::as_str).collect();
    let is_going = before["metadata"].get("deletionTimestamp").is_some();
    if is_going && !added.is_empty() { Err(Subject::of(place).new_finalizers(&added)) } else { Ok(()) }
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
