//! What the program and the process of a connection tell each other, in one line of JSON each.

use std::borrow::Cow;
use std::ffi::OsString;
use std::process;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use super::super::transfer::RemoteRefs;
use super::super::{
    Access, BareRepository, CommitId, Credentials, GitError, HostKeyError, KnownHosts, Pushed,
    ServerTimeouts, SshKey, TransferLimits, set_server_timeouts,
};
use crate::http::TransportError;

/// The texts of errors that are constants.
const CONSTANTS: [&str; 5] =
    ["SSH key", "password or token", "user name and password or token", "bytes", "MiB"];

/// The work of one connection.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Work {
    /// Fetch these, and tell what the reference `name` is.
    Fetch { refspecs: Vec<String>, name: String },
    /// Push a commit if the branch is at `expected`.
    Push { commit: CommitId, reference: String, expected: Option<CommitId> },
}

/// What the process of a connection needs to know.
#[derive(Serialize, Deserialize)]
pub(super) struct Request<'a> {
    /// The process that waits for the answer.
    pub(super) parent: u32,
    /// Directory of the bare repository.
    pub(super) repository: OsString,
    url: String,
    secrets: Secrets<'a>,
    bytes: u64,
    overall: Duration,
    /// Maximum address space of the process in bytes.
    pub(super) memory: u64,
    connect: Duration,
    silence: Duration,
    pub(super) work: Work,
}

/// [`Credentials`] in plain text.
#[derive(Serialize, Deserialize)]
struct Secrets<'a> {
    https: Option<(Cow<'a, str>, Cow<'a, str>)>,
    agent: bool,
    key: Option<(Cow<'a, str>, Option<Cow<'a, str>>)>,
    known_hosts: Option<Cow<'a, KnownHosts>>,
    ca: Option<Cow<'a, [u8]>>,
    plain_http: bool,
}

/// The result of the work.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Fetched(RemoteRefs),
    Pushed(Pushed),
}

/// A [`GitError`] of a connection.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Failure {
    Unreachable(String, String),
    Certificate(String, String),
    Timeout(String, Duration),
    Redirect(String, String, String),
    TooLarge(String, u64, String),
    NoCredentials(String),
    Unauthorised(String, Option<String>),
    Forbidden,
    HostKey(HostKeyError),
    Credentials(String, String),
    NotFound,
    Refused(String, String),
    Memory,
    /// Another error, with its text.
    Other(String),
}

impl<'a> Request<'a> {
    pub(super) fn new(clone: &'a BareRepository, work: Work) -> Self {
        let ServerTimeouts { connect, silence } = set_server_timeouts(None);
        let TransferLimits { bytes, overall, memory } = clone.limits;
        Self {
            parent: process::id(),
            repository: clone.repository.path().as_os_str().to_owned(),
            url: clone.access.url.with_user(),
            secrets: Secrets::of(&clone.access.credentials),
            bytes,
            overall,
            memory,
            connect,
            silence,
            work,
        }
    }

    pub(super) fn text(&self) -> serde_json::Result<SecretString> {
        serde_json::to_string(self).map(SecretString::from)
    }

    pub(super) fn timeouts(&self) -> ServerTimeouts {
        ServerTimeouts { connect: self.connect, silence: self.silence }
    }

    pub(super) fn limits(&self) -> TransferLimits {
        TransferLimits { bytes: self.bytes, overall: self.overall, memory: self.memory }
    }

    pub(super) fn access(&self) -> Result<Access, GitError> {
        Ok(Access { url: self.url.parse()?, credentials: self.secrets.credentials() })
    }
}

impl<'a> Secrets<'a> {
    fn of(credentials: &'a Credentials) -> Self {
        let plain = |secret: &'a SecretString| Cow::Borrowed(secret.expose_secret());
        let Credentials { https, ssh, known_hosts, ca, plain_http } = credentials;
        Self {
            https: https.as_ref().map(|(user, password)| (user.into(), plain(password))),
            agent: matches!(ssh, Some(SshKey::Agent)),
            key: match ssh {
                Some(SshKey::Key { key, passphrase }) => Some((plain(key), passphrase.as_ref().map(plain))),
                Some(SshKey::Agent) | None => None,
            },
            known_hosts: known_hosts.as_ref().map(Cow::Borrowed),
            ca: ca.as_deref().map(Cow::Borrowed),
            plain_http: *plain_http,
        }
    }

    fn credentials(&self) -> Credentials {
        let secret = |text: &Cow<'_, str>| SecretString::from(text.as_ref());
        let key = self.key.as_ref().map(|(key, passphrase)| SshKey::Key {
            key: secret(key),
            passphrase: passphrase.as_ref().map(secret),
        });
        Credentials {
            https: self.https.as_ref().map(|(user, password)| (user.to_string(), secret(password))),
            ssh: if self.agent { Some(SshKey::Agent) } else { key },
            known_hosts: self.known_hosts.as_deref().cloned(),
            ca: self.ca.as_deref().map(<[u8]>::to_vec),
            plain_http: self.plain_http,
        }
    }
}

/// Reads the answer from the last line of what the process wrote; `None` if it is none.
pub(super) fn answer(output: &[u8]) -> Option<Result<Answer, Failure>> {
    let line = output.strip_suffix(b"\n")?.rsplit(|byte| *byte == b'\n').next()?;
    serde_json::from_slice(line).ok()
}

impl From<GitError> for Failure {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Transport(error) => match error {
                TransportError::Unreachable { place, error } => Self::Unreachable(place, error),
                TransportError::Certificate { place, error } => Self::Certificate(place, error),
                TransportError::Timeout { place, after } => Self::Timeout(place, after),
                TransportError::Redirect { place, to, why } => Self::Redirect(place, to, why),
                TransportError::TooLarge { place, most, unit } => {
                    Self::TooLarge(place, most, unit.to_owned())
                }
                other => Self::Other(other.to_string()),
            },
            GitError::NoCredentials { wanted, .. } => Self::NoCredentials(wanted.to_owned()),
            GitError::Unauthorised { what, user, .. } => Self::Unauthorised(what.to_owned(), user),
            GitError::Forbidden(_) => Self::Forbidden,
            GitError::HostKey(error) => Self::HostKey(error),
            GitError::Credentials { what, why } => Self::Credentials(what, why),
            GitError::NotFound(_) => Self::NotFound,
            GitError::Refused { branch, server_message, .. } => Self::Refused(branch, server_message),
            GitError::Memory { .. } => Self::Memory,
            GitError::Failed { error, .. } => Self::Other(error),
            GitError::Git(error) => Self::Other(error.message().to_owned()),
            other => Self::Other(other.to_string()),
        }
    }
}

impl Failure {
    pub(super) fn error(self, clone: &BareRepository) -> GitError {
        let url = clone.url();
        match self {
            Self::Unreachable(place, error) => TransportError::Unreachable { place, error }.into(),
            Self::Certificate(place, error) => TransportError::Certificate { place, error }.into(),
            Self::Timeout(place, after) => TransportError::Timeout { place, after }.into(),
            Self::Redirect(place, to, why) => TransportError::Redirect { place, to, why }.into(),
            Self::TooLarge(place, most, unit) => {
                TransportError::TooLarge { place, most, unit: constant(&unit) }.into()
            }
            Self::NoCredentials(wanted) => GitError::NoCredentials { url, wanted: constant(&wanted) },
            Self::Unauthorised(what, user) => GitError::Unauthorised { url, what: constant(&what), user },
            Self::Forbidden => GitError::Forbidden(url),
            Self::HostKey(error) => error.into(),
            Self::Credentials(what, why) => GitError::Credentials { what, why },
            Self::NotFound => GitError::NotFound(url),
            Self::Refused(branch, server_message) => GitError::Refused { url, branch, server_message },
            Self::Memory => exceeds_memory(clone),
            Self::Other(error) => GitError::Failed { url, error },
        }
    }
}

/// Returns the error for a server that makes the process need more memory than it may have.
pub(super) fn exceeds_memory(clone: &BareRepository) -> GitError {
    GitError::Memory { url: clone.url(), most: clone.limits.memory >> 20 }
}

fn constant(text: &str) -> &'static str {
    CONSTANTS.into_iter().find(|constant| *constant == text).unwrap_or("credential")
}
