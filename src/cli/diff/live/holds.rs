//! The reasons why the operator writes nothing for a Cluster.

use std::collections::BTreeSet;

use super::Live;
use crate::addons::{
    LiveOwners, PruneFacts, cluster_action, deletion_cause, is_addon_deleted, is_prune_pending,
};
use crate::api::{ClusterAddon, Reason};
use crate::cli::live::prepared::Prepared;
use crate::cli::live::present::Present;
use crate::foreign::flux::ownership::committing_stack;
use crate::gate::{Around, Backing, ClusterAction, Hold};
use crate::inputs::ClusterInputs;
use crate::names::Key;
use crate::plan::Plan;
use crate::plan::delivery::delivered_elsewhere;
use crate::subscription::orphaning_stack;

/// Returns the hold of a Cluster that the operator does not deliver to, because something around its addons is being deleted.
/// `is_usable`: whether the Cluster can have its release.
pub(super) fn not_delivered(
    live: &Live,
    prepared: &Prepared,
    inputs: &ClusterInputs,
    is_usable: bool,
) -> Option<Hold> {
    let cluster = &inputs.cluster;
    let key = cluster.key();
    let addon = live.present.addons.get(&key);
    let release = live.present.releases.get(&prepared.release_key());
    let orphaned_by = release.and_then(|release| orphaning_stack(release, live.present.stacks.values()));
    let around = Around {
        namespace_terminating: live.found.is_terminating(&key.namespace),
        backing: if orphaned_by.is_some() { Backing::Orphaned } else { Backing::Wanted },
        handed_over: live.found.objects.has_rest(&key),
        removing: is_usable
            && !cluster.paused()
            && addon.is_some_and(|addon| is_removing(live, prepared, (addon, inputs))),
    };
    let (reason, message) = match cluster_action(Some(cluster), addon, around) {
        ClusterAction::Deliver if orphaned_by.is_none() => return None,
        // Without a ClusterAddon, the operator creates none for a release that is orphaned, and suspends nothing.
        action @ (ClusterAction::Deliver | ClusterAction::Orphan) => {
            let stack = orphaned_by.map_or_else(|| prepared.stack_key(), Key::of);
            let what = match action {
                ClusterAction::Orphan => "its Flux objects stay, suspended",
                _ => "its Flux objects stay as they are",
            };
            (Reason::Terminating, format!("ClusterStack {stack} is being deleted: {what}"))
        }
        ClusterAction::HandOver => {
            let message = "the ClusterAddon is being deleted: the next one takes over its Flux objects";
            (Reason::Terminating, message.to_owned())
        }
        ClusterAction::Forget if addon.is_some() => {
            (Reason::Terminating, "the ClusterAddon is being deleted".to_owned())
        }
        ClusterAction::SuspendAndDelete | ClusterAction::Forget => {
            let owners = LiveOwners {
                cluster: Some(cluster),
                is_namespace_terminating: around.namespace_terminating,
                is_addon_deleted: addon.is_some_and(|addon| is_addon_deleted(addon, Some(addon))),
                is_heir_unseen: false,
            };
            match addon.and_then(|addon| deletion_cause(addon, &owners)) {
                Some(cause) => return Some(cause),
                None if cluster.deleting() => (Reason::Deleting, "the Cluster is being deleted".to_owned()),
                None => (Reason::Deleting, format!("namespace {} is being deleted", key.namespace)),
            }
        }
    };
    Some(Hold { reason, message })
}

/// Whether a `ClusterAddon` has addons that the release does not have and that are removed before it is deleted.
fn is_removing(live: &Live, prepared: &Prepared, (addon, cluster): (&ClusterAddon, &ClusterInputs)) -> bool {
    let objects = live.found.objects.around(addon, &Plan::default());
    let (inputs, without_file) = (prepared.inputs(), BTreeSet::new());
    let requests = &cluster.requests(inputs.stack, inputs.release);
    let facts = PruneFacts::recorded(addon, &inputs, (&cluster.cluster, requests), &without_file);
    let facts = PruneFacts { objects: &objects, by_git: prepared.git().is_some(), ..facts };
    is_prune_pending(&facts, (&prepared.stack_key(), prepared.suspended))
}

/// Returns the hold of a Cluster whose files are in the repository of another `ClusterStack`.
pub(super) fn elsewhere(present: &Present, prepared: &Prepared, addon: &ClusterAddon) -> Option<Hold> {
    let before = committing_stack(addon)?;
    let theirs = present.stacks.get(&before).and_then(|stack| stack.spec.delivery.git());
    delivered_elsewhere((&before, theirs), (&prepared.stack_key(), prepared.git()))
}
