//! The changes to commit and their results: the memory between the reconciles that request changes of a repository, and the
//! passes that commit them.
//!
//! Nothing here has to outlive the process: the first reconciles after a start request their changes again, and a pass
//! finds in the repository what is already committed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::metrics::Queue;
use crate::gate::Hold;
use crate::plan::{ObjectId, Plan};
use crate::release::Digest;
use crate::runtime::cache::Key;

/// A set of objects that is requested as one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// The source of the stack repository.
    Source,
    /// The objects that all clusters of a release share.
    Release(String),
    /// The addons of a Cluster.
    Cluster(Key),
    /// An object to remove, and the Cluster that it belongs to, if any.
    Object(ObjectId, Option<Key>),
}

/// The requested state of a unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Its objects are as planned. Other existing objects stay.
    Planned(Arc<Plan>),
    /// It has no objects.
    Gone,
}

impl Change {
    /// Returns a digest that distinguishes changes of one unit.
    fn digest(&self) -> Digest {
        let Self::Planned(plan) = self else { return Digest::of_bytes(b"gone") };
        let mut text = plan.digest().to_string();
        for held in plan.held() {
            // Writing to a String cannot fail.
            _ = write!(text, "\n{}/{} {:?}", held.namespace, held.cluster, held.addon);
        }
        Digest::of_bytes(text.as_bytes())
    }
}

/// The progress of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitState {
    /// The change waits for the next pass.
    Pending,
    /// The branch has the change.
    Committed,
    /// The branch does not have the change, for this reason; later passes retry.
    Held(Hold),
}

/// The reconcile that requested a change, to enqueue when its state changes.
pub type Requester = (Queue, Key);

/// The changes of a pass.
pub type Batch = BTreeMap<Unit, Change>;

/// The units of one `ClusterStack`.
#[derive(Debug, Default)]
struct Units {
    /// Changes that are requested and not known to be committed.
    requested: BTreeMap<Unit, PendingChange>,
    /// The changes that the branch has.
    committed: BTreeMap<Unit, Digest>,
    /// The removed objects among the committed changes, oldest first.
    removed: VecDeque<Unit>,
}

/// Maximum number of removed objects to remember for a `ClusterStack`, enough for those that are requested again. For a
/// forgotten object, the next pass finds again that the branch does not have it.
const MAX_REMOVED: usize = 1024;

/// A requested change.
#[derive(Debug)]
struct PendingChange {
    change: Change,
    digest: Digest,
    /// The reason why the last pass did not commit it.
    hold: Option<Hold>,
    requesters: BTreeSet<Requester>,
}

/// The requested and committed changes of each `ClusterStack`.
#[derive(Debug, Default)]
pub struct PendingCommits(Mutex<BTreeMap<Key, Units>>);

impl PendingCommits {
    /// Requests a change for a `ClusterStack`, and returns its state.
    pub fn enqueue(&self, stack: &Key, unit: Unit, change: Change, requester: Requester) -> CommitState {
        let digest = change.digest();
        let mut all = self.lock();
        if let (Unit::Cluster(_), Change::Planned(_)) = (&unit, &change) {
            // If a Cluster moves to another ClusterStack, only the repository of the new one counts.
            all.iter_mut().filter(|(other, _)| *other != stack).for_each(|(_, units)| units.pass_on(&unit));
        }
        let units = all.entry(stack.clone()).or_default();
        if units.committed.get(&unit) == Some(&digest) {
            units.requested.remove(&unit);
            return CommitState::Committed;
        }
        if let Some(pending) = units.requested.get_mut(&unit).filter(|pending| pending.digest == digest) {
            pending.requesters.insert(requester);
            return pending.hold.clone().map_or(CommitState::Pending, CommitState::Held);
        }
        units.committed.remove(&unit);
        if let Change::Planned(plan) = &change {
            // A removed object may be planned again.
            units.forget_objects(plan);
        }
        units.requested.insert(
            unit,
            PendingChange { change, digest, hold: None, requesters: BTreeSet::from([requester]) },
        );
        CommitState::Pending
    }

    /// Returns all requested changes of a `ClusterStack` that its branch is not known to have.
    #[must_use]
    pub fn requested(&self, stack: &Key) -> Batch {
        let all = self.lock();
        let requested = all.get(stack).into_iter().flat_map(|units| &units.requested);
        requested.map(|(unit, pending)| (unit.clone(), pending.change.clone())).collect()
    }

    /// Records the result of a pass: the branch does not have the units in `held`. A unit whose request changed meanwhile
    /// stays requested. Returns the reconciles to enqueue.
    pub fn complete(&self, stack: &Key, batch: &Batch, held: &BTreeMap<Unit, Hold>) -> BTreeSet<Requester> {
        let mut all = self.lock();
        let mut requesters = BTreeSet::new();
        let Some(units) = all.get_mut(stack) else { return requesters };
        for (unit, change) in batch {
            let Some(pending) =
                units.requested.get_mut(unit).filter(|pending| pending.digest == change.digest())
            else {
                continue;
            };
            let why = held.get(unit);
            if why.is_none() || pending.hold.as_ref() != why {
                requesters.extend(pending.requesters.iter().cloned());
            }
            pending.hold = why.cloned();
            if why.is_none() {
                units.committed.insert(unit.clone(), pending.digest);
                units.requested.remove(unit);
                units.remember_removed(unit);
            }
        }
        requesters
    }

    /// Cancels the request of a plan for all `ClusterStack`s, for example because its Cluster is paused or held. Committed files stay.
    pub fn cancel(&self, unit: &Unit) {
        self.lock().values_mut().for_each(|units| units.cancel(unit));
    }

    /// Like [`PendingCommits::cancel`], for one `ClusterStack`.
    pub fn cancel_of(&self, stack: &Key, unit: &Unit) {
        if let Some(units) = self.lock().get_mut(stack) {
            units.cancel(unit);
        }
    }

    /// Forgets a Cluster that no reconcile will request again.
    pub fn forget_cluster(&self, cluster: &Key) {
        let is_its = |unit: &Unit| match unit {
            Unit::Cluster(key) | Unit::Object(_, Some(key)) => key == cluster,
            Unit::Source | Unit::Release(_) | Unit::Object(_, None) => false,
        };
        for units in self.lock().values_mut() {
            units.committed.retain(|unit, _| !is_its(unit));
            units.requested.retain(|unit, _| !is_its(unit));
        }
    }

    /// Forgets what the branch of a `ClusterStack` has, because another author changed it. The next reconciles request
    /// their changes again.
    pub fn forget(&self, stack: &Key) {
        if let Some(units) = self.lock().get_mut(stack) {
            units.committed.clear();
            units.removed.clear();
        }
    }

    /// Forgets a `ClusterStack` that is deleted, or is not delivered through Git now.
    pub fn remove_stack(&self, stack: &Key) {
        self.lock().remove(stack);
    }

    /// Whether the removal of an object from the branch of a `ClusterStack` is requested or committed.
    #[must_use]
    pub fn is_removal_requested(&self, stack: &Key, object: &Unit) -> bool {
        let all = self.lock();
        let units = all.get(stack);
        units
            .is_some_and(|units| units.requested.contains_key(object) || units.committed.contains_key(object))
    }

    /// Returns the number of units of a `ClusterStack` that are not committed.
    #[must_use]
    pub fn outstanding(&self, stack: &Key) -> usize {
        self.lock().get(stack).map_or(0, |units| units.requested.len())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Units>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Units {
    /// Cancels the request of a plan.
    fn cancel(&mut self, unit: &Unit) {
        if self.requested.get(unit).is_some_and(|pending| matches!(pending.change, Change::Planned(_))) {
            self.requested.remove(unit);
        }
    }

    /// Remembers a removed object, and forgets the oldest ones beyond the limit.
    fn remember_removed(&mut self, unit: &Unit) {
        if matches!(unit, Unit::Object(..)) {
            self.removed.push_back(unit.clone());
        }
        while self.removed.len() > MAX_REMOVED
            && let Some(unit) = self.removed.pop_front()
        {
            self.committed.remove(&unit);
        }
    }

    /// Hands over the files of a unit to another `ClusterStack`.
    fn pass_on(&mut self, unit: &Unit) {
        self.cancel(unit);
        self.committed.remove(unit);
    }

    /// Forgets the removal of objects that a plan contains.
    fn forget_objects(&mut self, plan: &Plan) {
        let is_planned = |unit: &Unit| match unit {
            Unit::Object(id, _) => plan.objects().any(|object| object.id == *id),
            _ => false,
        };
        self.committed.retain(|unit, _| !is_planned(unit));
        self.requested.retain(|unit, _| !is_planned(unit));
    }
}

#[cfg(test)]
mod tests;
