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

/// The built-in stack repositories of this process, by the UID of their `ClusterStack`.
#[derive(Debug, Default)]
pub struct BuiltinRepositories {
    entries: Mutex<Entries>,
    /// What the process waits for before it may answer for the repositories.
    waits: watch::Sender<Option<String>>,
}

#[derive(Debug, Default)]
struct Entries {
    /// Whether the `ClusterStack`s are known, so that there is no other repository.
    is_listed: bool,
    by_uid: BTreeMap<String, Entry>,
}

/// The repository of a `ClusterStack`.
#[derive(Clone, Debug, Default)]
struct Entry {
    repository: Option<Arc<ServedRepository>>,
    access: RepositoryAccess,
}

/// Whether a repository is served, and to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepositoryAccess {
    /// To everybody, or to clients with this login.
    Open(Option<Login>),
    /// Not until it is complete, or as long as it may not be served, and why.
    Closed(String),
}

impl Default for RepositoryAccess {
    fn default() -> Self {
        Self::Closed("the operator has not opened the repository yet".to_owned())
    }
}

impl BuiltinRepositories {
    /// Returns the directory of a `ClusterStack`'s repository below that of all. A `ClusterStack` that is created again has
    /// another one.
    #[must_use]
    pub fn directory(below: &Path, key: &Key, uid: &str) -> PathBuf {
        below.join(&key.namespace).join(&key.name).join(uid)
    }

    /// Records the `ClusterStack`s that have a repository, once all are known.
    pub fn expect(&self, uids: impl IntoIterator<Item = String>) {
        self.change(|entries| {
            entries.is_listed = true;
            for uid in uids {
                entries.by_uid.entry(uid).or_default();
            }
        });
    }

    /// Returns the repository of a `ClusterStack`, if it is open.
    #[must_use]
    pub fn repository(&self, uid: &str) -> Option<Arc<ServedRepository>> {
        self.lock().by_uid.get(uid)?.repository.clone()
    }

    /// Records the repository of a `ClusterStack`.
    pub fn set_repository(&self, uid: &str, repository: Arc<ServedRepository>) {
        self.change(|entries| {
            entries.by_uid.entry(uid.to_owned()).or_default().repository = Some(repository);
        });
    }

    /// Records whether a repository is served. Returns whether it was opened by this.
    pub fn set_access(&self, uid: &str, access: RepositoryAccess) -> bool {
        let is_open = |access: &RepositoryAccess| matches!(access, RepositoryAccess::Open(_));
        let mut is_opened = false;
        self.change(|entries| {
            let entry = entries.by_uid.entry(uid.to_owned()).or_default();
            is_opened = is_open(&access) && !is_open(&entry.access);
            entry.access = access;
        });
        is_opened
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

/// Decides whether a process may get requests: one without any repository would refuse what another one serves. One that has
/// some does not wait for the others, whose upstream may never answer.
fn waits<'a>(all: impl Iterator<Item = &'a RepositoryAccess>) -> Option<String> {
    let mut reason = None;
    for access in all {
        match access {
            RepositoryAccess::Open(_) => return None,
            RepositoryAccess::Closed(why) => reason = reason.or_else(|| Some(why.clone())),
        }
    }
    reason
}

impl Repositories for BuiltinRepositories {
    fn find(&self, identifier: &str) -> Found {
        let entries = self.lock();
        match entries.by_uid.get(identifier) {
            Some(Entry { repository: Some(repository), access: RepositoryAccess::Open(login) }) => {
                Found::At { directory: repository.path().to_owned(), login: login.clone() }
            }
            Some(Entry { access: RepositoryAccess::Closed(why), .. }) => Found::NotYet(why.clone()),
            Some(_) => Found::NotYet("the operator has not opened the repository yet".to_owned()),
            None if !entries.is_listed => Found::NotYet("the operator is starting".to_owned()),
            None => Found::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(why: &str) -> RepositoryAccess {
        RepositoryAccess::Closed(why.to_owned())
    }

    #[test]
    fn process_without_any_repository_waits() {
        let open = RepositoryAccess::Open(None);
        for (all, expected) in [
            (vec![], None),
            (vec![closed("one"), closed("two")], Some("one")),
            (vec![closed("one"), open.clone()], None),
            (vec![open], None),
        ] {
            assert_eq!(waits(all.iter()).as_deref(), expected, "{all:?}");
        }
    }

    #[test]
    fn repository_is_found_when_it_is_open() {
        let directory = tempfile::tempdir().unwrap();
        let repositories = BuiltinRepositories::default();
        assert!(matches!(repositories.find("a"), Found::NotYet(_)), "it is starting");
        repositories.expect(["a".to_owned()]);
        assert_eq!(repositories.find("b"), Found::Unknown);
        assert!(matches!(repositories.find("a"), Found::NotYet(_)));
        assert!(repositories.waits().borrow().is_some());
        let served = Arc::new(ServedRepository::open(&directory.path().join("a")).unwrap());
        repositories.set_repository("a", served.clone());
        assert!(matches!(repositories.find("a"), Found::NotYet(_)), "it may be incomplete");
        repositories.set_access("a", RepositoryAccess::Open(None));
        let found = Found::At { directory: served.path().to_owned(), login: None };
        assert_eq!(repositories.find("a"), found);
        assert_eq!(*repositories.waits().borrow(), None);
        repositories.forget("a");
        assert_eq!(repositories.find("a"), Found::Unknown);
    }
}
