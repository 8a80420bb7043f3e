//! Maps an error of libgit2 on a connection to a [`GitError`].

use git2::{ErrorClass, ErrorCode};

use super::super::{GitError, Transport};
use super::{Connection, set_server_timeouts};
use crate::http::TransportError;

impl Connection<'_> {
    /// Returns the error that a callback recorded; otherwise maps libgit2's error.
    pub(in super::super) fn error(&self, error: &git2::Error) -> GitError {
        if let Some(failure) = self.failure.borrow_mut().take() {
            return failure;
        }
        let url = self.url();
        let text = self.presentable(error.message());
        if is_sha256(&text) {
            let error =
                "the repository names its objects by SHA-256, which stackflux does not support".to_owned();
            return GitError::Failed { url, error };
        }
        if error.class() == ErrorClass::NoMemory {
            return GitError::Memory { url, most: self.limits.memory >> 20 };
        }
        if self.access.url.transport() == Transport::File {
            // For a directory, the text comes from this machine and contains file names.
            return match error.code() {
                ErrorCode::NotFound => GitError::NotFound(url),
                _ => GitError::Failed { url, error: text },
            };
        }
        if error.code() == ErrorCode::Timeout || is_timeout(&text) {
            let after = set_server_timeouts(None).silence;
            return TransportError::Timeout { place: self.url_through(), after }.into();
        }
        // The proxy itself answers: it requires a password, or refuses the server.
        if self.proxy.is_some() && text.starts_with("proxy ") {
            return TransportError::Unreachable { place: self.url_through(), error: text }.into();
        }
        // libgit2 asks an SSH server which methods it has, before and after it offers a key. Some servers close the connection
        // after a wrong key: only before is it certain that the key is not the cause.
        let is_before_key = self.asked.get() == 0 && text.starts_with("remote rejected authentication");
        if error.code() == ErrorCode::Auth && !is_before_key {
            return self.refused();
        }
        if let Some(why) = text.strip_prefix("failed to authenticate SSH session:")
            && !is_lost_connection(why)
        {
            return GitError::Credentials { what: "the SSH key".to_owned(), why: text };
        }
        if error.code() == ErrorCode::Certificate || text.contains("certificate") {
            return TransportError::Certificate { place: self.url_through(), error: text }.into();
        }
        if text.contains("redirect") {
            let to = "another location".to_owned();
            return TransportError::Redirect { place: url, to, why: text }.into();
        }
        match text.rsplit_once("http status code: ").map(|(_, status)| status) {
            Some("401") => return self.refused(),
            Some("403") => return GitError::Forbidden(url),
            Some("404" | "410") => return GitError::NotFound(url),
            _ => {}
        }
        let missing = ["not found", "does not appear to be a git repository", "does not exist"];
        let on_ssh = error.class() == ErrorClass::Ssh || self.access.url.transport() == Transport::Ssh;
        if on_ssh && missing.iter().any(|missing| text.to_ascii_lowercase().contains(missing)) {
            return GitError::NotFound(url);
        }
        match error.class() {
            ErrorClass::Net | ErrorClass::Os | ErrorClass::Ssl | ErrorClass::Ssh | ErrorClass::Http => {
                TransportError::Unreachable { place: self.url_through(), error: text }.into()
            }
            _ => GitError::Failed { url, error: text },
        }
    }

    /// Returns the URL of the repository and the proxy in front of it: either may have failed.
    fn url_through(&self) -> String {
        let url = self.url();
        self.proxy.as_ref().map_or_else(|| url.clone(), |proxy| format!("{url} (through the proxy {proxy})"))
    }

    fn refused(&self) -> GitError {
        let credentials = &self.access.credentials;
        let url = self.url();
        match (&credentials.https, &credentials.ssh, self.access.url.transport()) {
            (_, Some(_), Transport::Ssh) => {
                self.refuses("SSH key", self.access.url.user().unwrap_or_default())
            }
            (_, None, Transport::Ssh) => GitError::NoCredentials { url, wanted: "SSH key" },
            (Some((user, _)), ..) => self.refuses("password or token", user),
            _ => GitError::NoCredentials { url, wanted: "user name and password or token" },
        }
    }
}

/// Whether the server has not answered in time, in the words of libgit2 or libssh2.
fn is_timeout(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains("timed out") || text.contains("timeout expired")
}

/// Whether libssh2 could not send its request to authenticate. Its other texts there are about the key or this machine: libgit2
/// gives all of them the same prefix, and no code.
fn is_lost_connection(why: &str) -> bool {
    ["Error waiting on socket", "Unable to send"].iter().any(|text| why.contains(text))
}

/// Whether libgit2 knows no such names of objects: of a directory (`unknown object format 'sha256'`), or of a server.
fn is_sha256(text: &str) -> bool {
    text.contains("object format 'sha256'")
}
