//! What is spoken for of a budget of deletions, from the decision until a status says it.
//!
//! Several Clusters of a `ClusterStack` spend one budget, and the status of each `ClusterAddon` says what went for its cluster.
//! Between a decision and that status other reconciles decide, too. So each decision is made and noted in one step, without
//! waiting for anything in between.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::api::cluster_stack::Pruned;
use crate::runtime::cache::Key;

/// What `ClusterAddon`s are about to say that was deleted for them.
#[derive(Debug, Default)]
pub struct Budgets(Mutex<Reserved>);

/// The same, by the key of the `ClusterAddon`.
pub type Reserved = BTreeMap<Key, Pruned>;

/// What one `ClusterAddon` is about to say. It ends with the reconcile: the status says it by then, or nothing was deleted.
#[derive(Debug)]
pub struct Reservation<'b> {
    budgets: &'b Budgets,
    of: Key,
}

impl Budgets {
    /// Decides by what is reserved, and reserves for `of` what the decision spends.
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
