//! Credentials for a Git server, and the host keys and certificates to trust.

use std::collections::BTreeMap;
use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};

use super::{GitUrl, KnownHosts};

/// An SSH key.
#[derive(Clone, Debug)]
pub enum SshKey {
    /// The keys of this process's SSH agent.
    Agent,
    /// A private key in a format that OpenSSH reads.
    Key {
        /// The content of the key file.
        key: SecretString,
        /// The passphrase of the key.
        passphrase: Option<SecretString>,
    },
}

/// Credentials for a Git server, and the host keys and certificates to trust.
#[derive(Clone, Default)]
pub struct Credentials {
    /// User name, and password or token.
    pub https: Option<(String, SecretString)>,
    /// The key for SSH.
    pub ssh: Option<SshKey>,
    /// The trusted host keys. If `None`, no SSH server is trusted.
    pub known_hosts: Option<KnownHosts>,
    /// PEM of the only trusted CA certificates. If `None`, those of the system are trusted.
    pub ca: Option<Vec<u8>>,
    /// Whether the password may be sent over plain HTTP to another machine.
    pub plain_http: bool,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("https", &self.https.is_some())
            .field("ssh", &self.ssh.is_some())
            .field("known_hosts", &self.known_hosts.is_some())
            .field("ca", &self.ca.is_some())
            .finish_non_exhaustive()
    }
}

/// A repository and the credentials for it.
#[derive(Clone, Debug)]
pub struct Access {
    /// The repository.
    pub url: GitUrl,
    /// Credentials, for the host of `url` only.
    pub credentials: Credentials,
}

/// An error in a Secret with Git credentials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The Secret has one of two keys that belong together.
    #[error("the Secret {secret} has {has} but no {lacks}")]
    Incomplete {
        /// Name of the Secret.
        secret: String,
        /// The key that the Secret has.
        has: &'static str,
        /// The key that the Secret lacks.
        lacks: &'static str,
    },
    /// A value is not UTF-8.
    #[error("the Secret {secret} has a {key} that is not UTF-8")]
    NotText {
        /// Name of the Secret.
        secret: String,
        /// The key.
        key: &'static str,
    },
    /// The Secret uses a kind of authentication that stackflux does not support for Git.
    #[error("the Secret {secret} has {key}, which stackflux does not use for Git: {instead}")]
    Unsupported {
        /// Name of the Secret.
        secret: String,
        /// The key.
        key: &'static str,
        /// The supported alternative.
        instead: &'static str,
    },
    /// The Secret has none of the supported keys.
    #[error(
        "the Secret {0} has no credentials: expected username and password, identity and known_hosts, or ca.crt"
    )]
    Empty(String),
}

/// Keys of Flux's Secrets that are not supported, each with an alternative.
const UNSUPPORTED: [(&str, &str); 4] = [
    ("bearerToken", "give the token as password, with the username that the forge requires"),
    ("githubAppID", "give a token of the installation as password, or a deploy key"),
    ("tls.crt", "client certificates are not supported: give username and password"),
    ("certFile", "client certificates are not supported: give username and password"),
];

impl Credentials {
    /// Reads a Secret in the format that a Flux `GitRepository` refers to: `username` and `password`; or `identity` and
    /// `known_hosts`, with `password` if the key is encrypted; and `ca.crt` or `caFile`
    /// (<https://fluxcd.io/flux/components/source/gitrepositories/#secret-reference>).
    pub fn from_secret(secret: &str, data: &BTreeMap<String, Vec<u8>>) -> Result<Self, SecretError> {
        for (key, instead) in UNSUPPORTED {
            if data.contains_key(key) {
                return Err(SecretError::Unsupported { secret: secret.to_owned(), key, instead });
            }
        }
        let text = |key: &'static str| match data.get(key).map(|bytes| std::str::from_utf8(bytes)) {
            Some(Ok(text)) => Ok(Some(text)),
            Some(Err(_)) => Err(SecretError::NotText { secret: secret.to_owned(), key }),
            None => Ok(None),
        };
        let incomplete = |has, lacks| Err(SecretError::Incomplete { secret: secret.to_owned(), has, lacks });
        let ca = data.get("ca.crt").or(data.get("caFile")).cloned();
        let mut credentials = Self { ca, ..Self::default() };
        let password = text("password")?.map(|password| SecretString::from(password.trim_end_matches('\n')));
        match (text("identity")?, text("known_hosts")?, text("username")?, password) {
            (Some(_), None, ..) => return incomplete("identity", "known_hosts"),
            (Some(key), Some(hosts), _, passphrase) => {
                credentials.ssh = Some(SshKey::Key { key: SecretString::from(key), passphrase });
                credentials.known_hosts = Some(KnownHosts::new(hosts, format!("the Secret {secret}")));
            }
            (None, _, Some(user), Some(password)) => {
                credentials.https = Some((user.trim_end_matches('\n').to_owned(), password));
            }
            (None, _, Some(_), None) => return incomplete("username", "password"),
            (None, _, None, Some(_)) => return incomplete("password", "username"),
            (None, _, None, None) if credentials.ca.is_none() => {
                return Err(SecretError::Empty(secret.to_owned()));
            }
            (None, _, None, None) => {}
        }
        Ok(credentials)
    }

    /// Removes the secrets of these credentials from a text: a server may repeat what it received.
    pub(super) fn redact(&self, text: &str) -> String {
        let password = self.https.as_ref().map(|(_, password)| password);
        let passphrase = match &self.ssh {
            Some(SshKey::Key { passphrase, .. }) => passphrase.as_ref(),
            _ => None,
        };
        let secrets = password.into_iter().chain(passphrase).map(SecretString::expose_secret);
        secrets
            .filter(|secret| !secret.is_empty())
            .fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &[(&str, &str)]) -> Result<Credentials, SecretError> {
        let data = data.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect();
        Credentials::from_secret("deploy", &data)
    }

    #[test]
    fn flux_secret_is_read() {
        let https = read(&[("username", "ann"), ("password", "s3cret\n"), ("ca.crt", "PEM")]).unwrap();
        let (user, password) = https.https.unwrap();
        assert_eq!((user.as_str(), password.expose_secret()), ("ann", "s3cret"));
        assert_eq!(https.ca.as_deref(), Some(b"PEM".as_slice()));
        assert!(https.ssh.is_none() && https.known_hosts.is_none() && !https.plain_http);
        let ssh = [
            ("identity", "KEY\n"),
            ("identity.pub", "x"),
            ("known_hosts", "host x y"),
            ("password", "phrase"),
        ];
        let ssh = read(&ssh).unwrap();
        let Some(SshKey::Key { key, passphrase: Some(passphrase) }) = ssh.ssh else { panic!("no key") };
        assert_eq!((key.expose_secret(), passphrase.expose_secret()), ("KEY\n", "phrase"));
        assert!(ssh.known_hosts.is_some() && ssh.https.is_none());
    }

    #[test]
    fn incomplete_secret_names_missing_keys() {
        let lacks = |data: &[(&str, &str)]| match read(data) {
            Err(SecretError::Incomplete { lacks, .. }) => lacks,
            other => panic!("{other:?}"),
        };
        assert_eq!(lacks(&[("username", "ann")]), "password");
        assert_eq!(lacks(&[("password", "x")]), "username");
        assert_eq!(lacks(&[("identity", "x")]), "known_hosts");
        assert_eq!(read(&[("other", "x")]).unwrap_err(), SecretError::Empty("deploy".into()));
        for key in ["bearerToken", "githubAppID", "tls.crt"] {
            assert!(matches!(read(&[(key, "x")]), Err(SecretError::Unsupported { .. })), "{key}");
        }
        let binary =
            BTreeMap::from([("username".to_owned(), vec![255]), ("password".to_owned(), b"x".to_vec())]);
        let error = Credentials::from_secret("deploy", &binary).unwrap_err();
        assert!(matches!(error, SecretError::NotText { key: "username", .. }), "{error}");
    }

    #[test]
    fn debug_output_is_redacted() {
        let https = read(&[("username", "ann"), ("password", "s3cret")]).unwrap();
        let ssh = read(&[("identity", "s3cret"), ("known_hosts", ""), ("password", "s3cret")]).unwrap();
        for credentials in [https, ssh] {
            let url = "https://host/r".parse().unwrap();
            let shown = format!(
                "{credentials:?} {:?} {:?}",
                credentials.ssh,
                Access { url, credentials: credentials.clone() }
            );
            assert!(!shown.contains("s3cret"), "{shown}");
            assert_eq!(credentials.redact("you sent s3cret, s3cret"), "you sent ***, ***");
        }
        let empty = read(&[("username", "ann"), ("password", "")]).unwrap();
        assert_eq!(empty.redact("text"), "text");
    }
}
