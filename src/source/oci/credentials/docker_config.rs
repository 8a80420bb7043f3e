//! The docker config, which `docker login` writes (`config.json`) and a Secret of type `dockerconfigjson` contains.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::{Credentials, secret};

/// Docker Hub, as `docker login` calls it.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";
/// The names of Docker Hub.
const DOCKER_HUB_HOSTS: [&str; 3] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/// The credentials in a docker config.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DockerConfig {
    auths: BTreeMap<String, Entry>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: Option<String>,
}

/// The entry of a registry.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct Entry {
    #[serde(deserialize_with = "secret")]
    auth: Option<SecretString>,
    username: Option<String>,
    #[serde(deserialize_with = "secret")]
    password: Option<SecretString>,
    #[serde(deserialize_with = "secret")]
    identitytoken: Option<SecretString>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entry")
    }
}

/// An invalid docker config. Nothing of its content is shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DockerConfigError {
    /// The text is not the JSON of a docker config.
    #[error("invalid docker config (line {line}, column {column})")]
    Json {
        /// The line, counted from 1.
        line: usize,
        /// The column.
        column: usize,
    },
    /// The `auth` of a registry is not in the format of `docker login`.
    #[error("the field auth of the registry is not the Base64 of user:password")]
    Auth,
}

impl DockerConfig {
    /// Parses the content of the file.
    pub fn parse(json: &[u8]) -> Result<Self, DockerConfigError> {
        let failed = |error: serde_json::Error| {
            let (line, column) = (error.line(), error.column());
            DockerConfigError::Json { line, column }
        };
        serde_json::from_slice(json).map_err(failed)
    }

    /// Returns the credential helper (`docker-credential-<name>`) of a registry (`host[:port]`).
    #[must_use]
    pub fn helper(&self, registry: &str) -> Option<&str> {
        let mut own = self.cred_helpers.iter().filter(|(key, _)| is_same_host(plain(key), registry));
        let helper = own.next().map(|(_, helper)| helper).or(self.creds_store.as_ref());
        helper.map(String::as_str).filter(|helper| !helper.is_empty())
    }

    /// Returns the entry of a repository: the longest matching path, as in podman and Kubernetes, or otherwise the host.
    #[must_use]
    pub fn entry(&self, registry: &str, repository: &str) -> Option<&Entry> {
        let matching = self.auths.iter().filter_map(|(key, entry)| {
            let key = plain(key);
            let (host, path) = key.split_once('/').unwrap_or((key, ""));
            let rest = repository.strip_prefix(path)?;
            let is_part = path.is_empty() || rest.is_empty() || rest.starts_with('/');
            (is_part && is_same_host(host, registry)).then_some((path.len(), entry))
        });
        matching.max_by_key(|(length, _)| *length).map(|(_, entry)| entry)
    }
}

impl Entry {
    /// Returns the credentials; anonymous if `docker login` left the entry empty because a helper stores them.
    pub fn credentials(&self) -> Result<Credentials, DockerConfigError> {
        if let Some(token) = &self.identitytoken {
            return Ok(Credentials::IdentityToken(token.clone()));
        }
        if let (Some(user), Some(password)) = (&self.username, &self.password) {
            return Ok(Credentials::Password { user: user.clone(), password: password.clone() });
        }
        let Some(auth) = &self.auth else { return Ok(Credentials::Anonymous) };
        let decoded = STANDARD.decode(auth.expose_secret().trim()).map_err(|_| DockerConfigError::Auth)?;
        let decoded = String::from_utf8(decoded).map_err(|_| DockerConfigError::Auth)?;
        let (user, password) = decoded.split_once(':').ok_or(DockerConfigError::Auth)?;
        // Old versions of docker padded with zero bytes.
        let password = password.trim_end_matches('\0').to_owned().into();
        Ok(Credentials::Password { user: user.to_owned(), password })
    }
}

/// Returns the name of a registry for helpers.
pub(super) fn server(registry: &str) -> &str {
    if DOCKER_HUB_HOSTS.contains(&registry) { DOCKER_HUB } else { registry }
}

/// Returns a key of `auths` without the scheme and the version of the API: `host[:port][/path]`.
fn plain(key: &str) -> &str {
    let key = key.split_once("://").map_or(key, |(_, rest)| rest).trim_end_matches('/');
    key.strip_suffix("/v1").or_else(|| key.strip_suffix("/v2")).unwrap_or(key)
}

fn is_same_host(one: &str, other: &str) -> bool {
    let is_hub = |host: &str| DOCKER_HUB_HOSTS.iter().any(|name| name.eq_ignore_ascii_case(host));
    one.eq_ignore_ascii_case(other) || (is_hub(one) && is_hub(other))
}
