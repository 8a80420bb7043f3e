//! The removal budget: how many of the due removals in the clusters of a `ClusterStack` the operator makes now.

use jiff::Timestamp;

use super::{Candidate, Facts, PruneDecision, Pruning, Target};
use crate::api::cluster_stack::Pruned;
use crate::api::{Reason, labels};
use crate::gate::Hold;
use crate::names::ReleaseName;
use crate::subscription::{allows, deletions, in_words, known, left, lost, refilled, spent, summed};

/// The deletions that a budget counts, in all clusters of a `ClusterStack`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    /// The recorded or reserved deletions of each `ClusterAddon`.
    pub deletions: Vec<Pruned>,
    /// The number of objects of addons.
    pub total: usize,
}

impl Spent {
    /// Counts a cluster: its number of objects, the deletions that its status records, and those that are reserved until a
    /// status records them.
    pub fn add(&mut self, objects: usize, recorded: Option<&Pruned>, reserved: Option<&Pruned>) {
        self.total += objects;
        self.deletions.extend(known(recorded, reserved).cloned());
    }

    /// Counts the deletions that only the `ClusterStack` still has, because its `ClusterAddon`s were lost.
    pub(super) fn add_lost(&mut self, sum: Option<&Pruned>, now: Timestamp) {
        self.deletions.extend(lost(&self.deletions, sum, now));
    }
}

/// The number of objects to delete in all clusters of a `ClusterStack`: a tenth per hour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget<'a> {
    /// The `ClusterStack`.
    pub(super) stack: &'a str,
    /// The release.
    pub(super) release: &'a ReleaseName,
    /// Deletions that the `ClusterStack`'s annotation allows beyond the budget.
    pub(super) allowed: Option<&'a str>,
    /// The recorded or reserved deletions of each `ClusterAddon` of the `ClusterStack`.
    pub(super) spent: &'a [Pruned],
    /// The number of objects of addons in these clusters.
    pub(super) total: usize,
    /// The recorded or reserved deletions of the Cluster's own `ClusterAddon`.
    pub(super) own: Option<&'a Pruned>,
    /// The deletions in all these clusters, as the `ClusterStack` or a reservation counts them.
    pub(super) sum: Option<&'a Pruned>,
}

/// Decides which of the due objects of a Cluster to delete now. `spent` are the deletions in the clusters of its `ClusterStack`,
/// `reserved` those of its own `ClusterAddon` that no status records yet, and `sum` is the sum that the `ClusterStack` or a
/// reservation has. Returns also what the decision spends: the deletions of the `ClusterAddon`, and the sum.
#[must_use]
pub fn decide_within_budget(
    facts: &Facts,
    candidates: Vec<Candidate>,
    mut spent: Spent,
    (reserved, sum): (Option<&Pruned>, Option<&Pruned>),
) -> (Pruning, Option<(Pruned, Pruned)>) {
    let Target::Available(available) = &facts.target else { return (Pruning::default(), None) };
    let now = facts.snapshot.now;
    spent.add_lost(sum, now);
    let recorded = facts.snapshot.addon.status.as_ref().and_then(|status| status.pruned.as_ref());
    let budget = Budget {
        stack: &available.stack_name(),
        release: &available.release.name,
        allowed: available.allowed_deletions,
        spent: &spent.deletions,
        total: spent.total,
        own: known(recorded, reserved),
        sum,
    };
    let pruning = decide_prune(candidates, &budget, now);
    let spent = pruning.pruned.clone().zip(pruning.sum.clone());
    (pruning, spent)
}

/// Decides which of the due objects to delete now. An addon in another form counts like a dropped one, because its
/// uninstallation deletes the cluster's objects of its own kinds. An addon that was never installed spends nothing: there is
/// nothing to uninstall.
#[must_use]
pub(super) fn decide_prune(mut candidates: Vec<Candidate>, budget: &Budget, now: Timestamp) -> Pruning {
    let due = candidates.iter_mut().filter(|it| it.decision == PruneDecision::Delete);
    let due: Vec<&mut Candidate> = due.filter(|due| !due.object.is_never_installed()).collect();
    let name = deletions(due.iter().map(|due| format!("{} without {}", budget.release, due.addon)));
    let is_allowed = allows(budget.allowed, &name);
    let allowance = if is_allowed { usize::MAX } else { left(budget.spent, budget.total, now) };
    let (mut pruned, mut next) = (None, None);
    let mut sum = summed(budget.sum, budget.spent, now);
    for (index, candidate) in due.into_iter().enumerate() {
        if index < allowance {
            pruned = Some(spent(pruned.as_ref().or(budget.own), now));
            sum = Some(spent(sum.as_ref(), now));
        } else {
            candidate.decision = PruneDecision::Blocked;
            let words = in_words(budget.spent, (budget.total, "addon objects"), now);
            candidate.hold = Some(exceeded(budget.stack, &name, &words));
            next = refilled(budget.spent, now);
        }
    }
    let sum = sum.filter(|_| pruned.is_some());
    Pruning { candidates, pruned, sum, next }
}

fn exceeded(stack: &str, deletions: &str, budget: &str) -> Hold {
    let message = format!(
        "waits to be uninstalled: in the clusters of ClusterStack {stack}, {budget}; annotate the ClusterStack with \
         {}={deletions} to uninstall it from all clusters of the release now",
        labels::PRUNE
    );
    Hold { reason: Reason::PruneBudgetExceeded, message }
}
