//! The objects that are being written, and their concurrent watch events.

use std::sync::Arc;

use kube::ResourceExt as _;

use super::{Cache, Cached, Change, Key, Objects, is_newer};

/// The change of an object that is withheld while the object is being written.
#[derive(Debug)]
pub(super) struct Withheld<K> {
    writers: usize,
    change: Option<Change<K>>,
    /// Whether the watch reported more than one write.
    is_several: bool,
}

/// Marks an object as being written until this guard is dropped.
#[must_use]
#[derive(Debug)]
pub struct Writing<'a, K: Cached> {
    cache: &'a Cache<K>,
    key: Key,
}

impl<K: Cached> Cache<K> {
    /// Withholds the watch events of an object until the returned guard is dropped. Then they are emitted, unless they
    /// contain only the [answer](Cache::written) to the write.
    pub fn writing(&self, key: &Key) -> Writing<'_, K> {
        let mut objects = self.write();
        let withheld = objects.writing.entry(key.clone());
        withheld.or_insert(Withheld { writers: 0, change: None, is_several: false }).writers += 1;
        Writing { cache: self, key: key.clone() }
    }
}

impl<K: Cached> Drop for Writing<'_, K> {
    fn drop(&mut self) {
        let mut objects = self.cache.write();
        let Some(withheld) = objects.writing.get_mut(&self.key) else { return };
        withheld.writers -= 1;
        if withheld.writers == 0
            && let Some(Withheld { change: Some(change), .. }) = objects.writing.remove(&self.key)
        {
            // If there is no receiver, the process is ending.
            _ = objects.late.unbounded_send(change);
        }
    }
}

impl<K: Cached> Objects<K> {
    /// Returns the change, unless it is withheld.
    pub(super) fn withhold(&mut self, change: Change<K>) -> Option<Change<K>> {
        let key = change.now.as_ref().map(|now| Key::of(&**now));
        let Some(withheld) = key.and_then(|key| self.writing.get_mut(&key)) else { return Some(change) };
        match &mut withheld.change {
            Some(earlier) => {
                earlier.now = change.now;
                withheld.is_several = true;
            }
            None => withheld.change = Some(change),
        }
        None
    }

    /// Emits a change that no watch reports, unless it is withheld.
    pub(super) fn report_late(&mut self, change: Option<Change<K>>) {
        if let Some(change) = change.and_then(|change| self.withhold(change)) {
            // If there is no receiver, the process is ending.
            _ = self.late.unbounded_send(change);
        }
    }

    /// Drops the withheld change of an object that does not exist.
    pub(super) fn forget_withheld(&mut self, key: &Key) {
        if let Some(withheld) = self.writing.get_mut(key) {
            withheld.change = None;
        }
    }

    /// Drops the withheld change if it contains only the answered write.
    pub(super) fn answered(&mut self, answer: &Arc<K>) {
        let Some(withheld) = self.writing.get_mut(&Key::of(&**answer)) else { return };
        let Some(change) = &mut withheld.change else { return };
        match &change.now {
            // The event is a later write of another client.
            Some(now) if is_newer(&**now, &**answer) => change.before = Some(answer.clone()),
            Some(now) if now.resource_version() == answer.resource_version() && !withheld.is_several => {
                withheld.change = None;
            }
            // The event is an earlier write of another client, which the answer includes.
            _ => change.now = Some(answer.clone()),
        }
    }
}
