//! Errors of fetching an artifact.

use crate::api::conditions::Reason;
use crate::error::{Class, Classify};
use crate::http::TransportError;

/// The most likely reason why source-controller is unreachable.
const REACHED_BY: &str = "Flux's NetworkPolicy lets only pods of Flux's namespace reach source-controller, so run \
                          stackflux there or allow its namespace; outside the cluster forward source-controller's port \
                          and name it with --source-controller-addr";

/// An error of fetching an artifact. Nothing of the artifact was read.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// A field in the source's status is invalid.
    #[error("invalid artifact {field} {value:?} in the source's status: {error}")]
    Field {
        /// `digest` or `revision`.
        field: &'static str,
        /// The value.
        value: String,
        /// The cause.
        error: String,
    },
    /// The URL is invalid.
    #[error("invalid artifact URL {url:?}: {why}")]
    Url {
        /// The URL, or the address that replaces its host.
        url: String,
        /// The cause.
        why: String,
    },
    /// The request to source-controller failed.
    #[error("{}{}", .0, hint(.0))]
    Transport(#[from] TransportError),
}

/// Suggests how to fix an error, with a leading separator.
fn hint(error: &TransportError) -> String {
    match error {
        TransportError::Timeout { .. } | TransportError::Silent { received: None, .. } => {
            format!(": {REACHED_BY}")
        }
        TransportError::Unreachable { .. } => format!(": check that source-controller runs; {REACHED_BY}"),
        TransportError::TooLarge { .. } => {
            ": remove files other than releases, or exclude them in .sourceignore".to_owned()
        }
        TransportError::Status { status: 300..=399, .. } => ": redirects are not followed".to_owned(),
        TransportError::Status { status: 404 | 410, .. } => {
            ": source-controller has a newer artifact, or lost its storage; check the source's status"
                .to_owned()
        }
        TransportError::Status { .. } => ": check the log of source-controller".to_owned(),
        _ => String::new(),
    }
}

impl Classify for ArtifactError {
    fn class(&self) -> Class {
        match self {
            Self::Field { .. } | Self::Url { .. } | Self::Transport(TransportError::TooLarge { .. }) => {
                Class::Terminal
            }
            Self::Transport(_) => Class::Transient,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Field { .. }
            | Self::Url { .. }
            | Self::Transport(TransportError::TooLarge { .. } | TransportError::Digest { .. }) => {
                Reason::ArtifactInvalid
            }
            Self::Transport(_) => Reason::ArtifactUnavailable,
        }
        .as_str()
    }
}
