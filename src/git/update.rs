//! Updates a branch that others change at the same time.

use std::thread;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use git2::Oid;

use super::error::found;
use super::{BareRepository, CommitId, Edit, GitError, Identity, Pushed, Reference, Signer, Snapshot};
use crate::error::{Class, Classify};

/// Maximum number of retries after a push that failed because the branch moved or the connection broke.
const MAX_ATTEMPTS: usize = 100;

/// Maximum number of times that the connection may break during a push.
const MAX_BREAKS: u32 = 3;

/// The branch to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The branch that the change is based on.
    pub branch: String,
    /// The branch to push to, for a pull request. `None`: `branch`.
    pub push_to: Option<String>,
}

/// A change, made for a snapshot of the branch.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The changed files.
    pub edit: Edit,
    /// The commit message.
    pub message: String,
    /// The author and committer.
    pub identity: Identity,
}

/// The result of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updated {
    /// The branch already has the change.
    Nothing,
    /// The branch of the pull request already has the change, at this commit.
    Present(CommitId),
    /// A commit was pushed.
    Pushed {
        /// The commit.
        commit: CommitId,
        /// Number of pushes: more than one if the branch moved or the connection broke.
        attempts: u32,
    },
}

/// An error of an update.
#[derive(Debug, thiserror::Error)]
pub enum PushUpdateError<E> {
    /// The Git operation failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The closure that makes the change failed.
    #[error(transparent)]
    Change(E),
    /// The branch moved before every push.
    #[error(
        "{url}: the push to branch {branch} failed {attempts} times because others changed it: {server_message}"
    )]
    Busy {
        /// The repository.
        url: String,
        /// The branch.
        branch: String,
        /// Number of pushes.
        attempts: u32,
        /// The server's last text.
        server_message: String,
    },
    /// The branch of the pull request has other commits.
    #[error(
        "{url}: the branch {branch} has other changes than the ones for this pull request: merge or delete it first"
    )]
    Occupied {
        /// The repository.
        url: String,
        /// The branch.
        branch: String,
    },
}

impl<E: Classify> Classify for PushUpdateError<E> {
    fn class(&self) -> Class {
        match self {
            Self::Git(error) => error.class(),
            Self::Change(error) => error.class(),
            Self::Busy { .. } => Class::Transient,
            Self::Occupied { .. } => Class::Terminal,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Git(error) => error.reason(),
            Self::Change(error) => error.reason(),
            Self::Busy { .. } => "GitBusy",
            Self::Occupied { .. } => "GitBranchOccupied",
        }
    }
}

/// Fetches the branch, calls `change` with its tip, commits and pushes. If the branch moves in between, starts over on the
/// new tip. In an empty repository, the branch is created. If the connection breaks during the push, checks whether the
/// commit arrived. An error of `change` ends the update.
pub fn update<E>(
    clone: &BareRepository,
    target: &Target,
    signer: Option<&Signer>,
    mut change: impl FnMut(&Snapshot<'_>) -> Result<Option<Proposal>, E>,
) -> Result<Updated, PushUpdateError<E>> {
    let pauses = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(20))
        .with_max_delay(Duration::from_millis(500))
        .with_max_times(MAX_ATTEMPTS)
        .with_jitter();
    let mut pauses = pauses.build();
    let (mut attempts, mut breaks) = (0, 0);
    let mut uncertain = None;
    loop {
        let (commit, expected) = match prepare(clone, target, signer, uncertain, &mut change)? {
            Step::Over(Updated::Pushed { commit, .. }) => return Ok(Updated::Pushed { commit, attempts }),
            Step::Over(updated) => return Ok(updated),
            Step::Push { commit, expected } => (commit, expected),
        };
        attempts += 1;
        let server_message = match clone.push(commit, target.pushed(), expected) {
            Ok(Pushed::Done) => return Ok(Updated::Pushed { commit, attempts }),
            Ok(Pushed::Rejected(server_message)) => server_message,
            Err(GitError::Transport(error)) if error.is_connection_error() => {
                uncertain = Some(commit);
                breaks += 1;
                if breaks > MAX_BREAKS {
                    return Err(GitError::from(error).into());
                }
                error.to_string()
            }
            Err(error) => return Err(error.into()),
        };
        let Some(pause) = pauses.next() else {
            let (url, branch) = (clone.access().url.to_string(), target.pushed().to_owned());
            return Err(PushUpdateError::Busy { url, branch, attempts, server_message });
        };
        thread::sleep(pause);
    }
}

impl Target {
    fn pushed(&self) -> &str {
        self.push_to.as_deref().unwrap_or(&self.branch)
    }
}

enum Step {
    Over(Updated),
    /// Push this commit, if the branch is still at `expected`.
    Push {
        commit: CommitId,
        expected: Option<CommitId>,
    },
}

fn prepare<E>(
    clone: &BareRepository,
    target: &Target,
    signer: Option<&Signer>,
    uncertain: Option<CommitId>,
    change: &mut impl FnMut(&Snapshot<'_>) -> Result<Option<Proposal>, E>,
) -> Result<Step, PushUpdateError<E>> {
    let base = clone.fetch_to_change(&target.branch)?;
    let there = match &target.push_to {
        Some(_) if base.is_none() => {
            let (url, branch) = (clone.access().url.to_string(), target.branch.clone());
            return Err(GitError::NoBranch { url, branch, branches: Vec::new() }.into());
        }
        Some(branch) => clone.fetch(&Reference::Branch(branch.clone()))?,
        None => base,
    };
    if let (Some(commit), Some(there)) = (uncertain, there) {
        // The connection broke after the commit had arrived.
        if clone.is_ancestor(commit, there)? {
            return Ok(Step::Over(Updated::Pushed { commit, attempts: 0 }));
        }
    }
    let Some(proposal) = change(&clone.snapshot(base)?).map_err(PushUpdateError::Change)? else {
        return Ok(Step::Over(Updated::Nothing));
    };
    let Proposal { edit, message, identity } = &proposal;
    let Some(commit) = clone.commit(base, edit, message, identity, signer)? else {
        return Ok(Step::Over(Updated::Nothing));
    };
    match (&target.push_to, base, there) {
        (Some(branch), Some(base), Some(there)) if !clone.is_ancestor(there, base)? => {
            Ok(onto_pull_request(clone, branch, &proposal, signer, (base, there, commit))?)
        }
        _ => Ok(Step::Push { commit, expected: there }),
    }
}

/// Prepares the commit for a pull request branch that exists and is not merged. The branch is never reset: if its base has
/// moved, a merge commit updates it.
fn onto_pull_request<E>(
    clone: &BareRepository,
    branch: &str,
    proposal: &Proposal,
    signer: Option<&Signer>,
    (base, there, commit): (CommitId, CommitId, CommitId),
) -> Result<Step, PushUpdateError<E>> {
    let (wanted, has) = (clone.tree(commit)?, clone.tree(there)?);
    if wanted == has {
        return Ok(Step::Over(Updated::Present(there)));
    }
    if applied_earlier(clone, proposal, base, there)? != Some(has) {
        let url = clone.access().url.to_string();
        return Err(PushUpdateError::Occupied { url, branch: branch.to_owned() });
    }
    let Proposal { message, identity, .. } = proposal;
    let commit = clone.commit_tree(&[there, base], wanted, message, identity, signer)?;
    Ok(Step::Push { commit, expected: Some(there) })
}

/// Returns the tree of the same change on the merge base of both branches; `None` if the change does not apply there.
fn applied_earlier(
    clone: &BareRepository,
    proposal: &Proposal,
    base: CommitId,
    there: CommitId,
) -> Result<Option<Oid>, GitError> {
    let Some(parted) = found(clone.repository.merge_base(base.0, there.0))? else { return Ok(None) };
    let tree = clone.tree(CommitId(parted))?;
    match proposal.edit.apply(&clone.repository, Some(tree)) {
        Err(GitError::Path { .. }) => Ok(None),
        applied => applied.map(Some),
    }
}

#[cfg(test)]
mod tests;
