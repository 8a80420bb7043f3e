//! Credentials for registries.

mod docker_config;
pub(super) mod helper;

use std::fmt;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize as _, Deserializer};

pub use docker_config::{DockerConfig, DockerConfigError, Entry};

use crate::source::origin::OriginError;

/// Credentials for a registry.
#[derive(Clone)]
pub enum Credentials {
    /// No credentials.
    Anonymous,
    /// A user and a password, or a token in its place.
    Password {
        /// The user.
        user: String,
        /// The password.
        password: SecretString,
    },
    /// A token that is exchanged for others (`identitytoken`).
    IdentityToken(SecretString),
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anonymous => "Anonymous",
            Self::Password { .. } => "Password",
            Self::IdentityToken(_) => "IdentityToken",
        })
    }
}

impl Credentials {
    /// Whether there are no credentials.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        matches!(self, Self::Anonymous)
    }

    /// Returns the value of `Authorization` for the `Basic` scheme, if there is a password.
    pub(super) fn basic(&self) -> Option<SecretString> {
        let Self::Password { user, password } = self else { return None };
        let both = SecretString::from(format!("{user}:{}", password.expose_secret()));
        Some(format!("Basic {}", STANDARD.encode(both.expose_secret())).into())
    }
}

/// Sources of credentials.
#[derive(Clone, Debug, Default)]
pub struct Keychain {
    /// Credentials for the registry of the address.
    pub given: Option<Credentials>,
    /// The docker config.
    pub docker: DockerConfig,
    /// Path of the docker config, for errors.
    pub file: Option<PathBuf>,
    /// Whether to run the credential helpers that the docker config names (`docker-credential-…`).
    pub helpers: bool,
}

impl Keychain {
    /// Returns the credentials for a repository; `given` only if it is in the registry of the address.
    pub(super) async fn of(
        &self,
        registry: &str,
        repository: &str,
        is_named: bool,
    ) -> Result<Credentials, OriginError> {
        if let (Some(given), true) = (&self.given, is_named) {
            return Ok(given.clone());
        }
        if let Some(name) = self.docker.helper(registry) {
            if !self.helpers {
                let error = format!(
                    "the docker config names docker-credential-{name}: credential helpers are not run here"
                );
                return Err(OriginError::Settings(error));
            }
            let found = helper::get(name.to_owned(), docker_config::server(registry).to_owned()).await;
            if let Some(credentials) = found.map_err(OriginError::Settings)? {
                return Ok(credentials);
            }
        }
        let file = self
            .file
            .as_ref()
            .map_or_else(|| "the docker config".to_owned(), |file| file.display().to_string());
        let entry = self.docker.entry(registry, repository).map(Entry::credentials).transpose();
        let entry = entry.map_err(|error| OriginError::Settings(format!("{file}: {error}")))?;
        Ok(entry.unwrap_or(Credentials::Anonymous))
    }
}

/// Deserializes a secret; an empty one counts as missing.
fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SecretString>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()).map(SecretString::from))
}
