//! The shared part of `promote`, `rollback` and `history`: the stack repository with its stages.

pub(super) mod inputs;
pub(super) mod propose;

use std::collections::BTreeSet;
use std::path::Path;

use super::error::CliError;
use super::git_access::{GitAccess, explain};
use crate::compare::Side;
use crate::git::{BareRepository, CommitId, EntryKind, GitError, GitUrl, Reference, Snapshot};
use crate::names::ReleaseName;
use crate::promote::follow::StageTarget;
use crate::promote::holds::{self, Holds};
use crate::promote::refusal::Refusal;
use crate::promote::stages::{self, Stage, StageError, Stages};
use crate::promote::yaml::Problems;
use crate::release::{Finding, Findings, Limits, Release};

/// Which stack repository.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Stack repository")]
pub(super) struct RepositoryArguments {
    /// URL or local directory of the stack repository (default: the remote `origin`)
    ///
    /// The default is the remote `origin` of the work tree in the current directory.
    #[arg(long, value_name = "URL")]
    repository: Option<String>,
    /// Branch with stackflux.yaml, which is also the branch of stages that name no other
    #[arg(long, value_name = "NAME", default_value = "main")]
    branch: String,
    #[command(flatten)]
    access: GitAccess,
}

/// A stack repository with stages.
pub(super) struct Repository {
    pub(super) clone: BareRepository,
    pub(super) stages: Stages,
    branch: String,
    url: String,
}

/// The error of an operation on a stage.
#[derive(Debug, thiserror::Error)]
pub(super) enum StageFailure {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Stage(#[from] StageError),
    #[error("{0}")]
    Files(#[from] Problems),
    #[error("the stack repository has no branch {0}")]
    NoBranch(String),
    #[error("the stack repository has no {file} on branch {branch}: there are no stages")]
    NoStages { file: &'static str, branch: String },
    #[error("{path} cannot be used:\n{findings}")]
    Unusable { path: String, findings: Findings },
    #[error("{path}: {finding}")]
    Ignore { path: String, finding: Box<Finding> },
}

impl StageFailure {
    /// Adds a hint to the error.
    pub(super) fn explained(&self) -> CliError {
        let failed = CliError::usage(self.to_string());
        let hint = match self {
            Self::Git(error) => return explain(error),
            Self::Refused(refusal) => refusal.hint(),
            Self::NoStages { .. } => {
                Some("see docs/do/promote.md for its content, or select its branch with --branch".to_owned())
            }
            _ => None,
        };
        if let Some(hint) = hint { failed.hint(hint) } else { failed }
    }
}

impl RepositoryArguments {
    /// Fetches the branch with the stages, and reads them.
    pub(super) fn open(&self) -> Result<Repository, CliError> {
        let url: GitUrl = match &self.repository {
            Some(url) => url.parse()?,
            None => origin()?.parse()?,
        };
        let clone = BareRepository::temporary(self.access.to(url)?).map_err(|error| explain(&error))?;
        let stages = stages(&clone, &self.branch).map_err(|failure| failure.explained())?;
        let url = clone.access().url.to_string();
        Ok(Repository { clone, stages, branch: self.branch.clone(), url })
    }
}

/// Returns the URL of the remote `origin` of the work tree in the current directory.
fn origin() -> Result<String, CliError> {
    let remote = || -> Result<String, git2::Error> {
        let repository = git2::Repository::discover(Path::new("."))?;
        Ok(repository.find_remote("origin")?.url()?.to_owned())
    };
    let found = match remote() {
        Ok(url) => Some(url),
        Err(error) if error.code() == git2::ErrorCode::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    found.ok_or_else(|| {
        CliError::usage("unknown stack repository: this is not a work tree with a remote origin")
            .hint("pass its URL with --repository")
    })
}

fn stages(clone: &BareRepository, branch: &str) -> Result<Stages, StageFailure> {
    let tip = fetched(clone, branch)?;
    let file = clone.snapshot(Some(tip))?.file(stages::FILE)?;
    let file =
        file.ok_or_else(|| StageFailure::NoStages { file: stages::FILE, branch: branch.to_owned() })?;
    Ok(Stages::parse(stages::FILE, &file.content, Some(branch))?)
}

fn fetched(clone: &BareRepository, branch: &str) -> Result<CommitId, StageFailure> {
    let tip = clone.fetch(&Reference::Branch(branch.to_owned()))?;
    tip.ok_or_else(|| StageFailure::NoBranch(branch.to_owned()))
}

impl Repository {
    /// Returns the branch of a stage.
    pub(super) fn branch_of<'a>(&'a self, stage: &'a Stage) -> &'a str {
        stage.branch.as_deref().unwrap_or(&self.branch)
    }

    /// Returns a stage with its branch and repository.
    pub(super) fn place<'a>(&'a self, stage: &'a Stage) -> StageTarget<'a> {
        StageTarget { stage, branch: self.branch_of(stage), repository: &self.url }
    }

    /// Fetches the last commit of a stage's branch, and its files.
    pub(super) fn tip(&self, stage: &Stage) -> Result<(CommitId, Snapshot<'_>), StageFailure> {
        let commit = fetched(&self.clone, self.branch_of(stage))?;
        Ok((commit, self.clone.snapshot(Some(commit))?))
    }

    /// Reads the holds on the branch of a stage.
    pub(super) fn holds(&self, snapshot: &Snapshot) -> Result<Holds, StageFailure> {
        let file = snapshot.file(holds::FILE)?;
        Ok(Holds::parse(file.as_ref().map(|file| file.content.as_slice()), Some(&self.stages))?)
    }
}

/// Returns the releases of a stage. Ignores directories with invalid release names.
pub(super) fn releases(snapshot: &Snapshot, stage: &Stage) -> Result<BTreeSet<ReleaseName>, StageFailure> {
    let entries = snapshot.entries(&stage.path)?;
    let directories = entries.iter().filter(|entry| entry.kind == EntryKind::Directory);
    Ok(directories.filter_map(|entry| entry.name.parse().ok()).collect())
}

/// Loads and checks the content of a release in a stage.
pub(super) fn side(snapshot: &Snapshot, stage: &Stage, name: &ReleaseName) -> Result<Side, StageFailure> {
    let (limits, path) = (Limits::default(), stage.release_path(name));
    let files = snapshot.files(&path, &limits)?.without_ignored();
    let files = files.map_err(|finding| StageFailure::Ignore { path: path.clone(), finding })?;
    let loaded = Release::load(name, files, &limits);
    Ok(loaded.map_err(|findings| StageFailure::Unusable { path, findings })?.into())
}
