//! The flags of commands that open pull requests.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use secrecy::SecretString;

use super::error::CliError;
use super::unused::Flag;
use crate::forge::{Forge, ForgeError, ForgeKind, Opened, PullRequest, Repository};
use crate::git::GitUrl;
use crate::http::{Client, Options};

/// The environment variable with the token, as an alternative to a file. A flag with the token itself would show in the
/// process list.
const TOKEN: &str = "STACKFLUX_FORGE_TOKEN";

/// Options for opening a pull request.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Pull request")]
#[allow(clippy::doc_markdown, reason = "it is the text of --help, which knows no Markdown")]
pub(super) struct ForgeAccess {
    /// Push to a separate branch and open a pull request, unless it is already open
    #[arg(long)]
    pull_request: bool,
    /// Kind of forge, if the host name of the repository does not reveal it (Forgejo: gitea)
    #[arg(long, value_name = "FORGE", requires = "pull_request")]
    forge: Option<Kind>,
    /// URL of the forge's API, if it is not the usual one, as https://git.example.com/api/v1
    #[arg(long, value_name = "URL", requires = "pull_request")]
    forge_api: Option<String>,
    /// File with a token that may open pull requests (default: $STACKFLUX_FORGE_TOKEN)
    #[arg(long, value_name = "FILE", requires = "pull_request")]
    forge_token_file: Option<PathBuf>,
    /// Title of the pull request (default: the first line of the commit message)
    #[arg(long, value_name = "TEXT", requires = "pull_request")]
    title: Option<String>,
}

/// The software of a forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// GitHub
    Github,
    /// GitLab
    Gitlab,
    /// Gitea or Forgejo
    Gitea,
}

impl From<Kind> for ForgeKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Github => Self::GitHub,
            Kind::Gitlab => Self::GitLab,
            Kind::Gitea => Self::Gitea,
        }
    }
}

impl ForgeAccess {
    /// Returns the flags, which only a pull request uses.
    pub(super) fn flags(&self) -> [Flag; 4] {
        [
            ("--forge", self.forge.is_some()),
            ("--forge-api", self.forge_api.is_some()),
            ("--forge-token-file", self.forge_token_file.is_some()),
            ("--title", self.title.is_some()),
        ]
    }

    /// Whether a pull request was requested.
    pub(super) fn is_wanted(&self) -> bool {
        self.pull_request
    }

    /// Returns the forge of a repository. Call this before pushing anything, because it reports missing settings. `ca`
    /// has certificates to trust in addition to the system's, as PEM.
    pub(super) fn to(&self, url: &GitUrl, ca: Option<Vec<u8>>) -> Result<Forge, CliError> {
        let kind = self.forge.map(ForgeKind::from);
        let repository =
            Repository::of(url, kind, self.forge_api.as_deref()).map_err(|error| explain(&error))?;
        let token = self.token()?.ok_or_else(|| {
            CliError::usage(format!("missing forge token for a pull request in {repository}"))
                .hint(format!("pass --forge-token-file, or set {TOKEN}"))
        })?;
        let client = Client::new(Options { ca, ..Options::default() })?;
        Ok(Forge::new(client, repository, token))
    }

    /// Opens the pull request of a pushed branch, or finds the open one. `--title` overrides the title in `request`.
    pub(super) async fn open(&self, forge: &Forge, request: PullRequest) -> Result<Opened, CliError> {
        let title = self.title.clone().unwrap_or(request.title);
        let opened = forge.pull_request(&PullRequest { title, ..request }).await;
        opened.map_err(|error| explain(&error))
    }

    fn token(&self) -> Result<Option<SecretString>, CliError> {
        let text = match &self.forge_token_file {
            Some(file) => Some(first_line(file)?),
            None => env::var(TOKEN).ok(),
        };
        Ok(text.filter(|text| !text.is_empty()).map(SecretString::from))
    }
}

/// Adds a hint to an error.
fn explain(error: &ForgeError) -> CliError {
    let hint = match error {
        ForgeError::Unknown { .. }
        | ForgeError::Api(_)
        | ForgeError::NoRepository { .. }
        | ForgeError::Refused { status: 300..=399, .. } => {
            Some("set the kind of forge with --forge, and the URL of its API with --forge-api")
        }
        ForgeError::Limited { .. } => {
            Some("wait, then run the command again: it continues with what it finds")
        }
        _ => None,
    };
    CliError::explained(error, hint)
}

/// Reads the first line of a file, without the line break that editors append.
fn first_line(path: &Path) -> Result<String, CliError> {
    let text = fs::read_to_string(path).map_err(|error| CliError::io(path, error))?;
    match text.lines().next().map(str::trim).filter(|line| !line.is_empty()) {
        Some(line) => Ok(line.to_owned()),
        None => Err(CliError::io(path, "the first line is empty; expected a token")),
    }
}
