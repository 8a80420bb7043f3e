//! A push to a repository on this machine: libgit2's own overwrites a branch without comparing.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Oid, Repository};

use super::super::{CommitId, GitError};
use super::Pushed;

/// The hooks that may refuse a push (githooks(5)).
const HOOKS: [&str; 3] = ["pre-receive", "update", "reference-transaction"];

/// Moves a branch if it is where it is expected. Hooks are not run: where one could refuse it, it is refused.
pub(super) fn push(
    from: &Repository,
    directory: &Path,
    reference: &str,
    commit: CommitId,
    expected: Option<CommitId>,
) -> Result<Pushed, GitError> {
    let url = || directory.display().to_string();
    let to = Repository::open(directory).map_err(|error| match error.code() {
        ErrorCode::NotFound => GitError::NotFound { url: url() },
        _ => error.into(),
    })?;
    if !to.is_bare() {
        let said = "it has a work tree, which would differ from its branch afterwards".to_owned();
        return Err(GitError::Refused { url: url(), branch: reference.to_owned(), said });
    }
    if let Some(hook) = hook_that_may_refuse(&to) {
        let said = format!(
            "it has the hook {hook}, which is not run by a push to a directory: push over SSH or HTTP"
        );
        return Err(GitError::Refused { url: url(), branch: reference.to_owned(), said });
    }
    // It is compared again when it is moved: this one spares the copy.
    if branch(&to, reference)? != expected {
        return Ok(Pushed::Rejected("the branch has moved".to_owned()));
    }
    copy(from, &to, commit)?;
    // Compared under the lock of the reference. Zero stands for one that is not there: to create one without comparing
    // would look for it before the lock.
    let expected = expected.map_or(Oid::ZERO_SHA1, |expected| expected.0);
    match to.reference_matching(reference, commit.0, true, expected, "push") {
        Ok(_) => Ok(Pushed::Done),
        Err(error) => match error.code() {
            ErrorCode::Modified | ErrorCode::Exists | ErrorCode::Locked | ErrorCode::NotFound => {
                Ok(Pushed::Rejected(error.message().to_owned()))
            }
            _ => Err(error.into()),
        },
    }
}

/// Where the branch is.
fn branch(repository: &Repository, reference: &str) -> Result<Option<CommitId>, GitError> {
    match repository.refname_to_id(reference) {
        Ok(id) => Ok(Some(CommitId(id))),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The first hook that is there to refuse a push.
fn hook_that_may_refuse(repository: &Repository) -> Option<&'static str> {
    let elsewhere = repository.config().and_then(|config| config.get_path("core.hooksPath")).ok();
    let hooks = repository.path().join(elsewhere.unwrap_or_else(|| PathBuf::from("hooks")));
    let is_run = |hook: &&str| {
        let metadata = hooks.join(hook).metadata();
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    HOOKS.into_iter().find(is_run)
}

/// Copies the objects of a commit that no branch of the other repository leads to.
fn copy(from: &Repository, to: &Repository, commit: CommitId) -> Result<(), GitError> {
    let mut walk = from.revwalk()?;
    walk.push(commit.0)?;
    for reference in to.references()? {
        let known = reference?.target().filter(|id| from.find_commit(*id).is_ok());
        known.map_or(Ok(()), |id| walk.hide(id))?;
    }
    let mut pack = from.packbuilder()?;
    pack.insert_walk(&mut walk)?;
    if pack.object_count() == 0 {
        return Ok(());
    }
    let odb = to.odb()?;
    let mut writer = odb.packwriter()?;
    let mut written = Ok(());
    pack.foreach(|bytes| {
        written = writer.write_all(bytes);
        written.is_ok()
    })?;
    written.map_err(GitError::io(to.path()))?;
    writer.commit()?;
    Ok(())
}
