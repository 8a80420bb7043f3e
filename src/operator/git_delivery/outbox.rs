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
pub enum Standing {
    /// The change waits for the next pass.
    Pending,
    /// The branch has the change.
    Committed,
    /// The branch does not have the change, for this reason; later passes retry.
    Held(Hold),
}

/// The reconcile that requested a change, to enqueue when its standing changes.
pub type Asker = (Queue, Key);

/// The changes of a pass.
pub type Batch = BTreeMap<Unit, Change>;

/// The units of one `ClusterStack`.
#[derive(Debug, Default)]
struct Units {
    /// Changes that are requested and not known to be committed.
    wanted: BTreeMap<Unit, Wish>,
    /// The changes that the branch has.
    committed: BTreeMap<Unit, Digest>,
    /// The removed objects among the committed changes, oldest first.
    gone: VecDeque<Unit>,
}

/// Maximum number of removed objects to remember for a `ClusterStack`, enough for those that are requested again. For a
/// forgotten object, the next pass finds again that the branch does not have it.
const MOST_GONE: usize = 1024;

/// A requested change.
#[derive(Debug)]
struct Wish {
    change: Change,
    digest: Digest,
    /// The reason why the last pass did not commit it.
    hold: Option<Hold>,
    askers: BTreeSet<Asker>,
}

/// The requested and committed changes of each `ClusterStack`.
#[derive(Debug, Default)]
pub struct Outbox(Mutex<BTreeMap<Key, Units>>);

impl Outbox {
    /// Requests a change for a `ClusterStack`, and returns its standing.
    pub fn want(&self, stack: &Key, unit: Unit, change: Change, asker: Asker) -> Standing {
        let digest = change.digest();
        let mut all = self.lock();
        if let (Unit::Cluster(_), Change::Planned(_)) = (&unit, &change) {
            // If a Cluster moves to another ClusterStack, only the repository of the new one counts.
            all.iter_mut().filter(|(other, _)| *other != stack).for_each(|(_, units)| units.pass_on(&unit));
        }
        let units = all.entry(stack.clone()).or_default();
        if units.committed.get(&unit) == Some(&digest) {
            units.wanted.remove(&unit);
            return Standing::Committed;
        }
        if let Some(wish) = units.wanted.get_mut(&unit).filter(|wish| wish.digest == digest) {
            wish.askers.insert(asker);
            return wish.hold.clone().map_or(Standing::Pending, Standing::Held);
        }
        units.committed.remove(&unit);
        if let Change::Planned(plan) = &change {
            // A removed object may be planned again.
            units.forget_objects(plan);
        }
        units.wanted.insert(unit, Wish { change, digest, hold: None, askers: BTreeSet::from([asker]) });
        Standing::Pending
    }

    /// Returns all requested changes of a `ClusterStack` that its branch is not known to have.
    #[must_use]
    pub fn wanted(&self, stack: &Key) -> Batch {
        let all = self.lock();
        let wanted = all.get(stack).into_iter().flat_map(|units| &units.wanted);
        wanted.map(|(unit, wish)| (unit.clone(), wish.change.clone())).collect()
    }

    /// Records the result of a pass: the branch does not have the units in `held`. A unit whose request changed meanwhile
    /// stays requested. Returns the reconciles to enqueue.
    pub fn settle(&self, stack: &Key, batch: &Batch, held: &BTreeMap<Unit, Hold>) -> BTreeSet<Asker> {
        let mut all = self.lock();
        let mut told = BTreeSet::new();
        let Some(units) = all.get_mut(stack) else { return told };
        for (unit, change) in batch {
            let Some(wish) = units.wanted.get_mut(unit).filter(|wish| wish.digest == change.digest()) else {
                continue;
            };
            let why = held.get(unit);
            if why.is_none() || wish.hold.as_ref() != why {
                told.extend(wish.askers.iter().cloned());
            }
            wish.hold = why.cloned();
            if why.is_none() {
                units.committed.insert(unit.clone(), wish.digest);
                units.wanted.remove(unit);
                units.remember_gone(unit);
            }
        }
        told
    }

    /// Withdraws a plan from all `ClusterStack`s, for example because its Cluster is paused or held. Committed files stay.
    pub fn withdraw(&self, unit: &Unit) {
        self.lock().values_mut().for_each(|units| units.withdraw(unit));
    }

    /// Like [`Outbox::withdraw`], for one `ClusterStack`.
    pub fn withdraw_of(&self, stack: &Key, unit: &Unit) {
        if let Some(units) = self.lock().get_mut(stack) {
            units.withdraw(unit);
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
            units.wanted.retain(|unit, _| !is_its(unit));
        }
    }

    /// Forgets what the branch of a `ClusterStack` has, because another author changed it. The next reconciles request
    /// their changes again.
    pub fn forget(&self, stack: &Key) {
        if let Some(units) = self.lock().get_mut(stack) {
            units.committed.clear();
            units.gone.clear();
        }
    }

    /// Forgets a `ClusterStack` that is deleted, or is not delivered through Git now.
    pub fn drop(&self, stack: &Key) {
        self.lock().remove(stack);
    }

    /// Whether the removal of an object from the branch of a `ClusterStack` is requested or committed.
    #[must_use]
    pub fn is_gone(&self, stack: &Key, object: &Unit) -> bool {
        let all = self.lock();
        let units = all.get(stack);
        units.is_some_and(|units| units.wanted.contains_key(object) || units.committed.contains_key(object))
    }

    /// Returns the number of units of a `ClusterStack` that are not committed.
    #[must_use]
    pub fn outstanding(&self, stack: &Key) -> usize {
        self.lock().get(stack).map_or(0, |units| units.wanted.len())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Units>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Units {
    /// Withdraws a plan.
    fn withdraw(&mut self, unit: &Unit) {
        if self.wanted.get(unit).is_some_and(|wish| matches!(wish.change, Change::Planned(_))) {
            self.wanted.remove(unit);
        }
    }

    /// Remembers a removed object, and forgets the oldest ones beyond the limit.
    fn remember_gone(&mut self, unit: &Unit) {
        if matches!(unit, Unit::Object(..)) {
            self.gone.push_back(unit.clone());
        }
        while self.gone.len() > MOST_GONE
            && let Some(unit) = self.gone.pop_front()
        {
            self.committed.remove(&unit);
        }
    }

    /// Hands over the files of a unit to another `ClusterStack`.
    fn pass_on(&mut self, unit: &Unit) {
        self.withdraw(unit);
        self.committed.remove(unit);
    }

    /// Forgets the removal of objects that a plan contains.
    fn forget_objects(&mut self, plan: &Plan) {
        let is_planned = |unit: &Unit| match unit {
            Unit::Object(id, _) => plan.objects().any(|object| object.id == *id),
            _ => false,
        };
        self.committed.retain(|unit, _| !is_planned(unit));
        self.wanted.retain(|unit, _| !is_planned(unit));
    }
}

#[cfg(test)]
mod tests;
