//! Why a place does not give a release.

use crate::error::{Class, Classify};
use crate::http::HttpError;
use crate::names::ReleaseName;
use crate::release::{Digest, Findings};
use crate::source::SourceError;

/// Why a place does not give a release. `place` is an address or a URL without credentials.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    /// No connection, no answer in time, or one that broke off.
    #[error("{place} cannot be reached: {error}")]
    Unreachable {
        /// What was asked.
        place: String,
        /// What failed.
        error: String,
    },
    /// The server answers with another status of HTTP than it should.
    #[error("{place}: the server answered {status}{}", told(.message))]
    Refused {
        /// What was asked.
        place: String,
        /// The status.
        status: u16,
        /// What the server says, shortened; may be empty.
        message: String,
    },
    /// The server wants other credentials, or some.
    #[error("{place}: not allowed: {error}")]
    Unauthorised {
        /// What was asked.
        place: String,
        /// With which credentials, and what the server says.
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
    /// There is no such place, or a part of a release is missing.
    #[error("{place}: not found: {what}")]
    NotFound {
        /// What was asked.
        place: String,
        /// What is missing.
        what: String,
    },
    /// Other bytes than a digest says.
    #[error("{place}: digest mismatch: expected {expected}, got {found}")]
    DigestMismatch {
        /// What was fetched.
        place: String,
        /// The digest that it should have.
        expected: Digest,
        /// The digest that it has.
        found: Digest,
    },
    /// More bytes or more entries than are read.
    #[error("{place}: exceeds the limit of {most} {unit}")]
    TooLarge {
        /// What was fetched.
        place: String,
        /// The limit.
        most: u64,
        /// Of what: `bytes`, `pages`, `files`.
        unit: &'static str,
    },
    /// The server sends to where nothing is fetched from.
    #[error("{place}: refusing redirect to {to}: {why}")]
    Redirect {
        /// What was asked.
        place: String,
        /// Where it sends to, without credentials.
        to: String,
        /// Why that is not followed.
        why: &'static str,
    },
    /// An answer that makes no sense.
    #[error("{place}: the answer cannot be read: {error}")]
    Malformed {
        /// What was asked.
        place: String,
        /// What is wrong with the answer.
        error: String,
    },
    /// A signature is missing or wrong.
    #[error("{place}: signature verification failed: {error}")]
    Unverified {
        /// The release.
        place: String,
        /// What is wrong with the signature.
        error: String,
    },
    /// Settings of this machine that cannot be used: a file with credentials, a certificate, a mirror's URL.
    #[error("{0}")]
    Settings(String),
    /// Something in the release's files makes it unusable.
    #[error("{place}: the release cannot be used:\n{}", findings.without_warnings())]
    Unusable {
        /// The release.
        place: String,
        /// All that was found, warnings included.
        findings: Findings,
    },
    /// A directory or an archive of this machine.
    #[error(transparent)]
    Files(#[from] SourceError),
}

impl OriginError {
    /// What to do about it on the command line.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unauthorised { .. } => Some(
                "credentials come from docker login, --docker-config, or --username with --password-file, for GitHub from \
                 --github-token-file; --token-realm HOST lets another host issue a registry's tokens",
            ),
            _ => None,
        }
    }
}

impl From<HttpError> for OriginError {
    fn from(error: HttpError) -> Self {
        let told = error.to_string();
        match error {
            HttpError::Url { .. } | HttpError::Tls(_) | HttpError::Proxy(_) | HttpError::Temporary(_) => {
                Self::Settings(told)
            }
            HttpError::Unreachable { place, error } | HttpError::Interrupted { place, error } => {
                Self::Unreachable { place, error }
            }
            HttpError::Certificate { place, .. }
            | HttpError::Timeout { place, .. }
            | HttpError::Silent { place, .. } => {
                let error = told.strip_prefix(&place).unwrap_or(&told);
                Self::Unreachable { error: error.trim_start_matches([':', ' ']).to_owned(), place }
            }
            HttpError::Status { place, status: 401, .. } => {
                Self::Unauthorised { place, error: "the server answered 401".to_owned() }
            }
            HttpError::Status { place, status, retry_after, .. } => {
                let message = retry_after.map(|after| format!("retry after {} s", after.as_secs()));
                Self::Refused { place, status, message: message.unwrap_or_default() }
            }
            HttpError::Redirect { from, to, why } => Self::Redirect { place: from, to, why },
            HttpError::TooLarge { place, most } => Self::TooLarge { place, most, unit: "bytes" },
            HttpError::Size { place, expected, found } => Self::Malformed {
                place,
                error: format!("size mismatch: expected {expected} bytes, got {found}"),
            },
            HttpError::Digest { place, expected, found } => Self::DigestMismatch { place, expected, found },
            HttpError::Malformed { place, error } => Self::Malformed { place, error },
        }
    }
}

/// What a server says, after its status.
fn told(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

impl Classify for OriginError {
    fn class(&self) -> Class {
        match self {
            Self::Unreachable { .. } => Class::Transient,
            Self::Refused { status, .. } if *status >= 500 || matches!(status, 408 | 429) => Class::Transient,
            Self::Refused { .. }
            | Self::Unauthorised { .. }
            | Self::NoRelease { .. }
            | Self::NotFound { .. }
            | Self::DigestMismatch { .. }
            | Self::TooLarge { .. }
            | Self::Redirect { .. }
            | Self::Malformed { .. }
            | Self::Unverified { .. }
            | Self::Settings(_) => Class::Terminal,
            Self::Unusable { findings, .. } => findings.class(),
            Self::Files(error) => error.class(),
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "SourceUnreachable",
            Self::Refused { .. } => "SourceRefused",
            Self::Unauthorised { .. } => "SourceUnauthorised",
            Self::NoRelease { .. } => "ReleaseNotFound",
            Self::NotFound { .. } => "SourceNotFound",
            Self::DigestMismatch { .. } => "DigestMismatch",
            Self::TooLarge { .. } => "LimitExceeded",
            Self::Redirect { .. } => "RedirectRefused",
            Self::Malformed { .. } => "SourceMalformed",
            Self::Unverified { .. } => "SignatureInvalid",
            Self::Settings(_) => "SourceSettings",
            Self::Unusable { findings, .. } => findings.reason(),
            Self::Files(error) => error.reason(),
        }
    }
}
