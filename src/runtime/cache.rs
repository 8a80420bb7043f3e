//! Objects of one kind as the API server last reported them.
//!
//! A cache is fed by a watch and by the answers to the operator's own writes, so that a reconcile sees the writes of the
//! previous one. Of two states of an object, the one with the higher resource version stays, independent of its origin:
//! Kubernetes guarantees that resource versions of a kind compare as numbers (KEP-5504).
//!
//! An object that the watch reported as deleted, or that a list lacked, is not restored by an answer that was sent before. One that
//! the operator's own write ended is not restored by an event that is late. An answer that says that an object does not exist
//! removes only the object that was cached when the request was sent: the watch may have reported another one since.
//!
//! A watch often reports a write before its answer arrives. While an object [is being written](Cache::writing), the cache
//! withholds such events, and emits them only if they contain more than the operator's write: a controller must not react
//! to its own writes.
//!
//! The answer to a write includes concurrent writes of other clients that preceded it. The watch reports those later, when
//! the cached object is already newer; they are still a change, because no reconcile has seen them.

mod deleted;
mod own;
mod writing;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt as _};

pub use crate::names::Key;
use deleted::Deleted;
use own::Own;
use writing::Withheld;
pub use writing::Writing;

/// A cached object, and the keys that index it.
pub trait Cached: Resource + Send + Sync + 'static {
    /// Returns the index keys of the object, such as its owner's key: see [`Cache::by_index`].
    fn index_keys(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A change that a watch reported.
#[derive(Debug)]
pub struct Change<K> {
    /// The object before; `None` if it was unknown.
    pub before: Option<Arc<K>>,
    /// The object now; `None` if it was deleted.
    pub now: Option<Arc<K>>,
}

/// Objects of one kind.
#[derive(Debug)]
pub struct Cache<K> {
    objects: RwLock<Objects<K>>,
    /// The receiver of withheld changes, until the watch's feed takes it.
    late: Mutex<Option<UnboundedReceiver<Change<K>>>>,
}

#[derive(Debug)]
struct Objects<K> {
    by_key: BTreeMap<Key, Arc<K>>,
    by_index: BTreeMap<String, BTreeSet<Key>>,
    deleted: Deleted,
    /// The operator's writes that the watch has not reported yet.
    own: Own,
    /// Objects that are being written.
    writing: BTreeMap<Key, Withheld<K>>,
    /// Receives the changes that were withheld.
    late: UnboundedSender<Change<K>>,
    /// The keys in the present list, until the list is complete.
    listed: Option<BTreeSet<Key>>,
    synced: bool,
}

impl<K> Default for Cache<K> {
    fn default() -> Self {
        let (sender, receiver) = unbounded();
        let objects = Objects {
            by_key: BTreeMap::new(),
            by_index: BTreeMap::new(),
            deleted: Deleted::default(),
            own: Own::default(),
            writing: BTreeMap::new(),
            late: sender,
            listed: None,
            synced: false,
        };
        Self { objects: RwLock::new(objects), late: Mutex::new(Some(receiver)) }
    }
}

impl<K: Cached> Cache<K> {
    /// Finds the object with this key.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Arc<K>> {
        self.read().by_key.get(key).cloned()
    }

    /// Returns the UID of the object with this key, to pass to [`Cache::missing`] after a fetch.
    #[must_use]
    pub fn uid(&self, key: &Key) -> Option<String> {
        self.read().by_key.get(key).and_then(|object| object.uid())
    }

    /// Returns all objects in the order of their keys.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<K>> {
        self.read().by_key.values().cloned().collect()
    }

    /// Finds the objects with this [index key](Cached::index_keys), in the order of their keys.
    #[must_use]
    pub fn by_index(&self, index_key: &str) -> Vec<Arc<K>> {
        let objects = self.read();
        let keys = objects.by_index.get(index_key).into_iter().flatten();
        keys.filter_map(|key| objects.by_key.get(key).cloned()).collect()
    }

    /// Whether any object has this index key.
    #[must_use]
    pub fn has_index_key(&self, index_key: &str) -> bool {
        self.read().by_index.contains_key(index_key)
    }

    /// Whether the first list is complete.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.read().synced
    }

    /// Applies an event of the watch, and returns its changes.
    pub fn take(&self, event: Event<K>) -> Vec<Change<K>> {
        let mut objects = self.write();
        match event {
            Event::Apply(object) if objects.deleted.is_reported(&Key::of(&object), version(&object)) => {
                Vec::new()
            }
            Event::Apply(object) => {
                let change = objects.apply(object);
                change.and_then(|change| objects.withhold(change)).into_iter().collect()
            }
            Event::Delete(object) => {
                let key = Key::of(&object);
                objects.forget_withheld(&key);
                objects.own.forget(&key);
                objects.deleted.note(&key, version(&object));
                objects.remove(&key).into_iter().collect()
            }
            Event::Init => {
                objects.listed = Some(BTreeSet::new());
                Vec::new()
            }
            Event::InitApply(object) => {
                if objects.deleted.is_reported(&Key::of(&object), version(&object)) {
                    // The list is outdated: the watch has already reported a later deletion.
                    return Vec::new();
                }
                if let Some(listed) = &mut objects.listed {
                    listed.insert(Key::of(&object));
                }
                objects.apply_listed(object).into_iter().collect()
            }
            Event::InitDone => {
                objects.synced = true;
                let Some(listed) = objects.listed.take() else { return Vec::new() };
                let gone: Vec<Key> =
                    objects.by_key.keys().filter(|key| !listed.contains(key)).cloned().collect();
                gone.iter().filter_map(|key| objects.remove_unlisted(key)).collect()
            }
        }
    }

    /// Notes that the API server has an object, which a list may have lacked: answers to writes of it count again.
    pub fn exists(&self, object: &K) {
        self.write().deleted.listed(&Key::of(object));
    }

    /// Stores the API server's answer to a write of the operator.
    pub fn written(&self, object: K) -> Arc<K> {
        let object = lean(object);
        let mut objects = self.write();
        if objects.answer(object.clone()).is_some() {
            objects.own.note(&Key::of(&*object), version(&*object));
        }
        objects.answered(&object);
        object
    }

    /// Stores an object that was fetched. Its change comes with the [late](Cache::late) ones, because the watch reports no state
    /// that is already cached.
    pub fn fetched(&self, object: K) {
        let object = lean(object);
        let mut objects = self.write();
        objects.deleted.listed(&Key::of(&*object));
        let change = objects.answer(object);
        objects.report_late(change);
    }

    /// Removes an object that does not exist, according to a fetch. `uid` is that of the [cached](Cache::uid) object when the
    /// fetch began: the API server may have created another one after its answer. The change comes with the
    /// [late](Cache::late) ones.
    pub fn missing(&self, key: &Key, uid: Option<&str>) {
        let mut objects = self.write();
        if objects.has_other(key, uid) {
            return;
        }
        objects.forget_withheld(key);
        let change = objects.remove(key);
        objects.report_late(change);
    }

    /// Takes the receiver of changes that no watch reports, and of those that were withheld while their objects were being written, for the task that feeds
    /// the cache. `None` if it was taken before.
    #[must_use]
    pub fn late(&self) -> Option<UnboundedReceiver<Change<K>>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Removes the object with this UID, which does not exist according to the API server. Events of its states up to the cached
    /// one are outdated.
    pub fn remove(&self, key: &Key, uid: Option<&str>) {
        let mut objects = self.write();
        if objects.has_other(key, uid) {
            return;
        }
        objects.forget_withheld(key);
        let last = objects.remove(key).and_then(|change| change.before);
        objects.deleted.note(key, last.and_then(|last| version(&*last)));
    }

    /// Removes an object whose last state is the answer to the write that ended its deletion. Events of its states up to that one are
    /// outdated.
    pub fn ended(&self, last: &K) {
        let (key, mut objects) = (Key::of(last), self.write());
        if objects.has_other(&key, last.meta().uid.as_deref()) {
            return;
        }
        objects.forget_withheld(&key);
        objects.remove(&key);
        objects.deleted.note(&key, version(last));
    }

    fn read(&self) -> RwLockReadGuard<'_, Objects<K>> {
        // After a panic that held the lock, the cache is consistent, because every change is one call.
        self.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Objects<K>> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Cached> Objects<K> {
    fn insert(&mut self, object: K) -> Option<Change<K>> {
        self.insert_shared(lean(object))
    }

    /// Stores an object of an answer, and returns its change; `None` if the object is gone by now, or the cached one is the same
    /// or newer.
    fn answer(&mut self, object: Arc<K>) -> Option<Change<K>> {
        let key = Key::of(&*object);
        let is_terminating = object.meta().deletion_timestamp.is_some();
        // A terminating object that a list does not have is gone. If it is not, the watch reports it after the list.
        if let Some(listed) = self.listed.as_mut().filter(|_| !is_terminating) {
            listed.insert(key.clone());
        }
        let is_gone = is_terminating && !self.by_key.contains_key(&key);
        let uid = object.meta().uid.as_deref();
        if is_gone || self.deleted.is_later(&key, version(&*object), uid) {
            return None;
        }
        self.insert_shared(object)
    }

    /// Applies an event, and returns its change; `None` if it reports a write of the operator, or a state that is
    /// already cached.
    fn apply(&mut self, object: K) -> Option<Change<K>> {
        let (key, reported) = (Key::of(&object), version(&object));
        self.deleted.listed(&key);
        let is_ours = self.own.is_own_write(&key, reported);
        let is_older = self.by_key.get(&key).is_some_and(|known| version(&**known) > reported);
        if !is_older {
            return self.insert(object);
        }
        // The answer to the operator's write includes it, but no reconcile has seen it yet.
        let now = self.by_key.get(&key).filter(|_| !is_ours)?.clone();
        Some(Change { before: None, now: Some(now) })
    }

    /// Applies an object of a list, and returns its change. A list hides the events before it: a write of the operator that
    /// no event reported may contain a change of another client that no reconcile has seen.
    fn apply_listed(&mut self, object: K) -> Option<Change<K>> {
        let key = Key::of(&object);
        self.deleted.listed(&key);
        let is_unreported = self.own.is_own_write(&key, version(&object));
        let change = self.insert(object);
        let hidden = || Some(Change { before: None, now: Some(self.by_key.get(&key)?.clone()) });
        change.or_else(|| hidden().filter(|_| is_unreported))
    }

    /// Stores an object; `None` if the cached object is the same or newer.
    fn insert_shared(&mut self, object: Arc<K>) -> Option<Change<K>> {
        let key = Key::of(&*object);
        if self.by_key.get(&key).is_some_and(|known| !is_newer(&*object, &**known)) {
            return None;
        }
        let before = self.remove(&key).and_then(|change| change.before);
        for index_key in object.index_keys() {
            self.by_index.entry(index_key).or_default().insert(key.clone());
        }
        self.by_key.insert(key, object.clone());
        Some(Change { before, now: Some(object) })
    }

    /// Whether there is an object with this key and another UID.
    fn has_other(&self, key: &Key, uid: Option<&str>) -> bool {
        self.by_key.get(key).is_some_and(|known| known.meta().uid.as_deref() != uid)
    }

    /// Removes an object that a list lacks.
    fn remove_unlisted(&mut self, key: &Key) -> Option<Change<K>> {
        let change = self.remove(key)?;
        let uid = change.before.as_ref().and_then(|before| before.meta().uid.as_deref());
        self.deleted.note_unlisted(key, uid);
        Some(change)
    }

    fn remove(&mut self, key: &Key) -> Option<Change<K>> {
        let before = self.by_key.remove(key)?;
        for index_key in before.index_keys() {
            if let Some(keys) = self.by_index.get_mut(&index_key) {
                keys.remove(key);
                if keys.is_empty() {
                    self.by_index.remove(&index_key);
                }
            }
        }
        Some(Change { before: Some(before), now: None })
    }
}

/// Removes the `managedFields` of an object, which are unused and half of its size.
fn lean<K: Resource>(mut object: K) -> Arc<K> {
    object.meta_mut().managed_fields = None;
    Arc::new(object)
}

/// Whether the first state is later than the second. Versions that are not numbers count as newer: the last report wins.
fn is_newer<K: Resource>(object: &K, known: &K) -> bool {
    match (version(object), version(known)) {
        (Some(new), Some(old)) => new > old,
        _ => object.resource_version() != known.resource_version(),
    }
}

/// Parses the resource version as a number.
fn version<K: Resource>(object: &K) -> Option<u128> {
    object.resource_version()?.parse().ok()
}

#[cfg(test)]
mod tests;
