//! Why an artifact could not be had.

use crate::api::conditions::Reason;
use crate::error::{Class, Classify};
use crate::http::TransportError;

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
    /// Nothing usable came from source-controller.
    #[error("{}{}", .0, hint(.0))]
    Transport(#[from] TransportError),
}

/// What to do about a failure, with what separates it from the failure.
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
