//! Reserves parts of a deletion budget from a decision until a status records the deletions.
//!
//! Several Clusters of a `ClusterStack` spend one budget, and the status of each `ClusterAddon` records the deletions for
//! its cluster. Other reconciles may decide between a decision and its status. Therefore each decision is made and recorded
//! in one step, without awaiting anything in between.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::api::cluster_stack::Pruned;
use crate::runtime::cache::Key;

/// The deletions that no status records yet.
#[derive(Debug, Default)]
pub struct Budgets(Mutex<Reserved>);

/// Reserved deletions by the key of their `ClusterAddon`.
pub type Reserved = BTreeMap<Key, Pruned>;

/// The deletions reserved for one `ClusterAddon`. The reservation ends with the reconcile: by then the status records them,
/// or nothing was deleted.
#[derive(Debug)]
pub struct Reservation<'b> {
    budgets: &'b Budgets,
    of: Key,
}

impl Budgets {
    /// Passes the reservations to `decide`, and reserves for `of` what the decision spends.
    pub fn decide<T>(
        &self,
        of: &Key,
        decide: impl FnOnce(&Reserved) -> (T, Option<Pruned>),
    ) -> (T, Option<Reservation<'_>>) {
        let mut reserved = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (decision, spent) = decide(&reserved);
        let reservation = spent.map(|spent| {
            reserved.insert(of.clone(), spent);
            Reservation { budgets: self, of: of.clone() }
        });
        (decision, reservation)
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.budgets.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.of);
    }
}

#[cfg(test)]
mod tests;
