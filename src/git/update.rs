//! Changes a branch that others change too.

use std::thread;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use git2::Oid;

use super::{BareRepository, CommitId, Edit, GitError, Identity, Pushed, Reference, Signer, Snapshot};
use crate::error::{Class, Classify};

/// How often somebody else may be faster.
const MOST_ATTEMPTS: usize = 100;

/// How often the connection may break while a commit is pushed.
const MOST_BREAKS: u32 = 3;

/// Where a change goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The branch that is looked at.
    pub branch: String,
    /// Another branch that the change is pushed to, for a pull request; `None`: the same.
    pub push_to: Option<String>,
}

/// A change, made for the files that were looked at.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// What changes.
    pub edit: Edit,
    /// The commit's message.
    pub message: String,
    /// Its author.
    pub identity: Identity,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updated {
    /// The branch has everything already.
    Nothing,
    /// The branch for the pull request has the change already, at this commit.
    Present(CommitId),
    /// A commit was pushed.
    Pushed {
        /// The commit.
        commit: CommitId,
        /// How often it was made: more than once where others were faster.
        attempts: u32,
    },
}

/// Why a branch was not changed.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError<E> {
    /// The repository.
    #[error(transparent)]
    Git(#[from] GitError),
    /// What makes the change.
    #[error(transparent)]
    Change(E),
    /// Others were faster every time.
    #[error("{url}: the push to branch {branch} failed {attempts} times because others changed it: {said}")]
    Busy {
        /// The repository.
        url: String,
        /// The branch.
        branch: String,
        /// How often.
        attempts: u32,
        /// What the server said last.
        said: String,
    },
    /// The branch for the pull request has commits of somebody else.
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

impl<E: Classify> Classify for UpdateError<E> {
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

/// Fetches, lets `change` make a change of the branch's tip, commits and pushes it; when somebody was faster, all again
/// on the new tip. In an empty repository the branch is made. Where the connection breaks during the push, looks whether it
/// arrived. An error of `change` ends it.
pub fn update<E>(
    clone: &BareRepository,
    target: &Target,
    signer: Option<&Signer>,
    mut change: impl FnMut(&Snapshot<'_>) -> Result<Option<Proposal>, E>,
) -> Result<Updated, UpdateError<E>> {
    let pauses = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(20))
        .with_max_delay(Duration::from_millis(500))
        .with_max_times(MOST_ATTEMPTS)
        .with_jitter();
    let mut pauses = pauses.build();
    let (mut attempts, mut breaks) = (0, 0);
    let mut uncertain = None;
    loop {
        let prepared = match prepare(clone, target, signer, uncertain, &mut change)? {
            Step::Over(Updated::Pushed { commit, .. }) => return Ok(Updated::Pushed { commit, attempts }),
            Step::Over(updated) => return Ok(updated),
            Step::Push(prepared) => prepared,
        };
        attempts += 1;
        let said = match clone.push(prepared.commit, target.pushed(), prepared.expected) {
            Ok(Pushed::Done) => return Ok(Updated::Pushed { commit: prepared.commit, attempts }),
            Ok(Pushed::Rejected(said)) => said,
            Err(GitError::Transport(error)) if error.is_broken() => {
                uncertain = Some(prepared.commit);
                breaks += 1;
                if breaks > MOST_BREAKS {
                    return Err(GitError::from(error).into());
                }
                error.to_string()
            }
            Err(error) => return Err(error.into()),
        };
        let Some(pause) = pauses.next() else {
            let (url, branch) = (clone.access().url.to_string(), target.pushed().to_owned());
            return Err(UpdateError::Busy { url, branch, attempts, said });
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
    Push(Prepared),
}

/// A commit that is to be pushed onto the branch while that is where it is expected.
struct Prepared {
    commit: CommitId,
    expected: Option<CommitId>,
}

fn prepare<E>(
    clone: &BareRepository,
    target: &Target,
    signer: Option<&Signer>,
    uncertain: Option<CommitId>,
    change: &mut impl FnMut(&Snapshot<'_>) -> Result<Option<Proposal>, E>,
) -> Result<Step, UpdateError<E>> {
    let base = clone.fetch_to_change(&target.branch)?;
    let there = match &target.push_to {
        Some(_) if base.is_none() => {
            let (url, branch) = (clone.access().url.to_string(), target.branch.clone());
            return Err(GitError::NoBranch { url, branch, there: Vec::new() }.into());
        }
        Some(branch) => clone.fetch(&Reference::Branch(branch.clone()))?,
        None => base,
    };
    if let (Some(commit), Some(there)) = (uncertain, there) {
        // The connection broke, and the commit had arrived.
        if clone.is_ancestor(commit, there)? {
            return Ok(Step::Over(Updated::Pushed { commit, attempts: 0 }));
        }
    }
    let Some(proposal) = change(&clone.snapshot(base)?).map_err(UpdateError::Change)? else {
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
        _ => Ok(Step::Push(Prepared { commit, expected: there })),
    }
}

/// The branch of the pull request is there already, and not merged. It is never reset: where its base has moved on, a
/// merge brings the change up to date.
fn onto_pull_request<E>(
    clone: &BareRepository,
    branch: &str,
    proposal: &Proposal,
    signer: Option<&Signer>,
    (base, there, commit): (CommitId, CommitId, CommitId),
) -> Result<Step, UpdateError<E>> {
    let (wanted, has) = (clone.tree(commit)?, clone.tree(there)?);
    if wanted == has {
        return Ok(Step::Over(Updated::Present(there)));
    }
    if applied_earlier(clone, proposal, base, there)? != Some(has) {
        let url = clone.access().url.to_string();
        return Err(UpdateError::Occupied { url, branch: branch.to_owned() });
    }
    let Proposal { message, identity, .. } = proposal;
    let commit = clone.commit_tree(&[there, base], wanted, message, identity, signer)?;
    Ok(Step::Push(Prepared { commit, expected: Some(there) }))
}

/// The tree of the same change where both branches have parted; `None` where it does not fit there.
fn applied_earlier(
    clone: &BareRepository,
    proposal: &Proposal,
    base: CommitId,
    there: CommitId,
) -> Result<Option<Oid>, GitError> {
    match clone.repository.merge_base(base.0, there.0) {
        Ok(parted) => {
            let tree = clone.tree(CommitId(parted))?;
            match proposal.edit.apply(&clone.repository, Some(tree)) {
                Err(GitError::Path { .. }) => Ok(None),
                applied => applied.map(Some),
            }
        }
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
