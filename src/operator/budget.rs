//! Remembers the deletions of the last hour, because a status records them later, or is missing in the cache.
//!
//! Several Clusters of a `ClusterStack` spend one budget, and the status of each `ClusterAddon` records the deletions for
//! its cluster. Other reconciles may decide between a decision and its status, and a list without a `ClusterAddon` hides
//! what its status records. Therefore each decision is made and remembered in one step, without awaiting anything in
//! between, and forgotten after an hour, or at once if no status records it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

use crate::api::cluster_stack::Pruned;
use crate::runtime::cache::Key;
use crate::subscription::is_counted;

/// The deletions of this process within the last hour, by `ClusterStack`.
#[derive(Debug, Default)]
pub struct Budgets(Mutex<BTreeMap<Key, Reserved>>);

/// The deletions for one `ClusterStack`, by `ClusterAddon`.
pub type Reserved = BTreeMap<Key, Pruned>;

/// The deletions reserved for one `ClusterAddon`. Without [`keep`](Self::keep) the reservation ends with the reconcile,
/// because nothing was deleted.
#[derive(Debug)]
pub struct Reservation<'b> {
    budgets: &'b Budgets,
    stack: Key,
    addon: Key,
    /// What was reserved before.
    before: Option<Pruned>,
    is_kept: bool,
}

impl Budgets {
    /// Passes the deletions of a `ClusterStack` within the last hour to `decide`, and reserves for `addon` what the decision
    /// spends.
    pub fn decide<T>(
        &self,
        (stack, addon): (&Key, &Key),
        now: Timestamp,
        decide: impl FnOnce(&Reserved) -> (T, Option<Pruned>),
    ) -> (T, Option<Reservation<'_>>) {
        let mut stacks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stacks.retain(|_, reserved| {
            reserved.retain(|_, pruned| is_counted(pruned, now));
            !reserved.is_empty()
        });
        let reserved = stacks.get(stack);
        let (decision, spent) = decide(reserved.unwrap_or(&Reserved::new()));
        let reservation = spent.map(|spent| {
            let before = stacks.entry(stack.clone()).or_default().insert(addon.clone(), spent);
            Reservation { budgets: self, stack: stack.clone(), addon: addon.clone(), before, is_kept: false }
        });
        (decision, reservation)
    }
}

impl Reservation<'_> {
    /// Keeps the reservation for an hour, because a status records the deletions, and they follow.
    pub fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let mut stacks = self.budgets.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(reserved) = stacks.get_mut(&self.stack) else { return };
        match self.before.take() {
            Some(before) => reserved.insert(self.addon.clone(), before),
            None => reserved.remove(&self.addon),
        };
    }
}

#[cfg(test)]
mod tests;
