//! Refuses a first commit to a directory that lacks objects which Flux applied from the repository: Flux would delete them.
//!
//! The directory is missing if a user deleted the branch, if the Git server lost it, or if `delivery.git` names another place.
//! A Cluster that is paused or held is in no commit: in a directory that exists, its files stay as they are.

use std::collections::{BTreeMap, BTreeSet};

use super::pending_commits::{Batch, Change, Subject};
use crate::api::Reason;
use crate::gate::Hold;
use crate::plan::{ObjectId, Plan};

/// The objects that Flux applied from the repository of a `ClusterStack`, with what requests them.
pub(super) type Applied = BTreeMap<ObjectId, Subject>;

/// Returns the reason not to commit to a directory that does not exist, if any. `plan` has the objects of the whole `batch`.
#[must_use]
pub(super) fn hold(applied: &Applied, plan: &Plan, batch: &Batch, place: &str) -> Option<Hold> {
    let planned: BTreeSet<&ObjectId> = plan.objects().map(|object| &object.id).collect();
    let is_kept = |id: &ObjectId, subject: &Subject| {
        let is_removed =
            |requested: &Subject| matches!(requested, Subject::Object(removed, _) if removed == id);
        batch.get(subject) != Some(&Change::Gone) && !batch.keys().any(is_removed)
    };
    let mut missing = applied.iter().filter(|(id, subject)| !planned.contains(id) && is_kept(id, subject));
    let (id, subject) = missing.next()?;
    let what = match subject {
        Subject::Cluster(key) => format!("Cluster {key} is paused, held or not planned yet"),
        _ => "it is not planned yet".to_owned(),
    };
    let message = format!(
        "{place} does not exist, but Flux applied {id} from the repository, and {what}: nothing is pushed, because Flux \
         would delete the object. Restore the branch, or resume what is paused or held"
    );
    Some(Hold { reason: Reason::PushFailed, message })
}

#[cfg(test)]
mod tests;
