//! The built-in stack repositories of this process, for its Git server.
//!
//! Each replica serves what it has brought in itself, leader or not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::git::ServedRepository;
use crate::runtime::cache::Key;
use crate::serve::{Found, Login, Repositories};

/// The answer to a client of a repository that is closed. The condition has the reason, which is not for everybody.
const CLOSED: &str =
    "the repository is not served now: the condition ReleasesPublished of its ClusterStack says why";

/// The built-in stack repositories of this process, by the UID of their `ClusterStack`.
#[derive(Debug)]
pub struct BuiltinRepositories {
    entries: Mutex<Entries>,
    /// What the process waits for before it may answer for the repositories.
    waits: watch::Sender<Option<String>>,
    /// Held while a release is added, so that the size of all repositories is known.
    pub adding: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Entries {
    /// Whether the `ClusterStack`s are known, so that there is no other repository.
    is_listed: bool,
    by_uid: BTreeMap<String, Entry>,
}

/// The repository of a `ClusterStack`.
#[derive(Debug)]
struct Entry {
    key: Key,
    repository: Option<Arc<ServedRepository>>,
    access: RepositoryAccess,
}

/// Whether a repository is served, and to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepositoryAccess {
    /// The Git server answers all clients, or those with this login.
    Open(Option<Login>),
    /// The Git server refuses all clients at present.
    Closed {
        /// The reason.
        why: String,
        /// Whether releases in use are missing, which another process may have.
        is_in_use: bool,
    },
}

impl RepositoryAccess {
    /// Returns the access to a repository that was not opened yet.
    #[must_use]
    pub fn unopened(is_in_use: bool) -> Self {
        Self::Closed { why: "the operator has not opened the repository yet".to_owned(), is_in_use }
    }

    fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }
}

impl BuiltinRepositories {
    /// Creates the repositories of a process that starts. `are_served` is whether it has a Git server.
    #[must_use]
    pub fn starting(are_served: bool) -> Self {
        let waits = are_served.then(|| "the operator is starting".to_owned());
        let (entries, adding) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { entries, waits: watch::Sender::new(waits), adding }
    }

    /// Returns the directory of a `ClusterStack`'s repository below that of all. A `ClusterStack` that is created again has
    /// another one.
    #[must_use]
    pub fn directory(below: &Path, key: &Key, uid: &str) -> PathBuf {
        below.join(&key.namespace).join(&key.name).join(uid)
    }

    /// Records that all `ClusterStack`s are known.
    pub fn listed(&self) {
        self.change(|entries| entries.is_listed = true);
    }

    /// Records a `ClusterStack` that has a repository.
    pub fn expect(&self, key: &Key, uid: &str, is_in_use: bool) {
        self.change(|entries| {
            let access = RepositoryAccess::unopened(is_in_use);
            let entry = Entry { key: key.clone(), repository: None, access };
            entries.by_uid.entry(uid.to_owned()).or_insert(entry);
        });
    }

    /// Returns the repository of a `ClusterStack`, if it is open.
    #[must_use]
    pub fn repository(&self, uid: &str) -> Option<Arc<ServedRepository>> {
        self.lock().by_uid.get(uid)?.repository.clone()
    }

    /// Whether the repository of a `ClusterStack` is served.
    #[must_use]
    pub fn is_open(&self, uid: &str) -> bool {
        self.lock().by_uid.get(uid).is_some_and(|entry| entry.access.is_open())
    }

    /// Returns the reason why the repository of a `ClusterStack` is closed, if it is.
    #[must_use]
    pub fn closed(&self, uid: &str) -> Option<String> {
        match &self.lock().by_uid.get(uid)?.access {
            RepositoryAccess::Open(_) => None,
            RepositoryAccess::Closed { why, .. } => Some(why.clone()),
        }
    }

    /// Records the repository of an expected `ClusterStack`.
    pub fn set_repository(&self, uid: &str, repository: Arc<ServedRepository>) {
        self.change(|entries| {
            if let Some(entry) = entries.by_uid.get_mut(uid) {
                entry.repository = Some(repository);
            }
        });
    }

    /// Records whether the repository of an expected `ClusterStack` is served. Returns whether it was opened by this.
    pub fn set_access(&self, uid: &str, access: RepositoryAccess) -> bool {
        let mut is_opened = false;
        self.change(|entries| {
            if let Some(entry) = entries.by_uid.get_mut(uid) {
                is_opened = access.is_open() && !entry.access.is_open();
                entry.access = access;
            }
        });
        is_opened
    }

    /// Returns the UIDs of the `ClusterStack`s with that key that have had a repository.
    #[must_use]
    pub fn uids(&self, key: &Key) -> Vec<String> {
        let entries = self.lock();
        let found = entries.by_uid.iter().filter(|(_, entry)| entry.key == *key);
        found.map(|(uid, _)| uid.clone()).collect()
    }

    /// Forgets the repository of a `ClusterStack`.
    pub fn forget(&self, uid: &str) {
        self.change(|entries| drop(entries.by_uid.remove(uid)));
    }

    /// Returns what the process waits for before it may answer for the repositories, now and after each change.
    #[must_use]
    pub fn waits(&self) -> watch::Receiver<Option<String>> {
        self.waits.subscribe()
    }

    fn change(&self, change: impl FnOnce(&mut Entries)) {
        let waits = {
            let mut entries = self.lock();
            change(&mut entries);
            if !entries.is_listed {
                return;
            }
            waits(entries.by_uid.values().map(|entry| &entry.access))
        };
        self.waits.send_if_modified(|before| {
            let is_changed = *before != waits;
            *before = waits;
            is_changed
        });
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Decides whether a process may get requests: one that lacks all that is in use would refuse what another one serves. One that
/// has some does not wait for the others, whose upstream may never answer.
fn waits<'a>(all: impl Iterator<Item = &'a RepositoryAccess>) -> Option<String> {
    let mut reason = None;
    for access in all {
        match access {
            RepositoryAccess::Open(_) => return None,
            RepositoryAccess::Closed { why, is_in_use: true } => {
                reason = reason.or_else(|| Some(why.clone()));
            }
            RepositoryAccess::Closed { .. } => {}
        }
    }
    reason
}

impl Repositories for BuiltinRepositories {
    fn find(&self, identifier: &str) -> Found {
        let entries = self.lock();
        match entries.by_uid.get(identifier) {
            Some(Entry { repository: Some(repository), access: RepositoryAccess::Open(login), .. }) => {
                Found::At { directory: repository.path().to_owned(), login: login.clone() }
            }
            None if entries.is_listed => Found::Unknown,
            _ => Found::NotYet(CLOSED.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(why: &str, is_in_use: bool) -> RepositoryAccess {
        RepositoryAccess::Closed { why: why.to_owned(), is_in_use }
    }

    #[test]
    fn process_that_lacks_all_in_use_waits() {
        let open = RepositoryAccess::Open(None);
        for (all, expected) in [
            (vec![], None),
            (vec![closed("one", true), closed("two", true)], Some("one")),
            (vec![closed("one", false), closed("two", true)], Some("two")),
            (vec![closed("one", false)], None),
            (vec![closed("one", true), open.clone()], None),
            (vec![open], None),
        ] {
            assert_eq!(waits(all.iter()).as_deref(), expected, "{all:?}");
        }
    }

    #[test]
    fn repository_is_found_when_it_is_open() {
        let directory = tempfile::tempdir().unwrap();
        let (key, other) = (Key::new("team", "demo"), Key::new("team", "other"));
        let repositories = BuiltinRepositories::starting(true);
        let waits = repositories.waits();
        assert!(matches!(repositories.find("a"), Found::NotYet(_)), "it is starting");
        repositories.expect(&key, "a", true);
        assert_eq!(waits.borrow().as_deref(), Some("the operator is starting"));
        repositories.listed();
        assert_eq!(repositories.find("b"), Found::Unknown);
        assert!(matches!(repositories.find("a"), Found::NotYet(_)));
        assert_eq!(waits.borrow().as_deref(), Some("the operator has not opened the repository yet"));

        let served = Arc::new(ServedRepository::open(&directory.path().join("a")).unwrap());
        repositories.set_repository("a", served.clone());
        let Found::NotYet(answer) = repositories.find("a") else { panic!("it may be incomplete") };
        let why = repositories.closed("a").unwrap();
        assert_eq!(why, "the operator has not opened the repository yet");
        assert!(!answer.contains(&why), "the reason is not for everybody: {answer}");
        assert!(repositories.set_access("a", RepositoryAccess::Open(None)));
        assert!(!repositories.set_access("a", RepositoryAccess::Open(None)), "it is open");
        let found = Found::At { directory: served.path().to_owned(), login: None };
        assert_eq!(repositories.find("a"), found);
        assert_eq!((waits.borrow().as_deref(), repositories.closed("a")), (None, None));

        assert_eq!((repositories.uids(&key), repositories.uids(&other)), (vec!["a".to_owned()], vec![]));
        repositories.forget("a");
        assert_eq!(repositories.find("a"), Found::Unknown);
        repositories.set_access("a", RepositoryAccess::Open(None));
        assert_eq!(repositories.find("a"), Found::Unknown, "it was forgotten in between");
    }

    #[test]
    fn process_without_git_server_waits_for_nothing() {
        assert_eq!(*BuiltinRepositories::starting(false).waits().borrow(), None);
    }
}
