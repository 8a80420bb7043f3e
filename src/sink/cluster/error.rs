//! Why a request failed.

use std::fmt;
use std::time::Duration;

use crate::error::{Class, Classify};
use crate::operator::client::{explain, is_namespace_terminating};
use crate::operator::lease::NotLeader;
use crate::operator::metrics::{Verb, Written};

/// A request about one object that was not answered as it should.
#[derive(Debug)]
pub struct RequestError {
    pub(super) verb: Verb,
    pub(super) object: String,
    pub(super) failure: RequestFailure,
}

/// What went wrong with it.
#[derive(Debug)]
pub enum RequestFailure {
    /// The API server refused, could not be reached, or answered something else than an object.
    Kube(Box<kube::Error>),
    /// There was no answer in time.
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
    /// Whether there is no such object.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// Whether the operator's account has no right to do it.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.code() == Some(403)
    }

    /// Whether somebody else wrote in between, or the object is another one of the same name.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    /// Whether the namespace is being deleted, so that nothing can be made in it.
    #[must_use]
    pub fn is_namespace_terminating(&self) -> bool {
        match &self.failure {
            RequestFailure::Kube(error) => is_namespace_terminating(error),
            RequestFailure::Timeout(_) | RequestFailure::Fenced(_) => false,
        }
    }

    /// Whether the API server refuses the object: it is invalid, or neither a right nor an admission policy allows it.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self.code(), Some(400 | 403 | 422))
    }

    /// The code of the API server's answer.
    fn code(&self) -> Option<u16> {
        match &self.failure {
            RequestFailure::Kube(error) => match &**error {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            },
            RequestFailure::Timeout(_) | RequestFailure::Fenced(_) => None,
        }
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
        let verb: &str = self.verb.into();
        write!(f, "{verb} {}: ", self.object)?;
        match &self.failure {
            RequestFailure::Kube(error) => f.write_str(&explain(error)),
            RequestFailure::Timeout(limit) => write!(f, "the API server did not answer within {limit:?}"),
            RequestFailure::Fenced(closed) => closed.fmt(f),
        }
    }
}

impl std::error::Error for RequestError {}

impl Classify for RequestError {
    /// A refusal can be mended without us hearing of it (a permission, an admission policy), so all is tried again.
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
