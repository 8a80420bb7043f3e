//! Why a foreign host could not be asked, or was not believed.

use std::io;
use std::time::Duration;

use super::ProxyError;
use crate::release::Digest;

/// Why there is no answer that can be used. The places are scheme, host and path.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
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
    #[error("{place} answered {status}{}", again(.retry_after.as_ref()))]
    Status {
        /// The place.
        place: String,
        /// The status of HTTP.
        status: u16,
        /// When it wants to be asked again, where it says so.
        retry_after: Option<Duration>,
        /// How it wants to be asked (`WWW-Authenticate`), unless a redirect led there: that one gets no credentials.
        challenges: Vec<String>,
    },
    /// It sends to somewhere where we do not go.
    #[error("{from}: refusing redirect to {to}: {why}")]
    Redirect {
        /// Who redirects.
        from: String,
        /// Where to.
        to: String,
        /// Why not.
        why: &'static str,
    },
    /// More bytes than the limit, announced or sent.
    #[error("{place}: exceeds the limit of {most} bytes")]
    TooLarge {
        /// The place.
        place: String,
        /// The limit.
        most: u64,
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

fn awaited(received: Option<u64>) -> String {
    match received {
        None => "the answer to begin".to_owned(),
        Some(0) => "the content of the answer".to_owned(),
        Some(received) => format!("the rest of the answer after {received} bytes"),
    }
}

impl HttpError {
    /// Whether the same request can have an answer in a moment.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Timeout { .. }
            | Self::Silent { .. }
            | Self::Interrupted { .. } => true,
            Self::Status { status, .. } => matches!(status, 429 | 500 | 502 | 503 | 504),
            _ => false,
        }
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
