//! The last report of the publisher for each `ClusterStack`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::rollup::Report;
use crate::runtime::cache::Key;

/// The last report of the publisher for each `ClusterStack`, in the form of a condition.
#[derive(Debug, Default)]
pub struct Publisher(Mutex<BTreeMap<Key, Report>>);

impl Publisher {
    /// Returns the report of a `ClusterStack`; `None` before its first publication since the start of the process.
    #[must_use]
    pub fn report(&self, stack: &Key) -> Option<Report> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(stack).cloned()
    }

    /// Records a report. Returns whether it changed.
    pub(super) fn note(&self, stack: &Key, report: Option<Report>) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_changed = all.get(stack) != report.as_ref();
        match report {
            Some(report) => drop(all.insert(stack.clone(), report)),
            None => drop(all.remove(stack)),
        }
        is_changed
    }
}
