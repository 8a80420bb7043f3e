//! The URL of a Git repository.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::str::FromStr;

/// An invalid repository URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitUrlError {
    /// The transport is missing or not supported.
    #[error(
        "invalid Git address {0:?}: expected https://…, ssh://…, user@host:path, http://…, file://… or a path"
    )]
    Form(String),
    /// The URL contains a password, which would end up in process lists and logs.
    #[error(
        "the address of the repository on {0} has a password in it: give it in a file or in the environment"
    )]
    Password(String),
    /// A part of the URL is invalid, or a program could take it for an option.
    #[error("invalid {part} {value:?} in the Git address {url:?}: {why}")]
    Part {
        /// The URL without its user.
        url: String,
        /// `host`, `user`, `port` or `path`.
        part: &'static str,
        /// The value of the part.
        value: String,
        /// The cause.
        why: &'static str,
    },
}

/// The transport to a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// Smart HTTP over TLS.
    Https,
    /// Smart HTTP without TLS.
    Http,
    /// SSH.
    Ssh,
    /// A directory on this machine.
    File,
}

/// The URL of a repository. `Display` and `Debug` show no user, and so no credential.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitUrl {
    transport: Transport,
    user: Option<String>,
    host: String,
    port: Option<u16>,
    /// With a leading `/`, except in `user@host:path`, whose path is relative to the user's home.
    path: String,
}

impl GitUrl {
    /// Returns the transport.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// Returns the host name or address, an IPv6 address in brackets; empty for a directory.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port, if the URL names one.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Returns the path without enclosing `/` and without `.git`: on a forge, the owner and the repository.
    #[must_use]
    pub fn repository(&self) -> &str {
        let path = self.path.trim_matches('/');
        path.strip_suffix(".git").unwrap_or(path)
    }

    /// Returns the directory, if the repository is on this machine.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        (self.transport == Transport::File).then(|| Path::new(&self.path))
    }

    /// Returns the user that the URL names; for SSH, `git` by default, as on every forge.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        match (&self.user, self.transport) {
            (None, Transport::Ssh) => Some("git"),
            (user, _) => user.as_deref(),
        }
    }

    /// Whether the host is this machine, so that the connection cannot be intercepted.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let address = self.host.trim_matches(['[', ']']).parse::<IpAddr>();
        self.host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    }

    /// Whether another repository is on the same server: transport, host and port are equal.
    #[must_use]
    pub fn is_same_server(&self, other: &Self) -> bool {
        other.transport == self.transport
            && other.host.eq_ignore_ascii_case(&self.host)
            && other.port_or_default() == self.port_or_default()
    }

    /// Returns the port, by default that of the transport; 0 for a directory.
    pub(super) fn port_or_default(&self) -> u16 {
        self.port.or(self.transport.default_port()).unwrap_or_default()
    }

    /// Returns the URL for libgit2.
    pub(super) fn remote(&self) -> String {
        match (self.transport, self.user()) {
            (Transport::File, _) => self.path.clone(),
            (Transport::Ssh, Some(user)) if self.is_relative() => {
                format!("{user}@{}:{}", self.host, self.path)
            }
            (Transport::Ssh, Some(user)) => format!("ssh://{user}@{}{}", self.authority(), self.path),
            _ => self.to_string(),
        }
    }

    /// Returns the URL with its user: parsing it gives an equal URL.
    pub(super) fn with_user(&self) -> String {
        match (self.transport, &self.user) {
            (Transport::Https | Transport::Http, Some(user)) => {
                self.to_string().replacen("://", &format!("://{user}@"), 1)
            }
            _ => self.remote(),
        }
    }

    fn is_relative(&self) -> bool {
        self.transport == Transport::Ssh && !self.path.starts_with('/')
    }

    fn authority(&self) -> String {
        self.port.map_or_else(|| self.host.clone(), |port| format!("{}:{port}", self.host))
    }

    /// Returns the error without what may be a secret: a query, and everything before an `@` in the path. Such an `@` means
    /// that a password contains a `/`, so that the parsed host and port are the start of the password.
    fn refuse<T>(&self, part: &'static str, value: &str, why: &'static str) -> Result<T, GitUrlError> {
        if let (true, Some((_, rest))) = (self.transport != Transport::File, self.path.rsplit_once('@')) {
            return Err(GitUrlError::Password(host_of(rest).to_owned()));
        }
        let shown = |text: &str| text.split(['?', '#']).next().unwrap_or_default().to_owned();
        Err(GitUrlError::Part { url: shown(&self.to_string()), part, value: shown(value), why })
    }

    fn checked(self) -> Result<Self, GitUrlError> {
        let odd = |text: &str| text.chars().any(|character| character.is_control() || character == ' ');
        if self.transport == Transport::File {
            return if self.path.starts_with('-') || self.path.contains('\0') {
                self.refuse("path", &self.path, "it could be taken for an option")
            } else {
                Ok(self)
            };
        }
        let name = self.host.trim_matches(['[', ']']);
        let of_a_host = |character: char| character.is_ascii_alphanumeric() || "-._:".contains(character);
        if name.is_empty() || name.starts_with('-') || !name.chars().all(of_a_host) {
            return self.refuse("host", &self.host, "a host must be a DNS name or an IP address");
        }
        if self.user.as_deref().is_some_and(|user| user.is_empty() || user.starts_with('-') || odd(user)) {
            return self.refuse("user", "", "it is empty, could be taken for an option or has blanks");
        }
        if self.path.trim_matches('/').is_empty() {
            return self.refuse("path", &self.path, "it names no repository");
        }
        if self.path.starts_with('-') || odd(&self.path) {
            return self.refuse("path", &self.path, "it could be taken for an option or has blanks");
        }
        if self.path.contains(['?', '#']) {
            return self.refuse("path", &self.path, "a query or a fragment is not allowed");
        }
        Ok(self)
    }
}

impl Transport {
    fn default_port(self) -> Option<u16> {
        match self {
            Self::Https => Some(443),
            Self::Http => Some(80),
            Self::Ssh => Some(22),
            Self::File => None,
        }
    }
}

impl fmt::Display for GitUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.transport {
            Transport::Https => write!(f, "https://{}{}", self.authority(), self.path),
            Transport::Http => write!(f, "http://{}{}", self.authority(), self.path),
            Transport::Ssh if self.is_relative() => write!(f, "{}:{}", self.host, self.path),
            Transport::Ssh => write!(f, "ssh://{}{}", self.authority(), self.path),
            Transport::File => write!(f, "{}", self.path),
        }
    }
}

impl fmt::Debug for GitUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for GitUrl {
    type Err = GitUrlError;

    fn from_str(text: &str) -> Result<Self, GitUrlError> {
        let file = |path: &str| Self {
            transport: Transport::File,
            user: None,
            host: String::new(),
            port: None,
            path: path.to_owned(),
        };
        match text.split_once("://") {
            Some(("https", rest)) => network(Transport::Https, rest)?.checked(),
            Some(("http", rest)) => network(Transport::Http, rest)?.checked(),
            Some(("ssh", rest)) => network(Transport::Ssh, rest)?.checked(),
            Some(("file", rest)) if rest.starts_with('/') => file(rest).checked(),
            Some((scheme, _)) => Err(GitUrlError::Form(format!("{scheme}://…"))),
            None if is_path(text) => file(text).checked(),
            None => scp(text)?.checked(),
        }
    }
}

/// Whether Git takes the text for a path: it has a `/` before its first `:`, or no `:` at all.
fn is_path(text: &str) -> bool {
    let before = text.split(':').next().unwrap_or_default();
    !text.is_empty() && (before.contains('/') || !text.contains(':'))
}

/// Returns the start of the text, which may be a host.
fn host_of(text: &str) -> &str {
    text.split(['/', '?', '#']).next().unwrap_or_default()
}

/// Parses `[user[:password]@]host[:port]/path`.
fn network(transport: Transport, rest: &str) -> Result<GitUrl, GitUrlError> {
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let (user, address) = match authority.rsplit_once('@') {
        Some((user, address)) => (Some(user), address),
        None => (None, authority),
    };
    if user.is_some_and(|user| user.contains(':')) {
        return Err(GitUrlError::Password(host_of(address).to_owned()));
    }
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (address, None),
    };
    let mut url = GitUrl {
        transport,
        user: user.map(str::to_owned),
        host: host.to_owned(),
        port: None,
        path: path.to_owned(),
    };
    if let Some(port) = port {
        match port.parse() {
            Ok(port) if port != 0 => url.port = Some(port),
            _ => return url.refuse("port", port, "a port must be a number from 1 to 65535"),
        }
    }
    Ok(url)
}

/// Parses `user@host:path`.
fn scp(text: &str) -> Result<GitUrl, GitUrlError> {
    let form = || GitUrlError::Form(text.rsplit('@').next().unwrap_or_default().to_owned());
    let (authority, path) = text.split_once(':').ok_or_else(form)?;
    // `ext::…` and other remote helpers of Git have two colons.
    if path.starts_with(':') {
        return Err(form());
    }
    let (user, host) = authority.split_once('@').ok_or_else(form)?;
    Ok(GitUrl {
        transport: Transport::Ssh,
        user: Some(user.to_owned()),
        host: host.to_owned(),
        port: None,
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests;
