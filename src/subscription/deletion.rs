//! Decides about a deleted `ClusterStack`: it is kept while Clusters use its releases; then its releases are deleted, and
//! then its source. A release that another `ClusterStack` keeps is left to that one.

use std::collections::BTreeSet;

use super::{is_deletion_confirmed, is_orphaned};
use crate::api::{ClusterStack, Reason, labels};
use crate::gate::Hold;
use crate::names::{Key, ReleaseName};
use crate::plan::ObjectId;

/// Maximum number of releases to name in a message.
const MAX_NAMED: usize = 3;
/// Maximum number of Clusters to name in a message.
const MAX_NAMED_CLUSTERS: usize = 5;

/// The facts about a deleted `ClusterStack`.
#[derive(Clone, Debug)]
pub struct DeletionFacts<'a> {
    /// The `ClusterStack` as the watch has it.
    pub stack: &'a ClusterStack,
    /// The `ClusterStack` as the API server has it now.
    pub live: Option<ClusterStack>,
    /// The releases that it owns.
    pub releases: BTreeSet<ReleaseName>,
    /// Those of them that another `ClusterStack` [keeps](super::keeper), according to the API server.
    pub kept_by_others: BTreeSet<ReleaseName>,
    /// The Clusters that use them.
    pub clusters: BTreeSet<Key>,
    /// A release that a Cluster still uses, according to the API server.
    pub last_used: Option<ReleaseName>,
    /// The Clusters whose addons are still to be orphaned. Only gathered if the annotation requires orphaning.
    pub not_orphaned: BTreeSet<Key>,
    /// The objects of its source in the repository of `delivery.git`.
    pub committed: Vec<ObjectId>,
}

impl<'a> DeletionFacts<'a> {
    /// Creates the facts about a `ClusterStack` before anything is fetched or found.
    #[must_use]
    pub fn new(stack: &'a ClusterStack) -> Self {
        Self {
            stack,
            live: None,
            releases: BTreeSet::new(),
            kept_by_others: BTreeSet::new(),
            clusters: BTreeSet::new(),
            last_used: None,
            not_orphaned: BTreeSet::new(),
            committed: Vec::new(),
        }
    }
}

/// The decision about a deleted `ClusterStack`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It does not have the operator's finalizer: there is nothing to do.
    Finished,
    /// The API server does not confirm that it is deleted: nothing is deleted.
    Unconfirmed,
    /// It is kept, and reconciled as before.
    Keep(Hold),
    /// The reconciles of these Clusters orphan their addons. The releases stay until then, because they link the Clusters
    /// to the `ClusterStack`.
    OrphanClusters(BTreeSet<Key>),
    /// Its releases are deleted, or left to their other owners.
    DeleteReleases {
        /// Whether the objects of the deleted ones stay.
        orphan: bool,
        /// The releases that are left to their other owners.
        left: BTreeSet<ReleaseName>,
        /// The message of the status.
        message: String,
    },
    /// Its source is deleted, and then its finalizer is removed.
    DeleteSource {
        /// Whether the source stays.
        orphan: bool,
        /// The objects that are removed from the repository of `delivery.git` before.
        committed: Vec<ObjectId>,
    },
}

impl Deletion {
    /// Returns the message of the status while the deletion waits. `is_removed` is whether the source is gone from the
    /// repository of `delivery.git`, if it has to be.
    #[must_use]
    pub fn waits_for(&self, is_removed: bool) -> Option<&str> {
        match self {
            Self::DeleteReleases { message, .. } => Some(message),
            Self::DeleteSource { .. } if !is_removed => {
                Some("being deleted: its GitRepository is removed from the repository of delivery.git first")
            }
            _ => None,
        }
    }
}

/// Decides about a deleted `ClusterStack`.
#[must_use]
pub fn decide_deletion(facts: &DeletionFacts) -> Deletion {
    let stack = facts.stack;
    if !labels::has_finalizer(stack) {
        return Deletion::Finished;
    }
    if !is_deletion_confirmed(stack, facts.live.as_ref()) {
        return Deletion::Unconfirmed;
    }
    let orphan = is_orphaned(stack);
    match hold(facts).filter(|_| !orphan) {
        Some(hold) => return Deletion::Keep(hold),
        None if !facts.not_orphaned.is_empty() => {
            return Deletion::OrphanClusters(facts.not_orphaned.clone());
        }
        None if facts.releases.is_empty() => {
            let committed = if orphan { Vec::new() } else { facts.committed.clone() };
            return Deletion::DeleteSource { orphan, committed };
        }
        None => {}
    }
    let left = facts.kept_by_others.clone();
    let (first, what) = match facts.releases.difference(&left).next() {
        Some(_) => (facts.releases.difference(&left).collect(), "deleted"),
        None => (left.iter().collect::<Vec<_>>(), "left to their other owners"),
    };
    let names: Vec<String> = first.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let message = format!("being deleted: its releases are {what} first: {}", names.join(", "));
    Deletion::DeleteReleases { orphan, left, message }
}

/// Returns the reason to keep a `ClusterStack`, if any.
fn hold(facts: &DeletionFacts) -> Option<Hold> {
    let in_use = |message| Some(Hold { reason: Reason::InUse, message });
    match (facts.clusters.len(), &facts.last_used) {
        (0, None) => facts.stack.spec.suspend.then(|| Hold {
            reason: Reason::Suspended,
            message: format!(
                "deleted while suspended: unset spec.suspend, or annotate with {}=Orphan",
                labels::ON_DELETE
            ),
        }),
        (0, Some(release)) => {
            in_use(format!("deleted, but a Cluster uses {release}: kept until no Cluster does"))
        }
        (count, _) => {
            let uses = if count == 1 { "Cluster uses" } else { "Clusters use" };
            let names = named(&facts.clusters);
            in_use(format!("deleted, but {count} {uses} its releases ({names}): kept until no Cluster does"))
        }
    }
}

/// Lists the first Clusters, and the number of the others.
fn named(clusters: &BTreeSet<Key>) -> String {
    let names: Vec<String> = clusters.iter().take(MAX_NAMED_CLUSTERS).map(ToString::to_string).collect();
    match clusters.len().saturating_sub(MAX_NAMED_CLUSTERS) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
