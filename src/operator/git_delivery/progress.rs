//! How far the commits of a `ClusterStack` are: pushed, applied by Flux, or held.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::api::cluster_stack::CommittedDelivery;
use crate::api::{GitDelivery, Reason};
use crate::gate::Hold;
use crate::git::{CommitId, TreeId};
use crate::rollup::{ConditionStatus, Report, status_of};
use crate::runtime::cache::Key;

/// How far the commits of a `ClusterStack` are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The first commit of the branch that has all that was committed.
    pub commit: Option<String>,
    /// The Flux `Kustomization`s that apply it, as far as they have applied anything, with the revision that each has applied
    /// last as Flux spells it: `main@sha1:<commit>`.
    pub appliers: BTreeMap<Key, Option<String>>,
    /// The first of them that has not applied the commit.
    pub behind: Option<Key>,
    /// Why what is wanted is not committed.
    pub hold: Option<Hold>,
    /// When the branch was looked at last.
    pub looked: Option<Timestamp>,
    /// The branch as the last pass left it.
    pub seen: Option<Seen>,
    /// Where it is committed to: the repository, the branch, and the directory.
    pub place: Place,
}

/// A directory of a branch of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    url: String,
    branch: String,
    path: String,
}

impl Place {
    /// The one that the settings name.
    #[must_use]
    pub fn of(git: &GitDelivery) -> Self {
        Self { url: git.url.clone(), branch: git.branch.clone(), path: git.path.clone() }
    }
}

/// A branch, as far as it is ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its tip.
    pub commit: CommitId,
    /// The content of the directory that is written; `None` where it is not there.
    pub tree: Option<TreeId>,
}

impl Progress {
    /// Whether Flux has applied the commit, with all Kustomizations that are known.
    #[must_use]
    pub fn is_applied(&self) -> bool {
        !self.appliers.is_empty() && self.behind.is_none()
    }

    /// The Kustomization to tell of: the first that is behind, else the first.
    fn applier(&self) -> Option<(&Key, &Option<String>)> {
        self.behind
            .as_ref()
            .map_or_else(|| self.appliers.first_key_value(), |key| self.appliers.get_key_value(key))
    }

    /// What the status of the `ClusterStack` keeps of it.
    #[must_use]
    pub fn told(&self) -> CommittedDelivery {
        CommittedDelivery {
            commit: self.commit.clone(),
            kustomization: self.applier().map(|(key, _)| key.to_string()),
            applied: self.applier().and_then(|(_, applied)| applied.clone()),
        }
    }

    /// What its condition `Delivered` says. `waiting` is how much is wanted and not committed, `not_applied` which Clusters
    /// have not got all of it from Flux.
    #[must_use]
    pub fn report(&self, waiting: usize, not_applied: &[String]) -> Report {
        let report = |status, reason: Reason, message: &str| Report::new(status, reason.as_str(), message);
        if let Some(hold) = &self.hold {
            return report(status_of(hold.reason), hold.reason, &hold.message);
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
        let message = match self.applier() {
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
