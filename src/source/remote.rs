//! A remote Git repository as an origin of releases.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures::future::BoxFuture;

use super::address::GitAddress;
use super::origin::{self, Description, Fetched, Listing, Origin, OriginError, Provenance};
use crate::error::Classify as _;
use crate::git::{Access, BareRepository, CommitId, EntryKind, GitError, LogEntry, Reference, Snapshot};
use crate::http::TransportError;
use crate::names::ReleaseName;
use crate::release::files::join;
use crate::release::{Files, Limits, summary};

/// Directory of a stack repository that has the releases.
const RELEASES: &str = "releases";

/// A directory of a commit that has a directory for each release. Resolves the commit once, and then keeps it.
#[derive(Clone)]
pub struct RemoteOrigin(Arc<Remote>);

struct Remote {
    /// For messages and provenance; without credentials.
    address: GitAddress,
    clone: Mutex<BareRepository>,
    tip: OnceLock<CommitId>,
    limits: Limits,
}

/// The resolved commit. The lock on the clone is held, so only one exists at a time.
struct Opened<'a> {
    remote: &'a Remote,
    clone: &'a BareRepository,
    snapshot: Snapshot<'a>,
    /// Directory of the releases.
    directory: String,
}

impl RemoteOrigin {
    /// Opens the place of this address, whose URL `access` has. Fetches nothing.
    pub fn open(address: GitAddress, access: Access, limits: Limits) -> Result<Self, GitError> {
        let clone = Mutex::new(BareRepository::temporary(access)?);
        Ok(Self(Arc::new(Remote { address, clone, tip: OnceLock::new(), limits })))
    }

    fn blocking<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Opened<'_>) -> Result<T, OriginError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, OriginError>> {
        let remote = Arc::clone(&self.0);
        origin::blocking(remote.address.to_string(), move || remote.with(read))
    }
}

impl Remote {
    fn with<T>(&self, read: impl FnOnce(&Opened<'_>) -> Result<T, OriginError>) -> Result<T, OriginError> {
        let clone = self.clone.lock().unwrap_or_else(PoisonError::into_inner);
        let tip = if let Some(tip) = self.tip.get() {
            *tip
        } else {
            let tip = self.look_up(&clone)?;
            *self.tip.get_or_init(|| tip)
        };
        let snapshot = clone.snapshot(Some(tip)).map_err(|error| self.failed(error))?;
        let directory = self.directory(&snapshot)?;
        read(&Opened { remote: self, clone: &clone, snapshot, directory })
    }

    /// Returns the commit of the address: its branch, tag or commit, or otherwise the repository's `HEAD`.
    fn look_up(&self, clone: &BareRepository) -> Result<CommitId, OriginError> {
        let fetch = |reference| clone.fetch(&reference).map_err(|error| self.failed(error));
        let Some(name) = &self.address.reference else {
            if let Some(commit) = fetch(Reference::Head)? {
                return Ok(commit);
            }
            let branch = clone.default_branch().map_err(|error| self.failed(error))?;
            return fetch(Reference::Branch(branch))?.ok_or_else(|| self.missing("a commit".to_owned()));
        };
        if let Ok(commit) = name.parse() {
            return fetch(Reference::Commit(commit))?.ok_or_else(|| self.missing(format!("commit {name}")));
        }
        match fetch(Reference::Branch(name.clone()))? {
            Some(commit) => Ok(commit),
            None => fetch(Reference::Tag(name.clone()))?
                .ok_or_else(|| self.missing(format!("a branch or tag {name}"))),
        }
    }

    /// Returns `releases` below the named directory, if it exists, or otherwise that directory, as for a local path.
    fn directory(&self, snapshot: &Snapshot<'_>) -> Result<String, OriginError> {
        let is_there = |directory: &str| match snapshot.tree_id(directory) {
            Ok(id) => Ok(id.is_some()),
            Err(error) => Err(self.failed(error)),
        };
        let named = &self.address.directory;
        let below = join(named, RELEASES);
        if is_there(&below)? {
            Ok(below)
        } else if is_there(named)? {
            Ok(named.clone())
        } else {
            Err(self.missing(format!("the directory {named}")))
        }
    }

    fn missing(&self, what: String) -> OriginError {
        OriginError::NotFound { place: self.address.to_string(), what }
    }

    fn failed(&self, error: GitError) -> OriginError {
        let place = self.address.to_string();
        // The error names the repository itself.
        let text = error.to_string();
        let cause = text.strip_prefix(&format!("{}: ", self.address.url)).unwrap_or(&text).to_owned();
        let exceeds = |place, most, unit| OriginError::from(TransportError::TooLarge { place, most, unit });
        match error {
            GitError::Transport(TransportError::Certificate { .. } | TransportError::Proxy(_)) => {
                OriginError::Settings(text)
            }
            GitError::Transport(error) => error.into(),
            GitError::NoCredentials { .. } | GitError::Unauthorised { .. } | GitError::Forbidden { .. } => {
                OriginError::Unauthorised { place, error: cause }
            }
            GitError::NotFound { .. } => self.missing("the repository".to_owned()),
            GitError::FileTooLarge { most, .. } => exceeds(place, most, "bytes"),
            GitError::TooManyFiles { most, .. } => exceeds(place, most as u64, "files"),
            error if error.reason() == "GitFailed" => {
                TransportError::Malformed { place, error: cause }.into()
            }
            _ => OriginError::Settings(text),
        }
    }
}

impl Opened<'_> {
    fn names(&self) -> Result<Vec<String>, OriginError> {
        let entries = self.snapshot.entries(&self.directory).map_err(|error| self.remote.failed(error))?;
        let directories = entries.into_iter().filter(|entry| entry.kind == EntryKind::Directory);
        Ok(directories.map(|entry| entry.name).filter(|name| !name.starts_with('.')).collect())
    }

    fn path(&self, name: &ReleaseName) -> String {
        join(&self.directory, &name.to_string())
    }

    /// Returns the last commit that changed a release, which Flux fetches.
    fn changed(&self, name: &ReleaseName) -> Result<LogEntry, OriginError> {
        let failed = |error| self.remote.failed(error);
        let (path, tip) = (self.path(name), self.snapshot.commit());
        let changed = match (self.snapshot.tree_id(&path).map_err(failed)?, tip) {
            (Some(_), Some(tip)) => self.clone.log(tip, &path, 1).map_err(failed)?.pop(),
            _ => None,
        };
        let place = self.remote.address.to_string();
        changed.ok_or_else(|| OriginError::NoRelease { place, name: Box::new(name.clone()) })
    }

    /// Returns the small files that the release has.
    fn small(&self, name: &ReleaseName) -> Result<Files, GitError> {
        let mut files = Files::default();
        for file in summary::FILES {
            let path = format!("{}/{file}", self.path(name));
            if let Some(content) = self.snapshot.file(&path)? {
                files.insert(file, content).map_err(|error| GitError::Path { path, error })?;
            }
        }
        Ok(files)
    }
}

impl Origin for RemoteOrigin {
    fn list(&self) -> BoxFuture<'_, Result<Listing, OriginError>> {
        self.blocking(|opened| Ok(Listing::of(opened.names()?)))
    }

    fn describe<'a>(&'a self, name: &'a ReleaseName) -> BoxFuture<'a, Result<Description, OriginError>> {
        let name = name.clone();
        self.blocking(move |opened| {
            let changed = opened.changed(&name)?;
            let place = opened.remote.address.to_string();
            let small = opened.small(&name).map_err(|error| opened.remote.failed(error))?;
            let described = Description::of(&name, &small)
                .map_err(|findings| OriginError::Unusable { place, findings })?;
            let (digest, date) = (Some(changed.commit.to_string()), Some(changed.time));
            Ok(Description { digest, date, ..described })
        })
    }

    fn fetch<'a>(&'a self, name: &'a ReleaseName) -> BoxFuture<'a, Result<Fetched, OriginError>> {
        let name = name.clone();
        self.blocking(move |opened| {
            let (remote, LogEntry { commit, .. }) = (opened.remote, opened.changed(&name)?);
            let files = opened.snapshot.files(&opened.path(&name), &remote.limits);
            let files = files.map_err(|error| remote.failed(error))?;
            let (release, reference) = (Some(name.clone()), Some(commit.to_string()));
            let directory = opened.directory.clone();
            let source = GitAddress { directory, release, reference, ..remote.address.clone() }.to_string();
            let files = files.without_ignored().map_err(|finding| OriginError::Unusable {
                place: source.clone(),
                findings: (*finding).into(),
            })?;
            let provenance = Provenance { source, digest: Some(commit.to_string()), ..Provenance::default() };
            Ok(Fetched { name, files, provenance })
        })
    }
}

#[cfg(test)]
mod tests;
