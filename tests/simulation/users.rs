//! What users and the controllers of Cluster API do.

use serde_json::{Value, json};

use crate::driver::Simulation;
use crate::flux::number;

impl Simulation {
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
