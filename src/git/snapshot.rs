//! The files of a commit.

use std::path::Path;

use git2::{ObjectType, Oid, Repository, Tree};

use super::error::found;
use super::{CommitId, GitError, TreeId};
use crate::release::files::{check_path, join};
use crate::release::{File, Files, Limits, PathError};

/// Maximum size of a file that is read on its own, in bytes.
const LARGEST_FILE: u64 = 64 << 20;

/// The mode of a symbolic link.
const LINK: i32 = 0o120_000;

/// An entry of a directory of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name in the directory.
    pub name: String,
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Object id (40 hex digits): entries with equal ids are equal files or directories.
    pub id: String,
}

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A commit of another repository.
    Submodule,
}

/// The files of a commit; empty if there is no commit yet.
pub struct Snapshot<'a> {
    repository: &'a Repository,
    commit: Option<CommitId>,
    tree: Option<Tree<'a>>,
}

impl<'a> Snapshot<'a> {
    pub(super) fn new(repository: &'a Repository, commit: Option<CommitId>) -> Result<Self, GitError> {
        let tree = match commit {
            Some(commit) => Some(repository.find_commit(commit.0)?.tree()?),
            None => None,
        };
        Ok(Self { repository, commit, tree })
    }

    /// Returns the commit; `None` if there is none yet.
    #[must_use]
    pub fn commit(&self) -> Option<CommitId> {
        self.commit
    }

    /// Returns the regular file at a path. `None` if there is none.
    pub fn file(&self, path: &str) -> Result<Option<File>, GitError> {
        let Some((id, mode)) = self.find(path)? else { return Ok(None) };
        if !is_file(mode) {
            return Ok(None);
        }
        Ok(Some(File {
            content: read(self.repository, path, id, LARGEST_FILE)?,
            executable: is_executable(mode),
        }))
    }

    /// Returns the entries of a directory (the empty path is the root), in Git's order. Empty if it does not exist.
    pub fn entries(&self, directory: &str) -> Result<Vec<Entry>, GitError> {
        let Some(tree) = self.directory(directory)? else { return Ok(Vec::new()) };
        let entry = |entry: git2::TreeEntry<'_>| Entry {
            name: String::from_utf8_lossy(entry.name_bytes()).into_owned(),
            kind: match (entry.kind(), entry.filemode()) {
                (Some(ObjectType::Tree), _) => EntryKind::Directory,
                (Some(ObjectType::Commit), _) => EntryKind::Submodule,
                (_, LINK) => EntryKind::Link,
                _ => EntryKind::File,
            },
            id: entry.id().to_string(),
        };
        Ok(tree.iter().map(entry).collect())
    }

    /// Returns the id of a directory's content, for [`super::Edit::copy_directory`]. `None` if the directory does not exist.
    pub fn tree_id(&self, directory: &str) -> Result<Option<TreeId>, GitError> {
        Ok(self.directory(directory)?.map(|tree| TreeId(tree.id())))
    }

    /// Returns all files below a directory, by relative path. Symbolic links are recorded, a submodule is an error, and no
    /// file is ignored. Empty if the directory does not exist.
    pub fn files(&self, directory: &str, limits: &Limits) -> Result<Files, GitError> {
        match self.directory(directory)? {
            Some(tree) => read_tree(self.repository, &tree, limits),
            None => Ok(Files::default()),
        }
    }

    fn directory(&self, directory: &str) -> Result<Option<Tree<'a>>, GitError> {
        if directory.is_empty() {
            return Ok(self.tree.clone());
        }
        match self.find(directory)? {
            Some((id, 0o040_000)) => Ok(Some(self.repository.find_tree(id)?)),
            _ => Ok(None),
        }
    }

    fn find(&self, path: &str) -> Result<Option<(Oid, i32)>, GitError> {
        check_path(path).map_err(GitError::path(path))?;
        let Some(tree) = &self.tree else { return Ok(None) };
        Ok(found(tree.get_path(Path::new(path)))?.map(|entry| (entry.id(), entry.filemode())))
    }
}

/// Reads the files of a tree. Checks the size in each object's header against the limits before it reads the object.
fn read_tree(repository: &Repository, tree: &Tree<'_>, limits: &Limits) -> Result<Files, GitError> {
    let mut files = Files::default();
    let mut left = (limits.unpacked, limits.entries);
    let mut directories = vec![(String::new(), tree.id())];
    while let Some((directory, id)) = directories.pop() {
        for entry in &repository.find_tree(id)? {
            let path = join(&directory, &String::from_utf8_lossy(entry.name_bytes()));
            left.1 = left
                .1
                .checked_sub(1)
                .ok_or_else(|| GitError::TooManyFiles { path: directory.clone(), most: limits.entries })?;
            match entry.kind() {
                Some(ObjectType::Tree) => {
                    check_path(&path).map_err(GitError::path(&path))?;
                    directories.push((path, entry.id()));
                }
                Some(ObjectType::Blob) => {
                    let content = read(repository, &path, entry.id(), left.0)?;
                    left.0 = left.0.saturating_sub(content.len() as u64);
                    let mode = entry.filemode();
                    let added = if mode == LINK {
                        files.insert_link(&path, &String::from_utf8_lossy(&content))
                    } else {
                        files.insert(&path, File { content, executable: is_executable(mode) })
                    };
                    added.map_err(GitError::path(&path))?;
                }
                Some(ObjectType::Commit) => return Err(GitError::path(&path)(PathError::Submodule)),
                _ => {}
            }
        }
    }
    Ok(files)
}

fn read(repository: &Repository, path: &str, id: Oid, most: u64) -> Result<Vec<u8>, GitError> {
    let (size, kind) = repository.odb()?.read_header(id)?;
    let size = size as u64;
    if kind == ObjectType::Blob && size > most {
        return Err(GitError::FileTooLarge { path: path.to_owned(), size, most });
    }
    Ok(repository.find_blob(id)?.content().to_owned())
}

fn is_file(mode: i32) -> bool {
    mode & 0o170_000 == 0o100_000
}

fn is_executable(mode: i32) -> bool {
    mode & 0o100 != 0
}

#[cfg(test)]
mod tests;
