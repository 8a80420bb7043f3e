//! Generated files in a Git repository: reads those of a commit, and edits them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::changes::Changes;
use super::tree::{Found, Tree};
use crate::git::{Edit, EntryKind, GitError, Snapshot};
use crate::release::File;
use crate::release::files::join;

/// The files below a path of a commit.
pub struct Below<'a> {
    snapshot: &'a Snapshot<'a>,
    root: String,
    /// Entries of the directories read so far, by path from the root of the repository.
    listed: RefCell<BTreeMap<String, BTreeMap<String, EntryKind>>>,
}

impl<'a> Below<'a> {
    /// Creates a tree of the files below `path`; the empty path and `.` are the root of the repository.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot<'a>, path: &str) -> Self {
        Self { snapshot, root: plain(path).to_owned(), listed: RefCell::default() }
    }

    /// Returns what is at a path that is not a regular file.
    fn other(&self, path: &str) -> Result<Found, GitError> {
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        for end in ends {
            let (entry, is_last) = (path.get(..end).unwrap_or_default(), end == path.len());
            match self.kind(entry)? {
                None => return Ok(Found::Nothing),
                Some(EntryKind::Directory) if !is_last => {}
                Some(EntryKind::Directory) => return Ok(Found::Other("a directory")),
                Some(_) if is_last => return Ok(Found::Other("a link or a submodule")),
                Some(_) => return Ok(Found::Other("below a link or a file")),
            }
        }
        Ok(Found::Nothing)
    }

    fn kind(&self, path: &str) -> Result<Option<EntryKind>, GitError> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut listed = self.listed.borrow_mut();
        if !listed.contains_key(directory) {
            let entries = self.snapshot.entries(directory)?;
            let entries = entries.into_iter().map(|entry| (entry.name, entry.kind)).collect();
            listed.insert(directory.to_owned(), entries);
        }
        Ok(listed.get(directory).and_then(|entries| entries.get(name)).copied())
    }
}

impl Tree for Below<'_> {
    type Error = GitError;

    fn read(&self, path: &str, most: usize) -> Result<Found, GitError> {
        let path = join(&self.root, path);
        match self.snapshot.file(&path) {
            Ok(Some(file)) if file.content.len() > most => Ok(Found::TooLarge),
            Ok(Some(file)) => Ok(Found::File(file.content)),
            Ok(None) => self.other(&path),
            Err(GitError::FileTooLarge { .. }) => Ok(Found::TooLarge),
            Err(error) => Err(error),
        }
    }
}

/// Returns the changes as an edit of the repository, below a path.
pub fn edit(changes: &Changes, path: &str) -> Result<Edit, GitError> {
    let root = plain(path);
    let mut edit = Edit::default();
    for file in &changes.removes {
        edit.remove(&join(root, file))?;
    }
    for (file, bytes) in &changes.writes {
        edit.write(&join(root, file), File { content: bytes.clone(), executable: false })?;
    }
    Ok(edit)
}

/// Returns a path in Git's form: without leading `./` and enclosing slashes.
#[must_use]
pub fn plain(path: &str) -> &str {
    match path.trim_start_matches("./").trim_matches('/') {
        "." => "",
        path => path,
    }
}

#[cfg(test)]
mod tests;
