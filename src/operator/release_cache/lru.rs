//! A cache of limited size, which evicts the least recently used value.

use std::collections::BTreeMap;

/// Values by key, up to a maximum number.
#[derive(Debug)]
pub(super) struct LruCache<K, V> {
    capacity: usize,
    /// Each value with the number of its last access.
    values: BTreeMap<K, (u64, V)>,
    accesses: u64,
}

impl<K: Ord + Clone, V: Clone> LruCache<K, V> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, values: BTreeMap::new(), accesses: 0 }
    }

    pub(super) fn get(&mut self, key: &K) -> Option<V> {
        self.accesses += 1;
        let (access, value) = self.values.get_mut(key)?;
        *access = self.accesses;
        Some(value.clone())
    }

    pub(super) fn insert(&mut self, key: K, value: V) {
        self.accesses += 1;
        self.values.insert(key, (self.accesses, value));
        if self.values.len() > self.capacity {
            let oldest = self.values.iter().min_by_key(|(_, (access, _))| *access);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.values.remove(&oldest);
            }
        }
    }
}
