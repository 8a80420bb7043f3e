//! The latest deletions.

use std::collections::BTreeMap;
use std::mem;

use super::Key;

/// Minimum number of deletions to remember: far more than the number of pending answers.
const MIN_REMEMBERED: usize = 1024;

/// The resource versions of the latest deletions.
#[derive(Debug, Default)]
pub(super) struct Deleted {
    latest: BTreeMap<Key, u128>,
    before: BTreeMap<Key, u128>,
}

impl Deleted {
    /// Remembers that the object with that key was deleted at this version.
    pub(super) fn note(&mut self, key: &Key, version: Option<u128>) {
        let Some(version) = version else { return };
        if self.latest.len() == MIN_REMEMBERED {
            self.before = mem::take(&mut self.latest);
        }
        self.latest.insert(key.clone(), version);
    }

    /// Whether the object was deleted at this version or a later one.
    pub(super) fn is_later(&self, key: &Key, version: Option<u128>) -> bool {
        let deleted = self.latest.get(key).or_else(|| self.before.get(key));
        deleted.zip(version).is_some_and(|(deleted, version)| *deleted >= version)
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
        assert!(deleted.is_later(&key(4 * MIN_REMEMBERED), Some(7)));
        assert!(!deleted.is_later(&key(4 * MIN_REMEMBERED), Some(8)), "another one of its name");
        assert!(!deleted.is_later(&key(0), Some(7)));
        assert!(deleted.latest.len() + deleted.before.len() <= 2 * MIN_REMEMBERED);
    }
}
