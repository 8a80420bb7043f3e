//! The error of a request to the API server.

use std::fmt;
use std::time::Duration;

use kube::core::Status;

use crate::error::{Class, Classify};
use crate::runtime::client::{explain, is_namespace_terminating};
use crate::runtime::lease::NotLeader;
use crate::runtime::metrics::{Verb, Written};

/// The API server's message for a JSON patch that does not fit the object, such as one whose `test` fails. No other answer
/// with 422 has it: it is the text of `NewGenericServerResponse` in `k8s.io/apimachinery/pkg/api/errors`.
pub const TEST_FAILED: &str = "the server rejected our request due to an error in our request";

/// A request about one object failed.
#[derive(Debug)]
pub struct RequestError {
    pub(super) verb: Verb,
    pub(super) object: String,
    pub(super) failure: RequestFailure,
}

/// The failure of a request.
#[derive(Debug)]
pub enum RequestFailure {
    /// The API server refused the request, could not be reached, or did not answer with an object.
    Kube(Box<kube::Error>),
    /// The request timed out.
    Timeout(Duration),
    /// This process does not lead.
    Fenced(NotLeader),
}

impl From<kube::Error> for RequestFailure {
    fn from(error: kube::Error) -> Self {
        Self::Kube(Box::new(error))
    }
}

impl From<NotLeader> for RequestFailure {
    fn from(closed: NotLeader) -> Self {
        Self::Fenced(closed)
    }
}

impl RequestError {
    /// Creates the error of a request for an object of which a part cannot be read.
    #[must_use]
    pub fn unreadable(object: &str, why: &str) -> Self {
        let failure = kube::Error::SerdeError(serde::de::Error::custom(why));
        Self { verb: Verb::Get, object: object.to_owned(), failure: failure.into() }
    }

    /// Whether the object does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// Whether the operator's account lacks the permission.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.code() == Some(403)
    }

    /// Whether another client wrote concurrently, or another object has the name now: the request has a resource version, a
    /// UID or a test that does not fit the object.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        let Some(status) = self.status() else { return false };
        match (self.verb, status.code) {
            (_, 409) => true,
            (Verb::Patch, 422) => status.message == TEST_FAILED,
            (Verb::Apply, 422) => is_other_uid(status),
            _ => false,
        }
    }

    /// Whether the namespace is being deleted, so that nothing can be created in it.
    #[must_use]
    pub fn is_namespace_terminating(&self) -> bool {
        match &self.failure {
            RequestFailure::Kube(error) => is_namespace_terminating(error),
            RequestFailure::Timeout(_) | RequestFailure::Fenced(_) => false,
        }
    }

    /// Whether the API server refuses the object and keeps refusing it: the object is invalid, its kind is not served, or a
    /// missing permission or an admission policy forbids it. A request that [conflicts](Self::is_conflict), or a patch whose
    /// object does not exist, lost a race.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        let Some(status) = self.status() else { return false };
        match (self.verb, status.code) {
            (_, 401 | 408 | 429) | (Verb::Patch, 404) => false,
            (_, code) => matches!(code, 400..=499) && !self.is_conflict(),
        }
    }

    /// Whether the API server [refuses](Self::is_refusal) the object, or could not ask an admission webhook.
    #[must_use]
    pub fn is_refused_or_failed(&self) -> bool {
        self.is_refusal() || self.code().is_some_and(|code| code >= 500)
    }

    /// Whether the request may have been carried out, or may still be: the API server did not refuse it.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        matches!(self.written(), Written::Failed)
    }

    /// Returns the API server's answer.
    fn status(&self) -> Option<&Status> {
        match &self.failure {
            RequestFailure::Kube(error) => match &**error {
                kube::Error::Api(status) => Some(status),
                _ => None,
            },
            RequestFailure::Timeout(_) | RequestFailure::Fenced(_) => None,
        }
    }

    /// Returns the HTTP status code of the answer.
    fn code(&self) -> Option<u16> {
        self.status().map(|status| status.code)
    }

    pub(super) fn written(&self) -> Written {
        match (&self.failure, self.code()) {
            (RequestFailure::Fenced(_), _) => Written::Fenced,
            (_, Some(400..=499)) => Written::Refused,
            _ => Written::Failed,
        }
    }
}

/// Whether the API server refuses an apply because the object has another UID. It answers as for any field that cannot be
/// changed, and with a conflict only if no object exists.
fn is_other_uid(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.map(|cause| cause.field.as_str()).any(|field| field == "metadata.uid")
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: ", self.verb, self.object)?;
        match &self.failure {
            RequestFailure::Kube(error) => f.write_str(&explain(error)),
            RequestFailure::Timeout(limit) => write!(f, "timed out after {} s", limit.as_secs_f64()),
            RequestFailure::Fenced(closed) => closed.fmt(f),
        }
    }
}

impl std::error::Error for RequestError {}

impl Classify for RequestError {
    /// Returns `Transient`: the cause of a refusal (a permission, an admission policy) can end without an event, so
    /// every failure is retried.
    fn class(&self) -> Class {
        Class::Transient
    }

    fn reason(&self) -> &'static str {
        match (&self.failure, self.code()) {
            (RequestFailure::Fenced(_), _) => "NotLeader",
            (_, Some(403)) => "Forbidden",
            (_, Some(404)) => "NotFound",
            _ if self.is_conflict() => "Conflict",
            (_, Some(400 | 422)) => "Invalid",
            (_, Some(_)) => "ApiServerError",
            (_, None) => "ApiServerUnavailable",
        }
    }
}

#[cfg(test)]
impl RequestError {
    /// Creates the error of a request that the API server answered with this code and message.
    pub(crate) fn answered(verb: Verb, code: u16, message: &str) -> Self {
        let failure = kube::Error::Api(Status::failure(message, "No").with_code(code).boxed());
        Self { verb, object: String::new(), failure: failure.into() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Whether an answer with this code and message to a request of this verb is a refusal.
    fn is_refusal_that_says(verb: Verb, code: u16, message: &str) -> bool {
        RequestError::answered(verb, code, message).is_refusal()
    }

    fn is_refusal(verb: Verb, code: u16) -> bool {
        is_refusal_that_says(verb, code, "no")
    }

    #[test]
    fn refusal_is_permanent_until_a_change() {
        for code in [400, 403, 404, 405, 413, 415, 422] {
            assert!(is_refusal(Verb::Apply, code), "{code}");
        }
        for code in [401, 408, 409, 429, 500, 503, 504] {
            assert!(!is_refusal(Verb::Apply, code), "{code}");
        }
        assert!(is_refusal(Verb::Patch, 403));
        assert!(is_refusal(Verb::Patch, 422), "an admission policy without a reason");
        assert!(!is_refusal(Verb::Patch, 404), "the object is gone");
        assert!(!is_refusal_that_says(Verb::Patch, 422, TEST_FAILED), "another client wrote in between");
    }

    #[test]
    fn conflict_is_a_condition_of_the_request_that_does_not_hold() {
        let field =
            |field: &str| json!({"reason": "FieldValueInvalid", "message": "immutable", "field": field});
        let answered = |verb, code, message: &str, fields: &[&str]| {
            let causes: Value = fields.iter().map(|name| field(name)).collect();
            let status = json!({"code": code, "message": message, "details": {"causes": causes}});
            let failure = kube::Error::Api(serde_json::from_value::<Box<Status>>(status).unwrap());
            RequestError { verb, object: String::new(), failure: failure.into() }
        };
        for (what, error, expected) in [
            ("a resource version", answered(Verb::Apply, 409, "modified", &[]), true),
            ("a UID", answered(Verb::Apply, 422, "immutable", &["metadata.uid", "metadata.uid"]), true),
            ("a test", answered(Verb::Patch, 422, TEST_FAILED, &[]), true),
            ("an invalid field", answered(Verb::Apply, 422, "invalid", &["spec.interval"]), false),
            ("an invalid object", answered(Verb::Patch, 422, "invalid", &[]), false),
            ("a missing object", answered(Verb::Patch, 404, "not found", &[]), false),
        ] {
            assert_eq!(error.is_conflict(), expected, "{what}");
            assert_eq!(error.reason() == "Conflict", expected, "{what}");
            assert!(!(expected && error.is_refusal()), "{what}");
        }
    }
}
