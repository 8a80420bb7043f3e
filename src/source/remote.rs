//! A remote Git repository as an origin of releases.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures::future::BoxFuture;

use super::address::GitAddress;
use super::origin::{self, Description, Fetched, Listing, Origin, OriginError, Provenance};
use super::repository::not_a_directory;
use crate::error::Classify as _;
use crate::git::{
    Access, BareRepository, CommitId, Entry, EntryKind, GitError, LogEntry, Reference, Snapshot,
};
use crate::http::TransportError;
use crate::names::ReleaseName;
use crate::release::files::join;
use crate::release::{Files, Limits, link_findings};

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
        // A link or a file with the name of a release is described with its problem.
        let is_listed =
            |entry: &Entry| entry.kind == EntryKind::Directory || entry.name.parse::<ReleaseName>().is_ok();
        let listed = entries.into_iter().filter(is_listed).map(|entry| entry.name);
        Ok(listed.filter(|name| !name.starts_with('.')).collect())
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
        match changed {
            Some(changed) => Ok(changed),
            None => Err(self.absent(name)),
        }
    }

    /// Returns the error about a release that has no directory.
    fn absent(&self, name: &ReleaseName) -> OriginError {
        let entries = match self.snapshot.entries(&self.directory) {
            Ok(entries) => entries,
            Err(error) => return self.remote.failed(error),
        };
        let (place, file) = (self.remote.address.to_string(), name.to_string());
        let kind = match entries.iter().find(|entry| entry.name == file).map(|entry| entry.kind) {
            None => return OriginError::NoRelease { place, name: Box::new(name.clone()) },
            Some(EntryKind::Link) => "a link",
            Some(EntryKind::Submodule) => "a submodule",
            Some(EntryKind::File | EntryKind::Directory) => "a file",
        };
        OriginError::Unusable { place, findings: not_a_directory(&file, kind).into() }
    }

    /// Returns all files of a release, without those that Flux leaves out.
    fn files(&self, name: &ReleaseName, place: &str) -> Result<Files, OriginError> {
        let files = self.snapshot.files(&self.path(name), &self.remote.limits);
        let files = files.map_err(|error| self.remote.failed(error))?;
        let unusable = |findings| OriginError::Unusable { place: place.to_owned(), findings };
        files.without_ignored().map_err(|finding| unusable((*finding).into()))
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
            // All of them, as a link, a submodule or a file above the limit keeps a release from being published.
            let files = opened.files(&name, &place)?;
            let links = link_findings(&files);
            let described = if links.has_errors() { Err(links) } else { Description::of(&name, &files) };
            let described = described.map_err(|findings| OriginError::Unusable { place, findings })?;
            let (digest, date) = (Some(changed.commit.to_string()), Some(changed.time));
            Ok(Description { digest, date, ..described })
        })
    }

    fn fetch<'a>(&'a self, name: &'a ReleaseName) -> BoxFuture<'a, Result<Fetched, OriginError>> {
        let name = name.clone();
        self.blocking(move |opened| {
            let (remote, LogEntry { commit, .. }) = (opened.remote, opened.changed(&name)?);
            let (release, reference) = (Some(name.clone()), Some(commit.to_string()));
            let directory = opened.directory.clone();
            let source = GitAddress { directory, release, reference, ..remote.address.clone() }.to_string();
            let files = opened.files(&name, &source)?;
            let provenance = Provenance { source, digest: Some(commit.to_string()), ..Provenance::default() };
            Ok(Fetched { name, files, provenance })
        })
    }
}

#[cfg(test)]
mod tests;
