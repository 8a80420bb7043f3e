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

    /// Whether another client wrote concurrently, or another object has the name now.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
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
    /// missing permission or an admission policy forbids it. A patch whose test fails, or whose object does not exist, lost
    /// a race.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        let Some(status) = self.status() else { return false };
        match (self.verb, status.code) {
            (_, 401 | 408 | 409 | 429) | (Verb::Patch, 404) => false,
            (Verb::Patch, 422) => status.message != TEST_FAILED,
            (_, code) => matches!(code, 400..=499),
        }
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
            (_, Some(409)) => "Conflict",
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
}
