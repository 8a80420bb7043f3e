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
pub enum Subject {
    /// The source of the stack repository.
    Source,
    /// The objects that all clusters of a release share.
    Release(String),
    /// The addons of a Cluster.
    Cluster(Key),
    /// An object to remove, and the Cluster that it belongs to, if any.
    Object(ObjectId, Option<Key>),
}

impl Subject {
    /// Whether the subject belongs to a Cluster.
    fn is_of(&self, cluster: &Key) -> bool {
        match self {
            Self::Cluster(key) | Self::Object(_, Some(key)) => key == cluster,
            Self::Source | Self::Release(_) | Self::Object(_, None) => false,
        }
    }
}

/// The requested state of a subject.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Its objects are as planned. Other existing objects stay.
    Planned(Arc<Plan>),
    /// It has no objects.
    Gone,
}

impl Change {
    /// Returns a digest that distinguishes changes of one subject.
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
pub type Batch = BTreeMap<Subject, Change>;

/// The subjects of one `ClusterStack`.
#[derive(Debug, Default)]
struct Subjects {
    /// Changes that are requested and not known to be committed.
    requested: BTreeMap<Subject, PendingChange>,
    /// The changes that the branch has.
    committed: BTreeMap<Subject, Digest>,
    /// The removed objects among the committed changes, oldest first.
    removed: VecDeque<Subject>,
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
pub struct PendingCommits(Mutex<BTreeMap<Key, Subjects>>);

impl PendingCommits {
    /// Requests a change for a `ClusterStack`, and returns its state.
    pub fn enqueue(
        &self,
        stack: &Key,
        subject: Subject,
        change: Change,
        requester: Requester,
    ) -> CommitState {
        let digest = change.digest();
        let mut all = self.lock();
        if let (Subject::Cluster(cluster), Change::Planned(_)) = (&subject, &change) {
            // If a Cluster moves to another ClusterStack, only the repository of the new one counts.
            all.iter_mut()
                .filter(|(other, _)| *other != stack)
                .for_each(|(_, subjects)| subjects.pass_on(cluster));
        }
        let subjects = all.entry(stack.clone()).or_default();
        if subjects.committed.get(&subject) == Some(&digest) {
            subjects.requested.remove(&subject);
            return CommitState::Committed;
        }
        if let Some(pending) = subjects.requested.get_mut(&subject).filter(|pending| pending.digest == digest)
        {
            pending.requesters.insert(requester);
            return pending.hold.clone().map_or(CommitState::Pending, CommitState::Held);
        }
        subjects.committed.remove(&subject);
        match (&subject, &change) {
            // A removed object may be planned again.
            (_, Change::Planned(plan)) => subjects.forget_objects(plan),
            // A release may have the object, and requests it again.
            (Subject::Object(_, None), Change::Gone) => subjects.forget_releases(),
            (_, Change::Gone) => {}
        }
        subjects.requested.insert(
            subject,
            PendingChange { change, digest, hold: None, requesters: BTreeSet::from([requester]) },
        );
        CommitState::Pending
    }

    /// Returns all requested changes of a `ClusterStack` that its branch is not known to have.
    #[must_use]
    pub fn requested(&self, stack: &Key) -> Batch {
        let all = self.lock();
        let requested = all.get(stack).into_iter().flat_map(|subjects| &subjects.requested);
        requested.map(|(subject, pending)| (subject.clone(), pending.change.clone())).collect()
    }

    /// Records the result of a pass: the branch does not have the subjects in `held`. A subject whose request changed
    /// meanwhile stays requested. Returns the reconciles to enqueue.
    pub fn complete(
        &self,
        stack: &Key,
        batch: &Batch,
        held: &BTreeMap<Subject, Hold>,
    ) -> BTreeSet<Requester> {
        let mut all = self.lock();
        let mut requesters = BTreeSet::new();
        let Some(subjects) = all.get_mut(stack) else { return requesters };
        for (subject, change) in batch {
            let Some(pending) =
                subjects.requested.get_mut(subject).filter(|pending| pending.digest == change.digest())
            else {
                continue;
            };
            let why = held.get(subject);
            if why.is_none() || pending.hold.as_ref() != why {
                requesters.extend(pending.requesters.iter().cloned());
            }
            pending.hold = why.cloned();
            if why.is_none() {
                subjects.committed.insert(subject.clone(), pending.digest);
                subjects.requested.remove(subject);
                subjects.remember_removed(subject);
            }
        }
        requesters
    }

    /// Cancels the request of a plan for all `ClusterStack`s, for example because its Cluster is paused or held. Committed files stay.
    /// Returns the `ClusterStack`s that had the request.
    pub fn cancel(&self, subject: &Subject) -> Vec<Key> {
        self.withdraw(|_, subjects| subjects.cancel(subject))
    }

    /// Like [`PendingCommits::cancel`], for one `ClusterStack`.
    pub fn cancel_of(&self, stack: &Key, subject: &Subject) -> Vec<Key> {
        self.withdraw(|of, subjects| {
            if of == stack {
                subjects.cancel(subject);
            }
        })
    }

    /// Forgets a Cluster that no reconcile will request again. Returns the `ClusterStack`s that had requests of it.
    pub fn forget_cluster(&self, cluster: &Key) -> Vec<Key> {
        self.withdraw(|_, subjects| {
            subjects.committed.retain(|subject, _| !subject.is_of(cluster));
            subjects.requested.retain(|subject, _| !subject.is_of(cluster));
        })
    }

    /// Changes the subjects of each `ClusterStack`, and returns those that have fewer requests afterwards.
    fn withdraw(&self, change: impl Fn(&Key, &mut Subjects)) -> Vec<Key> {
        let mut all = self.lock();
        let fewer = all.iter_mut().filter_map(|(stack, subjects)| {
            let before = subjects.requested.len();
            change(stack, subjects);
            (subjects.requested.len() < before).then(|| stack.clone())
        });
        fewer.collect()
    }

    /// Forgets what the branch of a `ClusterStack` has, because another author changed it. The next reconciles request
    /// their changes again.
    pub fn forget(&self, stack: &Key) {
        if let Some(subjects) = self.lock().get_mut(stack) {
            subjects.committed.clear();
            subjects.removed.clear();
        }
    }

    /// Forgets a `ClusterStack` that is deleted, or is not delivered through Git now.
    pub fn remove_stack(&self, stack: &Key) {
        self.lock().remove(stack);
    }

    /// Whether the removal of an object from the branch of a `ClusterStack` is requested or committed.
    #[must_use]
    pub fn is_removal_requested(&self, stack: &Key, object: &Subject) -> bool {
        let all = self.lock();
        let subjects = all.get(stack);
        subjects.is_some_and(|subjects| {
            subjects.requested.contains_key(object) || subjects.committed.contains_key(object)
        })
    }

    /// Returns the number of subjects of a `ClusterStack` that are not committed.
    #[must_use]
    pub fn outstanding(&self, stack: &Key) -> usize {
        self.lock().get(stack).map_or(0, |subjects| subjects.requested.len())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Subjects>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subjects {
    /// Cancels the request of a plan.
    fn cancel(&mut self, subject: &Subject) {
        if self.requested.get(subject).is_some_and(|pending| matches!(pending.change, Change::Planned(_))) {
            self.requested.remove(subject);
        }
    }

    /// Remembers a removed object, and forgets the oldest ones beyond the limit.
    fn remember_removed(&mut self, subject: &Subject) {
        if matches!(subject, Subject::Object(..)) {
            self.removed.push_back(subject.clone());
        }
        while self.removed.len() > MAX_REMOVED
            && let Some(subject) = self.removed.pop_front()
        {
            self.committed.remove(&subject);
        }
    }

    /// Hands over the files of a Cluster to another `ClusterStack`. Removals of its objects are cancelled: the new release
    /// may have them, perhaps in the same file.
    fn pass_on(&mut self, cluster: &Key) {
        self.cancel(&Subject::Cluster(cluster.clone()));
        let is_removal = |subject: &Subject| matches!(subject, Subject::Object(..));
        self.requested.retain(|subject, _| !(is_removal(subject) && subject.is_of(cluster)));
        self.committed.retain(|subject, _| !subject.is_of(cluster));
    }

    /// Forgets that the branch has the objects of releases.
    fn forget_releases(&mut self) {
        self.committed.retain(|subject, _| !matches!(subject, Subject::Release(_)));
    }

    /// Forgets the removal of objects that a plan contains.
    fn forget_objects(&mut self, plan: &Plan) {
        let is_planned = |subject: &Subject| match subject {
            Subject::Object(id, _) => plan.objects().any(|object| object.id == *id),
            _ => false,
        };
        self.committed.retain(|subject, _| !is_planned(subject));
        self.requested.retain(|subject, _| !is_planned(subject));
    }
}

#[cfg(test)]
mod tests;
