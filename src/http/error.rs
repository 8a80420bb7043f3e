//! Errors of requests to other hosts.

use std::io;
use std::time::Duration;

use super::ProxyError;
use crate::release::Digest;

/// An error of a request to another host, with the same words for the same cause over HTTP, from registries, forges and
/// Git servers. `place` is the scheme, host and path of the request, without credentials.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The URL cannot be requested.
    #[error("cannot send a request to {place}: {why}")]
    Url {
        /// The URL without user info and query.
        place: String,
        /// The cause.
        why: String,
    },
    /// The client cannot be created: a certificate is invalid, or this machine has none.
    #[error("cannot create a TLS client: {0}")]
    Tls(String),
    /// The connection failed.
    #[error("{place} cannot be reached: {error}")]
    Unreachable {
        /// The URL without user info and query.
        place: String,
        /// The cause.
        error: String,
    },
    /// The server's certificate is not trusted.
    #[error(
        "{place}: untrusted certificate: {error}: name the certificate of its CA, or check which server answers"
    )]
    Certificate {
        /// The URL without user info and query.
        place: String,
        /// The cause.
        error: String,
    },
    /// The answer was not complete in time.
    #[error("{place}: timed out after {} s", .after.as_secs())]
    Timeout {
        /// The URL without user info and query.
        place: String,
        /// The timeout.
        after: Duration,
    },
    /// No byte arrived for too long.
    #[error("{place}: timed out after {} s without a byte, waiting for {}", .after.as_secs(), awaited(*.received))]
    Silent {
        /// The URL without user info and query.
        place: String,
        /// The timeout.
        after: Duration,
        /// Number of bytes received of the body; `None` if the answer had not begun.
        received: Option<u64>,
    },
    /// A proxy setting is invalid.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// The answer broke off.
    #[error("{place}: the answer broke off: {error}")]
    Interrupted {
        /// The URL without user info and query.
        place: String,
        /// The cause.
        error: String,
    },
    /// The status is not an expected one.
    #[error("{place} answered {status}{}{}", suffix(.message), again(.retry_after.as_ref()))]
    Status {
        /// The URL without user info and query.
        place: String,
        /// The HTTP status.
        status: u16,
        /// The server's message, shortened; may be empty.
        message: String,
        /// Time to wait before the next request, if the server says so.
        retry_after: Option<Duration>,
        /// The `WWW-Authenticate` challenges; empty after a redirect to another origin, which must not receive credentials.
        challenges: Vec<String>,
    },
    /// The redirect is not followed.
    #[error("{place}: refusing redirect to {to}: {why}")]
    Redirect {
        /// The URL that redirects.
        place: String,
        /// The target.
        to: String,
        /// The cause.
        why: String,
    },
    /// The answer has, or announces, more bytes or entries than the limit.
    #[error("{place}: exceeds the limit of {most} {unit}")]
    TooLarge {
        /// The URL without user info and query.
        place: String,
        /// The limit.
        most: u64,
        /// Unit of the limit, such as `bytes`, `pages` or `tags`.
        unit: &'static str,
    },
    /// The size is not the expected one.
    #[error("{place}: size mismatch: expected {expected} bytes, got {found}")]
    Size {
        /// The URL without user info and query.
        place: String,
        /// The expected size in bytes.
        expected: u64,
        /// The announced size in bytes.
        found: u64,
    },
    /// The digest is not the expected one.
    #[error("{place}: digest mismatch: expected {expected}, got {found}")]
    Digest {
        /// The URL without user info and query.
        place: String,
        /// The expected digest.
        expected: Digest,
        /// The digest of the received bytes.
        found: Digest,
    },
    /// The answer cannot be read.
    #[error("{place}: the answer cannot be read: {error}")]
    Malformed {
        /// The URL without user info and query.
        place: String,
        /// The cause.
        error: String,
    },
    /// The temporary file cannot be written.
    #[error("cannot keep the download in a temporary file: {0}: check the directory of TMPDIR and its disk")]
    Temporary(#[source] io::Error),
}

fn again(after: Option<&Duration>) -> String {
    after.map(|after| format!("; retry after {} s", after.as_secs())).unwrap_or_default()
}

fn suffix(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

fn awaited(received: Option<u64>) -> String {
    match received {
        None => "the answer to begin".to_owned(),
        Some(0) => "the content of the answer".to_owned(),
        Some(received) => format!("the rest of the answer after {received} bytes"),
    }
}

impl TransportError {
    /// Whether a retry of the same request may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.is_connection_error() || matches!(self.status(), Some(429 | 500 | 502 | 503 | 504))
    }

    /// Whether the connection failed, timed out or broke before the end of the answer.
    #[must_use]
    pub fn is_connection_error(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::Timeout { .. } | Self::Silent { .. } | Self::Interrupted { .. }
        )
    }

    /// Whether the server is unreachable, or its certificate is not trusted.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        self.is_connection_error() || matches!(self, Self::Certificate { .. })
    }

    /// Returns the status, if the error is one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }
}
