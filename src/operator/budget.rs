//! Remembers the deletions of the last hour, because a status records them later, or is missing in the cache.
//!
//! Several Clusters of a `ClusterStack` spend one budget, and the status of each `ClusterAddon` records the deletions for
//! its cluster. Other reconciles may decide between a decision and its status, and a list without a `ClusterAddon` hides
//! what its status records. Therefore each decision is made and remembered in one step, without awaiting anything in
//! between, and forgotten after an hour, or at once if no status records it. A `ClusterAddon` may be lost with what it
//! counted; therefore the sum is kept too, and the status of the `ClusterStack` has it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

use crate::api::cluster_stack::Pruned;
use crate::runtime::cache::Key;
use crate::subscription::{is_counted, known, summed};

/// The deletions of this process within the hour, by `ClusterStack`.
#[derive(Debug, Default)]
pub struct Budgets(Mutex<BTreeMap<Key, Spending>>);

/// The deletions for one `ClusterStack`.
#[derive(Debug, Default)]
struct Spending {
    reserved: Reserved,
    /// Their sum, with those before this process.
    sum: Option<Pruned>,
}

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
    /// Number of deletions.
    count: u32,
    is_kept: bool,
}

impl Budgets {
    /// Passes the deletions of a `ClusterStack` within the hour to `decide`, and their sum. Reserves for `addon` what the
    /// decision spends: the deletions of the `ClusterAddon`, and the sum. `recorded` is the sum in the status of the
    /// `ClusterStack`.
    pub fn decide<T>(
        &self,
        (stack, addon): (&Key, &Key),
        recorded: Option<&Pruned>,
        now: Timestamp,
        decide: impl FnOnce(&Reserved, Option<&Pruned>) -> (T, Option<(Pruned, Pruned)>),
    ) -> (T, Option<Reservation<'_>>) {
        let mut stacks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stacks.retain(|_, spending| {
            spending.reserved.retain(|_, pruned| is_counted(pruned, now));
            spending.sum = spending.sum.take().filter(|sum| is_counted(sum, now));
            !spending.reserved.is_empty() || spending.sum.is_some()
        });
        let none = Spending::default();
        let before = stacks.get(stack).unwrap_or(&none);
        let so_far = known(recorded, before.sum.as_ref()).cloned();
        let (decision, spent) = decide(&before.reserved, so_far.as_ref());
        let reservation = spent.map(|(spent, sum)| {
            let so_far = so_far.filter(|sum| is_counted(sum, now));
            let count = sum.count.saturating_sub(so_far.map_or(0, |sum| sum.count));
            let spending = stacks.entry(stack.clone()).or_default();
            spending.sum = Some(sum);
            let before = spending.reserved.insert(addon.clone(), spent);
            Reservation {
                budgets: self,
                stack: stack.clone(),
                addon: addon.clone(),
                before,
                count,
                is_kept: false,
            }
        });
        (decision, reservation)
    }

    /// Returns the `ClusterAddon`s of a `ClusterStack` with deletions within the hour.
    pub fn reserved(&self, stack: &Key) -> Vec<Key> {
        let stacks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stacks.get(stack).into_iter().flat_map(|spending| spending.reserved.keys().cloned()).collect()
    }

    /// Returns the sum of the deletions of a `ClusterStack` within the hour. `recorded` is that in its status, and `pruned` are
    /// those in the statuses of its `ClusterAddon`s: a process may have ended before it wrote the sum.
    pub fn sum<'p>(
        &self,
        stack: &Key,
        recorded: Option<&Pruned>,
        pruned: impl Iterator<Item = &'p Pruned>,
        now: Timestamp,
    ) -> Option<Pruned> {
        let stacks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = stacks.get(stack).and_then(|spending| spending.sum.as_ref());
        summed(known(recorded, sum), pruned, now)
    }
}

impl Reservation<'_> {
    /// Keeps the reservation for an hour, because a status records the deletions, and they follow. Returns the
    /// `ClusterStack`, whose status has to have the sum.
    #[must_use]
    pub fn keep(mut self) -> Key {
        self.is_kept = true;
        self.stack.clone()
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let mut stacks = self.budgets.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(spending) = stacks.get_mut(&self.stack) else { return };
        if let Some(sum) = &mut spending.sum {
            sum.count = sum.count.saturating_sub(self.count);
        }
        // An hour without deletions does not begin.
        spending.sum = spending.sum.take().filter(|sum| sum.count > 0);
        match self.before.take() {
            Some(before) => spending.reserved.insert(self.addon.clone(), before),
            None => spending.reserved.remove(&self.addon),
        };
    }
}

#[cfg(test)]
mod tests;
