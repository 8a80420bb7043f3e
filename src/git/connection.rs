//! A connection to a Git server: host trust, credentials and limits.

mod failure;
pub(super) mod memory;
mod process_wide;

use std::cell::{Cell, RefCell};
use std::time::Instant;

use git2::cert::Cert;
use git2::{CertificateCheckStatus, Cred, CredentialType, ProxyOptions, RemoteCallbacks};
use secrecy::{ExposeSecret as _, SecretString};

use super::certificate::{Route, Trusted};
use super::{Access, GitError, GitUrl, SshKey, TransferLimits, Transport, hosts};
use crate::http::{Proxies, Proxy, TransportError};
use crate::names::credentials::masked;

pub(super) use process_wide::set_for_one;
pub use process_wide::{ServerTimeouts, set_server_timeouts};

/// Maximum length of a server's text that is kept.
const MAX_MESSAGE_CHARACTERS: usize = 2_000;

/// A connection to a repository, to fetch or to push.
pub(super) struct Connection<'a> {
    access: &'a Access,
    limits: &'a TransferLimits,
    begun: Instant,
    /// Number of times that libgit2 asked for credentials: it never stops asking.
    asked: Cell<u32>,
    /// The error with which a callback ended the connection: libgit2 reports only that one did.
    failure: RefCell<Option<GitError>>,
    server_message: RefCell<String>,
    /// The proxy in front of the server.
    proxy: Option<Proxy>,
}

impl<'a> Connection<'a> {
    pub(super) fn new(access: &'a Access, limits: &'a TransferLimits) -> Result<Self, GitError> {
        set_server_timeouts(None);
        let proxy = check(access)?;
        if access.url.directory().is_some_and(|directory| !directory.exists()) {
            return Err(GitError::NotFound(access.url.to_string()));
        }
        Ok(Self {
            access,
            limits,
            begun: Instant::now(),
            asked: Cell::new(0),
            failure: RefCell::default(),
            server_message: RefCell::default(),
            proxy,
        })
    }

    /// Returns the proxy of the environment as options: libgit2 by itself uses none.
    pub(super) fn proxy_options(&self) -> ProxyOptions<'_> {
        let mut options = ProxyOptions::new();
        if let Some(proxy) = &self.proxy {
            options.url(proxy.url().as_str());
        }
        options
    }

    pub(super) fn callbacks(&self) -> RemoteCallbacks<'_> {
        let mut callbacks = RemoteCallbacks::new();
        callbacks.credentials(|url, user, allowed| self.ended_by(self.credentials(url, user, allowed)));
        callbacks.certificate_check(|certificate, host| self.ended_by(self.check(certificate, host)));
        callbacks.transfer_progress(|progress| {
            let received = u64::try_from(progress.received_bytes()).unwrap_or(u64::MAX);
            self.ended_by(self.check_limits(received)).is_ok()
        });
        callbacks.sideband_progress(|text| {
            self.listen(text);
            self.ended_by(self.check_limits(0)).is_ok()
        });
        callbacks
    }

    /// Returns the server's text so far, cleaned for display.
    pub(super) fn server_message(&self) -> String {
        self.presentable(&self.server_message.borrow())
    }

    /// Ends the connection from inside a callback, and records its error.
    pub(super) fn ended_by<T>(&self, result: Result<T, GitError>) -> Result<T, git2::Error> {
        result.map_err(|error| {
            let text = git2::Error::from_str("ended by stackflux");
            self.failure.borrow_mut().get_or_insert(error);
            text
        })
    }

    fn url(&self) -> String {
        self.access.url.to_string()
    }

    fn refuses(&self, what: &'static str, user: &str) -> GitError {
        let is_of_url = self.access.url.user() == Some(user);
        GitError::Unauthorised { url: self.url(), what, user: (!is_of_url).then(|| user.to_owned()) }
    }

    fn credentials(&self, url: &str, user: Option<&str>, allowed: CredentialType) -> Result<Cred, GitError> {
        let own = &self.access.url;
        // Another port counts as another server.
        if own.transport() != Transport::Ssh && !url.parse().is_ok_and(|url| own.is_same_server(&url)) {
            let why = "it is another server".to_owned();
            return Err(TransportError::Redirect { place: self.url(), to: self.presentable(url), why }.into());
        }
        let user = user.or(own.user()).unwrap_or_default();
        if allowed.contains(CredentialType::USERNAME) {
            return Ok(Cred::username(user)?);
        }
        let credentials = &self.access.credentials;
        let asked = self.asked.replace(self.asked.get() + 1);
        if own.transport() == Transport::Ssh {
            let wanted = "SSH key";
            let key = credentials.ssh.as_ref().filter(|_| allowed.contains(CredentialType::SSH_KEY));
            return match key.ok_or_else(|| GitError::NoCredentials { url: self.url(), wanted })? {
                _ if asked > 0 => Err(self.refuses("SSH key", user)),
                SshKey::Agent => Ok(Cred::ssh_key_from_agent(user)?),
                SshKey::Key { key, passphrase } => {
                    let passphrase = passphrase.as_ref().map(SecretString::expose_secret);
                    Ok(Cred::ssh_key_from_memory(user, None, key.expose_secret(), passphrase)?)
                }
            };
        }
        let wanted = "user name and password or token";
        let both =
            credentials.https.as_ref().filter(|_| allowed.contains(CredentialType::USER_PASS_PLAINTEXT));
        let (user, password) = both.ok_or_else(|| GitError::NoCredentials { url: self.url(), wanted })?;
        if asked > 0 {
            return Err(self.refuses("password or token", user));
        }
        Ok(Cred::userpass_plaintext(user, password.expose_secret())?)
    }

    fn check(&self, certificate: &Cert<'_>, host: &str) -> Result<CertificateCheckStatus, GitError> {
        let (url, credentials) = (&self.access.url, &self.access.credentials);
        let port = url.port_or_default();
        if let Some(key) = certificate.as_hostkey() {
            let key = key.hostkey().unwrap_or_default();
            match &credentials.known_hosts {
                Some(known) => known.check(host, port, key)?,
                None => return Err(hosts::nothing_known(host, port, key).into()),
            }
            return Ok(CertificateCheckStatus::CertificateOk);
        }
        let (Some(ca), Some(shown)) = (&credentials.ca, certificate.as_x509()) else {
            return Ok(CertificateCheckStatus::CertificatePassthrough);
        };
        let unusable =
            |why| GitError::Credentials { what: "the file of trusted certificates".to_owned(), why };
        let trusted = Trusted::new(ca).map_err(unusable)?;
        let route = Route { host, port, proxy: self.proxy.as_ref(), wait: set_server_timeouts(None).connect };
        let checked = trusted.check(shown.data(), &route);
        checked.map_err(|error| TransportError::Certificate { place: self.url(), error })?;
        Ok(CertificateCheckStatus::CertificateOk)
    }

    /// Checks the limits, once the server has listed its branches.
    pub(super) fn check_limits(&self, received: u64) -> Result<(), GitError> {
        memory::list_is_over();
        if received > self.limits.bytes {
            let (place, most) = (self.url(), self.limits.bytes);
            return Err(TransportError::TooLarge { place, most, unit: "bytes" }.into());
        }
        if self.begun.elapsed() > self.limits.overall {
            return Err(TransportError::Timeout { place: self.url(), after: self.limits.overall }.into());
        }
        Ok(())
    }

    fn listen(&self, text: &[u8]) {
        let mut server_message = self.server_message.borrow_mut();
        if server_message.len() < MAX_MESSAGE_CHARACTERS {
            server_message.push_str(&String::from_utf8_lossy(text));
        }
    }

    /// Cleans a server's text: removes credentials and control characters, and limits its length.
    pub(super) fn presentable(&self, text: &str) -> String {
        let text = self.access.credentials.redact(text);
        let text = masked(&text);
        let parts = text.split(char::is_control).map(str::trim).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("; ").chars().take(MAX_MESSAGE_CHARACTERS).collect()
    }
}

/// Checks that the server may get the credentials, and returns the proxy in front of it.
pub(super) fn check(access: &Access) -> Result<Option<Proxy>, GitError> {
    let plain = access.url.transport() == Transport::Http && !access.url.is_loopback();
    if plain && access.credentials.https.is_some() && !access.credentials.plain_http {
        return Err(GitError::PlainHttp(access.url.to_string()));
    }
    proxy(&access.url)
}

/// Returns the proxy for a repository. SSH and directories have none, and libgit2 uses none for plain HTTP.
fn proxy(url: &GitUrl) -> Result<Option<Proxy>, GitError> {
    match url.transport() {
        // The `url` crate may reject a URL that libgit2 accepts.
        Transport::Https => match url.to_string().parse() {
            Ok(url) => Ok(Proxies::of_environment().of(&url)?.cloned()),
            Err(_) => Ok(None),
        },
        Transport::Http | Transport::Ssh | Transport::File => Ok(None),
    }
}

/// Returns the known host keys that libssh2 has to see in order to ask for their kinds: it prefers Ed25519, so a host with
/// several keys, of which only another kind is known, would otherwise show the unknown one.
pub(super) fn kinds_of_host_key(access: &Access) -> String {
    let url = &access.url;
    let known = access.credentials.known_hosts.as_ref().filter(|_| url.transport() == Transport::Ssh);
    let lines = known.map(|known| known.plain(url.host(), url.port_or_default())).unwrap_or_default();
    if lines.contains(" ssh-ed25519 ") { String::new() } else { lines }
}

#[cfg(test)]
mod tests {
    use git2::{ErrorClass, ErrorCode};

    use super::*;
    use crate::git::Credentials;

    /// Returns the error that libgit2's `error` becomes on a connection to this URL, with a password for this user.
    fn failure_text(url: &str, user: &str, error: &git2::Error) -> String {
        let https = Some((user.to_owned(), SecretString::from("s3cret")));
        let access = Access {
            url: url.parse().unwrap(),
            credentials: Credentials { https, ..Credentials::default() },
        };
        let limits = TransferLimits::default();
        let connection = Connection::new(&access, &limits).unwrap();
        connection.error(error).to_string()
    }

    #[test]
    fn user_in_url_is_redacted() {
        let error =
            git2::Error::new(ErrorCode::GenericError, ErrorClass::Http, "unexpected http status code: 401");
        let refuses = "https://host/a.git: the Git server refuses the password or token";
        assert_eq!(failure_text("https://ghp_TOKEN@host/a.git", "ghp_TOKEN", &error), refuses);
        assert_eq!(failure_text("https://host/a.git", "ann", &error), format!("{refuses} of user \"ann\""));
    }

    #[test]
    fn local_error_is_not_reported_as_server_error() {
        let directory = tempfile::TempDir::with_prefix("certificate-redirect-timed out-").unwrap();
        let path = directory.path().to_str().unwrap();
        let text = format!("could not open '{path}/objects': permission denied");
        let error = git2::Error::new(ErrorCode::GenericError, ErrorClass::Os, &text);
        assert_eq!(failure_text(path, "ann", &error), format!("{path}: Git: {text}"));
        let error = git2::Error::new(ErrorCode::NotFound, ErrorClass::Repository, &text);
        assert!(failure_text(path, "ann", &error).contains("no such repository"));
    }

    #[test]
    fn lost_ssh_connection_is_not_a_bad_key() {
        let url = "ssh://git@host/a.git";
        let access = Access { url: url.parse().unwrap(), credentials: Credentials::default() };
        let limits = TransferLimits::default();
        let (failed, auth) = (ErrorCode::GenericError, ErrorCode::Auth);
        let authenticate = |text: &str| format!("failed to authenticate SSH session: {text}");
        let methods = |text: &str| format!("remote rejected authentication: {text}");
        // The code and the text of libgit2, whether it has a key already, and the error that it becomes.
        for (code, text, asked, expected) in [
            (failed, "failed to start SSH session: Timed out waiting for KEX reply".to_owned(), 0, "timeout"),
            (failed, authenticate("API timeout expired"), 1, "timeout"),
            (failed, authenticate("Timed out waiting on socket"), 1, "timeout"),
            (auth, methods("Timed out waiting on socket"), 0, "timeout"),
            (failed, authenticate("Error waiting on socket"), 1, "unreachable"),
            (failed, authenticate("Unable to send userauth-publickey request"), 1, "unreachable"),
            (auth, methods("Failed getting response"), 0, "unreachable"),
            (auth, methods("Failed getting response"), 1, "refused"),
            (auth, String::new(), 1, "refused"),
            (failed, authenticate("Wrong passphrase for private key"), 1, "key"),
            (failed, authenticate("Unable to initialize private key from memory"), 1, "key"),
            (failed, authenticate(""), 1, "key"),
        ] {
            let connection = Connection::new(&access, &limits).unwrap();
            connection.asked.set(asked);
            let found = match connection.error(&git2::Error::new(code, ErrorClass::Ssh, &text)) {
                GitError::Transport(TransportError::Timeout { .. }) => "timeout",
                GitError::Transport(TransportError::Unreachable { .. }) => "unreachable",
                GitError::Credentials { .. } => "key",
                GitError::NoCredentials { .. } => "refused",
                other => panic!("{text}: {other}"),
            };
            assert_eq!(found, expected, "{text}");
        }
    }
}
