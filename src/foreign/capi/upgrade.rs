//! Kubernetes upgrades of a Cluster: how far Cluster API has come, and the annotation that delays them.
//!
//! Cluster API looks at the annotation since 1.10, with its feature gate `RuntimeSDK`, which is off by default. It reports
//! the annotation when the control plane and the workers are stable, and nothing but the annotation delays the upgrade
//! (`callBeforeClusterUpgradeHook` in `exp/topology/desiredstate`).

use serde_json::Value;

use super::{Cluster, field, text};

/// The annotation that keeps Cluster API from upgrading a Cluster. It looks at all annotations with the prefix
/// `before-upgrade.hook.cluster.cluster.x-k8s.io`.
pub const UPGRADE_HOOK: &str = "before-upgrade.hook.cluster.cluster.x-k8s.io/stackflux";
/// The annotation with the lifecycle hooks that Cluster API still has to call, separated by commas.
const PENDING_HOOKS: &str = "runtime.cluster.x-k8s.io/pending-hooks";
/// The pending hook of every Cluster that Cluster API makes with its feature gate `RuntimeSDK`, until its control plane is
/// initialized.
const AFTER_CONTROL_PLANE_INITIALIZED: &str = "AfterControlPlaneInitialized";
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
        self.has_pending(AFTER_CLUSTER_UPGRADE)
    }

    /// Whether Cluster API makes the first control plane without its lifecycle hooks: it then waits for no annotation either.
    #[must_use]
    pub fn is_made_without_hooks(&self) -> bool {
        let is_being_made = self.control_plane_ref().is_some() && !self.control_plane_initialized();
        is_being_made && self.class().is_some() && !self.has_pending(AFTER_CONTROL_PLANE_INITIALIZED)
    }

    fn has_pending(&self, hook: &str) -> bool {
        let pending = self.annotation(PENDING_HOOKS).unwrap_or_default();
        pending.split(',').any(|pending| pending.trim() == hook)
    }

    /// Whether Cluster API has brought all of the topology to the present spec.
    #[must_use]
    pub fn is_topology_reconciled(&self) -> bool {
        let generation = field(&self.object, &["metadata", "generation"]);
        let mut conditions = self.topology_conditions("True");
        generation.is_some() && conditions.any(|it| field(it, &["observedGeneration"]) == generation)
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

    /// Returns the versions through which Cluster API upgrades the control plane, as `TopologyReconciled` lists them until the first
    /// step (`KubeadmControlPlane pending upgrade to version v1.34.1, v1.35.0`). There are several for a `ClusterClass` with
    /// `kubernetesVersions` alone.
    #[must_use]
    pub fn upgrade_steps(&self) -> Vec<&str> {
        let Some(control_plane) = self.control_plane_ref() else { return Vec::new() };
        let begin = format!("{} pending upgrade to version ", control_plane.kind);
        let lines = self.topology_messages().flat_map(str::lines);
        let mut plans = lines.filter_map(|line| line.trim_start_matches([' ', '*']).strip_prefix(&begin));
        plans.next().map_or_else(Vec::new, |plan| plan.split(", ").map(str::trim).collect())
    }

    /// Returns the messages of the conditions `TopologyReconciled` that are False.
    fn topology_messages(&self) -> impl Iterator<Item = &str> {
        self.topology_conditions("False").map(|condition| text(condition, &["message"]))
    }

    /// Returns the conditions `TopologyReconciled` with this status.
    fn topology_conditions(&self, status: &str) -> impl Iterator<Item = &Value> {
        const PLACES: [&[&str]; 2] = [&["status", "conditions"], &["status", "v1beta2", "conditions"]];
        let lists = PLACES.into_iter().filter_map(|place| field(&self.object, place)?.as_array());
        lists.flatten().filter(move |condition| {
            (text(condition, &["type"]), text(condition, &["status"])) == ("TopologyReconciled", status)
        })
    }
}

/// Returns a field manager other than `own` that sets this annotation of an object. The object has its `managedFields`.
#[must_use]
pub fn other_manager<'a>(object: &'a Value, annotation: &str, own: &str) -> Option<&'a str> {
    let entries = field(object, &["metadata", "managedFields"])?.as_array()?;
    let key = format!("f:{annotation}");
    let sets = |entry: &&Value| {
        let annotations = field(entry, &["fieldsV1", "f:metadata", "f:annotations"]);
        annotations.is_some_and(|annotations| annotations.get(&key).is_some())
    };
    let managers = entries.iter().filter(sets).map(|entry| text(entry, &["manager"]));
    managers.into_iter().find(|manager| *manager != own)
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
