//! Errors of Git operations.

use std::io;
use std::path::PathBuf;

use git2::ErrorCode;

use super::connection::memory::LIST_SHARE;
use super::{GitUrlError, HostKeyError, SignError};
use crate::error::{Class, Classify};
use crate::http::{ProxyError, TransportError};
use crate::release::PathError;
use crate::release::finding::listed;

/// Maximum number of branches that an error names.
const MAX_BRANCHES: usize = 5;

/// An error of a Git operation. URLs are shown without their user, and a server's text without credentials.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The address of the repository is invalid.
    #[error(transparent)]
    Url(#[from] GitUrlError),
    /// The connection failed, timed out, is not trusted, was redirected or exceeded a limit.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The server requires credentials, and none are configured.
    #[error("{url}: authentication required: no {wanted} configured")]
    NoCredentials {
        /// The repository.
        url: String,
        /// The missing credential.
        wanted: &'static str,
    },
    /// The server rejects the credentials.
    #[error("{url}: the Git server refuses the {what}{}", of_user(.user.as_deref()))]
    Unauthorised {
        /// The repository.
        url: String,
        /// `password or token`, or `SSH key`.
        what: &'static str,
        /// The user's name, unless it comes from the URL, which may hold a token in its place.
        user: Option<String>,
    },
    /// The server denies access to an authenticated user.
    #[error("{0}: access forbidden (403): the credentials lack a permission for this repository")]
    Forbidden(String),
    /// The credentials would be sent unencrypted.
    #[error("{0}: credentials are not sent over plain HTTP: use https://")]
    PlainHttp(String),
    /// The SSH host key is not trusted.
    #[error(transparent)]
    HostKey(#[from] HostKeyError),
    /// The credentials are invalid.
    #[error("{what} cannot be used: {why}")]
    Credentials {
        /// The invalid credential.
        what: String,
        /// The cause.
        why: String,
    },
    /// The repository does not exist, or the credentials give no access to it.
    #[error("{0}: no such repository, or the credentials give no access to it")]
    NotFound(String),
    /// A file in the repository exceeds the limit.
    #[error("{path}: the file in the repository exceeds the limit of {most} bytes: it has {size}")]
    FileTooLarge {
        /// Path of the file.
        path: String,
        /// Size of the file in bytes.
        size: u64,
        /// The limit in bytes; for a directory, what its other files left of it.
        most: u64,
    },
    /// A directory has more entries than the limit.
    #[error("{path}: the directory in the repository exceeds the limit of {most} entries")]
    TooManyFiles {
        /// Path of the directory.
        path: String,
        /// The limit.
        most: usize,
    },
    /// The server refuses the commit; a retry would fail again.
    #[error("{url}: the Git server refuses the commit on branch {branch}: {server_message}")]
    Refused {
        /// The repository.
        url: String,
        /// The branch.
        branch: String,
        /// The server's text.
        server_message: String,
    },
    /// The text is not a commit id, or the repository does not have the commit.
    #[error("{0:?} is not a commit of the repository")]
    NoCommit(String),
    /// libgit2 made another commit of a release than the one that plans name.
    #[error(
        "release {release} is commit {planned} in plans, and {made} in the repository: report this as a bug"
    )]
    OtherCommit {
        /// The release.
        release: String,
        /// The commit in plans.
        planned: String,
        /// The commit in the repository.
        made: String,
    },
    /// The branch to change does not exist.
    #[error("{url}: branch {branch} not found: the repository has {}", existing(.branches))]
    NoBranch {
        /// The repository.
        url: String,
        /// The branch.
        branch: String,
        /// The existing branches.
        branches: Vec<String>,
    },
    /// `HEAD` does not name an existing branch.
    #[error("{url}: HEAD does not point to a branch of the repository: it has {}", existing(.branches))]
    NoHead {
        /// The repository.
        url: String,
        /// The existing branches.
        branches: Vec<String>,
    },
    /// The name of the branch or tag is invalid, or starts with `refs/`.
    #[error("invalid branch or tag name {0:?}")]
    Name(String),
    /// The path cannot be read or written.
    #[error("{path:?}: {error}")]
    Path {
        /// The path in the repository.
        path: String,
        /// The cause.
        error: PathError,
    },
    /// The process of the connection needs more memory than it may have.
    #[error(
        "{url}: the connection exceeds its limit of memory ({most} MiB, of which a list of branches and tags may use {}): \
         the server lists or sends too much",
        .most / LIST_SHARE
    )]
    Memory {
        /// The repository.
        url: String,
        /// The limit in MiB.
        most: u64,
    },
    /// Another process uses the directory.
    #[error("{}: another stackflux process uses this clone", .0.display())]
    InUse(PathBuf),
    /// Reading or writing on this machine failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The commit could not be signed.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// Another operation on the repository failed.
    #[error("{url}: Git: {error}")]
    Failed {
        /// The repository.
        url: String,
        /// Text of libgit2.
        error: String,
    },
    /// Another call of libgit2 failed.
    #[error("Git: {}", in_words(.0.message()))]
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

    /// Suggests how to fix the error.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::NoCredentials { .. } => {
                "give --git-password-file or STACKFLUX_GIT_PASSWORD for HTTPS, --ssh-key-file for SSH"
            }
            Self::Unauthorised { .. } => {
                "check whether the token or key has expired, and which account it belongs to; --git-password-file names \
                 another token, --ssh-key-file another key"
            }
            Self::Forbidden { .. } => {
                "pushing needs write access to the contents of the repository; --git-password-file names another token"
            }
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
            Self::NoBranch { branches, .. } if branches.is_empty() => {
                "push a first commit: a pull request needs a branch to be merged into"
            }
            Self::NoBranch { .. } => {
                "name an existing branch, or create it first: stackflux creates one only in an empty repository"
            }
            Self::NoHead { .. } => "name one of them with --branch",
            Self::Name(name) if name.starts_with("refs/") => "name the branch without refs/heads/",
            Self::Memory { .. } => "if you trust the server, raise the limit with --git-memory-limit",
            Self::InUse(_) => "wait until it is done, or give another directory",
            _ => return None,
        };
        Some(text.to_owned())
    }
}

/// Returns what libgit2 found; `None` if it does not exist.
pub(super) fn found<T>(result: Result<T, git2::Error>) -> Result<Option<T>, GitError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Replaces messages of libgit2 about its own interface.
fn in_words(message: &str) -> &str {
    match message.strip_suffix("authentication required but no callback set") {
        Some(proxy) if proxy.starts_with("proxy") => {
            "the proxy requires authentication: no user and password in its address"
        }
        Some(_) => "authentication required: no credentials configured",
        None => message,
    }
}

fn existing(branches: &[String]) -> String {
    if branches.is_empty() { "no branch".to_owned() } else { listed(branches, MAX_BRANCHES) }
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
            // Permissions change on the server, without an event that stackflux could watch: retry.
            Self::Transport(error) if !error.is_connection_error() => Class::Terminal,
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
            Self::FileTooLarge { .. } | Self::TooManyFiles { .. } | Self::Memory { .. } => "LimitExceeded",
            Self::Refused { .. } => "GitPushRefused",
            Self::NoCommit(_)
            | Self::OtherCommit { .. }
            | Self::NoBranch { .. }
            | Self::NoHead { .. }
            | Self::Name(_) => "GitReferenceInvalid",
            Self::Path { .. } => "InvalidPath",
            Self::InUse(_) | Self::Io { .. } | Self::Failed { .. } | Self::Git(_) => "GitFailed",
            Self::Sign(_) => "GitSigningFailed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_about_the_interface_are_replaced() {
        for (message, expected) in [
            (
                "proxy authentication required but no callback set",
                "Git: the proxy requires authentication: no user and password in its address",
            ),
            (
                "remote authentication required but no callback set",
                "Git: authentication required: no credentials configured",
            ),
            ("object not found", "Git: object not found"),
        ] {
            let error = GitError::Git(git2::Error::from_str(message));
            assert_eq!(error.to_string(), expected);
        }
    }
}
