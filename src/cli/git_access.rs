//! The flags of commands that use a Git server and make commits.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use jiff::Timestamp;
use secrecy::SecretString;

use super::error::CliError;
use super::unused::Flag;
use crate::git::{
    Access, BareRepository, Credentials, GitError, GitUrl, Identity, KnownHosts, Signer, SshKey,
    set_connection_memory,
};

/// The environment variable with the password, as an alternative to a file. A flag with the password itself would show
/// in the process list.
const PASSWORD: &str = "STACKFLUX_GIT_PASSWORD";

/// Options for the connection to a Git server.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Git server")]
#[allow(clippy::doc_markdown, reason = "it is the text of --help, which knows no Markdown")]
pub(super) struct GitAccess {
    /// User name for HTTPS (default: the user in the URL, otherwise git)
    ///
    /// Forges accept the user name git together with a token.
    #[arg(long, value_name = "NAME")]
    git_username: Option<String>,
    /// File with the password or token for HTTPS (default: $STACKFLUX_GIT_PASSWORD)
    #[arg(long, value_name = "FILE")]
    git_password_file: Option<PathBuf>,
    /// File with the private key for SSH (default: the keys of the SSH agent)
    #[arg(long, value_name = "FILE")]
    ssh_key_file: Option<PathBuf>,
    /// File with the passphrase of the private key, if it has one
    #[arg(long, value_name = "FILE", requires = "ssh_key_file")]
    ssh_key_password_file: Option<PathBuf>,
    /// File with the host keys to trust (default: ~/.ssh/known_hosts)
    #[arg(long, value_name = "FILE")]
    known_hosts_file: Option<PathBuf>,
    /// PEM file of CA certificates to trust instead of the system's
    #[arg(long, value_name = "FILE")]
    git_ca_file: Option<PathBuf>,
    /// Allow sending credentials over unencrypted HTTP (insecure)
    #[arg(long)]
    git_plain_http: bool,
    /// Memory in MiB for each connection to a Git server, and for all together (default: 512)
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(128..=1 << 20))]
    git_memory_limit: Option<u32>,
}

/// The author of a commit, and its signature.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Commit")]
pub(super) struct Authorship {
    /// Commit author, as Name <mail@example.org> (default: the one in Git's settings)
    #[arg(long, value_name = "NAME <MAIL>")]
    author: Option<String>,
    /// Sign the commit with this key: an SSH key file, or the ID of a key in the GnuPG keyring
    #[arg(long, value_name = "FILE|KEY")]
    signing_key: Option<String>,
    /// Signature format (default: ssh if --signing-key is a file, otherwise gpg)
    #[arg(long, value_name = "FORMAT", requires = "signing_key")]
    signing_format: Option<SigningFormat>,
}

/// The program that signs a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SigningFormat {
    /// Sign with ssh-keygen
    Ssh,
    /// Sign with GnuPG
    Gpg,
}

impl GitAccess {
    /// Returns the flags, which only a Git repository uses.
    pub(super) fn flags(&self) -> [Flag; 8] {
        [
            ("--git-username", self.git_username.is_some()),
            ("--git-password-file", self.git_password_file.is_some()),
            ("--ssh-key-file", self.ssh_key_file.is_some()),
            ("--ssh-key-password-file", self.ssh_key_password_file.is_some()),
            ("--known-hosts-file", self.known_hosts_file.is_some()),
            ("--git-ca-file", self.git_ca_file.is_some()),
            ("--git-plain-http", self.git_plain_http),
            ("--git-memory-limit", self.git_memory_limit.is_some()),
        ]
    }

    /// Returns the repository with the credentials to access it.
    pub(super) fn to(&self, url: GitUrl) -> Result<Access, CliError> {
        if let Some(mebibytes) = self.git_memory_limit {
            set_connection_memory(mebibytes);
        }
        let credentials = self.credentials(url.user().unwrap_or("git"))?;
        Ok(Access { url, credentials })
    }

    /// Returns the credentials. `user` is the user name for HTTPS if none is given.
    pub(super) fn credentials(&self, user: &str) -> Result<Credentials, CliError> {
        let user = self.git_username.as_deref().unwrap_or(user).to_owned();
        let ca = self.git_ca_file.as_deref();
        let ca = ca.map(|path| fs::read(path).map_err(|error| CliError::io(path, error))).transpose()?;
        Ok(Credentials {
            https: self.password()?.map(|password| (user, password)),
            ssh: self.key()?,
            known_hosts: self.known_hosts()?,
            ca,
            plain_http: self.git_plain_http,
        })
    }

    /// Returns another repository. The flags are for `own`: a different server does not get the password.
    pub(super) fn to_other(&self, url: GitUrl, own: Option<&GitUrl>) -> Result<Access, CliError> {
        let mut access = self.to(url)?;
        if own.is_some_and(|own| !own.is_same_server(&access.url)) {
            access.credentials.https = None;
        }
        Ok(access)
    }

    /// Whether a password is given.
    pub(super) fn has_password(&self) -> bool {
        self.git_password_file.is_some() || env::var(PASSWORD).is_ok_and(|text| !text.is_empty())
    }

    fn password(&self) -> Result<Option<SecretString>, CliError> {
        match &self.git_password_file {
            Some(path) => secret(path).map(Some),
            None => Ok(env::var(PASSWORD).ok().filter(|text| !text.is_empty()).map(SecretString::from)),
        }
    }

    fn key(&self) -> Result<Option<SshKey>, CliError> {
        let passphrase = self.ssh_key_password_file.as_deref().map(secret).transpose()?;
        match &self.ssh_key_file {
            Some(path) => {
                let key = SecretString::from(text(path)?);
                Ok(Some(SshKey::Key { key, passphrase }))
            }
            None => Ok(env::var_os("SSH_AUTH_SOCK").map(|_| SshKey::Agent)),
        }
    }

    fn known_hosts(&self) -> Result<Option<KnownHosts>, CliError> {
        let path = match (&self.known_hosts_file, env::home_dir()) {
            (Some(path), _) => path.clone(),
            (None, Some(home)) if home.join(".ssh/known_hosts").is_file() => home.join(".ssh/known_hosts"),
            (None, _) => return Ok(None),
        };
        Ok(Some(KnownHosts::new(text(&path)?, path.display().to_string())))
    }
}

impl Authorship {
    /// Returns the flags, which only a commit uses.
    pub(super) fn flags(&self) -> [Flag; 3] {
        [
            ("--author", self.author.is_some()),
            ("--signing-key", self.signing_key.is_some()),
            ("--signing-format", self.signing_format.is_some()),
        ]
    }

    /// Returns the author of a commit that is made now.
    pub(super) fn identity(&self) -> Result<Identity, CliError> {
        let text = match &self.author {
            Some(author) => author.clone(),
            None => configured_author().ok_or_else(|| {
                CliError::usage("missing commit author")
                    .hint("pass --author \"Name <mail@example.org>\", or set Git's user.name and user.email")
            })?,
        };
        Ok(Identity::parse(&text, Timestamp::now())?)
    }

    /// Returns the signer of a commit, if it is to be signed.
    pub(super) fn signer(&self) -> Option<Signer> {
        let key = self.signing_key.as_ref()?;
        let path = PathBuf::from(key);
        let format = self.signing_format.unwrap_or(if path.is_file() {
            SigningFormat::Ssh
        } else {
            SigningFormat::Gpg
        });
        Some(match format {
            SigningFormat::Ssh => Signer::SshFile(path),
            SigningFormat::Gpg => Signer::GpgKeyId(key.clone()),
        })
    }
}

/// Returns the author from Git's environment variables, otherwise from Git's settings.
fn configured_author() -> Option<String> {
    let config = git2::Config::open_default().ok();
    let setting = |variable: &str, key: &str| {
        let set = env::var(variable).ok();
        set.or_else(|| config.as_ref()?.get_string(key).ok()).filter(|text| !text.trim().is_empty())
    };
    let name = setting("GIT_AUTHOR_NAME", "user.name")?;
    let email = setting("GIT_AUTHOR_EMAIL", "user.email")?;
    Some(format!("{name} <{email}>"))
}

/// Returns the named branch, otherwise the default branch of the repository.
pub(super) fn branch_of(clone: &BareRepository, named: Option<&str>) -> Result<String, CliError> {
    match named {
        Some(name) => Ok(name.to_owned()),
        None => clone.default_branch().map_err(|error| explain(&error)),
    }
}

/// Adds a hint to an error.
pub(super) fn explain(error: &GitError) -> CliError {
    CliError::explained(error, error.hint())
}

fn text(path: &Path) -> Result<String, CliError> {
    fs::read_to_string(path).map_err(|error| CliError::io(path, error))
}

/// Reads the first line of a file, without the line break that editors append.
fn secret(path: &Path) -> Result<SecretString, CliError> {
    let text = text(path)?;
    match text.lines().next().filter(|line| !line.is_empty()) {
        Some(line) => Ok(SecretString::from(line)),
        None => Err(CliError::io(path, "the first line is empty; expected a password or token")),
    }
}

#[cfg(test)]
mod tests;
