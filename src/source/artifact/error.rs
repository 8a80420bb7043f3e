//! Why an artifact could not be had.

use std::io;
use std::time::Duration;

use crate::api::conditions::Reason;
use crate::error::{Class, Classify};
use crate::http::{HttpError, Url};
use crate::release::Digest;

/// Why source-controller most likely cannot be reached where it runs.
const REACHED_BY: &str = "Flux's NetworkPolicy lets only pods of Flux's namespace reach source-controller, so run \
                          stackflux there or allow its namespace; outside the cluster forward source-controller's port \
                          and name it with --source-controller-addr";

/// Why an artifact could not be had. Nothing of it was read.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The status of the source has a field that makes no sense.
    #[error("invalid artifact {field} {value:?} in the source's status: {error}")]
    Field {
        /// `digest` or `revision`.
        field: &'static str,
        /// What it has.
        value: String,
        /// What is wrong with it.
        error: String,
    },
    /// No address that could be asked.
    #[error("invalid artifact URL {url:?}: {why}")]
    Url {
        /// The URL, or the address that stands in for its host.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing answered, or not to the end, within the time.
    #[error("{url}: timed out after {} s: {REACHED_BY}", .after.as_secs())]
    Timeout {
        /// The URL.
        url: String,
        /// The time that it had.
        after: Duration,
    },
    /// No connection.
    #[error("{url}: source-controller cannot be reached: {error}: check that it runs; {REACHED_BY}")]
    Unreachable {
        /// The URL.
        url: String,
        /// What failed.
        error: String,
    },
    /// The server refuses, or sends somewhere else.
    #[error("{url}: source-controller answered {status}: {}", hint(*.status))]
    Status {
        /// The URL.
        url: String,
        /// The status of HTTP.
        status: u16,
    },
    /// The answer broke off.
    #[error("{url}: the answer broke off: {error}")]
    Interrupted {
        /// The URL.
        url: String,
        /// What failed.
        error: String,
    },
    /// More bytes than the limit, announced or sent.
    #[error(
        "{url}: exceeds the limit of {most} bytes: remove files other than releases, or exclude them in .sourceignore"
    )]
    TooLarge {
        /// The URL.
        url: String,
        /// The limit.
        most: u64,
    },
    /// Other bytes than Flux says.
    #[error("{url}: digest mismatch: expected {expected}, got {found}")]
    Digest {
        /// The URL.
        url: String,
        /// The digest in the source's status.
        expected: Digest,
        /// The digest of what came.
        found: Digest,
    },
    /// There is no client to ask with.
    #[error("{0}")]
    Client(HttpError),
    /// The temporary file cannot be written.
    #[error("cannot keep the artifact in a temporary file: {0}: check the directory of TMPDIR and its disk")]
    Temporary(#[source] io::Error),
}

impl ArtifactError {
    /// Why the artifact behind this URL was not had.
    pub(super) fn of(url: &Url, error: HttpError) -> Self {
        let url = url.to_string();
        match error {
            HttpError::Timeout { after, .. } | HttpError::Silent { after, received: None, .. } => {
                Self::Timeout { url, after }
            }
            HttpError::Silent { after, .. } => Self::Interrupted {
                url,
                error: format!("timed out after {} s without a byte", after.as_secs()),
            },
            HttpError::Unreachable { error, .. } => Self::Unreachable { url, error },
            HttpError::Status { status, .. } => Self::Status { url, status },
            HttpError::Interrupted { error, .. } => Self::Interrupted { url, error },
            HttpError::TooLarge { most, .. } => Self::TooLarge { url, most },
            HttpError::Digest { expected, found, .. } => Self::Digest { url, expected, found },
            HttpError::Temporary(error) => Self::Temporary(error),
            error => Self::Client(error),
        }
    }
}

fn hint(status: u16) -> &'static str {
    match status {
        300..=399 => "redirects are not followed",
        404 | 410 => "it has a newer artifact, or lost its storage; check the source's status",
        _ => "check its log",
    }
}

impl Classify for ArtifactError {
    fn class(&self) -> Class {
        match self {
            Self::Field { .. } | Self::Url { .. } | Self::TooLarge { .. } => Class::Terminal,
            Self::Timeout { .. }
            | Self::Unreachable { .. }
            | Self::Status { .. }
            | Self::Interrupted { .. }
            | Self::Digest { .. }
            | Self::Client(_)
            | Self::Temporary(_) => Class::Transient,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Field { .. } | Self::Url { .. } | Self::TooLarge { .. } | Self::Digest { .. } => {
                Reason::ArtifactInvalid
            }
            _ => Reason::ArtifactUnavailable,
        }
        .as_str()
    }
}
