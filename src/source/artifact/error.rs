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
    #[error("the artifact in the source's status has the {field} {value:?}: {error}")]
    Field {
        /// `digest` or `revision`.
        field: &'static str,
        /// What it has.
        value: String,
        /// What is wrong with it.
        error: String,
    },
    /// No address that could be asked.
    #[error("the artifact's URL {url:?} cannot be fetched: {why}")]
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
    #[error("{url}: source-controller cannot be reached: {error}: look whether it runs; {REACHED_BY}")]
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
        "{url}: the artifact has more than {most} bytes: remove what is no release, or let .sourceignore leave it out"
    )]
    TooLarge {
        /// The URL.
        url: String,
        /// The limit.
        most: u64,
    },
    /// Other bytes than Flux says.
    #[error(
        "{url}: the artifact has the digest {found}, and its source's status says {expected}: it is not read"
    )]
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
    #[error(
        "the artifact cannot be kept in a temporary file: {0}: look at the directory of TMPDIR and at its disk"
    )]
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
        404 | 410 => "it has a newer artifact by now, or lost its storage; the source's status will say",
        _ => "look at its log",
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
