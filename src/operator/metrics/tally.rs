//! Gauges that sum up the last report of each object.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use super::Queue;

/// A gauge for each label set. The part of each object is remembered, so that a new report replaces the previous one, and a
/// deleted object counts for nothing.
pub(super) struct Tally<Labels> {
    gauges: Family<Labels, Gauge>,
    reported: Mutex<BTreeMap<(Queue, String), Vec<Labels>>>,
}

impl<Labels: Clone + Debug + Eq + Hash> Tally<Labels> {
    pub(super) fn new(gauges: Family<Labels, Gauge>) -> Self {
        Self { gauges, reported: Mutex::default() }
    }

    /// Replaces the report of an object. Each item counts as one.
    pub(super) fn set(&self, queue: Queue, key: &str, items: impl IntoIterator<Item = Labels>) {
        let items: Vec<Labels> = items.into_iter().collect();
        let key = (queue, key.to_owned());
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        for item in &items {
            self.gauges.get_or_create(item).inc();
        }
        let before = if items.is_empty() { reported.remove(&key) } else { reported.insert(key, items) };
        for item in before.into_iter().flatten() {
            self.gauges.get_or_create(&item).dec();
        }
    }
}
