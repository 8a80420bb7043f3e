//! Generated files in a directory.

#![allow(clippy::disallowed_methods, reason = "a sink writes files")]

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::changes::Changes;
use super::layout::{INDEX, KUSTOMIZATION};
use super::tree::{Found, Tree};
use crate::temporary::{RemoveOnDrop, unless_missing};

/// Name of a file while it is being written.
const UNFINISHED: &str = ".stackflux-unfinished";

/// A file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct DirectoryError {
    /// The path.
    path: PathBuf,
    /// The cause.
    error: io::Error,
}

/// A directory, which need not exist yet.
#[derive(Clone, Debug)]
pub struct Directory {
    root: PathBuf,
}

impl Directory {
    /// Creates a sink for the directory at `root`.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Writes and removes the changed files. Lists and indexes come last, so that an interrupted delivery can be repeated.
    pub fn apply(&self, changes: &Changes) -> Result<(), DirectoryError> {
        let order = |path: &str| match path.rsplit('/').next() {
            Some(INDEX) => 2,
            Some(KUSTOMIZATION) => 1,
            _ => 0,
        };
        let mut writes: Vec<_> = changes.writes.iter().collect();
        writes.sort_by_key(|(path, _)| order(path));
        for (path, bytes) in writes {
            self.write(path, bytes)?;
        }
        for path in &changes.removes {
            self.remove(path)?;
        }
        Ok(())
    }

    /// Writes a temporary file beside the target and renames it, so that an interruption leaves either the old file or the
    /// new one.
    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), DirectoryError> {
        let path = self.root.join(path);
        let failed = |error| DirectoryError { path: path.clone(), error };
        let directory = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(directory).map_err(failed)?;
        let unfinished = RemoveOnDrop::new(directory.join(UNFINISHED));
        replace(&unfinished, &path, bytes).map_err(failed)
    }

    /// Removes a file, and directories that become empty.
    fn remove(&self, path: &str) -> Result<(), DirectoryError> {
        let path = self.root.join(path);
        let removed = unless_missing(fs::remove_file(&path));
        removed.map_err(|error| DirectoryError { path: path.clone(), error })?;
        let above = path.ancestors().skip(1).take_while(|directory| *directory != self.root);
        for directory in above {
            // The directory has other files.
            if fs::remove_dir(directory).is_err() {
                break;
            }
        }
        Ok(())
    }
}

fn replace(unfinished: &RemoveOnDrop, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = unfinished.path();
    unless_missing(fs::remove_file(beside))?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(beside)?;
    if let Some(before) = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file) {
        file.set_permissions(before.permissions())?;
    }
    file.write_all(bytes)?;
    // Only the index is synced: with it, the next delivery rewrites an object's file that a power cut has emptied.
    if path.file_name().is_some_and(|name| name == INDEX) {
        file.sync_all()?;
    }
    fs::rename(beside, path)
}

/// Returns the metadata of a path, without following links. `None` if it does not exist.
fn kind(path: &Path) -> Result<Option<fs::Metadata>, DirectoryError> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(DirectoryError { path: path.to_owned(), error }),
    }
}

impl Tree for Directory {
    type Error = DirectoryError;

    fn read(&self, path: &str, most: usize) -> Result<Found, DirectoryError> {
        let above = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        for directory in above {
            match kind(&self.root.join(directory))? {
                None => return Ok(Found::Nothing),
                Some(found) if found.is_dir() => {}
                Some(_) => return Ok(Found::Other("below a link or a file")),
            }
        }
        let path = self.root.join(path);
        match kind(&path)? {
            None => Ok(Found::Nothing),
            Some(found) if found.is_dir() => Ok(Found::Other("a directory")),
            Some(found) if !found.is_file() => Ok(Found::Other("a link or a device")),
            Some(_) => {
                let failed = |error| DirectoryError { path: path.clone(), error };
                let (mut bytes, limit) = (Vec::new(), u64::try_from(most).unwrap_or(u64::MAX));
                let file = fs::File::open(&path).map_err(failed)?;
                file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
                Ok(if bytes.len() > most { Found::TooLarge } else { Found::File(bytes) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! Paths that lead out of the directory.

    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn links_and_directories_are_not_files() {
        let root = TempDir::new().unwrap();
        let elsewhere = TempDir::new().unwrap();
        fs::write(elsewhere.path().join("one.yaml"), "secret").unwrap();
        fs::create_dir(root.path().join("sources")).unwrap();
        symlink(elsewhere.path(), root.path().join("clusters")).unwrap();
        symlink(elsewhere.path().join("one.yaml"), root.path().join("sources/one.yaml")).unwrap();
        fs::write(root.path().join("file"), "text").unwrap();
        let directory = Directory::new(root.path());
        let read = |path| directory.read(path, 4).unwrap();
        assert_eq!(read("file"), Found::File(b"text".to_vec()));
        assert_eq!(directory.read("file", 3).unwrap(), Found::TooLarge);
        assert_eq!(read("nothing/at/all"), Found::Nothing);
        assert_eq!(read("sources"), Found::Other("a directory"));
        assert_eq!(read("sources/one.yaml"), Found::Other("a link or a device"));
        assert_eq!(read("clusters/one.yaml"), Found::Other("below a link or a file"));
        assert_eq!(read("file/one.yaml"), Found::Other("below a link or a file"));
    }

    #[test]
    fn file_is_replaced_and_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = TempDir::new().unwrap();
        let file = root.path().join("a/one.yaml");
        let directory = Directory::new(root.path());
        directory.write("a/one.yaml", b"old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let open = fs::File::open(&file).unwrap();
        // A leftover of a killed process.
        fs::write(root.path().join("a").join(UNFINISHED), "hal").unwrap();
        directory.write("a/one.yaml", b"new").unwrap();
        let mut old = String::new();
        (&open).read_to_string(&mut old).unwrap();
        assert_eq!((old.as_str(), fs::read(&file).unwrap().as_slice()), ("old", &b"new"[..]));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(root.path().join("a")).unwrap().count(), 1);
    }

    #[test]
    fn failed_write_leaves_the_old_file() {
        let root = TempDir::new().unwrap();
        let directory = Directory::new(root.path());
        fs::create_dir_all(root.path().join("one.yaml/below")).unwrap();
        directory.write("one.yaml", b"new").unwrap_err();
        assert!(root.path().join("one.yaml/below").is_dir());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }
}
