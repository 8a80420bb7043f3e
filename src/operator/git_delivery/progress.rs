//! How far the commits of a `ClusterStack` are: pushed, applied by Flux, or held.

use jiff::Timestamp;

use super::super::cache::Key;
use crate::api::Reason;
use crate::api::cluster_stack::CommittedDelivery;
use crate::gate::Hold;
use crate::git::{CommitId, TreeId};
use crate::rollup::{ConditionStatus, Report, status_of};

/// How far the commits of a `ClusterStack` are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The first commit of the branch that has all that was committed.
    pub commit: Option<String>,
    /// The Flux `Kustomization` that applies it, where one has applied anything.
    pub kustomization: Option<Key>,
    /// The revision that this one has applied last, as Flux spells it: `main@sha1:<commit>`.
    pub applied: Option<String>,
    /// Whether that has the commit.
    pub is_applied: bool,
    /// Why what is wanted is not committed.
    pub hold: Option<Hold>,
    /// When the branch was looked at last.
    pub looked: Option<Timestamp>,
    /// The branch as the last pass left it.
    pub seen: Option<Seen>,
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
    /// What the status of the `ClusterStack` keeps of it.
    #[must_use]
    pub fn told(&self) -> CommittedDelivery {
        CommittedDelivery {
            commit: self.commit.clone(),
            kustomization: self.kustomization.as_ref().map(ToString::to_string),
            applied: self.applied.clone(),
        }
    }

    /// What its condition `Delivered` says; `waiting` is how much is wanted and not committed.
    #[must_use]
    pub fn report(&self, waiting: usize) -> Report {
        let report = |status, reason: Reason, message: &str| Report::new(status, reason.as_str(), message);
        if let Some(hold) = &self.hold {
            return report(status_of(hold.reason), hold.reason, &hold.message);
        }
        let Some(commit) = &self.commit else { return Report::not_yet_reported() };
        if waiting > 0 {
            return report(ConditionStatus::Unknown, Reason::Committing, "changes wait for the next commit");
        }
        if self.is_applied {
            return report(
                ConditionStatus::True,
                Reason::Delivered,
                &format!("Flux has applied commit {commit}"),
            );
        }
        let message = match (&self.kustomization, &self.applied) {
            (Some(kustomization), Some(applied)) => {
                format!("commit {commit} is pushed; Kustomization {kustomization} has applied {applied}")
            }
            (Some(kustomization), None) => {
                format!("commit {commit} is pushed; Kustomization {kustomization} has applied nothing yet")
            }
            (None, _) => format!(
                "commit {commit} is pushed; no Flux Kustomization has applied anything of it: is there one for the path?"
            ),
        };
        report(ConditionStatus::Unknown, Reason::CommitNotApplied, &message)
    }
}
