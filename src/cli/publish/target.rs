//! The stack repository that releases are published to.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Arguments, explain};
use crate::cli::error::CliError;
use crate::cli::git_access::{self, Authorship};
use crate::forge::{Forge, PullRequest, fenced};
use crate::git::{BareRepository, GitUrl, GitUrlError, Message};
use crate::names::ReleaseName;
use crate::publish::directory::DirectoryTarget;
use crate::publish::git::{Committed, Committing, GitTarget};
use crate::publish::{Existing, Prepared, PublishError, Published};
use crate::release::files::check_path;

/// The stack repository that releases are published to.
pub(super) enum Target {
    /// A local directory.
    Directory(DirectoryTarget),
    /// A branch of a Git repository.
    Git(Box<Branch>),
}

/// A branch of a Git repository.
pub(super) struct Branch {
    target: GitTarget,
    authorship: Authorship,
    /// The forge for pull requests; `None` if the branch itself is pushed to.
    forge: Option<Forge>,
}

/// The destination that a release was written to.
#[derive(Debug, Serialize)]
#[serde(rename_all_fields = "camelCase", untagged)]
pub(super) enum Destination {
    Directory {
        directory: PathBuf,
    },
    Commit {
        commit: String,
        branch: String,
        #[serde(skip)]
        message: Message,
    },
    PullRequest {
        commit: String,
        branch: String,
        pull_request: String,
    },
}

impl Target {
    /// Opens the target of `--to`, without writing anything.
    pub(super) fn open(arguments: &Arguments) -> Result<Self, CliError> {
        let directory = directory(&arguments.path)?;
        let text = arguments.to.strip_prefix("git+").unwrap_or(&arguments.to);
        if !is_git(text) {
            let top = PathBuf::from(text);
            if is_user_at_host(text) && !top.exists() {
                return Err(CliError::usage(format!("{text}: directory not found")).hint(
                    "write a Git repository as user@host:path, and a directory with @ in its name as ./a@b",
                ));
            }
            if is_bare_repository(&top) {
                return Err(CliError::usage(format!("{text} is a bare Git repository"))
                    .hint("to publish by commits, pass file:// and its absolute path"));
            }
            if arguments.forge.is_wanted() {
                return Err(CliError::usage(format!(
                    "{text} is a directory, but --pull-request requires a Git repository"
                ))
                .hint("pass the URL of the Git repository"));
            }
            return Ok(Self::Directory(DirectoryTarget { top, directory }));
        }
        let url: GitUrl = text.parse().map_err(|error: GitUrlError| match error {
            GitUrlError::Form(_) => CliError::usage(error.to_string())
                .hint("write a directory with a colon in its name as ./name:more"),
            error => error.into(),
        })?;
        if !arguments.dry_run {
            // Report a missing author before anything is fetched.
            arguments.authorship.identity()?;
        }
        let access = arguments.git.to(url)?;
        let is_proposed = arguments.forge.is_wanted() && !arguments.dry_run;
        let forge = is_proposed.then(|| arguments.forge.to(&access.url, access.credentials.ca.clone()));
        let (authorship, forge) = (arguments.authorship.clone(), forge.transpose()?);
        let clone = BareRepository::temporary(access).map_err(|error| git_access::explain(&error))?;
        let branch = git_access::branch_of(&clone, arguments.branch.as_deref())?;
        let target = GitTarget { clone, branch, directory };
        Ok(Self::Git(Box::new(Branch { target, authorship, forge })))
    }

    /// Returns the URL, if the target is a Git repository.
    pub(super) fn url(&self) -> Option<&GitUrl> {
        match self {
            Self::Directory(_) => None,
            Self::Git(branch) => Some(&branch.target.clone.access().url),
        }
    }

    /// Returns the releases that the target has.
    pub(super) fn names(&self) -> Result<BTreeSet<ReleaseName>, PublishError> {
        match self {
            Self::Directory(target) => target.names(),
            Self::Git(branch) => branch.target.names(),
        }
    }

    /// Returns what the target already has of this release.
    pub(super) fn existing(&self, name: &ReleaseName) -> Result<Existing, PublishError> {
        match self {
            Self::Directory(target) => target.existing(name),
            Self::Git(branch) => branch.target.existing(name),
        }
    }

    /// Writes a release.
    pub(super) fn publish(
        &self,
        prepared: &Prepared,
        vendoring: bool,
    ) -> Result<Published<Destination>, CliError> {
        Ok(match self {
            Self::Directory(target) => {
                let published = target.publish(prepared, vendoring).map_err(|error| explain(&error))?;
                published.map(|directory| Destination::Directory { directory })
            }
            Self::Git(branch) => {
                let Branch { target, authorship, forge } = &**branch;
                let (identity, signer) = (authorship.identity()?, authorship.signer());
                let how = Committing { identity, signer, pull_request: forge.is_some() };
                let published = target.publish(prepared, vendoring, &how).map_err(|error| explain(&error))?;
                published.map(|Committed { commit, branch, message }| Destination::Commit {
                    commit: commit.to_string(),
                    branch,
                    message,
                })
            }
        })
    }

    /// Opens the pull request of a release that was written to a branch of its own, or finds it.
    pub(super) async fn propose(
        &self,
        arguments: &Arguments,
        place: Destination,
    ) -> Result<Destination, CliError> {
        let (Self::Git(of), Destination::Commit { commit, branch, message }) = (self, &place) else {
            return Ok(place);
        };
        let Branch { target, forge: Some(forge), .. } = &**of else { return Ok(place) };
        let trailers = message.trailers.iter().map(|(key, value)| format!("{key}: {value}\n"));
        let trailers = trailers.collect::<String>();
        // Names and versions come from charts, which may have any author.
        let body = fenced(&format!("{}\n\n{trailers}", message.body));
        let (head, base, title) = (branch.clone(), target.branch.clone(), message.subject.clone());
        let opened = arguments.forge.open(forge, PullRequest { head, base, title, body }).await?;
        let (commit, branch) = (commit.clone(), branch.clone());
        Ok(Destination::PullRequest { commit, branch, pull_request: opened.url })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(target) => target.top.display().fmt(f),
            Self::Git(branch) => {
                write!(f, "{} (branch {})", branch.target.clone.access().url, branch.target.branch)
            }
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory { directory } => directory.display().fmt(f),
            Self::Commit { commit, branch, .. } => write!(f, "commit {commit} on branch {branch}"),
            Self::PullRequest { commit, pull_request, .. } => {
                write!(f, "{pull_request} with commit {commit}")
            }
        }
    }
}

/// Normalizes `--path`.
fn directory(path: &str) -> Result<String, CliError> {
    let directory = path.trim_end_matches('/');
    if matches!(directory, "" | ".") {
        return Ok(String::new());
    }
    check_path(directory).map_err(|error| CliError::usage(format!("--path {path}: {error}")))?;
    Ok(directory.to_owned())
}

/// Whether the text is the address of a Git repository and not a directory. As in Git, a text with a `:`
/// before its first `/` is not a path.
pub(super) fn is_git(text: &str) -> bool {
    text.split_once(':').is_some_and(|(before, _)| !before.contains('/'))
}

/// Whether the text of a directory begins like the address of a Git repository without its path.
fn is_user_at_host(text: &str) -> bool {
    let first = text.split('/').next().unwrap_or_default();
    first.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty())
}

fn is_bare_repository(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_without_a_path_is_recognized() {
        for (text, expected) in
            [("a@b", true), ("git@host/stacks", true), ("./a@b", false), ("stacks/a@b", false), ("@b", false)]
        {
            assert_eq!(is_user_at_host(text), expected, "{text}");
        }
        assert!(is_git("git@host:stacks.git") && !is_git("a@b"));
    }
}
