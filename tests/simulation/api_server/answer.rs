//! The answers of the API server, in the words of `k8s.io/apimachinery/pkg/api/errors`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Place;
use super::kinds::{KINDS, Kind};

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) code: u16,
    /// An object, or a `Status`.
    pub(crate) body: Arc<Value>,
}

/// The subject of an answer.
pub(super) struct Subject<'a> {
    kind: &'static Kind,
    namespace: &'a str,
    name: &'a str,
}

fn failure(code: u16, reason: &str, message: &str, details: &Value) -> Answer {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "details": details, "code": code,
    });
    Answer { code, body: body.into() }
}

/// A JSON patch does not fit the object.
pub(super) fn patch_failed() -> Answer {
    failure(422, "Invalid", "the server rejected our request due to an error in our request", &json!({}))
}

impl<'a> Subject<'a> {
    pub(super) fn of((kind, namespace, name): &'a Place) -> Self {
        Self { kind: &KINDS[*kind], namespace, name }
    }

    fn details(&self, kind: &str) -> Value {
        let mut details = json!({"name": self.name, "kind": kind});
        if self.kind.is_custom() {
            details["group"] = json!(self.kind.group);
        }
        details
    }

    pub(super) fn not_found(&self) -> Answer {
        let message = format!("{} {:?} not found", self.kind.resource(), self.name);
        failure(404, "NotFound", &message, &self.details(self.kind.plural))
    }

    /// The account has no permission.
    pub(super) fn forbidden(&self) -> Answer {
        let message = format!("{} {:?} is forbidden", self.kind.resource(), self.name);
        failure(403, "Forbidden", &message, &self.details(self.kind.plural))
    }

    /// Another client wrote in between.
    pub(super) fn modified(&self) -> Answer {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        self.conflict(&self.kind.resource(), self.kind.plural, why)
    }

    /// An object with this UID is applied, and none exists.
    pub(super) fn missing_uid(&self, uid: &str) -> Answer {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        self.conflict(&self.kind.resource(), self.kind.plural, &why)
    }

    /// An object with this UID is applied, and another one exists.
    pub(super) fn other_uid(&self, uid: &str) -> Answer {
        let cause = format!("Invalid value: {uid:?}: field is immutable");
        self.invalid("FieldValueInvalid", "metadata.uid", &cause)
    }

    /// A precondition of a deletion does not hold.
    pub(super) fn precondition(&self, what: &str, wanted: &str, found: &str, may: &str) -> Answer {
        let why = format!(
            "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). The object might \
             have been {may}"
        );
        let resource = self.kind.resource().replacen(self.kind.plural, self.kind.name, 1);
        self.conflict(&resource, self.kind.name, &why)
    }

    fn conflict(&self, resource: &str, kind: &str, why: &str) -> Answer {
        let message = format!("Operation cannot be fulfilled on {resource} {:?}: {why}", self.name);
        failure(409, "Conflict", &message, &self.details(kind))
    }

    /// Nothing can be created in a namespace that is being deleted.
    pub(super) fn terminating(&self) -> Answer {
        let Self { kind, namespace, name } = self;
        let message = format!(
            "{} {name:?} is forbidden: unable to create new content in namespace {namespace} because it is being \
             terminated",
            kind.resource()
        );
        let mut details = self.details(kind.plural);
        details["causes"] = json!([{
            "reason": "NamespaceTerminating",
            "message": format!("namespace {namespace} is being terminated"),
            "field": "metadata.namespace",
        }]);
        failure(403, "Forbidden", &message, &details)
    }

    /// A finalizer cannot be added to an object that is being deleted.
    pub(super) fn new_finalizers(&self, added: &[&str]) -> Answer {
        let names: Vec<String> = added.iter().map(|name| format!("{name:?}")).collect();
        let cause = format!(
            "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            names.join(", ")
        );
        self.invalid("FieldValueForbidden", "metadata.finalizers", &cause)
    }

    /// A field of the metadata is invalid.
    fn invalid(&self, reason: &str, field: &str, cause: &str) -> Answer {
        let resource = self.kind.resource().replacen(self.kind.plural, self.kind.name, 1);
        let message = format!("{resource} {:?} is invalid: {field}: {cause}", self.name);
        let mut details = self.details(self.kind.name);
        let cause = json!({"reason": reason, "message": cause, "field": field});
        // The metadata of a custom object is validated twice.
        details["causes"] = json!([cause, cause]);
        failure(422, "Invalid", &message, &details)
    }

    /// The object was deleted.
    pub(super) fn deleted(&self, uid: &Value) -> Answer {
        let mut details = self.details(self.kind.plural);
        details["uid"] = uid.clone();
        let body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
        });
        Answer { code: 200, body: body.into() }
    }
}
