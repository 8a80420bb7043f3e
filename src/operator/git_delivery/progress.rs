//! The progress of the commits of a `ClusterStack`: pushed, applied by Flux, or held.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::api::cluster_stack::CommittedDelivery;
use crate::api::{GitDelivery, Reason};
use crate::gate::Hold;
use crate::git::{CommitId, TreeId};
use crate::rollup::{ConditionStatus, Report, status_of};
use crate::runtime::cache::Key;

/// The progress of the commits of a `ClusterStack`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The first commit of the branch that contains everything that was committed.
    pub commit: Option<String>,
    /// The Flux `Kustomization`s that apply the commit, as far as known from objects that they applied. Each has the last
    /// revision that it applied, in Flux's notation: `main@sha1:<commit>`.
    pub kustomizations: BTreeMap<Key, Option<String>>,
    /// The first of them that has not applied the commit.
    pub lagging: Option<Key>,
    /// The reason why a requested change is not committed.
    pub hold: Option<Hold>,
    /// Time of the last check of the branch.
    pub looked: Option<Timestamp>,
    /// The branch as the last pass left it.
    pub seen: Option<Seen>,
    /// The repository, branch and directory of the commits.
    pub place: Place,
    /// The revisions that Flux had fetched at the last pass.
    pub fetched: Fetched,
    /// The commit that the branch lost, until everything is requested again.
    pub lost: Option<CommitId>,
}

/// The `GitRepository`s that the `Kustomization`s apply, each with the revision that Flux fetched last.
pub type Fetched = BTreeMap<Key, String>;

/// A directory of a branch of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    url: String,
    branch: String,
    path: String,
}

impl Place {
    /// Returns the place that the settings name.
    #[must_use]
    pub fn of(git: &GitDelivery) -> Self {
        Self { url: git.url.clone(), branch: git.branch.clone(), path: git.path.clone() }
    }
}

/// The operator's part of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The tip of the branch.
    pub commit: CommitId,
    /// The content of the operator's directory; `None` if the directory does not exist.
    pub tree: Option<TreeId>,
}

/// Whether another author changed the operator's directory since the last pass left it. `base` is the branch now.
#[must_use]
pub fn is_changed_by_others(before: Option<&Seen>, base: Option<&Seen>) -> bool {
    let tree = |seen: Option<&Seen>| seen.and_then(|seen| seen.tree);
    before.is_some() && tree(before) != tree(base)
}

/// Returns the commit of the last pass if the branch lost it. A branch that has later commits still contains it, and rewritten
/// history with the same files lost nothing.
#[must_use]
pub fn lost_commit(before: Option<&Seen>, base: Option<&Seen>, is_contained: bool) -> Option<CommitId> {
    before.filter(|_| !is_contained && is_changed_by_others(before, base)).map(|before| before.commit)
}

/// Whether the commit of the last pass still contains everything that is committed, provided that the branch still contains
/// it: later commits are by other authors, and change nothing of the operator's. After rewritten history, no revision in Flux
/// contains that commit.
#[must_use]
pub fn keeps_commit(before: Option<&Seen>, pushed: Option<CommitId>, is_changed_by_others: bool) -> bool {
    before.is_some() && pushed.is_none() && !is_changed_by_others
}

impl Progress {
    /// Whether Flux has fetched another revision than the commit since the last pass: only the repository shows whether the
    /// branch still contains the commit.
    #[must_use]
    pub fn has_new_revision(&self, fetched: &Fetched) -> bool {
        let is_commit = |revision: &str| {
            let commit = revision.rsplit(':').next();
            commit.is_some() && commit == self.commit.as_deref()
        };
        fetched.iter().any(|(key, revision)| self.fetched.get(key) != Some(revision) && !is_commit(revision))
    }

    /// Whether all known `Kustomization`s of Flux have applied the commit.
    #[must_use]
    pub fn is_applied(&self) -> bool {
        !self.kustomizations.is_empty() && self.lagging.is_none()
    }

    /// Returns the `Kustomization` to report: the first that is behind, otherwise the first.
    fn kustomization(&self) -> Option<(&Key, &Option<String>)> {
        self.lagging.as_ref().map_or_else(
            || self.kustomizations.first_key_value(),
            |key| self.kustomizations.get_key_value(key),
        )
    }

    /// Returns the part that the status of the `ClusterStack` records.
    #[must_use]
    pub fn to_status(&self) -> CommittedDelivery {
        CommittedDelivery {
            commit: self.commit.clone(),
            kustomization: self.kustomization().map(|(key, _)| key.to_string()),
            applied: self.kustomization().and_then(|(_, applied)| applied.clone()),
        }
    }

    /// Returns the condition `Delivered`. `waiting` is the number of uncommitted subjects, and `not_applied` lists the
    /// Clusters for which Flux has not applied everything.
    #[must_use]
    pub fn report(&self, waiting: usize, not_applied: &[String]) -> Report {
        let report = |status, reason: Reason, message: &str| Report::new(status, reason.as_str(), message);
        if let Some(hold) = &self.hold {
            return report(status_of(hold.reason), hold.reason, &hold.message);
        }
        if let Some(lost) = &self.lost {
            let message = format!(
                "branch {} does not contain commit {lost} now, because another client rewrote its history: the operator \
                 commits everything again",
                self.place.branch
            );
            return report(status_of(Reason::CommitLost), Reason::CommitLost, &message);
        }
        let Some(commit) = &self.commit else { return Report::not_yet_reported() };
        if waiting > 0 {
            return report(ConditionStatus::Unknown, Reason::Committing, "changes wait for the next commit");
        }
        if let Some(first) = not_applied.first().filter(|_| self.is_applied()) {
            let more = match not_applied.len() {
                1 => String::new(),
                count => format!(" and {} more", count.saturating_sub(1)),
            };
            let message =
                format!("commit {commit} is pushed; Flux has not applied it for Cluster {first}{more}");
            return report(ConditionStatus::Unknown, Reason::CommitNotApplied, &message);
        }
        if self.is_applied() {
            return report(
                ConditionStatus::True,
                Reason::Delivered,
                &format!("Flux has applied commit {commit}"),
            );
        }
        let message = match self.kustomization() {
            Some((kustomization, Some(applied))) => {
                format!("commit {commit} is pushed; Kustomization {kustomization} has applied {applied}")
            }
            Some((kustomization, None)) => {
                format!("commit {commit} is pushed; Kustomization {kustomization} has applied nothing yet")
            }
            None => format!(
                "commit {commit} is pushed; no Flux Kustomization has applied any of it: does one exist for the path?"
            ),
        };
        report(ConditionStatus::Unknown, Reason::CommitNotApplied, &message)
    }
}

#[cfg(test)]
mod tests;
