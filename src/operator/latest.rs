//! The latest value about each object, in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::runtime::cache::Key;

/// The latest value about each object, such as the result of a reconcile that another one reports.
#[derive(Debug)]
pub struct Latest<T>(Mutex<BTreeMap<Key, T>>);

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone + PartialEq> Latest<T> {
    /// Returns the value about an object; `None` if there was none since the start of the process.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<T> {
        self.lock().get(key).cloned()
    }

    /// Records or removes a value. Returns whether it changed.
    pub fn set(&self, key: &Key, value: Option<T>) -> bool {
        let mut all = self.lock();
        let is_changed = all.get(key) != value.as_ref();
        match value {
            Some(value) => drop(all.insert(key.clone(), value)),
            None => drop(all.remove(key)),
        }
        is_changed
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
