//! The flags of commands that read releases from registries and GitHub.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::error::CliError;
use super::unused;
use crate::http::{Client, Options, Url};
use crate::source::address::Address;
use crate::source::github;
use crate::source::oci;
use crate::source::oci::credentials::{Credentials, DockerConfig, Keychain};
use crate::source::oci::signatures::Verification;
use crate::verify::{KeyError, PublicKey, identity::Identity};

/// The environment variable with the registry's password, as an alternative to a file. A flag with the password itself
/// would show in the process list.
const PASSWORD: &str = "STACKFLUX_REGISTRY_PASSWORD";
/// The environment variable with the token for GitHub.
const GITHUB_TOKEN: &str = "GITHUB_TOKEN";
/// Maximum number of bytes that are read of a file with settings; the rest is ignored.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Options for the connection to sources of releases.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Registry and GitHub")]
#[allow(clippy::doc_markdown, reason = "it is the text of --help, which knows no Markdown")]
pub(super) struct OriginAccess {
    /// Directory of docker login's config.json (default: $DOCKER_CONFIG, otherwise ~/.docker)
    #[arg(long, value_name = "DIRECTORY")]
    docker_config: Option<PathBuf>,
    /// User name for the registry, instead of the one from docker login
    #[arg(long, value_name = "NAME")]
    username: Option<String>,
    /// File with the password or token of --username (default: $STACKFLUX_REGISTRY_PASSWORD)
    #[arg(long, value_name = "FILE", requires = "username")]
    password_file: Option<PathBuf>,
    /// PEM file of CA certificates to trust in addition to the system's
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Use unencrypted HTTP for the registry (insecure)
    #[arg(long)]
    plain_http: bool,
    /// Mirror to try before a registry, as registry.example.com=https://mirror.example.com/prefix
    ///
    /// Can be given more than once.
    #[arg(long, value_name = "HOST=URL")]
    mirror: Vec<String>,
    /// Host on another domain that may issue tokens for the registry
    ///
    /// stackflux sends the registry's credentials to this host. Can be given more than once.
    #[arg(long, value_name = "HOST")]
    token_realm: Vec<String>,
    /// PEM file of the public key (ECDSA P-256) that must have signed each release with cosign
    ///
    /// Can be given more than once: then one of the keys must have signed the release.
    #[arg(long, value_name = "FILE", conflicts_with = "certificate_identity")]
    key: Vec<PathBuf>,
    /// Keyless signer identity that must have signed each release with cosign
    ///
    /// stackflux does not verify it: it prints the Flux OCIRepository that does, and exits.
    #[arg(long, value_name = "SUBJECT", requires = "certificate_oidc_issuer")]
    certificate_identity: Option<String>,
    /// OIDC issuer of --certificate-identity, as https://token.actions.githubusercontent.com
    #[arg(long, value_name = "URL", requires = "certificate_identity")]
    certificate_oidc_issuer: Option<String>,
    /// File with a token for GitHub (default: $GITHUB_TOKEN)
    #[arg(long, value_name = "FILE")]
    github_token_file: Option<PathBuf>,
    /// URL of the GitHub API, as https://github.example.com/api/v3 for a server of your own
    #[arg(long, value_name = "URL", default_value = github::GITHUB)]
    github_api: String,
}

impl OriginAccess {
    /// Refuses flags that this source does not use. `vendors` says whether charts are fetched from registries as well.
    pub(super) fn refuse_unused(&self, source: &Address, vendors: bool) -> Result<(), CliError> {
        let (is_registry, is_github) =
            (matches!(source, Address::Oci(_)), matches!(source, Address::GitHub(_)));
        if !is_registry && !vendors {
            let flags = [
                ("--docker-config", self.docker_config.is_some()),
                ("--username", self.username.is_some()),
                ("--mirror", !self.mirror.is_empty()),
                ("--token-realm", !self.token_realm.is_empty()),
            ];
            unused::refuse(flags, "the source is not a registry (oci://)")?;
        }
        if !is_registry && !is_github && !vendors {
            let flags = [("--ca-file", self.ca_file.is_some()), ("--plain-http", self.plain_http)];
            unused::refuse(flags, "the source is neither a registry (oci://) nor GitHub (github://)")?;
        }
        let flags = [
            ("--github-token-file", self.github_token_file.is_some()),
            ("--github-api", self.github_api != github::GITHUB),
        ];
        if is_github { Ok(()) } else { unused::refuse(flags, "the source is not GitHub (github://)") }
    }

    /// Creates a client that also trusts the CAs of `--ca-file`.
    pub(super) fn client(&self) -> Result<Client, CliError> {
        let ca = self.ca_file.as_deref().map(read).transpose()?;
        Ok(Client::new(Options { ca, ..Options::default() })?)
    }

    /// Whether a password is given that every registry would get: those of `docker login` are for one each.
    pub(super) fn has_password(&self) -> bool {
        self.username.is_some()
    }

    /// Returns the settings to access registries.
    pub(super) fn oci(&self) -> Result<oci::Access, CliError> {
        let mirrors = self.mirror.iter().map(|text| text.parse()).collect::<Result<_, oci::MirrorError>>();
        Ok(oci::Access {
            client: self.client()?,
            plain_http: self.plain_http,
            mirrors: mirrors?,
            realms: self.token_realm.clone(),
            keychain: self.keychain()?,
            verification: self.verification()?,
        })
    }

    /// Returns the settings to access GitHub.
    pub(super) fn github(&self) -> Result<github::Access, CliError> {
        let api = Url::parse(&self.github_api);
        let api = api.map_err(|error| CliError::usage(format!("--github-api: {error}")))?;
        let token = secret(self.github_token_file.as_deref(), GITHUB_TOKEN)?;
        Ok(github::Access { client: self.client()?, api, plain_http: self.plain_http, token })
    }

    /// Returns the signatures that a release must have before it is used.
    pub(super) fn verification(&self) -> Result<Verification, CliError> {
        if !self.key.is_empty() {
            let keys = self.key.iter().map(|file| public_key(file)).collect::<Result<_, _>>();
            return keys.map(Verification::Keys);
        }
        match (self.certificate_identity.clone(), self.certificate_oidc_issuer.clone()) {
            (Some(subject), Some(issuer)) => Ok(Verification::Identity(Identity { subject, issuer })),
            _ => Ok(Verification::Nothing),
        }
    }

    fn keychain(&self) -> Result<Keychain, CliError> {
        let given = match &self.username {
            Some(user) => Some(self.password(user)?),
            None => None,
        };
        let file = self.docker_config_file();
        let docker = match &file {
            Some(file) => DockerConfig::parse(&read(file)?)
                .map_err(|error| CliError::io(file, error).hint("docker login writes such a file"))?,
            None => DockerConfig::default(),
        };
        Ok(Keychain { given, docker, file, helpers: true })
    }

    fn password(&self, user: &str) -> Result<Credentials, CliError> {
        let password = secret(self.password_file.as_deref(), PASSWORD)?;
        let password = password.ok_or_else(|| {
            CliError::usage("--username needs a password")
                .hint(format!("pass --password-file, or set {PASSWORD}"))
        })?;
        Ok(Credentials::Password { user: user.to_owned(), password })
    }

    /// Returns the file of docker login: the one that the flag names must exist, any other one may be missing.
    fn docker_config_file(&self) -> Option<PathBuf> {
        if let Some(directory) = &self.docker_config {
            return Some(directory.join("config.json"));
        }
        let named = env::var_os("DOCKER_CONFIG").filter(|directory| !directory.is_empty()).map(PathBuf::from);
        let directory = named.or_else(|| Some(env::home_dir()?.join(".docker")))?;
        Some(directory.join("config.json")).filter(|file| file.is_file())
    }
}

fn public_key(file: &Path) -> Result<PublicKey, CliError> {
    let text = String::from_utf8(read(file)?).map_err(|_| CliError::io(file, "the file is not PEM"))?;
    text.parse().map_err(|error: KeyError| CliError::io(file, error))
}

/// Reads a secret from a file, without the trailing line break, or from the environment if there is no file.
fn secret(file: Option<&Path>, variable: &str) -> Result<Option<SecretString>, CliError> {
    let text = match file {
        Some(file) => {
            let text =
                String::from_utf8(read(file)?).map_err(|_| CliError::io(file, "the file is not UTF-8"))?;
            let text = text.trim_end_matches(['\r', '\n']).to_owned();
            if text.is_empty() {
                return Err(CliError::io(file, "the file is empty; expected a password or token"));
            }
            Some(text)
        }
        None => env::var(variable).ok().filter(|text| !text.is_empty()),
    };
    Ok(text.map(SecretString::from))
}

fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    use std::io::Read as _;
    let failed = |error| CliError::io(path, error);
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failed)?;
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
