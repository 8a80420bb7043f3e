//! The operator's writes that the watch has not reported yet.

use std::collections::{BTreeMap, BTreeSet};

use super::Key;

/// The resource versions of the operator's writes, for each object whose watch events are still to come.
#[derive(Debug, Default)]
pub(super) struct Own(BTreeMap<Key, BTreeSet<u128>>);

impl Own {
    /// Records the resource version of a write of the operator.
    pub(super) fn note(&mut self, key: &Key, version: Option<u128>) {
        let Some(version) = version else { return };
        self.0.entry(key.clone()).or_default().insert(version);
    }

    /// Whether the version in a watch event is that of a write of the operator. A watch reports versions in order, so this
    /// version and earlier ones are dropped.
    pub(super) fn is_own_write(&mut self, key: &Key, version: Option<u128>) -> bool {
        let (Some(version), Some(versions)) = (version, self.0.get_mut(key)) else { return false };
        let is_ours = versions.contains(&version);
        versions.retain(|later| *later > version);
        if versions.is_empty() {
            self.0.remove(key);
        }
        is_ours
    }

    /// Forgets an object that does not exist.
    pub(super) fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }
}
