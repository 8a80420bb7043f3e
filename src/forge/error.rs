//! Errors of pull requests.

use crate::error::{Class, Classify};
use crate::http::TransportError;

/// An error of a pull request. No message contains a token.
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    /// The software of the host is unknown.
    #[error("unknown forge for the host {0}: name it (github, gitlab or gitea)")]
    Unknown(String),
    /// The repository is not on a forge, or its path does not name one there.
    #[error("{url} is not a repository on a forge: {why}")]
    NoRepository {
        /// The URL of the repository.
        url: String,
        /// The cause.
        why: &'static str,
    },
    /// The URL of the API is invalid.
    #[error("invalid URL of the forge's API: {0}")]
    Api(&'static str),
    /// The request failed, or its answer cannot be read.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The forge refuses the request.
    #[error("{place} answered {status}{}{hint}", suffix(.message))]
    Refused {
        /// The requested URL, without user info and query.
        place: String,
        /// The HTTP status.
        status: u16,
        /// The forge's message, shortened; may be empty.
        message: String,
        /// A hint with its leading separator; may be empty.
        hint: String,
    },
    /// The rate limit of the token is exceeded.
    #[error("{place}: rate limit exceeded{}", suffix(.message))]
    Limited {
        /// The requested URL, without user info and query.
        place: String,
        /// The forge's message, shortened; may be empty.
        message: String,
    },
    /// The repository has more open pull requests than are searched.
    #[error(
        "{repository}: open pull requests exceed the limit of {pages} pages: close those that are not needed"
    )]
    TooMany {
        /// The repository.
        repository: String,
        /// Number of pages searched.
        pages: usize,
    },
}

impl ForgeError {
    /// Whether the pull request may exist in spite of the error: it existed before, or the answer was lost.
    pub(super) fn may_have_happened(&self) -> bool {
        match self {
            Self::Refused { status, .. } => matches!(status, 409 | 422),
            Self::Transport(error) => error.is_transient(),
            _ => false,
        }
    }
}

impl Classify for ForgeError {
    fn class(&self) -> Class {
        match self {
            Self::Transport(error) if error.is_transient() => Class::Transient,
            Self::Limited { .. } => Class::Transient,
            _ => Class::Terminal,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Unknown { .. } | Self::NoRepository { .. } | Self::Api(_) => "ForgeInvalid",
            Self::Transport(error) if error.is_transient() => "ForgeUnreachable",
            Self::Transport(_) => "ForgeMalformed",
            Self::Refused { status: 401 | 403 | 404, .. } => "ForgeUnauthorised",
            Self::Refused { .. } | Self::TooMany { .. } => "ForgeRefused",
            Self::Limited { .. } => "ForgeLimited",
        }
    }
}

fn suffix(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}
