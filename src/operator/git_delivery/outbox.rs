//! What is to be committed, and what became of it: the memory between reconciles, which want objects in a repository, and
//! the passes that commit them.
//!
//! Nothing here has to outlive the process: what is wanted is wanted again by the first reconcile after a start, and a pass
//! finds in the repository what it has already.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::metrics::Queue;
use crate::gate::Hold;
use crate::plan::{ObjectId, Plan};
use crate::release::Digest;
use crate::runtime::cache::Key;

/// What is wanted or not as one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// The stack repository that is followed.
    Source,
    /// What all clusters of a release share.
    Release(String),
    /// The addons of a Cluster.
    Cluster(Key),
    /// An object that goes, and the Cluster that it belongs to.
    Object(ObjectId, Option<Key>),
}

/// What is wanted of a unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Its objects are as planned. What is there besides stays.
    Planned(Arc<Plan>),
    /// Nothing of it is there.
    Gone,
}

impl Change {
    /// What tells two changes of one unit apart.
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

/// How a change stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It waits for the next pass.
    Pending,
    /// The branch has it.
    Committed,
    /// The branch does not have it, and this is why; it is tried again.
    Held(Hold),
}

/// Whose reconcile asked, and is to hear what became of it.
pub type Asker = (Queue, Key);

/// The changes of a pass.
pub type Batch = BTreeMap<Unit, Change>;

/// The units of one `ClusterStack`.
#[derive(Debug, Default)]
struct Units {
    /// What is wanted and not known to be committed.
    wanted: BTreeMap<Unit, Wish>,
    /// The changes that the branch has.
    committed: BTreeMap<Unit, Digest>,
    /// The objects among them, which are gone, in the order in which they went.
    gone: VecDeque<Unit>,
}

/// How many objects that are gone are remembered for a `ClusterStack`: enough for those that are asked for once more. One
/// that was forgotten is looked for in the branch again, and found to be gone.
const MOST_GONE: usize = 1024;

/// A change that is wanted.
#[derive(Debug)]
struct Wish {
    change: Change,
    digest: Digest,
    /// Why the last pass did not commit it.
    hold: Option<Hold>,
    askers: BTreeSet<Asker>,
}

/// What is to be committed for which `ClusterStack`.
#[derive(Debug, Default)]
pub struct Outbox(Mutex<BTreeMap<Key, Units>>);

impl Outbox {
    /// Wants a change for a `ClusterStack`, and tells how it stands.
    pub fn want(&self, stack: &Key, unit: Unit, change: Change, asker: Asker) -> Standing {
        let digest = change.digest();
        let mut all = self.lock();
        if let (Unit::Cluster(_), Change::Planned(_)) = (&unit, &change) {
            // A Cluster that goes over to another ClusterStack: what that one's repository gets is what counts.
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
            // What went is there again.
            units.forget_objects(plan);
        }
        units.wanted.insert(unit, Wish { change, digest, hold: None, askers: BTreeSet::from([asker]) });
        Standing::Pending
    }

    /// All that is wanted for a `ClusterStack` and that its branch is not known to have.
    #[must_use]
    pub fn wanted(&self, stack: &Key) -> Batch {
        let all = self.lock();
        let wanted = all.get(stack).into_iter().flat_map(|units| &units.wanted);
        wanted.map(|(unit, wish)| (unit.clone(), wish.change.clone())).collect()
    }

    /// Notes what became of a pass: `held` says which units the branch does not have. What was wanted anew meanwhile stays
    /// wanted. Returns who has to hear of it.
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

    /// A plan is not wanted any more, by any `ClusterStack`: its Cluster is paused or held, say. What is committed of it stays.
    pub fn withdraw(&self, unit: &Unit) {
        self.lock().values_mut().for_each(|units| units.withdraw(unit));
    }

    /// As [`Outbox::withdraw`], of one `ClusterStack`.
    pub fn withdraw_of(&self, stack: &Key, unit: &Unit) {
        if let Some(units) = self.lock().get_mut(stack) {
            units.withdraw(unit);
        }
    }

    /// A Cluster is let go: nobody asks for it again.
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

    /// Somebody else changed the branch: what it has of a `ClusterStack` is not known any more. What is still wanted is
    /// wanted again by the next reconcile of each.
    pub fn forget(&self, stack: &Key) {
        if let Some(units) = self.lock().get_mut(stack) {
            units.committed.clear();
            units.gone.clear();
        }
    }

    /// A `ClusterStack` is gone, or commits nothing any more.
    pub fn drop(&self, stack: &Key) {
        self.lock().remove(stack);
    }

    /// Whether an object is not to be in the branch of a `ClusterStack` any longer.
    #[must_use]
    pub fn is_gone(&self, stack: &Key, object: &Unit) -> bool {
        let all = self.lock();
        let units = all.get(stack);
        units.is_some_and(|units| units.wanted.contains_key(object) || units.committed.contains_key(object))
    }

    /// How many units of a `ClusterStack` are not committed.
    #[must_use]
    pub fn outstanding(&self, stack: &Key) -> usize {
        self.lock().get(stack).map_or(0, |units| units.wanted.len())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Units>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Units {
    /// A plan is not wanted any more.
    fn withdraw(&mut self, unit: &Unit) {
        if self.wanted.get(unit).is_some_and(|wish| matches!(wish.change, Change::Planned(_))) {
            self.wanted.remove(unit);
        }
    }

    /// Forgets the objects that went first where there are too many.
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

    /// Another `ClusterStack` writes the files of this unit from now on.
    fn pass_on(&mut self, unit: &Unit) {
        self.withdraw(unit);
        self.committed.remove(unit);
    }

    /// The objects of a plan do not go.
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
