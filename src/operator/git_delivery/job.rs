//! The part of a pass that runs on a separate thread: fetch, compare, commit, push.

use std::collections::{BTreeMap, BTreeSet};

use super::clone::CloneAccess;
use super::missing::{self, Applied};
use super::pending_commits::{Batch, Change, Subject};
use super::progress::{Seen, is_changed_by_others, keeps_commit, lost_commit};
use crate::api::Reason;
use crate::gate::Hold;
use crate::git::{
    BareRepository, CommitId, GitError, Message, Proposal, PushUpdateError, Reference, Snapshot, Target,
    Updated, update,
};
use crate::names::NameError;
use crate::plan::Plan;
use crate::runtime::cache::Key;
use crate::sink::changes::{Changes, Refused};
use crate::sink::git::{Below, edit};
use crate::sink::layout::{ClusterName, Part};
use crate::sink::message::{Origin, message};
use crate::sink::update::{self as files, Budget, Delivery, Limit, Overwrite, Scope};

/// A pass to run.
pub(super) struct Job {
    /// The `ClusterStack`, as `<namespace>/<name>`.
    pub(super) stack: String,
    pub(super) access: CloneAccess,
    pub(super) branch: String,
    /// The directory in the repository to write.
    pub(super) path: String,
    /// Whether to push the change to a separate branch.
    pub(super) by_pull_request: bool,
    pub(super) batch: Batch,
    /// The branch as the last pass left it.
    pub(super) before: Option<Seen>,
    /// The last revision that each Flux `Kustomization` applied.
    pub(super) kustomizations: BTreeMap<Key, Option<String>>,
    /// The objects that Flux applied from the repository.
    pub(super) applied: Applied,
    /// Whether this process may still write: another one may have become the leader.
    pub(super) may_write: Box<dyn Fn() -> bool + Send>,
}

/// The result of a pass.
pub(super) struct Done {
    /// The pushed commit; `None` if there was nothing to commit.
    pub(super) pushed: Option<CommitId>,
    /// The change that needs a pull request.
    pub(super) proposed: Option<Proposed>,
    /// The branch as this pass left it.
    pub(super) seen: Option<Seen>,
    /// Whether another author changed the operator's directory since the last pass.
    pub(super) is_changed_by_others: bool,
    /// The commit of the last pass, if the branch lost it.
    pub(super) lost: Option<CommitId>,
    /// The first `Kustomization` that has not applied everything that is committed.
    pub(super) lagging: Option<Key>,
    /// The subjects that are not committed, each with its hold.
    pub(super) held: BTreeMap<Subject, Hold>,
}

/// A branch with a change to merge by pull request.
pub(super) struct Proposed {
    pub(super) branch: String,
    pub(super) message: Message,
}

/// A reason why nothing could be committed.
pub(super) type JobError = PushUpdateError<ChangeError>;

/// A reason why no change could be proposed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChangeError {
    /// The repository cannot be read.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The files cannot be updated.
    #[error(transparent)]
    Files(#[from] Box<files::DeliveryError<GitError>>),
    /// Kubernetes would refuse a name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Another process may be the leader now.
    #[error("this operator is no longer the leader: nothing is pushed")]
    NotLeader,
}

/// The result of the last attempt.
#[derive(Default)]
struct Attempt {
    base: Option<Seen>,
    held: BTreeMap<Subject, Hold>,
    message: Option<Message>,
}

impl Job {
    pub(super) fn run(self) -> Result<Done, JobError> {
        let clone = BareRepository::open(&self.access.directory, self.access.remote.clone())?;
        let (plan, conflicts) = self.merged();
        let scope = self.scope().map_err(|error| PushUpdateError::Change(error.into()))?;
        let mut last = Attempt::default();
        let mut propose = |snapshot: &Snapshot<'_>| {
            last = Attempt { base: self.seen(snapshot)?, held: conflicts.clone(), message: None };
            self.proposal(snapshot, &plan, &scope, &mut last)
        };
        let own_branch = if self.by_pull_request { self.own_branch(&clone, &mut propose)? } else { None };
        let target = self.target(own_branch);
        let updated = match &target {
            Some(target) => update(&clone, target, self.access.signer.as_ref(), propose)?,
            None => Updated::Nothing,
        };
        let push_to = target.and_then(|target| target.push_to);
        let proposed = push_to.filter(|_| updated != Updated::Nothing);
        let proposed = proposed.zip(last.message.take());
        let proposed = proposed.map(|(branch, message)| Proposed { branch, message });
        let pushed = match updated {
            Updated::Pushed { commit, .. } if proposed.is_none() => Some(commit),
            _ => None,
        };
        let seen = match pushed {
            Some(commit) => self.seen(&clone.snapshot(Some(commit))?).map_err(PushUpdateError::Change)?,
            None => last.base.clone(),
        };
        let before = self.before.as_ref();
        let is_changed_by_others = is_changed_by_others(before, last.base.as_ref());
        let is_contained =
            before.is_some_and(|before| Self::is_in_history(&clone, before, last.base.as_ref()));
        let dropped = lost_commit(before, last.base.as_ref(), is_contained);
        let keeps = keeps_commit(before, pushed, is_changed_by_others) && is_contained;
        let seen = if keeps { self.before.clone() } else { seen };
        let lagging = self.lagging(&clone, seen.as_ref())?;
        Ok(Done { pushed, proposed, seen, is_changed_by_others, lost: dropped, lagging, held: last.held })
    }

    /// Whether the branch contains the commit of the last pass. A commit that is missing from the clone is not in the
    /// branch.
    fn is_in_history(clone: &BareRepository, before: &Seen, now: Option<&Seen>) -> bool {
        now.is_some_and(|now| clone.is_ancestor(before.commit, now.commit).unwrap_or(false))
    }

    /// Returns the branch for a pull request, whose name is the same for the same change; `None` if nothing changes.
    fn own_branch(
        &self,
        clone: &BareRepository,
        propose: &mut impl FnMut(&Snapshot<'_>) -> Result<Option<Proposal>, ChangeError>,
    ) -> Result<Option<String>, JobError> {
        let base = clone.fetch_to_change(&self.branch)?;
        let proposal = propose(&clone.snapshot(base)?).map_err(PushUpdateError::Change)?;
        Ok(proposal.map(|proposal| {
            let (stack, digest) = (self.stack.replace('/', "-"), proposal.edit.digest().short());
            format!("stackflux/{stack}-{}", digest.get(..8).unwrap_or_default())
        }))
    }

    /// Returns where to push; `None` if a change needs a pull request and there is none: what another author pushes
    /// meanwhile is for the next pass, because no change of this pass goes to the branch itself.
    fn target(&self, own_branch: Option<String>) -> Option<Target> {
        let is_allowed = own_branch.is_some() || !self.by_pull_request;
        is_allowed.then(|| Target { branch: self.branch.clone(), push_to: own_branch })
    }

    /// Merges the plans of all subjects, and returns the subjects whose objects conflict.
    fn merged(&self) -> (Plan, BTreeMap<Subject, Hold>) {
        let (mut merged, mut conflicts) = (Plan::default(), BTreeMap::new());
        for (subject, change) in &self.batch {
            let Change::Planned(plan) = change else { continue };
            if let Err(error) = merged.merge(Plan::clone(plan)) {
                let hold = Hold { reason: Reason::DeliveryFailed, message: error.to_string() };
                conflicts.insert(subject.clone(), hold);
            }
        }
        (merged, conflicts)
    }

    fn scope(&self) -> Result<Scope, NameError> {
        let (mut only, mut gone, mut removes) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for (subject, change) in &self.batch {
            match subject {
                Subject::Source | Subject::Release(_) => {}
                Subject::Cluster(key) => {
                    only.insert(cluster_name(key)?);
                    if *change == Change::Gone {
                        gone.insert(cluster_name(key)?);
                    }
                }
                Subject::Object(id, cluster) => {
                    removes.insert(id.to_string());
                    only.extend(cluster.as_ref().map(cluster_name).transpose()?);
                }
            }
        }
        Ok(Scope { only: Some(only), removes: Some(removes), present: BTreeSet::new(), gone })
    }

    fn proposal(
        &self,
        snapshot: &Snapshot<'_>,
        plan: &Plan,
        scope: &Scope,
        last: &mut Attempt,
    ) -> Result<Option<Proposal>, ChangeError> {
        if let Some(hold) = self.hold_first(plan, last.base.as_ref()) {
            last.held = self.batch.keys().map(|subject| (subject.clone(), hold.clone())).collect();
            return Ok(None);
        }
        let delivery = Delivery {
            stack: self.stack.clone(),
            plan,
            scope: scope.clone(),
            overwrite: Overwrite::default(),
            // The reconciles that request removals have decided on them within their budgets.
            budget: Budget { limit: Limit::All, allowed: None },
        };
        let changes = files::update(&Below::new(snapshot, &self.path), &delivery).map_err(Box::new)?;
        for refused in &changes.refused {
            self.hold_subjects(refused, &mut last.held);
        }
        if changes.is_empty() {
            return Ok(None);
        }
        if !(self.may_write)() {
            return Err(ChangeError::NotLeader);
        }
        let message = self.message(plan, &changes);
        let proposal = Proposal {
            edit: edit(&changes, &self.path)?,
            message: message.to_string(),
            identity: self.access.identity.clone(),
        };
        last.message = Some(message);
        Ok(Some(proposal))
    }

    /// Returns the reason not to make the first commit to the directory, if any.
    fn hold_first(&self, plan: &Plan, base: Option<&Seen>) -> Option<Hold> {
        let place = match base {
            None => format!("branch {}", self.branch),
            Some(Seen { tree: None, .. }) => format!("directory {} of branch {}", self.path, self.branch),
            Some(_) => return None,
        };
        missing::hold(&self.applied, plan, &self.batch, &place)
    }

    fn message(&self, plan: &Plan, changes: &Changes) -> Message {
        let version = env!("CARGO_PKG_VERSION");
        message(changes, &Origin { stack: &self.stack, plan: plan.digest(), version })
    }

    /// Records a hold for each subject that is not written because of a file.
    fn hold_subjects(&self, refused: &Refused, held: &mut BTreeMap<Subject, Hold>) {
        let is_hit = |subject: &Subject| match (&refused.part, subject) {
            (None | Some(Part::Sources), _)
            | (Some(Part::NodeImages | Part::ClusterClass), Subject::Release(_) | Subject::Object(_, None)) => {
                true
            }
            (Some(Part::Cluster(name)), Subject::Cluster(key) | Subject::Object(_, Some(key))) => {
                cluster_name(key).as_ref() == Ok(name)
            }
            _ => false,
        };
        let file = format!("{}/{}", self.path, refused.file);
        let (file, why) = (file.trim_start_matches('/'), &refused.why);
        let message = format!("{file} {why}: {}", why.resolution());
        for subject in self.batch.keys().filter(|subject| is_hit(subject)) {
            held.entry(subject.clone())
                .or_insert_with(|| Hold { reason: Reason::FileEdited, message: message.clone() });
        }
    }

    /// Returns the present state of the branch.
    fn seen(&self, snapshot: &Snapshot<'_>) -> Result<Option<Seen>, ChangeError> {
        let Some(commit) = snapshot.commit() else { return Ok(None) };
        Ok(Some(Seen { commit, tree: snapshot.tree_id(&self.path)? }))
    }

    /// Returns the first `Kustomization` whose revision lacks a commit.
    fn lagging(&self, clone: &BareRepository, seen: Option<&Seen>) -> Result<Option<Key>, GitError> {
        for (key, revision) in &self.kustomizations {
            if !Self::is_applied(clone, revision.as_deref(), seen)? {
                return Ok(Some(key.clone()));
            }
        }
        Ok(None)
    }

    /// Whether a revision contains everything that is committed.
    fn is_applied(
        clone: &BareRepository,
        revision: Option<&str>,
        seen: Option<&Seen>,
    ) -> Result<bool, GitError> {
        let applied = revision.and_then(|revision| revision.rsplit(':').next());
        let Some((applied, seen)) = applied.zip(seen) else { return Ok(false) };
        let Ok(applied) = applied.parse::<CommitId>() else { return Ok(false) };
        if applied == seen.commit {
            return Ok(true);
        }
        // Flux may follow another branch that the operator's branch is merged into.
        let is_known = clone.fetch(&Reference::Commit(applied)).is_ok_and(|found| found.is_some());
        if is_known { clone.is_ancestor(seen.commit, applied) } else { Ok(false) }
    }
}

fn cluster_name(key: &Key) -> Result<ClusterName, NameError> {
    ClusterName::new(&key.namespace.parse()?, &key.name.parse()?)
}

#[cfg(test)]
mod tests;
