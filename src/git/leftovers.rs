//! What a process that was killed leaves in a repository.

use std::fs;
use std::path::{Path, PathBuf};

use super::GitError;
use crate::temporary::unless_missing;

/// Removes the lock files and unfinished packs of a process that was killed. The caller holds the lock of the clone.
pub(super) fn remove(directory: &Path) -> Result<(), GitError> {
    remove_locks(directory)?;
    remove_unfinished_packs(directory)
}

/// Removes the unfinished packs: a server may make many.
fn remove_unfinished_packs(directory: &Path) -> Result<(), GitError> {
    let packs = directory.join("objects/pack");
    // Git makes the directory with the first pack.
    for entry in fs::read_dir(packs).into_iter().flatten() {
        let path = entry.map_err(GitError::io(directory))?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pack_")) {
            unless_missing(fs::remove_file(&path)).map_err(GitError::io(&path))?;
        }
    }
    Ok(())
}

fn remove_locks(directory: &Path) -> Result<(), GitError> {
    let mut directories: Vec<PathBuf> = vec![directory.join("refs")];
    let mut locks = vec![directory.join("packed-refs.lock"), directory.join("HEAD.lock")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).map_err(GitError::io(&directory))? {
            let path = entry.map_err(GitError::io(&directory))?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "lock") {
                locks.push(path);
            }
        }
    }
    for lock in locks {
        unless_missing(fs::remove_file(&lock)).map_err(GitError::io(&lock))?;
    }
    Ok(())
}
