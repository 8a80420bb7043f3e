//! What a status records of the stages of a Cluster.

use super::{Available, Pruning};
use crate::api::cluster_addon::StageStatus;
use crate::names::AddonName;
use crate::release::Hook;

/// Returns what the status records of the stages: the hook whose list runs, and that list. The pruning has all objects that are
/// still to be deleted. Whether an addon is applied is judged at the begin of a reconcile, by the status before.
#[must_use]
pub(super) fn record(available: &Available, pruning: &Pruning) -> (Option<Hook>, Vec<StageStatus>) {
    let is_deleted = |name: &AddonName| !pruning.candidates.iter().any(|candidate| candidate.addon == *name);
    available.course.statuses(available.release, is_deleted)
}
