//! Why something with a repository failed.

use std::io;
use std::path::PathBuf;

use super::{GitUrlError, HostKeyError, SignError};
use crate::error::{Class, Classify};
use crate::http::{ProxyError, TransportError};
use crate::release::PathError;

/// The most branches that an error names.
const MOST_BRANCHES: usize = 5;

/// Why something with a repository failed. URLs are without their user, and what a server said is without credentials.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The address of the repository.
    #[error(transparent)]
    Url(#[from] GitUrlError),
    /// The connection: it fails, takes too long, is not trusted, leads elsewhere or brings too much.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The server wants credentials, and there are none for it.
    #[error("{url}: authentication required: no {wanted} configured")]
    NoCredentials {
        /// The repository.
        url: String,
        /// What it takes.
        wanted: &'static str,
    },
    /// The server does not take the credentials.
    #[error("{url}: the Git server refuses the {what}{}", of_user(.user.as_deref()))]
    Unauthorised {
        /// The repository.
        url: String,
        /// `password or token`, or `SSH key`.
        what: &'static str,
        /// The user's name, where it does not come from the URL: people put tokens there.
        user: Option<String>,
    },
    /// The server knows the user and does not let them.
    #[error("{url}: access forbidden (403): the credentials lack a permission for this repository")]
    Forbidden {
        /// The repository.
        url: String,
    },
    /// Credentials would go over the network for everybody to read.
    #[error("{url}: credentials are not sent over plain HTTP: use https://")]
    PlainHttp {
        /// The repository.
        url: String,
    },
    /// The SSH host key is not the one that it should be.
    #[error(transparent)]
    HostKey(#[from] HostKeyError),
    /// The credentials cannot be used as they are.
    #[error("{what} cannot be used: {why}")]
    Credentials {
        /// Which.
        what: String,
        /// What is wrong.
        why: String,
    },
    /// No such repository.
    #[error("{url}: no such repository, or the credentials give no access to it")]
    NotFound {
        /// The repository.
        url: String,
    },
    /// A file in the repository is larger than the limit.
    #[error("{path}: the file in the repository exceeds the limit of {most} bytes: it has {size}")]
    FileTooLarge {
        /// The file.
        path: String,
        /// Its size.
        size: u64,
        /// The limit.
        most: u64,
    },
    /// More files than the limit below a directory.
    #[error("{path}: the directory in the repository exceeds the limit of {most} entries")]
    TooManyFiles {
        /// The directory.
        path: String,
        /// The limit.
        most: usize,
    },
    /// The server refuses the commit, and would again.
    #[error("{url}: the Git server refuses the commit on branch {branch}: {said}")]
    Refused {
        /// The repository.
        url: String,
        /// The branch.
        branch: String,
        /// What the server said.
        said: String,
    },
    /// Not a commit, or one that the repository does not have.
    #[error("{0:?} is not a commit of the repository")]
    NoCommit(String),
    /// A branch that a change is for.
    #[error("{url}: branch {branch} not found: the repository has {}", told(.there))]
    NoBranch {
        /// The repository.
        url: String,
        /// The branch.
        branch: String,
        /// The branches that there are.
        there: Vec<String>,
    },
    /// The repository does not say which of its branches is the first.
    #[error("{url}: HEAD does not point to a branch of the repository: it has {}", told(.there))]
    NoHead {
        /// The repository.
        url: String,
        /// The branches that there are.
        there: Vec<String>,
    },
    /// A branch's or tag's name that Git does not take, or one that is written out as `refs/…`.
    #[error("invalid branch or tag name {0:?}")]
    Name(String),
    /// A path that cannot be written or read.
    #[error("{path:?}: {error}")]
    Path {
        /// The path in the repository.
        path: String,
        /// What is wrong with it.
        error: PathError,
    },
    /// Another process uses the directory.
    #[error("{}: another stackflux process uses this clone", .0.display())]
    InUse(PathBuf),
    /// The operating system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// What was to be read or written.
        path: PathBuf,
        /// The refusal.
        error: io::Error,
    },
    /// The commit could not be signed.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// Something else on the way to the repository, or in it.
    #[error("{url}: Git: {error}")]
    Failed {
        /// The repository.
        url: String,
        /// What libgit2 says.
        error: String,
    },
    /// libgit2 refused something else.
    #[error("Git: {}", .0.message())]
    Git(#[from] git2::Error),
}

impl GitError {
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |error| Self::Io { path, error }
    }

    pub(super) fn path(path: &str) -> impl FnOnce(PathError) -> Self {
        |error| Self::Path { path: path.to_owned(), error }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::NoCredentials { .. } => {
                "give --git-password-file or STACKFLUX_GIT_PASSWORD for HTTPS, --ssh-key-file for SSH"
            }
            Self::Unauthorised { .. } => {
                "check whether the token or key has expired, and which account it belongs to"
            }
            Self::Forbidden { .. } => "pushing needs write access to the contents of the repository",
            Self::PlainHttp { .. } => "use --git-plain-http to send them unencrypted",
            Self::Transport(TransportError::Certificate { .. }) => {
                "name the CA certificates of the server with --git-ca-file"
            }
            Self::Transport(TransportError::Redirect { .. }) => {
                "use the address to which the repository has moved"
            }
            Self::HostKey(error) => return Some(error.hint()),
            Self::Sign(error) => return error.hint().map(str::to_owned),
            Self::Refused { .. } => "if the branch is protected, use --pull-request",
            Self::NoBranch { there, .. } if there.is_empty() => {
                "push a first commit: a pull request needs a branch to be merged into"
            }
            Self::NoBranch { .. } => {
                "name an existing branch, or create it first: stackflux creates one only in an empty repository"
            }
            Self::NoHead { .. } => "name one of them with --branch",
            Self::Name(name) if name.starts_with("refs/") => "name the branch without refs/heads/",
            Self::InUse(_) => "wait until it is done, or give another directory",
            _ => return None,
        };
        Some(text.to_owned())
    }
}

/// Some names of branches, and how many more there are.
fn told(branches: &[String]) -> String {
    let named = branches.iter().take(MOST_BRANCHES).cloned().collect::<Vec<_>>().join(", ");
    match branches.len().checked_sub(MOST_BRANCHES) {
        _ if branches.is_empty() => "no branch".to_owned(),
        None | Some(0) => named,
        Some(more) => format!("{named} and {more} more"),
    }
}

fn of_user(user: Option<&str>) -> String {
    user.map(|user| format!(" of user {user:?}")).unwrap_or_default()
}

impl From<ProxyError> for GitError {
    fn from(error: ProxyError) -> Self {
        Self::Transport(error.into())
    }
}

impl Classify for GitError {
    fn class(&self) -> Class {
        match self {
            // Who may what is changed on the server: nothing of ours tells.
            Self::Transport(error) if !error.is_broken() => Class::Terminal,
            Self::Transport(_)
            | Self::Unauthorised { .. }
            | Self::Forbidden { .. }
            | Self::NotFound { .. }
            | Self::NoBranch { .. }
            | Self::NoHead { .. }
            | Self::InUse(_)
            | Self::Io { .. }
            | Self::Failed { .. }
            | Self::Git(_) => Class::Transient,
            _ => Class::Terminal,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Url(_) => "GitUrlInvalid",
            Self::Transport(error) => match error {
                TransportError::Redirect { .. } => "GitRedirected",
                TransportError::Proxy(_) => "GitProxyInvalid",
                TransportError::Certificate { .. } => "GitServerNotTrusted",
                TransportError::TooLarge { .. } => "LimitExceeded",
                _ => "GitUnreachable",
            },
            Self::NoCredentials { .. }
            | Self::Unauthorised { .. }
            | Self::Forbidden { .. }
            | Self::Credentials { .. }
            | Self::PlainHttp { .. } => "GitAccessDenied",
            Self::HostKey(_) => "GitServerNotTrusted",
            Self::NotFound { .. } => "GitRepositoryNotFound",
            Self::FileTooLarge { .. } | Self::TooManyFiles { .. } => "LimitExceeded",
            Self::Refused { .. } => "GitPushRefused",
            Self::NoCommit(_) | Self::NoBranch { .. } | Self::NoHead { .. } | Self::Name(_) => {
                "GitReferenceInvalid"
            }
            Self::Path { .. } => "InvalidPath",
            Self::InUse(_) | Self::Io { .. } | Self::Failed { .. } | Self::Git(_) => "GitFailed",
            Self::Sign(_) => "GitSigningFailed",
        }
    }
}
