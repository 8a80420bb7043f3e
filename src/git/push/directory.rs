//! A push to a repository on this machine: libgit2's own overwrites a branch without comparing.

use std::io::Write as _;
use std::path::Path;

use git2::{ErrorCode, Repository};

use super::super::{CommitId, GitError};
use super::Pushed;

/// Moves a branch if it is where it is expected. Hooks are not run.
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
    copy(from, &to, commit)?;
    let moved = match expected {
        None => to.reference(reference, commit.0, false, "push"),
        Some(expected) => to.reference_matching(reference, commit.0, true, expected.0, "push"),
    };
    match moved {
        Ok(_) => Ok(Pushed::Done),
        Err(error) => match error.code() {
            ErrorCode::Modified | ErrorCode::Exists | ErrorCode::Locked | ErrorCode::NotFound => {
                Ok(Pushed::Rejected(error.message().to_owned()))
            }
            _ => Err(error.into()),
        },
    }
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
