//! How registries are reached: with which client, in whose name, and by which detours.

use std::str::FromStr;

use super::credentials::Keychain;
use super::signatures::Verification;
use crate::http::{Client, Url};

/// How registries are reached.
#[derive(Clone, Debug)]
pub struct Access {
    /// The client, which knows the CAs.
    pub client: Client,
    /// Whether the registry of the address is asked over plain HTTP. Also one on this machine is only when asked for.
    pub plain_http: bool,
    /// Mirrors, tried first and in this order.
    pub mirrors: Vec<Mirror>,
    /// Hosts that may see our credentials when a registry names them as its realm.
    pub realms: Vec<String>,
    /// Who we are.
    pub keychain: Keychain,
    /// What must have been verified of a release before it is used.
    pub verification: Verification,
}

impl Access {
    /// Anonymous, over https, without mirrors, and nothing is verified but digests.
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

/// Another place that has what a registry has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// The registry that it stands in for, `host[:port]`.
    pub registry: String,
    /// Where it is; a path stands before the names of its repositories.
    pub url: Url,
}

/// Why a text names no mirror. Its URL may hold a password, so it is not shown.
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
