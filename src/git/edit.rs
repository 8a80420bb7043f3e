//! Changes of a commit: files written, directories copied, and paths removed. Everything else is kept.

use std::collections::BTreeMap;

use git2::{ObjectType, Oid, Repository};
use sha2::{Digest as _, Sha256};

use super::{GitError, TreeId};
use crate::release::files::{check_path, stands_for_git};
use crate::release::{Digest, File, PathError};

/// The changes of a commit. Later calls override earlier ones. The cost depends on the changes, not on the size of the
/// repository. Writing below a path that is a file or link, or writing a file over a directory, is an error when the edit is
/// applied, unless the edit removed the path before.
#[derive(Clone, Debug, Default)]
pub struct Edit(Directory);

/// The changes of a directory: the fate of its previous content, and the changed names. A name is in at most one of the two
/// maps.
#[derive(Clone, Debug, Default)]
struct Directory {
    before: Before,
    /// Files to write, and names to remove (`None`).
    files: BTreeMap<String, Option<File>>,
    directories: BTreeMap<String, Directory>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Before {
    #[default]
    Kept,
    Removed,
    Replaced(TreeId),
}

impl Edit {
    /// Writes a file, and creates its parent directories.
    pub fn write(&mut self, path: &str, file: File) -> Result<(), GitError> {
        self.set(path, Some(file))
    }

    /// Removes a file or directory, if it exists. Directories that become empty disappear.
    pub fn remove(&mut self, path: &str) -> Result<(), GitError> {
        self.set(path, None)
    }

    /// Empties a directory (the empty path is the root), so that it has only what is written into it afterwards.
    pub fn clear_directory(&mut self, directory: &str) -> Result<(), GitError> {
        self.set_directory(directory, Before::Removed)
    }

    /// Replaces a directory with the content of another directory of the same repository.
    pub fn copy_directory(&mut self, from: TreeId, to: &str) -> Result<(), GitError> {
        self.set_directory(to, Before::Replaced(from))
    }

    /// Whether the edit changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_unchanged()
    }

    /// Returns the digest of the edit: equal edits have equal digests, independent of the commit that they apply to.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut hash = Sha256::new();
        self.0.hash(&mut hash);
        Digest::of_hashed(hash)
    }

    fn set_directory(&mut self, path: &str, before: Before) -> Result<(), GitError> {
        let directory = Directory { before, ..Directory::default() };
        if path.is_empty() {
            self.0 = directory;
            return Ok(());
        }
        let (parent, name) = self.parent(path)?;
        parent.files.remove(name);
        parent.directories.insert(name.to_owned(), directory);
        Ok(())
    }

    fn set(&mut self, path: &str, file: Option<File>) -> Result<(), GitError> {
        let (parent, name) = self.parent(path)?;
        parent.directories.remove(name);
        parent.files.insert(name.to_owned(), file);
        Ok(())
    }

    /// Returns the parent directory of a path, and the name in it.
    fn parent<'a>(&mut self, path: &'a str) -> Result<(&mut Directory, &'a str), GitError> {
        check_path(path).map_err(GitError::path(path))?;
        if path.split('/').any(stands_for_git) {
            return Err(GitError::path(path)(PathError::Git));
        }
        let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut directory = &mut self.0;
        for parent in parents.split('/').filter(|parent| !parent.is_empty()) {
            directory = directory.below(parent);
        }
        Ok((directory, name))
    }

    /// Returns the tree that results from the edit.
    pub(super) fn apply(&self, repository: &Repository, to: Option<Oid>) -> Result<Oid, GitError> {
        match self.0.apply(repository, to, "")? {
            Some(tree) => Ok(tree),
            None => Ok(repository.treebuilder(None)?.write()?),
        }
    }
}

impl Directory {
    fn is_unchanged(&self) -> bool {
        self.before == Before::Kept
            && self.files.is_empty()
            && self.directories.values().all(Self::is_unchanged)
    }

    /// Returns the subdirectory of that name, and replaces a file change of the same name.
    fn below(&mut self, name: &str) -> &mut Self {
        let before = if self.files.remove(name).is_some() { Before::Removed } else { Before::Kept };
        self.directories.entry(name.to_owned()).or_insert_with(|| Self { before, ..Self::default() })
    }

    /// Returns the resulting tree; `None` if it is empty. `at` is the directory's path with a trailing `/`.
    fn apply(&self, repository: &Repository, to: Option<Oid>, at: &str) -> Result<Option<Oid>, GitError> {
        let before = match self.before {
            Before::Kept => to,
            Before::Removed => None,
            Before::Replaced(tree) => Some(tree.0),
        };
        let tree = before.map(|tree| repository.find_tree(tree)).transpose()?;
        let kind = |name: &str| tree.as_ref()?.get_name(name)?.kind();
        let taken = |name: &str| GitError::path(&format!("{at}{name}"))(PathError::Taken);
        let mut builder = repository.treebuilder(tree.as_ref())?;
        let mut set = |name: &str, entry: Option<(Oid, i32)>| -> Result<(), GitError> {
            match entry {
                Some((id, mode)) => drop(builder.insert(name, id, mode)?),
                None if builder.get(name)?.is_some() => builder.remove(name)?,
                None => {}
            }
            Ok(())
        };
        for (name, file) in &self.files {
            if file.is_some() && kind(name) == Some(ObjectType::Tree) {
                return Err(taken(name));
            }
            let mode = |file: &File| if file.executable { 0o100_755 } else { 0o100_644 };
            let blob = |file: &File| Ok::<_, GitError>((repository.blob(&file.content)?, mode(file)));
            set(name, file.as_ref().map(blob).transpose()?)?;
        }
        for (name, directory) in &self.directories {
            let entry = tree.as_ref().and_then(|tree| tree.get_name(name));
            let below = entry.filter(|entry| entry.kind() == Some(ObjectType::Tree)).map(|entry| entry.id());
            let applied = directory.apply(repository, below, &format!("{at}{name}/"))?;
            let is_in_the_way = below.is_none() && kind(name).is_some() && directory.before == Before::Kept;
            match applied {
                Some(_) if is_in_the_way => return Err(taken(name)),
                // A directory change that writes nothing keeps a file of the same name.
                None if is_in_the_way => {}
                applied => set(name, applied.map(|tree| (tree, 0o040_000)))?,
            }
        }
        if builder.is_empty() { Ok(None) } else { Ok(Some(builder.write()?)) }
    }

    fn hash(&self, hash: &mut Sha256) {
        match self.before {
            Before::Kept => hash.update([0]),
            Before::Removed => hash.update([1]),
            Before::Replaced(tree) => hash.update([&[2], tree.0.as_bytes()].concat()),
        }
        for (name, file) in &self.files {
            hash.update(name.as_bytes());
            match file {
                Some(file) => {
                    hash.update([b'/', 0, u8::from(file.executable)]);
                    hash.update(Sha256::digest(&file.content));
                }
                None => hash.update([b'/', 1]),
            }
        }
        for (name, directory) in &self.directories {
            hash.update(name.as_bytes());
            hash.update([b'/', 2]);
            directory.hash(hash);
        }
        hash.update([b'/', 3]);
    }
}

#[cfg(test)]
mod tests;
