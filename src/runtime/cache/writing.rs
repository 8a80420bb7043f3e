//! Objects that are being written: what the watch tells of them meanwhile.

use std::sync::Arc;

use kube::ResourceExt as _;

use super::{Cache, Cached, Change, Key, Objects, is_newer};

/// What was told of an object while it is being written.
#[derive(Debug)]
pub(super) struct Withheld<K> {
    writers: usize,
    change: Option<Change<K>>,
    /// Whether the watch told of more than one write.
    is_several: bool,
}

/// An object is being written as long as this is there.
#[must_use]
#[derive(Debug)]
pub struct Writing<'a, K: Cached> {
    cache: &'a Cache<K>,
    key: Key,
}

impl<K: Cached> Cache<K> {
    /// Keeps back what the watch tells of an object until what comes back is dropped. Then it is told, unless it is no more
    /// than the [answer](Cache::written) to the write.
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
            // Without a receiver the process is about to end.
            _ = objects.late.unbounded_send(change);
        }
    }
}

impl<K: Cached> Objects<K> {
    /// The change again, unless it is kept back.
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

    /// Forgets what was kept back of an object that is gone.
    pub(super) fn forget_withheld(&mut self, key: &Key) {
        if let Some(withheld) = self.writing.get_mut(key) {
            withheld.change = None;
        }
    }

    /// Forgets what was kept back where that is the write that was answered, and nothing else.
    pub(super) fn answered(&mut self, answer: &Arc<K>) {
        let Some(withheld) = self.writing.get_mut(&Key::of(&**answer)) else { return };
        let Some(change) = &mut withheld.change else { return };
        match &change.now {
            // What others wrote after ours.
            Some(now) if is_newer(&**now, &**answer) => change.before = Some(answer.clone()),
            Some(now) if now.resource_version() == answer.resource_version() && !withheld.is_several => {
                withheld.change = None;
            }
            // What others wrote just before ours, which has it.
            _ => change.now = Some(answer.clone()),
        }
    }
}
