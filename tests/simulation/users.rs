//! What users and the controllers of Cluster API do.

use serde_json::{Value, json};

use crate::driver::{Action, Simulation};
use crate::flux::number;

/// An action of a user who waits for a moment.
type Chance = (&'static str, Box<dyn Fn(&Simulation) -> bool>, Action);

/// The actions of users who wait for a moment.
#[derive(Default)]
pub(crate) struct Chances {
    waiting: Vec<Chance>,
    /// The position in the API server's log that was looked at.
    looked_at: usize,
}

impl Simulation {
    /// Adds an action of a user, which happens at any time while the simulation settles.
    pub(crate) fn at_any_time(&mut self, action: impl FnOnce(&mut Self) + 'static) {
        self.actions.push(Box::new(action));
    }

    /// Adds an action of a user, which happens in the first state that has this name and property, before anything else does.
    pub(crate) fn just_when(
        &mut self,
        name: &'static str,
        is_it: impl Fn(&Self) -> bool + 'static,
        action: impl FnOnce(&mut Self) + 'static,
    ) {
        self.wire.cluster().reached.entry(name).or_default();
        self.chances.waiting.push((name, Box::new(is_it), Box::new(action)));
    }

    /// Lets users act whose moment has come.
    pub(crate) fn take_chances(&mut self) {
        let position = self.wire.cluster().server.log.len();
        if self.chances.waiting.is_empty() || position == self.chances.looked_at {
            return;
        }
        self.chances.looked_at = position;
        let found = self.chances.waiting.iter().position(|(_, is_it, _)| is_it(self));
        if let Some(found) = found {
            let (name, _, action) = self.chances.waiting.remove(found);
            self.wire.cluster().reached(name);
            self.act_as_user(action);
        }
    }

    /// The moments that did not come.
    pub(crate) fn missed_chances(&self) -> Vec<&'static str> {
        self.chances.waiting.iter().map(|(name, ..)| *name).collect()
    }

    /// Lets a user act.
    pub(crate) fn act_as_user(&mut self, action: Action) {
        action(self);
        self.flux.is_fleet_current = false;
    }

    /// Applies an object as a user does.
    pub(crate) fn apply(&self, object: &Value) {
        let answer = self.wire.cluster().server.apply_as("kubectl", object);
        assert!(answer.code < 300, "{answer:?}");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.note(format!("person: applies {} {}", text(&object["kind"]), text(&object["metadata"]["name"])));
    }

    /// Applies an object that the operator must never write.
    pub(crate) fn apply_foreign(&self, object: &Value) {
        self.apply(object);
        let uid = |found: &Value| found["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let (kind, name) = (&object["kind"], &object["metadata"]["name"]);
        let found = self.get(kind.as_str().unwrap(), name.as_str().unwrap()).unwrap();
        self.wire.cluster().foreign.insert(uid(&found));
    }

    /// Merges a patch into an object as a user does: `kubectl patch --type=merge`.
    pub(crate) fn merge(&self, kind: &str, name: &str, patch: &Value) {
        let answer = self.wire.cluster().server.merge_as("kubectl", &self.place(kind, name), false, patch);
        assert!(answer.code < 300, "{answer:?}");
        self.note(format!("person: patches {kind} {name}: {patch}"));
    }

    /// The lines of the log that contain a text.
    pub(crate) fn log_lines(&self, text: &str) -> Vec<String> {
        self.wire.cluster().log.iter().filter(|line| line.contains(text)).cloned().collect()
    }

    /// Merges a patch into the status of an object, as Cluster API does.
    pub(crate) fn merge_status(&self, kind: &str, name: &str, status: &Value) {
        let patch = json!({"status": status});
        let answer = self.wire.cluster().server.merge_as("capi", &self.place(kind, name), true, &patch);
        assert!(answer.code < 300, "{answer:?}");
        self.note(format!("capi: status of {kind} {name}: {status}"));
    }

    /// Deletes an object as a user does.
    pub(crate) fn delete(&self, kind: &str, name: &str) {
        let found = self.get(kind, name);
        let uid = found.and_then(|found| Some(found["metadata"]["uid"].as_str()?.to_owned()));
        self.wire.cluster().deleted_by_users.extend(uid);
        let answer = self.wire.cluster().server.delete_now(&self.place(kind, name));
        assert!(answer.code < 300, "{answer:?}");
        self.note(format!("person: deletes {kind} {name}"));
    }

    /// Deletes the namespace as a user does: it terminates until it is empty.
    pub(crate) fn delete_namespace(&self) {
        self.delete_namespace_of_name(&self.namespace);
    }

    /// Deletes a namespace of any name as a user does.
    pub(crate) fn delete_namespace_of_name(&self, name: &str) {
        let place = (number("Namespace"), String::new(), name.to_owned());
        let answer = self.wire.cluster().server.delete_now(&place);
        assert!(answer.code < 300, "{answer:?}");
        self.note(format!("person: deletes namespace {name}"));
    }
}
