//! A local bare repository that caches the objects of a remote one.

use std::fs::{self, File};
use std::path::Path;

use super::{Access, CommitId, GitError, Snapshot, TransferLimits, leftovers, set_server_timeouts};
use crate::temporary::{Temporary, unless_missing};
use git2::{Config, Repository, RepositoryInitOptions};

/// Maximum number of loose objects in one of the 256 object directories, about 25,000 in all: libgit2 never packs loose
/// objects.
const MAX_LOOSE_OBJECTS: usize = 100;

/// Default branch of an empty repository.
pub(super) const FIRST_BRANCH: &str = "main";

/// File name of the lock in the directory.
const LOCK: &str = "stackflux.lock";

/// A bare repository used by one process, and the remote repository that it fetches from and pushes to.
pub struct BareRepository {
    pub(super) repository: Repository,
    pub(super) access: Access,
    pub(super) limits: TransferLimits,
    // Removed with its contents, after the repository is closed.
    _temporary: Option<Temporary>,
    _lock: Option<Lock>,
}

/// The lock of a directory, which one process holds at a time.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Lock {
    pub(super) fn take(directory: &Path) -> Result<Self, GitError> {
        let path = directory.join(LOCK);
        let file = File::create(&path).map_err(GitError::io(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(fs::TryLockError::WouldBlock) => Err(GitError::InUse(directory.to_owned())),
            Err(fs::TryLockError::Error(error)) => Err(GitError::Io { path, error }),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child process has a copy of it until it executes its program.
        let _ = self.0.unlock();
    }
}

impl BareRepository {
    /// Opens the clone in a directory, or creates it. Objects that are already there are not fetched again. The directory
    /// is a cache: a clone that is unreadable or has too many loose objects is created again.
    pub fn open(directory: &Path, access: Access) -> Result<Self, GitError> {
        fs::create_dir_all(directory).map_err(GitError::io(directory))?;
        let lock = Lock::take(directory)?;
        let below = directory.join("repository.git");
        let repository = match Repository::open_bare(&below) {
            Ok(repository) if !is_crowded(&below) => {
                leftovers::remove(&below)?;
                repository
            }
            _ => create(&below)?,
        };
        Self::new(repository, access, None, Some(lock))
    }

    /// Creates a clone in a temporary directory that only its owner can read and that is removed on drop.
    pub fn temporary(access: Access) -> Result<Self, GitError> {
        let temporary = Temporary::new("stackflux-git-").map_err(GitError::io(std::env::temp_dir()))?;
        let repository = create(&temporary.path().join("repository.git"))?;
        Self::new(repository, access, Some(temporary), None)
    }

    fn new(
        repository: Repository,
        access: Access,
        temporary: Option<Temporary>,
        lock: Option<Lock>,
    ) -> Result<Self, GitError> {
        // Before the first object is read.
        set_server_timeouts(None);
        // The user's and the machine's Git configuration could rewrite URLs, so none of it is read.
        repository.set_config(&Config::new()?)?;
        let limits = TransferLimits::default();
        Ok(Self { repository, access, limits, _temporary: temporary, _lock: lock })
    }

    /// Returns the repository with other limits.
    #[must_use]
    pub fn with_limits(self, limits: TransferLimits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the repository as the clone of another one, to push what was fetched.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Returns the URL and credentials of the remote repository.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.access
    }

    pub(super) fn url(&self) -> String {
        self.access.url.to_string()
    }

    /// Records the commit of a remote branch, so that the branch is not fetched again.
    pub(super) fn note(&self, branch: &str, commit: CommitId) -> Result<(), GitError> {
        self.repository.reference(&format!("refs/remotes/origin/{branch}"), commit.0, true, "")?;
        Ok(())
    }

    /// Returns the files of a fetched commit; for `None`, an empty snapshot.
    pub fn snapshot(&self, commit: Option<CommitId>) -> Result<Snapshot<'_>, GitError> {
        Snapshot::new(&self.repository, commit)
    }

    /// Whether `ancestor` is `of` or one of its ancestors.
    pub fn is_ancestor(&self, ancestor: CommitId, of: CommitId) -> Result<bool, GitError> {
        Ok(ancestor == of || self.repository.graph_descendant_of(of.0, ancestor.0)?)
    }
}

pub(super) fn create(directory: &Path) -> Result<Repository, GitError> {
    unless_missing(fs::remove_dir_all(directory)).map_err(GitError::io(directory))?;
    let mut options = RepositoryInitOptions::new();
    options.bare(true).external_template(false).initial_head(FIRST_BRANCH);
    Ok(Repository::init_opts(directory, &options)?)
}

/// Whether the repository has too many loose objects. Names are digests, so one directory is a sample of all, as in
/// `git gc --auto`.
fn is_crowded(directory: &Path) -> bool {
    fs::read_dir(directory.join("objects/17")).is_ok_and(|entries| entries.count() > MAX_LOOSE_OBJECTS)
}

#[cfg(test)]
mod tests;
