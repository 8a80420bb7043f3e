//! The removal budgets of `ClusterStack`s: how many of the due removals the operator makes now.

use std::collections::BTreeMap;

use super::objects::count_by_owner;
use crate::addons::{Candidate, Facts, Spent, decide_within_budget};
use crate::api::cluster_stack::Pruned;
use crate::api::{ClusterAddon, ClusterStackRelease};
use crate::cli::live::prepared::Prepared;
use crate::foreign::capi::Cluster;
use crate::foreign::flux::observed::FluxObject;
use crate::names::Key;
use crate::operator::budget;
use crate::operator::objects::{addon_key, index};

/// The part of each Cluster in the budget of its `ClusterStack`, by the key of its `ClusterAddon`.
pub(super) struct Shares(BTreeMap<Key, Share>);

struct Share {
    /// The release of the Cluster's class.
    release: Key,
    /// The number of objects of its addons.
    objects: usize,
    /// The deletions that the status records.
    pruned: Option<Pruned>,
}

impl Shares {
    /// Counts the objects of all Clusters. `addons` are the `ClusterAddon`s by the key of their Cluster.
    pub(super) fn of<'o>(
        clusters: impl Iterator<Item = &'o Cluster>,
        addons: &BTreeMap<Key, ClusterAddon>,
        objects: impl Iterator<Item = &'o FluxObject>,
    ) -> Self {
        let counts = count_by_owner(objects);
        let share = |cluster: &Cluster| {
            let (release, key) = (cluster.release_key()?, cluster.key());
            let addon = addon_key(&key);
            let status = addons.get(&key).and_then(|addon| addon.status.as_ref());
            let share = Share {
                release,
                objects: counts.get(&index::owned_by("ClusterAddon", &addon)).copied().unwrap_or_default(),
                pruned: status.and_then(|status| status.pruned.clone()),
            };
            Some((addon, share))
        };
        Self(clusters.filter_map(share).collect())
    }
}

/// The removal budgets, and what the removals that are already decided spend of them.
pub(super) struct Budgets<'a> {
    /// `None` if the parts of the Clusters are unknown: the budgets limit nothing then.
    shares: Option<Shares>,
    releases: &'a BTreeMap<Key, ClusterStackRelease>,
    /// The removals that are decided, as the operator remembers them.
    decided: budget::Budgets,
}

impl<'a> Budgets<'a> {
    pub(super) fn new(shares: Option<Shares>, releases: &'a BTreeMap<Key, ClusterStackRelease>) -> Self {
        Self { shares, releases, decided: budget::Budgets::default() }
    }

    /// Decides which of the due objects of a Cluster to delete now, and reserves the deletions.
    pub(super) fn decide(
        &self,
        facts: &Facts,
        candidates: Vec<Candidate>,
        prepared: &Prepared,
    ) -> Vec<Candidate> {
        let is_due = candidates.iter().any(Candidate::is_due);
        let Some(shares) = self.shares.as_ref().filter(|_| is_due) else { return candidates };
        let (stack, addon) = (prepared.stack_key(), Key::of(&*facts.snapshot.addon));
        let (recorded, now) = (prepared.pruned_addons.as_ref(), facts.snapshot.now);
        let (pruning, reservation) = self.decided.decide((&stack, &addon), recorded, now, |reserved, sum| {
            let spent = self.spent(shares, &stack, reserved);
            decide_within_budget(facts, candidates, spent, (reserved.get(&addon), sum))
        });
        // The next Cluster finds them spent.
        reservation.map(budget::Reservation::keep);
        pruning.candidates
    }

    /// Counts the deletions in the clusters of a `ClusterStack`.
    fn spent(&self, shares: &Shares, stack: &Key, reserved: &budget::Reserved) -> Spent {
        let is_of = |release: &Key| {
            let found = self.releases.get(release).filter(|_| release.namespace == stack.namespace);
            found.is_some_and(|found| found.stack_owners().any(|owner| owner.name == stack.name))
        };
        let mut spent = Spent::default();
        for (addon, share) in shares.0.iter().filter(|(_, share)| is_of(&share.release)) {
            spent.add(share.objects, share.pruned.as_ref(), reserved.get(addon));
        }
        spent
    }
}
