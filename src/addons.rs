//! Decides about the addons of one Cluster: what is written for it, whose a Flux object is, what happens to the objects of removed addons and of
//! deleted Clusters, and what the API server has to confirm before that.
//!
//! | word | what happens to a Flux object |
//! |---|---|
//! | suspend and delete | it is deleted, and nothing is uninstalled: its Cluster or namespace is being deleted |
//! | orphan | it stays, suspended and without an owner: its `ClusterStack` is deleted so |
//! | prune | it is deleted, because the release no longer has its addon |
//! | uninstall | what Flux does in the cluster when an object that is not suspended is deleted |

mod advance;
mod applied;
mod before_upgrade;
mod budget;
mod cluster_addon;
mod confirmation;
mod course;
mod decision;
mod deletion;
mod dependents;
mod facts;
mod forced_upgrade;
mod handover;
mod lack;
mod notes;
mod pruning;
mod receipts;
mod record;
mod renamed;
mod revision;
mod roll_up;
mod snapshot;
mod taken_back;
mod upgrade;

pub use before_upgrade::{before_upgrade, is_opening_confirmed, judge_waits, needed_before_upgrade};
pub use budget::{Spent, decide_within_budget};
pub use cluster_addon::{
    ClassState, Preparation, cluster_action, cluster_uid, committed_by, decide_prepare, desired_addon,
    is_as_desired, is_made_for, open_request, rendered_inputs, requested_at,
};
pub use confirmation::{
    are_requests_confirmed, are_requests_to_confirm, has_present_settings, is_prune_confirmed, is_still_due,
    unconfirmed,
};
pub use course::course;
pub use decision::{AddonAction, Decision, ObjectWrite, decide, has_release};
pub use deletion::{
    CommittedFiles, FileRemoval, LiveOwners, Pruner, Suppressed, Suppression, SuppressionDecision,
    SuppressionFacts, committed_files, decide_suppression, deletion_cause, is_addon_deleted,
    is_cluster_deleted, is_reported, prune_hold, suppressed,
};
pub use facts::{Available, Delivery, Facts, Target, addon_of, hold_of, kind_of};
pub use forced_upgrade::Repeats;
pub use handover::{
    Disown, Heir, LetGo, LetGoFacts, adopted, adoption, decide_let_go, is_handover_confirmed, is_labelled,
    is_orphaning, is_still_owned, unaccounted,
};
pub use lack::{Installation, Lack, lack};
pub use pruning::{
    AddonMatch, Candidate, OwnedObject, PruneDecision, PruneFacts, Pruning, candidates, is_prune_pending,
    is_prune_turn, prune_candidates, prune_decision, reported_without_file,
};
pub use receipts::{Receipts, committing, deciding_again};
pub use roll_up::{Outcome, judge_recorded, roll_up};
pub use snapshot::Snapshot;
pub use taken_back::{is_committer_named, ready_taken_back};
pub use upgrade::{Before, Behind, ControlPlane, HookChange, Upgrade};

#[cfg(test)]
mod tests;
