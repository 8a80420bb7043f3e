//! A local bare repository that caches the objects of a remote one.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use super::error::found;
use super::transfer::{self, BRANCHES, RemoteRefs};
use super::{Access, CommitId, GitError, Snapshot, Transport, child, leftovers, set_server_timeouts};
use crate::temporary::{Temporary, unless_missing};
use git2::{Config, Repository, RepositoryInitOptions};

/// Maximum number of loose objects in one of the 256 object directories, about 25,000 in all: libgit2 never packs loose
/// objects.
const MAX_LOOSE_OBJECTS: usize = 100;

/// Default branch of an empty repository.
const FIRST_BRANCH: &str = "main";

/// Prefix of the branches that stackflux pushes for pull requests.
const PULL_REQUESTS: &str = "stackflux/";

/// File name of the lock in the directory.
const LOCK: &str = "stackflux.lock";

/// Limits for fetching from and pushing to a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferLimits {
    /// Maximum number of bytes received in one fetch.
    pub bytes: u64,
    /// Maximum duration of a fetch or push, from the first byte to the last.
    pub overall: Duration,
    /// Maximum memory of the process that is connected to a server, in bytes of address space, and of all such processes
    /// together.
    pub memory: u64,
}

impl Default for TransferLimits {
    fn default() -> Self {
        Self { bytes: 1 << 30, overall: Duration::from_mins(10), memory: child::connection_memory() }
    }
}

/// Reference to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The branch that the repository's `HEAD` names.
    Head,
    /// A branch, by name.
    Branch(String),
    /// A tag, by name.
    Tag(String),
    /// A commit that is reachable from a branch or tag.
    Commit(CommitId),
}

/// A bare repository used by one process, and the remote repository that it fetches from and pushes to.
pub struct BareRepository {
    pub(super) repository: Repository,
    pub(super) access: Access,
    pub(super) limits: TransferLimits,
    // Removed with its contents, after the repository is closed.
    _temporary: Option<Temporary>,
    _lock: Option<File>,
}

impl BareRepository {
    /// Opens the clone in a directory, or creates it. Objects that are already there are not fetched again. The directory
    /// is a cache: a clone that is unreadable or has too many loose objects is created again.
    pub fn open(directory: &Path, access: Access) -> Result<Self, GitError> {
        fs::create_dir_all(directory).map_err(GitError::io(directory))?;
        let path = directory.join(LOCK);
        let lock = File::create(&path).map_err(GitError::io(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(GitError::InUse(directory.to_owned())),
            Err(fs::TryLockError::Error(error)) => return Err(GitError::Io { path, error }),
        }
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
        lock: Option<File>,
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

    /// Returns the URL and credentials of the remote repository.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Fetches a branch, tag or commit. `None` if the repository does not have it.
    pub fn fetch(&self, reference: &Reference) -> Result<Option<CommitId>, GitError> {
        let (remote, local) = match reference {
            Reference::Head => ("HEAD".to_owned(), "refs/stackflux/HEAD".to_owned()),
            Reference::Branch(name) => (branch(name)?, format!("refs/remotes/origin/{name}")),
            Reference::Tag(name) => (named("refs/tags/", name)?, format!("refs/tags/{name}")),
            Reference::Commit(commit) => return self.fetch_commit(*commit),
        };
        self.fetch_named(&remote, &local).map(|(commit, _)| commit)
    }

    /// Fetches the branch that a change is made on. `None` if the repository is empty. If it has only other branches, this
    /// is an error: a branch created from nothing would share no history with them.
    pub fn fetch_to_change(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        let (commit, refs) = self.fetch_named(&branch(name)?, &format!("refs/remotes/origin/{name}"))?;
        let branches = refs.branches;
        if commit.is_none() && !branches.is_empty() {
            return Err(GitError::NoBranch { url: self.url(), branch: name.to_owned(), branches });
        }
        Ok(commit)
    }

    /// Returns the branch that the repository's `HEAD` names. If it names none that exists, returns the only branch, not
    /// counting those for pull requests; `main` if the repository is empty.
    pub fn default_branch(&self) -> Result<String, GitError> {
        let (_, refs) = self.fetch_named("HEAD", "refs/stackflux/HEAD")?;
        let branches = refs.branches;
        let mut others = branches.iter().filter(|branch| !branch.starts_with(PULL_REQUESTS));
        match (refs.head, others.next(), others.next()) {
            (Some(branch), ..) => Ok(branch),
            (None, Some(only), None) => Ok(only.clone()),
            (None, None, _) if branches.is_empty() => Ok(FIRST_BRANCH.to_owned()),
            _ => Err(GitError::NoHead { url: self.url(), branches }),
        }
    }

    /// Fetches a reference, and returns its commit and the references of the remote repository.
    fn fetch_named(&self, remote: &str, local: &str) -> Result<(Option<CommitId>, RemoteRefs), GitError> {
        let refs = self.receive(&[format!("+{remote}:{local}")], remote)?;
        let Some(id) = refs.commit else {
            self.forget(local)?;
            return Ok((None, refs));
        };
        let commit = self.repository.find_object(id.0, None)?.peel_to_commit()?;
        Ok((Some(CommitId(commit.id())), refs))
    }

    fn fetch_commit(&self, commit: CommitId) -> Result<Option<CommitId>, GitError> {
        if self.repository.find_commit(commit.0).is_err() {
            let all = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"];
            self.receive(&all.map(str::to_owned), "HEAD")?;
        }
        Ok(found(self.repository.find_commit(commit.0))?.map(|_| commit))
    }

    /// Fetches, and returns the references of the remote repository. A server is asked by a process of its own.
    fn receive(&self, refspecs: &[String], name: &str) -> Result<RemoteRefs, GitError> {
        match self.access.url.transport() {
            Transport::File => transfer::fetch(&self.repository, &self.access, &self.limits, refspecs, name),
            Transport::Https | Transport::Http | Transport::Ssh => child::fetch(self, refspecs, name),
        }
    }

    pub(super) fn url(&self) -> String {
        self.access.url.to_string()
    }

    /// Records the commit of a remote branch, so that the branch is not fetched again.
    pub(super) fn note(&self, branch: &str, commit: CommitId) -> Result<(), GitError> {
        self.repository.reference(&format!("refs/remotes/origin/{branch}"), commit.0, true, "")?;
        Ok(())
    }

    fn forget(&self, reference: &str) -> Result<(), GitError> {
        if let Some(mut reference) = found(self.repository.find_reference(reference))? {
            reference.delete()?;
        }
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

/// Returns the reference of a branch. Refuses a full reference name, which would become `refs/heads/refs/heads/…`.
pub(super) fn branch(name: &str) -> Result<String, GitError> {
    if name.starts_with("refs/") {
        return Err(GitError::Name(name.to_owned()));
    }
    named(BRANCHES, name)
}

fn named(above: &str, name: &str) -> Result<String, GitError> {
    let reference = format!("{above}{name}");
    // Git creates no branch or tag whose name could be taken for an option.
    if git2::Reference::is_valid_name(&reference) && !name.starts_with('-') {
        Ok(reference)
    } else {
        Err(GitError::Name(name.to_owned()))
    }
}

fn create(directory: &Path) -> Result<Repository, GitError> {
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
