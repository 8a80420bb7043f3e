//! Trusted SSH host keys, in the `known_hosts` format of sshd(8).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use ring::{digest, hmac};
use serde::{Deserialize, Serialize};

/// A host key that is not trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum HostKeyError {
    /// No known hosts are configured.
    #[error("cannot verify the host key of {host}: no known hosts configured; it shows {key}")]
    NoKnownHosts {
        /// The host, as written in `known_hosts`.
        host: String,
        /// Kind and fingerprint of the key.
        key: String,
    },
    /// The known hosts have no line for the host.
    #[error("unknown host {host}: it shows {key}, but {place} has no line for it")]
    Unknown {
        /// The host, as written in `known_hosts`.
        host: String,
        /// Kind and fingerprint of the key.
        key: String,
        /// The file or Secret with the known hosts.
        place: String,
    },
    /// The known hosts have only other keys for the host.
    #[error(
        "host key mismatch for {host}: expected {} ({place}), got {key}: the connection may be \
         intercepted, or the host has a new key", known.join(", ")
    )]
    Changed {
        /// The host, as written in `known_hosts`.
        host: String,
        /// Kind and fingerprint of the key.
        key: String,
        /// The file or Secret with the known hosts.
        place: String,
        /// Kinds and fingerprints of the known keys.
        known: Vec<String>,
    },
    /// The key is marked `@revoked`.
    #[error("the host {host} shows the key {key}, which {place} marks as @revoked")]
    Revoked {
        /// The host, as written in `known_hosts`.
        host: String,
        /// Kind and fingerprint of the key.
        key: String,
        /// The file or Secret with the known hosts.
        place: String,
    },
}

impl HostKeyError {
    /// Suggests how to fix the error.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoKnownHosts { host, .. } | Self::Unknown { host, .. } => format!(
                "compare the fingerprint with the one that the server's operators publish, then add the line that \
                 ssh-keyscan prints for {host}"
            ),
            Self::Changed { .. } | Self::Revoked { .. } => {
                "ask the server's operators for the fingerprint before you trust the new key".to_owned()
            }
        }
    }
}

/// The trusted host keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownHosts {
    text: String,
    place: String,
}

/// A line of `known_hosts`. Lines of certificate authorities and malformed lines are ignored.
struct Line<'a> {
    hosts: &'a str,
    revoked: bool,
    key: Vec<u8>,
}

impl KnownHosts {
    /// Creates known hosts from the text of a `known_hosts` file; `place` names the file or Secret in messages.
    #[must_use]
    pub fn new(text: impl Into<String>, place: impl Into<String>) -> Self {
        Self { text: text.into(), place: place.into() }
    }

    /// Checks the key that a host shows, in SSH wire format.
    pub fn check(&self, host: &str, port: u16, key: &[u8]) -> Result<(), HostKeyError> {
        let (host, shown, place) = (name(host, port), described(key), self.place.clone());
        let lines: Vec<Line<'_>> = self.lines().filter(|line| matches(line.hosts, &host)).collect();
        if lines.iter().any(|line| line.revoked && line.key == key) {
            return Err(HostKeyError::Revoked { host, key: shown, place });
        }
        let mut trusted = lines.iter().filter(|line| !line.revoked).peekable();
        if trusted.peek().is_none() {
            return Err(HostKeyError::Unknown { host, key: shown, place });
        }
        let known = trusted.clone().map(|line| described(&line.key)).collect();
        if trusted.any(|line| line.key == key) {
            return Ok(());
        }
        Err(HostKeyError::Changed { host, key: shown, place, known })
    }

    /// Returns the trusted lines of a host with its plain name, from which libssh2 learns which kinds of key to ask for.
    pub(super) fn plain(&self, host: &str, port: u16) -> String {
        let name = name(host, port);
        let lines = self.lines().filter(|line| !line.revoked && matches(line.hosts, &name));
        let plain =
            |line: Line<'_>| [&name, " ", &kind(&line.key), " ", &STANDARD.encode(&line.key), "\n"].concat();
        lines.map(plain).collect()
    }

    fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.text.lines().filter_map(line)
    }
}

/// Returns the error for a host key when no known hosts are configured.
pub(super) fn nothing_known(host: &str, port: u16, key: &[u8]) -> HostKeyError {
    HostKeyError::NoKnownHosts { host: name(host, port), key: described(key) }
}

/// Returns the host as written in `known_hosts`: `host`, or `[host]:port` if the port is not 22.
fn name(host: &str, port: u16) -> String {
    let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
    if port == 22 { host } else { format!("[{host}]:{port}") }
}

fn line(text: &str) -> Option<Line<'_>> {
    let mut words = text.split_ascii_whitespace();
    let mut hosts = words.next().filter(|word| !word.starts_with('#'))?;
    let revoked = match hosts {
        "@revoked" => true,
        other if other.starts_with('@') => return None,
        _ => false,
    };
    if revoked {
        hosts = words.next()?;
    }
    let (kind_of_line, key) = (words.next()?, words.next()?);
    let key = STANDARD.decode(key).ok()?;
    (kind(&key) == kind_of_line).then_some(Line { hosts, revoked, key })
}

/// Whether the host field matches the name: it is a comma-separated list of patterns, or one hashed name.
fn matches(hosts: &str, name: &str) -> bool {
    if let Some(hashed) = hosts.strip_prefix("|1|") {
        return matches_hash(hashed, name);
    }
    let mut found = false;
    for pattern in hosts.split(',') {
        let (negated, pattern) = pattern.strip_prefix('!').map_or((false, pattern), |rest| (true, rest));
        if is_like(&pattern.to_ascii_lowercase(), name) {
            if negated {
                return false;
            }
            found = true;
        }
    }
    found
}

/// Whether `salt|hash` is the HMAC-SHA1 of the name, as `ssh-keygen -H` writes it.
fn matches_hash(hashed: &str, name: &str) -> bool {
    let decoded = hashed
        .split_once('|')
        .and_then(|(salt, hash)| Some((STANDARD.decode(salt).ok()?, STANDARD.decode(hash).ok()?)));
    decoded.is_some_and(|(salt, hash)| {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &salt);
        hmac::verify(&key, name.as_bytes(), &hash).is_ok()
    })
}

/// Whether a name matches a pattern with `*` and `?`, in time of at most the product of both lengths.
fn is_like(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut in_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(character) = name.get(in_name) {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(wanted) if *wanted == b'?' || wanted == character => {
                at += 1;
                in_name += 1;
            }
            _ => match star {
                Some((star_at, begun)) => {
                    star = Some((star_at, begun + 1));
                    at = star_at + 1;
                    in_name = begun + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|byte| *byte == b'*')
}

/// Returns the kind of a key: the length-prefixed string at its start (RFC 4253, 6.6).
fn kind(key: &[u8]) -> String {
    let text = key.split_first_chunk::<4>().and_then(|(length, rest)| {
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        std::str::from_utf8(rest.get(..length)?).ok()
    });
    let plain = |text: &&str| text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_graphic());
    text.filter(plain).unwrap_or("a key of unknown kind").to_owned()
}

/// Returns the kind and the fingerprint of a key: `SHA256:` and base64 without padding, as ssh-keygen prints it.
fn described(key: &[u8]) -> String {
    format!("{} SHA256:{}", kind(key), STANDARD_NO_PAD.encode(digest::digest(&digest::SHA256, key)))
}

#[cfg(test)]
mod tests;
