//! The latest deletions.

use std::collections::BTreeMap;
use std::mem;

use super::Key;

/// Minimum number of deletions to remember: far more than the number of pending answers.
const MIN_REMEMBERED: usize = 1024;

/// The latest deletions.
#[derive(Debug, Default)]
pub(super) struct Deleted {
    /// The resource versions of those that the watch reported.
    reported: Latest<u128>,
    /// The UIDs of the objects that a list lacked: it does not say when they were deleted.
    unlisted: Latest<String>,
}

impl Deleted {
    /// Remembers that the object with that key was deleted at this version.
    pub(super) fn note(&mut self, key: &Key, version: Option<u128>) {
        if let Some(version) = version {
            self.reported.insert(key, version);
        }
    }

    /// Remembers that a list lacked an object.
    pub(super) fn note_unlisted(&mut self, key: &Key, uid: Option<&str>) {
        if let Some(uid) = uid {
            self.unlisted.insert(key, uid.to_owned());
        }
    }

    /// Forgets that a list lacked the object with that key: the API server has it.
    pub(super) fn listed(&mut self, key: &Key) {
        self.unlisted.remove(key);
    }

    /// Whether the watch has reported a deletion of the object with that key since this version.
    pub(super) fn is_reported(&self, key: &Key, version: Option<u128>) -> bool {
        let reported = self.reported.get(key).zip(version);
        reported.is_some_and(|(deleted, version)| *deleted >= version)
    }

    /// Whether this state of an object is from before its deletion.
    pub(super) fn is_later(&self, key: &Key, version: Option<u128>, uid: Option<&str>) -> bool {
        self.is_reported(key, version)
            || uid.is_some_and(|uid| self.unlisted.get(key).is_some_and(|gone| gone == uid))
    }
}

/// The latest entries.
#[derive(Debug)]
struct Latest<V> {
    latest: BTreeMap<Key, V>,
    before: BTreeMap<Key, V>,
}

impl<V> Default for Latest<V> {
    fn default() -> Self {
        Self { latest: BTreeMap::new(), before: BTreeMap::new() }
    }
}

impl<V> Latest<V> {
    fn insert(&mut self, key: &Key, value: V) {
        if self.latest.len() == MIN_REMEMBERED {
            self.before = mem::take(&mut self.latest);
        }
        self.latest.insert(key.clone(), value);
    }

    fn remove(&mut self, key: &Key) {
        self.latest.remove(key);
        self.before.remove(key);
    }

    fn get(&self, key: &Key) -> Option<&V> {
        self.latest.get(key).or_else(|| self.before.get(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_latest_deletions_are_remembered() {
        let mut deleted = Deleted::default();
        let key = |number: usize| Key::new("n", &number.to_string());
        (0..5 * MIN_REMEMBERED).for_each(|number| deleted.note(&key(number), Some(7)));
        assert!(deleted.is_later(&key(4 * MIN_REMEMBERED), Some(7), None));
        assert!(!deleted.is_later(&key(4 * MIN_REMEMBERED), Some(8), None), "another one of its name");
        assert!(!deleted.is_later(&key(0), Some(7), None));
        assert!(deleted.reported.latest.len() + deleted.reported.before.len() <= 2 * MIN_REMEMBERED);
    }
}
