//! A remote Git repository as an origin of releases.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::address::GitAddress;
use super::origin::{Description, Fetched, Listing, Origin, OriginError, Provenance};
use crate::error::Classify as _;
use crate::git::{Access, BareRepository, CommitId, EntryKind, GitError, LogEntry, Reference, Snapshot};
use crate::http::TransportError;
use crate::names::ReleaseName;
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

    /// Runs a closure that reads the repository on the blocking thread pool.
    fn blocking<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Remote, &Opened<'_>) -> Result<T, OriginError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, OriginError>> {
        let remote = Arc::clone(&self.0);
        let place = self.0.address.to_string();
        let failed =
            |error: tokio::task::JoinError| TransportError::Interrupted { place, error: error.to_string() };
        let run = move || remote.with(|opened| read(&remote, opened));
        async move { tokio::task::spawn_blocking(run).await.map_err(failed)? }.boxed()
    }
}

impl Remote {
    fn with<T>(&self, read: impl FnOnce(&Opened<'_>) -> Result<T, OriginError>) -> Result<T, OriginError> {
        let clone = self.clone.lock().unwrap_or_else(PoisonError::into_inner);
        let tip = match self.tip.get() {
            Some(tip) => *tip,
            None => *self.tip.get_or_init({
                let tip = self.look_up(&clone)?;
                move || tip
            }),
        };
        let snapshot = clone.snapshot(Some(tip)).map_err(|error| self.failed(error))?;
        let directory = self.directory(&snapshot)?;
        read(&Opened { clone: &clone, snapshot, directory })
    }

    /// Returns the commit of the address: its branch, tag or commit, or otherwise the repository's `HEAD`.
    fn look_up(&self, clone: &BareRepository) -> Result<CommitId, OriginError> {
        let fetch = |reference| clone.fetch(&reference).map_err(|error| self.failed(error));
        let Some(name) = &self.address.reference else {
            return fetch(Reference::Head)?.ok_or_else(|| self.missing("a commit".to_owned()));
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
        let below = if named.is_empty() { RELEASES.to_owned() } else { format!("{named}/{RELEASES}") };
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
    fn names(&self) -> Result<Vec<String>, GitError> {
        let entries = self.snapshot.entries(&self.directory)?.into_iter();
        let directories = entries.filter(|entry| entry.kind == EntryKind::Directory);
        Ok(directories.map(|entry| entry.name).filter(|name| !name.starts_with('.')).collect())
    }

    fn path(&self, name: &ReleaseName) -> String {
        format!("{}/{name}", self.directory).trim_start_matches('/').to_owned()
    }

    /// Returns the last commit that changed a release, which Flux fetches; `None` if the release does not exist.
    fn changed(&self, name: &ReleaseName) -> Result<Option<LogEntry>, GitError> {
        let (path, tip) = (self.path(name), self.snapshot.commit());
        match (self.snapshot.tree_id(&path)?, tip) {
            (Some(_), Some(tip)) => Ok(self.clone.log(tip, &path, 1)?.pop()),
            _ => Ok(None),
        }
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
        self.blocking(|remote, opened| Ok(Listing::of(opened.names().map_err(|error| remote.failed(error))?)))
    }

    fn describe<'a>(&'a self, name: &'a ReleaseName) -> BoxFuture<'a, Result<Description, OriginError>> {
        let name = name.clone();
        self.blocking(move |remote, opened| {
            let failed = |error| remote.failed(error);
            let changed = opened.changed(&name).map_err(failed)?;
            let place = remote.address.to_string();
            let Some(changed) = changed else {
                return Err(OriginError::NoRelease { place, name: Box::new(name) });
            };
            let described = Description::of(&name, &opened.small(&name).map_err(failed)?);
            let described = described.map_err(|findings| OriginError::Unusable { place, findings })?;
            let (digest, date) = (Some(changed.commit.to_string()), Some(changed.time));
            Ok(Description { digest, date, ..described })
        })
    }

    fn fetch<'a>(&'a self, name: &'a ReleaseName) -> BoxFuture<'a, Result<Fetched, OriginError>> {
        let name = name.clone();
        self.blocking(move |remote, opened| {
            let failed = |error| remote.failed(error);
            let changed = opened.changed(&name).map_err(failed)?;
            let Some(LogEntry { commit, .. }) = changed else {
                let place = remote.address.to_string();
                return Err(OriginError::NoRelease { place, name: Box::new(name) });
            };
            let files = opened.snapshot.files(&opened.path(&name), &remote.limits).map_err(failed)?;
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
