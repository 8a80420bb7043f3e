//! Access to registries: client, credentials, mirrors and required signatures.

use std::str::FromStr;

use super::credentials::Keychain;
use super::signatures::Verification;
use crate::http::{Client, Url};

/// Access to registries.
#[derive(Clone, Debug)]
pub struct Access {
    /// The HTTP client, with its trusted CAs.
    pub client: Client,
    /// Whether to use plain HTTP for the registry of the address, which is not implied even for one on this machine.
    pub plain_http: bool,
    /// Mirrors, tried first in this order.
    pub mirrors: Vec<Mirror>,
    /// Other hosts that may receive credentials when a registry names them as its token realm.
    pub realms: Vec<String>,
    /// Credentials for registries.
    pub keychain: Keychain,
    /// Signature that a release must have.
    pub verification: Verification,
}

impl Access {
    /// Returns anonymous access over https, without mirrors, and without verification of signatures.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            client,
            plain_http: false,
            mirrors: Vec::new(),
            realms: Vec::new(),
            keychain: Keychain::default(),
            verification: Verification::default(),
        }
    }
}

/// A mirror of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// The mirrored registry, `host[:port]`.
    pub registry: String,
    /// URL of the mirror; its path precedes the names of repositories.
    pub url: Url,
}

/// An invalid mirror. Its URL may contain a password, so it is not shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid mirror: {0}; expected registry.example.com=https://mirror.example.com/prefix")]
pub struct MirrorError(&'static str);

impl FromStr for Mirror {
    type Err = MirrorError;

    fn from_str(text: &str) -> Result<Self, MirrorError> {
        let (registry, url) = text.split_once('=').ok_or(MirrorError("'=' is missing"))?;
        if registry.is_empty() || registry.contains('/') {
            return Err(MirrorError("expected a host, with an optional port, before '='"));
        }
        let url = Url::parse(url).map_err(|_| MirrorError("expected a URL after '='"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(MirrorError("the URL must be https or http"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(MirrorError("the URL has a user: credentials come from the docker config"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(MirrorError("the URL has a query or a fragment"));
        }
        Ok(Self { registry: registry.to_owned(), url })
    }
}
