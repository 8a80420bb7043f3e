//! Why there is no pull request.

use crate::error::{Class, Classify};
use crate::http::TransportError;

/// Why there is no pull request. No token is in any message.
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    /// Nobody says what runs this host.
    #[error("unknown forge for the host {host}: name it (github, gitlab or gitea)")]
    Unknown {
        /// The host of the repository.
        host: String,
    },
    /// A repository that is on no forge, or whose path names none there.
    #[error("{url} is not a repository on a forge: {why}")]
    NoRepository {
        /// The URL of the repository.
        url: String,
        /// What does not fit.
        why: &'static str,
    },
    /// The URL of the API cannot be used.
    #[error("invalid URL of the forge's API: {0}")]
    Api(&'static str),
    /// No answer, or one that cannot be read.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The forge does not do it.
    #[error("{place} answered {status}{}{hint}", said(.message))]
    Refused {
        /// What was asked.
        place: String,
        /// The status of HTTP.
        status: u16,
        /// What the forge says, shortened; may be empty.
        message: String,
        /// What to look for, with what stands before it; may be empty.
        hint: String,
    },
    /// Too many requests were sent with this token.
    #[error("{place}: rate limit exceeded{}", said(.message))]
    Limited {
        /// What was asked.
        place: String,
        /// What the forge says, shortened; may be empty.
        message: String,
    },
    /// More open pull requests than are looked through.
    #[error(
        "{repository}: open pull requests exceed the limit of {pages} pages: close those that are not needed"
    )]
    TooMany {
        /// The repository.
        repository: String,
        /// Pages that were looked through.
        pages: usize,
    },
}

impl ForgeError {
    /// Whether the pull request may be there all the same: it was there before, or the answer was lost.
    pub(super) fn may_have_happened(&self) -> bool {
        match self {
            Self::Refused { status, .. } => matches!(status, 409 | 422),
            Self::Transport(error) => error.is_passing(),
            _ => false,
        }
    }
}

impl Classify for ForgeError {
    fn class(&self) -> Class {
        match self {
            Self::Transport(error) if error.is_passing() => Class::Transient,
            Self::Limited { .. } => Class::Transient,
            _ => Class::Terminal,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Unknown { .. } | Self::NoRepository { .. } | Self::Api(_) => "ForgeInvalid",
            Self::Transport(error) if error.is_passing() => "ForgeUnreachable",
            Self::Transport(_) => "ForgeMalformed",
            Self::Refused { status: 401 | 403 | 404, .. } => "ForgeUnauthorised",
            Self::Refused { .. } | Self::TooMany { .. } => "ForgeRefused",
            Self::Limited { .. } => "ForgeLimited",
        }
    }
}

fn said(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}
