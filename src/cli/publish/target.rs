//! The stack repository that releases are published to.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Arguments, explain};
use crate::cli::error::CliError;
use crate::cli::git_access::{self, Authorship};
use crate::git::{Clone, GitUrl};
use crate::names::ReleaseName;
use crate::publish::directory::DirectoryTarget;
use crate::publish::git::{Committing, GitTarget};
use crate::publish::{Existing, Prepared, PublishError, Published};
use crate::release::files::check_path;

/// The stack repository that releases are published to.
pub(super) enum Target {
    /// A directory of this machine.
    Directory(DirectoryTarget),
    /// A branch, and who commits to it.
    Git(Box<GitTarget>, Authorship),
}

/// Where a release was written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", untagged)]
pub(super) enum Place {
    Directory { directory: PathBuf },
    Commit { commit: String, branch: String },
}

impl Target {
    /// Opens what `--to` names. Nothing is written yet.
    pub(super) fn open(arguments: &Arguments) -> Result<Self, CliError> {
        let directory = directory(&arguments.path)?;
        let text = arguments.to.strip_prefix("git+").unwrap_or(&arguments.to);
        if !is_git(text) {
            let top = PathBuf::from(text);
            if is_bare_repository(&top) {
                return Err(CliError::usage(format!("{text} is a Git repository without a work tree"))
                    .hint("write file:// and its absolute path, to publish by commits"));
            }
            return Ok(Self::Directory(DirectoryTarget { top, directory }));
        }
        let url: GitUrl = text.parse()?;
        if !arguments.dry_run {
            // Better told before anything is fetched.
            arguments.authorship.identity()?;
        }
        let clone = Clone::temporary(arguments.git.to(url)?).map_err(|error| git_access::explain(&error))?;
        let target = GitTarget { clone, branch: arguments.branch.clone(), directory };
        Ok(Self::Git(Box::new(target), arguments.authorship.clone()))
    }

    /// The repository, where it is one that commits are pushed to.
    pub(super) fn url(&self) -> Option<&GitUrl> {
        match self {
            Self::Directory(_) => None,
            Self::Git(target, _) => Some(&target.clone.access().url),
        }
    }

    /// The releases that are there.
    pub(super) fn names(&self) -> Result<BTreeSet<ReleaseName>, PublishError> {
        match self {
            Self::Directory(target) => target.names(),
            Self::Git(target, _) => target.names(),
        }
    }

    /// What is there where this release is to be written.
    pub(super) fn existing(&self, name: &ReleaseName) -> Result<Existing, PublishError> {
        match self {
            Self::Directory(target) => target.existing(name),
            Self::Git(target, _) => target.existing(name),
        }
    }

    /// Writes a release.
    pub(super) fn publish(&self, prepared: &Prepared, vendoring: bool) -> Result<Published<Place>, CliError> {
        let published = match self {
            Self::Directory(target) => target
                .publish(prepared, vendoring)
                .map_err(|error| explain(&error))?
                .map(|directory| Place::Directory { directory }),
            Self::Git(target, authorship) => {
                let (identity, signer) = (authorship.identity()?, authorship.signer());
                let how = Committing { identity, signer, pull_request: false };
                target
                    .publish(prepared, vendoring, &how)
                    .map_err(|error| explain(&error))?
                    .map(|done| Place::Commit { commit: done.commit.to_string(), branch: done.branch })
            }
        };
        Ok(published)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(target) => target.top.display().fmt(f),
            Self::Git(target, _) => write!(f, "{} (branch {})", target.clone.access().url, target.branch),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory { directory } => directory.display().fmt(f),
            Self::Commit { commit, branch } => write!(f, "commit {commit} on branch {branch}"),
        }
    }
}

/// `--path` without what does not matter.
fn directory(path: &str) -> Result<String, CliError> {
    let directory = path.trim_end_matches('/');
    if matches!(directory, "" | ".") {
        return Ok(String::new());
    }
    check_path(directory).map_err(|error| CliError::usage(format!("--path {path}: {error}")))?;
    Ok(directory.to_owned())
}

/// Whether the text is a URL, or `user@host:path` as Git has it, and not a directory.
fn is_git(text: &str) -> bool {
    let host = text.split_once(':').map_or("", |(host, _)| host);
    text.contains("://") || (host.contains('@') && !host.contains('/'))
}

fn is_bare_repository(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}
