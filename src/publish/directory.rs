//! Publishes to a stack repository in a directory on this machine.
//!
//! A release is written to a temporary directory beside its target and then renamed, so that an interruption leaves either
//! all of it or nothing. Only one publisher writes at a time: it holds a lock on the directory of the releases.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::existing::ignore_files;
use super::held::{self, held};
use super::{Existing, Prepared, PublishError, Published};
use crate::names::ReleaseName;
use crate::promote::holds::Hold;
use crate::release::{Files, Limits};
use crate::source;
use crate::source::origin::Listing;
use crate::temporary::RemoveOnDrop;

/// Prefix of a release's directory while it is being written.
const UNFINISHED: &str = ".stackflux-unfinished-";

/// Maximum size in bytes of a file that users write, such as `.sourceignore`.
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// A directory that has, or will have, the directory of the releases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryTarget {
    /// Root of the stack repository.
    pub top: PathBuf,
    /// Directory of the releases in it, without enclosing `/`; empty for the root.
    pub directory: String,
}

impl DirectoryTarget {
    /// Writes a release, and returns its path.
    pub fn publish(&self, prepared: &Prepared, vendoring: bool) -> Result<Published<PathBuf>, PublishError> {
        let releases = self.releases();
        self.check_links()?;
        fs::create_dir_all(&releases).map_err(io_error(&releases))?;
        let lock =
            File::open(&releases).and_then(|lock| lock.lock().map(|()| lock)).map_err(io_error(&releases))?;
        remove_unfinished(&releases)?;
        if !self.existing(prepared.name())?.needs(prepared, vendoring)? {
            return Ok(Published::Unchanged);
        }
        let path = self.path_of(prepared.name());
        let unfinished = RemoveOnDrop::new(releases.join(format!("{UNFINISHED}{}", prepared.name())));
        write_all(unfinished.path(), &prepared.files)?;
        unfinished.move_to(&path).map_err(io_error(&path))?;
        lock.sync_all().map_err(io_error(&releases))?;
        Ok(Published::Written(path))
    }

    /// Refuses a directory that is reached through a link below the root: files would be written elsewhere, and Flux leaves
    /// links out of an artifact.
    fn check_links(&self) -> Result<(), PublishError> {
        let mut path = self.top.clone();
        for part in self.directory.split('/').filter(|part| !part.is_empty()) {
            path.push(part);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => {
                    return Err(refused(&path, "it is a link: stackflux writes no releases through links"));
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error(&path)(error)),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Returns what the stack repository has for a release.
    pub fn existing(&self, name: &ReleaseName) -> Result<Existing, PublishError> {
        self.check_links()?;
        let path = self.path_of(name);
        let release = match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => Some(source::directory::read(&path, &Limits::default())?),
            Ok(_) => return Err(refused(&path, "it exists and is not a directory")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(PublishError::Io { path, error }),
        };
        let (place, directory) = (self.top.display().to_string(), self.directory.clone());
        let held = self.held(name)?;
        let ignore_files = ignore_files(&directory, |file| read_text(&self.top.join(file)))?;
        Ok(Existing { place, directory, release, ignore_files, held })
    }

    /// Returns the existing releases.
    pub fn names(&self) -> Result<BTreeSet<ReleaseName>, PublishError> {
        let releases = self.releases();
        let entries = match fs::read_dir(&releases) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries.map_err(io_error(&releases))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(io_error(&releases))?;
            if entry.file_type().map_err(io_error(&releases))?.is_dir() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(Listing::of(names).releases)
    }

    fn releases(&self) -> PathBuf {
        self.top.join(&self.directory)
    }

    /// Returns the hold on a release from the Git repository whose work tree has the directory, or otherwise from the
    /// directory itself.
    fn held(&self, name: &ReleaseName) -> Result<Option<Hold>, PublishError> {
        // The directory need not exist yet.
        let top = fs::canonicalize(&self.top).or_else(|_| std::path::absolute(&self.top));
        let top = top.map_err(io_error(&self.top))?;
        let root = top.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&top);
        let releases = top.join(&self.directory);
        let directory = releases.strip_prefix(root).unwrap_or(&releases).to_string_lossy();
        let repository = root.display().to_string();
        let here = held::HoldScope { repository: &repository, branch: None, directory: &directory };
        held(name, &here, |file| read_text(&root.join(file)))
    }

    fn path_of(&self, name: &ReleaseName) -> PathBuf {
        self.releases().join(name.to_string())
    }
}

/// Reads a file that users write; `None` if it does not exist.
fn read_text(path: &Path) -> Result<Option<Vec<u8>>, PublishError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error(path)(error)),
    };
    let mut content = Vec::new();
    file.take(MAX_TEXT_BYTES + 1).read_to_end(&mut content).map_err(io_error(path))?;
    if content.len() as u64 > MAX_TEXT_BYTES {
        return Err(refused(path, "it exceeds the limit of 1 MiB"));
    }
    Ok(Some(content))
}

/// Removes leftovers of interrupted publishers: the caller holds the lock, so no other publisher is writing.
fn remove_unfinished(releases: &Path) -> Result<(), PublishError> {
    for entry in fs::read_dir(releases).map_err(io_error(releases))? {
        let entry = entry.map_err(io_error(releases))?;
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            let path = entry.path();
            fs::remove_dir_all(&path).map_err(io_error(&path))?;
        }
    }
    Ok(())
}

/// Writes files below a new directory and syncs their content to disk.
fn write_all(top: &Path, files: &Files) -> Result<(), PublishError> {
    fs::create_dir(top).map_err(io_error(top))?;
    for (path, file) in files.iter() {
        let path = top.join(path);
        let directory = path.parent().unwrap_or(top);
        fs::create_dir_all(directory).map_err(io_error(directory))?;
        let mode = if file.executable { 0o777 } else { 0o666 };
        let created = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
        let written = created.and_then(|mut out| out.write_all(&file.content).and_then(|()| out.sync_all()));
        written.map_err(io_error(&path))?;
    }
    Ok(())
}

fn refused(path: &Path, why: &str) -> PublishError {
    PublishError::Place { place: path.display().to_string(), why: why.to_owned() }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> PublishError {
    let path = path.to_owned();
    |error| PublishError::Io { path, error }
}

#[cfg(test)]
mod tests;
