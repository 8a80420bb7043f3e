//! A repository of ours that keeps objects of another one.

use std::fs::{self, File};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::connection::Connection;
use super::{Access, CommitId, GitError, Snapshot};
use crate::temporary::Temporary;
use git2::{
    AutotagOption, Config, ErrorCode, FetchOptions, Oid, RemoteHead, RemoteRedirect, Repository,
    RepositoryInitOptions,
};

/// How many objects may lie on their own in one of 256 directories: about 25,000 in all. libgit2 packs none of them.
const MOST_LOOSE: usize = 100;

/// The first branch of an empty repository.
const FIRST_BRANCH: &str = "main";

/// What stands before the name of a branch in that of its reference.
const BRANCHES: &str = "refs/heads/";

/// What the lock is called in the directory.
const LOCK: &str = "stackflux.lock";

/// How much a repository may send, and how long that may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloneLimits {
    /// What is received in one fetch, in bytes.
    pub bytes: u64,
    /// From the beginning of a fetch or push to its end.
    pub overall: Duration,
}

impl Default for CloneLimits {
    fn default() -> Self {
        Self { bytes: 1 << 30, overall: Duration::from_mins(10) }
    }
}

/// What to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The branch that the repository itself names as its first.
    Head,
    /// A branch by its name.
    Branch(String),
    /// A tag by its name.
    Tag(String),
    /// A commit that a branch or tag leads to.
    Commit(CommitId),
}

/// A bare repository that only keeps objects, and one other that they come from and go to. It belongs to one process.
pub struct BareRepository {
    pub(super) repository: Repository,
    pub(super) access: Access,
    pub(super) limits: CloneLimits,
    // Removed with its contents, after the repository is closed.
    _temporary: Option<Temporary>,
    _lock: Option<File>,
}

/// What a server has.
struct There {
    /// Names and ids.
    references: Vec<(String, Oid)>,
    /// The branch that its `HEAD` names.
    head: Option<String>,
}

impl BareRepository {
    /// Opens the clone in a directory, or makes one there. What was fetched before is not fetched again. The directory
    /// is a cache: what cannot be read in it is made anew, and so is one in which too many commits were made.
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
                remove_locks(&below)?;
                repository
            }
            _ => create(&below)?,
        };
        Self::new(repository, access, None, Some(lock))
    }

    /// Makes a clone in a directory that goes with it, and that only its owner can read.
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
        // The user's and the machine's settings could rewrite URLs, and nothing of them is wanted.
        repository.set_config(&Config::new()?)?;
        let limits = CloneLimits::default();
        Ok(Self { repository, access, limits, _temporary: temporary, _lock: lock })
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: CloneLimits) -> Self {
        Self { limits, ..self }
    }

    /// The repository, and what it takes to reach it.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Fetches what a branch, tag or commit leads to. `None` where there is no such branch or tag.
    pub fn fetch(&self, reference: &Reference) -> Result<Option<CommitId>, GitError> {
        let (remote, local) = match reference {
            Reference::Head => ("HEAD".to_owned(), "refs/stackflux/HEAD".to_owned()),
            Reference::Branch(name) => (branch(name)?, format!("refs/remotes/origin/{name}")),
            Reference::Tag(name) => (named("refs/tags/", name)?, format!("refs/tags/{name}")),
            Reference::Commit(commit) => return self.fetch_commit(*commit),
        };
        self.fetch_named(&remote, &local).map(|(commit, _)| commit)
    }

    /// Fetches the branch that a change is for. `None` where the repository is empty; a branch that is missing beside
    /// others is an error: what was made of nothing would have no history in common with them.
    pub fn fetch_to_change(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        let (commit, there) = self.fetch_named(&branch(name)?, &format!("refs/remotes/origin/{name}"))?;
        let there = there.branches();
        if commit.is_none() && !there.is_empty() {
            return Err(GitError::NoBranch { url: self.url(), branch: name.to_owned(), there });
        }
        Ok(commit)
    }

    /// The branch that the repository's `HEAD` names; `main` where the repository is empty.
    pub fn default_branch(&self) -> Result<String, GitError> {
        let (_, there) = self.fetch_named("HEAD", "refs/stackflux/HEAD")?;
        let branches = there.branches();
        match there.head {
            Some(branch) => Ok(branch),
            None if branches.is_empty() => Ok(FIRST_BRANCH.to_owned()),
            None => Err(GitError::NoHead { url: self.url(), there: branches }),
        }
    }

    /// Fetches what a reference leads to, and says what else the server has.
    fn fetch_named(&self, remote: &str, local: &str) -> Result<(Option<CommitId>, There), GitError> {
        let there = self.receive(&[&format!("+{remote}:{local}")])?;
        let Some((_, id)) = there.references.iter().find(|(name, _)| name == remote) else {
            self.forget(local)?;
            return Ok((None, there));
        };
        let commit = self.repository.find_object(*id, None)?.peel_to_commit()?;
        Ok((Some(CommitId(commit.id())), there))
    }

    fn fetch_commit(&self, commit: CommitId) -> Result<Option<CommitId>, GitError> {
        if self.repository.find_commit(commit.0).is_err() {
            self.receive(&["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"])?;
        }
        match self.repository.find_commit(commit.0) {
            Ok(_) => Ok(Some(commit)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Fetches, and returns what the server has.
    fn receive(&self, refspecs: &[&str]) -> Result<There, GitError> {
        let connection = Connection::new(&self.access, &self.limits)?;
        let mut remote = self.repository.remote_anonymous(&self.access.url.remote())?;
        let mut options = FetchOptions::new();
        options
            .remote_callbacks(connection.callbacks())
            .proxy_options(connection.proxy_options())
            .download_tags(AutotagOption::None)
            .update_fetchhead(false)
            .follow_redirects(RemoteRedirect::None);
        remote.fetch(refspecs, Some(&mut options), None).map_err(|error| connection.error(&error))?;
        let heads = remote.list().map_err(|error| connection.error(&error))?;
        let references = heads.iter().filter_map(|head| Some((name(head)?, head.oid()))).collect();
        let head = match remote.default_branch() {
            // One that is not UTF-8 has to be named by whoever wants it.
            Ok(head) => head.as_str().ok().and_then(|head| head.strip_prefix(BRANCHES)).map(str::to_owned),
            Err(error) if error.code() == ErrorCode::NotFound => None,
            Err(error) => return Err(connection.error(&error)),
        };
        Ok(There { references, head })
    }

    fn url(&self) -> String {
        self.access.url.to_string()
    }

    /// Notes where a branch of the repository is, so that it is not fetched again.
    pub(super) fn note(&self, branch: &str, commit: CommitId) -> Result<(), GitError> {
        self.repository.reference(&format!("refs/remotes/origin/{branch}"), commit.0, true, "")?;
        Ok(())
    }

    fn forget(&self, reference: &str) -> Result<(), GitError> {
        match self.repository.find_reference(reference) {
            Ok(mut reference) => Ok(reference.delete()?),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The files of a commit that was fetched; those of `None` are none.
    pub fn snapshot(&self, commit: Option<CommitId>) -> Result<Snapshot<'_>, GitError> {
        Snapshot::new(&self.repository, commit)
    }

    /// Whether a commit is another one or comes before it.
    pub fn is_ancestor(&self, ancestor: CommitId, of: CommitId) -> Result<bool, GitError> {
        Ok(ancestor == of || self.repository.graph_descendant_of(of.0, ancestor.0)?)
    }
}

impl There {
    fn branches(&self) -> Vec<String> {
        let names = self.references.iter().filter_map(|(name, _)| name.strip_prefix(BRANCHES));
        names.map(str::to_owned).collect()
    }
}

/// The name of a reference; `None` for one that is not UTF-8, which nobody asks for. git2 panics on it, and has no other way
/// to it.
fn name(head: &RemoteHead<'_>) -> Option<String> {
    panic::catch_unwind(AssertUnwindSafe(|| head.name().to_owned())).ok()
}

/// The reference of a branch. The whole name of a reference would be a branch `refs/heads/refs/heads/…`.
pub(super) fn branch(name: &str) -> Result<String, GitError> {
    if name.starts_with("refs/") {
        return Err(GitError::Name(name.to_owned()));
    }
    named(BRANCHES, name)
}

fn named(above: &str, name: &str) -> Result<String, GitError> {
    let reference = format!("{above}{name}");
    // Git makes no branch or tag that could be taken for an option.
    if git2::Reference::is_valid_name(&reference) && !name.starts_with('-') {
        Ok(reference)
    } else {
        Err(GitError::Name(name.to_owned()))
    }
}

fn create(directory: &Path) -> Result<Repository, GitError> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(GitError::Io { path: directory.to_owned(), error });
        }
        _ => {}
    }
    let mut options = RepositoryInitOptions::new();
    options.bare(true).external_template(false).initial_head(FIRST_BRANCH);
    Ok(Repository::init_opts(directory, &options)?)
}

/// Whether many objects were written one by one. Names are digests: one directory stands for all, as in `git gc --auto`.
fn is_crowded(directory: &Path) -> bool {
    fs::read_dir(directory.join("objects/17")).is_ok_and(|entries| entries.count() > MOST_LOOSE)
}

/// Removes the locks that a killed process has left: whoever has this clone is the only one.
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
        match fs::remove_file(&lock) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(GitError::Io { path: lock, error });
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
