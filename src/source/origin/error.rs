//! Errors of fetching a release from its origin.

use crate::error::{Class, Classify};
use crate::http::TransportError;
use crate::names::ReleaseName;
use crate::release::Findings;
use crate::source::SourceError;

/// An error of fetching a release. `place` is an address or a URL without credentials.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    /// The request failed, or its answer cannot be used.
    #[error(transparent)]
    Transport(TransportError),
    /// The server requires other credentials, or some.
    #[error("{place}: not allowed: {error}")]
    Unauthorised {
        /// The requested URL or address.
        place: String,
        /// The cause.
        error: String,
    },
    /// The place has no such release.
    #[error("{place}: there is no release {name}")]
    NoRelease {
        /// The place.
        place: String,
        /// The release.
        name: Box<ReleaseName>,
    },
    /// The place does not exist, or a part of a release is missing.
    #[error("{place}: not found: {what}")]
    NotFound {
        /// The requested URL or address.
        place: String,
        /// The missing object.
        what: String,
    },
    /// A signature is missing or invalid.
    #[error("{place}: signature verification failed: {error}")]
    Unverified {
        /// The release.
        place: String,
        /// The cause.
        error: String,
    },
    /// A local setting is invalid: a file with credentials, a certificate, the URL of a mirror.
    #[error("{0}")]
    Settings(String),
    /// The release has errors.
    #[error("{place}: the release cannot be used:\n{}", findings.without_warnings())]
    Unusable {
        /// The release.
        place: String,
        /// All findings, including warnings.
        findings: Findings,
    },
    /// A directory or archive on this machine cannot be read.
    #[error(transparent)]
    Files(#[from] SourceError),
}

impl OriginError {
    /// Returns the HTTP status, if the server refused the request with one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Transport(error) => error.status(),
            _ => None,
        }
    }

    /// Suggests how to fix the error on the command line.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unauthorised { place, .. } if place.starts_with("git+") => Some(
                "give a token with --git-password-file or STACKFLUX_GIT_PASSWORD, for SSH a key with --ssh-key-file",
            ),
            Self::Unauthorised { .. } => Some(
                "credentials come from docker login, --docker-config, or --username with --password-file, for GitHub from \
                 --github-token-file; --token-realm HOST lets another host issue a registry's tokens",
            ),
            _ => None,
        }
    }
}

impl From<TransportError> for OriginError {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::Status { place, status: 401, .. } => {
                Self::Unauthorised { place, error: "the server answered 401".to_owned() }
            }
            error => Self::Transport(error),
        }
    }
}

impl Classify for OriginError {
    fn class(&self) -> Class {
        match self {
            Self::Transport(error) => match error.status() {
                Some(408 | 429 | 500..) => Class::Transient,
                None if error.is_unreachable() => Class::Transient,
                _ => Class::Terminal,
            },
            Self::Unauthorised { .. }
            | Self::NoRelease { .. }
            | Self::NotFound { .. }
            | Self::Unverified { .. }
            | Self::Settings(_) => Class::Terminal,
            Self::Unusable { findings, .. } => findings.class(),
            Self::Files(error) => error.class(),
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Transport(error) => match error {
                TransportError::Status { .. } => "SourceRefused",
                TransportError::Digest { .. } => "DigestMismatch",
                TransportError::TooLarge { .. } => "LimitExceeded",
                TransportError::Redirect { .. } => "RedirectRefused",
                TransportError::Size { .. } | TransportError::Malformed { .. } => "SourceMalformed",
                error if error.is_unreachable() => "SourceUnreachable",
                _ => "SourceSettings",
            },
            Self::Unauthorised { .. } => "SourceUnauthorised",
            Self::NoRelease { .. } => "ReleaseNotFound",
            Self::NotFound { .. } => "SourceNotFound",
            Self::Unverified { .. } => "SignatureInvalid",
            Self::Settings(_) => "SourceSettings",
            Self::Unusable { findings, .. } => findings.reason(),
            Self::Files(error) => error.reason(),
        }
    }
}
