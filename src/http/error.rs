//! Why a foreign host could not be asked, or was not believed.

use std::io;
use std::time::Duration;

use super::ProxyError;
use crate::release::Digest;

/// Why nothing usable came from another host: the same cause has the same words over HTTP, from registries, forges and
/// Git servers. `place` is what was asked: scheme, host and path, without credentials.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// Nothing that could be asked.
    #[error("cannot send a request to {place}: {why}")]
    Url {
        /// The URL, without what may be secret.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// The client cannot be made: a certificate that is none, or no certificates on this machine.
    #[error("cannot create a TLS client: {0}")]
    Tls(String),
    /// No connection.
    #[error("{place} cannot be reached: {error}")]
    Unreachable {
        /// The place.
        place: String,
        /// What failed.
        error: String,
    },
    /// It has a certificate that nobody here knows.
    #[error(
        "{place}: untrusted certificate: {error}: name the certificate of its CA, or check which server answers"
    )]
    Certificate {
        /// The place.
        place: String,
        /// What is wrong with the certificate.
        error: String,
    },
    /// Nothing answered, or not to the end, within the time.
    #[error("{place}: timed out after {} s", .after.as_secs())]
    Timeout {
        /// The place.
        place: String,
        /// The time that it had.
        after: Duration,
    },
    /// No byte came for too long.
    #[error("{place}: timed out after {} s without a byte, waiting for {}", .after.as_secs(), awaited(*.received))]
    Silent {
        /// The place.
        place: String,
        /// How long nothing came.
        after: Duration,
        /// How many bytes of the body had come; `None` where the answer had not begun.
        received: Option<u64>,
    },
    /// The setting of a proxy cannot be used.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// The answer broke off.
    #[error("{place}: the answer broke off: {error}")]
    Interrupted {
        /// The place.
        place: String,
        /// What failed.
        error: String,
    },
    /// Another status than the ones that were waited for.
    #[error("{place} answered {status}{}{}", said(.message), again(.retry_after.as_ref()))]
    Status {
        /// The place.
        place: String,
        /// The status of HTTP.
        status: u16,
        /// What the server says, shortened; may be empty.
        message: String,
        /// When it wants to be asked again, where it says so.
        retry_after: Option<Duration>,
        /// How it wants to be asked (`WWW-Authenticate`), unless a redirect led there: that one gets no credentials.
        challenges: Vec<String>,
    },
    /// It sends to somewhere where we do not go.
    #[error("{place}: refusing redirect to {to}: {why}")]
    Redirect {
        /// Who redirects.
        place: String,
        /// Where to.
        to: String,
        /// Why not.
        why: String,
    },
    /// More bytes or entries than the limit, announced or sent.
    #[error("{place}: exceeds the limit of {most} {unit}")]
    TooLarge {
        /// The place.
        place: String,
        /// The limit.
        most: u64,
        /// Of what: `bytes`, `pages`, `files`.
        unit: &'static str,
    },
    /// Another number of bytes than expected.
    #[error("{place}: size mismatch: expected {expected} bytes, got {found}")]
    Size {
        /// The place.
        place: String,
        /// The number that was expected.
        expected: u64,
        /// The number that it announces.
        found: u64,
    },
    /// Other bytes than expected.
    #[error("{place}: digest mismatch: expected {expected}, got {found}")]
    Digest {
        /// The place.
        place: String,
        /// The digest that was expected.
        expected: Digest,
        /// The digest of what came.
        found: Digest,
    },
    /// The answer is not what it should be.
    #[error("{place}: the answer cannot be read: {error}")]
    Malformed {
        /// The place.
        place: String,
        /// What is wrong with it.
        error: String,
    },
    /// The temporary file cannot be written.
    #[error("cannot keep the download in a temporary file: {0}: check the directory of TMPDIR and its disk")]
    Temporary(#[source] io::Error),
}

fn again(after: Option<&Duration>) -> String {
    after.map(|after| format!("; retry after {} s", after.as_secs())).unwrap_or_default()
}

fn said(message: &str) -> String {
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
    /// Whether the same request can have an answer in a moment.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        self.is_broken() || matches!(self.status(), Some(429 | 500 | 502 | 503 | 504))
    }

    /// Whether there was no connection to the end of the answer.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::Timeout { .. } | Self::Silent { .. } | Self::Interrupted { .. }
        )
    }

    /// Whether the server cannot be spoken with: no connection, or none that can be trusted.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        self.is_broken() || matches!(self, Self::Certificate { .. })
    }

    /// The status that was answered, where one was.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }
}
