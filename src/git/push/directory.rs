//! Pushes to a repository on this machine: libgit2's own push overwrites a branch without comparing.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Oid, Repository};

use super::super::error::found;
use super::super::{CommitId, GitError, Pushed};

/// The hooks that may refuse a push (githooks(5)).
const HOOKS: [&str; 3] = ["pre-receive", "update", "reference-transaction"];

/// Moves a branch if it is at `expected`. Hooks are not run: if the repository has one that may refuse, the push fails.
pub(super) fn push(
    from: &Repository,
    directory: &Path,
    reference: &str,
    commit: CommitId,
    expected: Option<CommitId>,
) -> Result<Pushed, GitError> {
    let url = || directory.display().to_string();
    let to = Repository::open(directory).map_err(|error| match error.code() {
        ErrorCode::NotFound => GitError::NotFound(url()),
        _ => error.into(),
    })?;
    if !to.is_bare() {
        let server_message = "it has a work tree, which would differ from its branch afterwards".to_owned();
        return Err(GitError::Refused { url: url(), branch: reference.to_owned(), server_message });
    }
    if let Some(hook) = hook_that_may_refuse(&to) {
        let server_message = format!(
            "it has the hook {hook}, which is not run by a push to a directory: push over SSH or HTTP"
        );
        return Err(GitError::Refused { url: url(), branch: reference.to_owned(), server_message });
    }
    // `reference_matching` compares again; this check saves copying the objects.
    if found(to.refname_to_id(reference))?.map(CommitId) != expected {
        return Ok(Pushed::Rejected("the branch has moved".to_owned()));
    }
    copy(from, &to, commit)?;
    // Compares under the lock of the reference. Zero means that the reference must not exist: `Repository::reference`
    // without force would check that before it takes the lock.
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

/// Returns the first executable hook that may refuse a push.
fn hook_that_may_refuse(repository: &Repository) -> Option<&'static str> {
    let elsewhere = repository.config().and_then(|config| config.get_path("core.hooksPath")).ok();
    let hooks = repository.path().join(elsewhere.unwrap_or_else(|| PathBuf::from("hooks")));
    let is_run = |hook: &&str| {
        let metadata = hooks.join(hook).metadata();
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    HOOKS.into_iter().find(is_run)
}

/// Copies the objects of a commit that are not reachable from a reference of the other repository.
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
