//! Kubernetes upgrades of a Cluster: how far Cluster API has come, and the annotation that delays them.
//!
//! Cluster API looks at the annotation since 1.10, with its feature gate `RuntimeSDK`, which is off by default. It reports
//! the annotation when the control plane and the workers are stable, and nothing but the annotation delays the upgrade
//! (`callBeforeClusterUpgradeHook` in `exp/topology/desiredstate`).

use super::{Cluster, field, text};

/// The annotation that keeps Cluster API from upgrading a Cluster. It looks at all annotations with the prefix
/// `before-upgrade.hook.cluster.cluster.x-k8s.io`.
pub const UPGRADE_HOOK: &str = "before-upgrade.hook.cluster.cluster.x-k8s.io/stackflux";
/// The annotation with the lifecycle hooks that Cluster API still has to call, separated by commas.
const PENDING_HOOKS: &str = "runtime.cluster.x-k8s.io/pending-hooks";
/// The pending hook of every upgrade that has begun: Cluster API notes it before the first write to the control plane, and
/// removes it when all nodes have the new version.
const AFTER_CLUSTER_UPGRADE: &str = "AfterClusterUpgrade";

impl Cluster {
    /// Returns `spec.topology.version` as it is written; empty if there is none. Cluster API compares versions as texts.
    #[must_use]
    pub fn topology_version(&self) -> &str {
        text(&self.object, &["spec", "topology", "version"])
    }

    /// Returns the value of an annotation, if the Cluster has it.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<&str> {
        field(&self.object, &["metadata", "annotations", name])?.as_str()
    }

    /// Whether Cluster API has begun to upgrade the Cluster, and is not done.
    #[must_use]
    pub fn is_upgrading(&self) -> bool {
        let pending = self.annotation(PENDING_HOOKS).unwrap_or_default();
        pending.split(',').any(|hook| hook.trim() == AFTER_CLUSTER_UPGRADE)
    }

    /// Returns what Cluster API says about the topology if it is not reconciled.
    ///
    /// A `v1beta1` Cluster has the condition in `status.v1beta2.conditions`, and an older form of it in
    /// `status.conditions`.
    #[must_use]
    pub fn topology_message(&self) -> Option<&str> {
        self.topology_messages().find(|message| !message.is_empty())
    }

    /// Whether Cluster API has come as far as this annotation, and waits for its removal.
    #[must_use]
    pub fn awaits_removal_of(&self, annotation: &str) -> bool {
        self.topology_messages().any(|message| names(message, annotation))
    }

    /// Returns the messages of the conditions `TopologyReconciled` that are False.
    fn topology_messages(&self) -> impl Iterator<Item = &str> {
        const PLACES: [&[&str]; 2] = [&["status", "conditions"], &["status", "v1beta2", "conditions"]];
        let lists = PLACES.into_iter().filter_map(|place| field(&self.object, place)?.as_array());
        let unreconciled = lists.flatten().filter(|condition| {
            (text(condition, &["type"]), text(condition, &["status"])) == ("TopologyReconciled", "False")
        });
        unreconciled.map(|condition| text(condition, &["message"]))
    }
}

/// Whether a message contains the name of an annotation that does not go on.
fn names(message: &str, annotation: &str) -> bool {
    let goes_on = |next: char| next.is_ascii_alphanumeric() || matches!(next, '-' | '_' | '.' | '/');
    message.match_indices(annotation).any(|(start, _)| {
        let before = message.get(..start).and_then(|before| before.chars().next_back());
        let after = message.get(start + annotation.len()..).and_then(|after| after.chars().next());
        ![before, after].into_iter().flatten().any(goes_on)
    })
}

#[cfg(test)]
mod tests;
