//! The `ClusterAddon` of a Cluster: the Cluster that it was made for, and its desired state.

use std::collections::BTreeMap;

use gotemplate::Seen;
use serde_json::{Value, json};

use crate::api::cluster_addon::RenderedInputs;
use crate::api::{self, ClusterAddon, labels};
use crate::foreign::capi::{Cluster, text};
use crate::gate::{self, ClusterAction};
use crate::inputs::ClusterInputs;
use crate::names::ObjectName;
use crate::release::{Digest, Release};

/// Returns the UID of the Cluster that a `ClusterAddon` was made for.
#[must_use]
pub fn cluster_uid(addon: &ClusterAddon) -> Option<&str> {
    let mut owners = addon.metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.kind == "Cluster").map(|owner| owner.uid.as_str());
    owner.or(addon.spec.cluster_ref.uid.as_deref())
}

/// Whether a `ClusterAddon` was made for this Cluster, and not for an earlier one of the same name.
#[must_use]
pub fn is_made_for(addon: &ClusterAddon, cluster: &Cluster) -> bool {
    cluster_uid(addon) == cluster.uid()
}

/// Decides the action for a Cluster and its `ClusterAddon`.
#[must_use]
pub fn cluster_action(
    cluster: Option<&Cluster>,
    addon: Option<&ClusterAddon>,
    around: gate::Around,
) -> ClusterAction {
    let cluster = cluster.map(|cluster| gate::Present {
        uid: cluster.uid().unwrap_or_default().to_owned(),
        deleting: cluster.deleting(),
    });
    let addon = addon.map(|addon| gate::Owned {
        cluster_uid: cluster_uid(addon).map(str::to_owned),
        deleting: addon.metadata.deletion_timestamp.is_some(),
        held: has_finalizer(addon),
        committed: committed_by(addon).is_some(),
    });
    gate::cluster_action(cluster.as_ref(), addon.as_ref(), around)
}

/// Returns the last request to reconcile.
#[must_use]
pub fn requested_at(addon: &ClusterAddon) -> Option<String> {
    addon.metadata.annotations.as_ref()?.get(labels::REQUESTED_AT).cloned()
}

/// Returns the `ClusterStack` that commits the Cluster's files, according to the status.
#[must_use]
pub fn committed_by(addon: &ClusterAddon) -> Option<String> {
    addon.status.as_ref()?.committed_by.clone()
}

/// Whether a `ClusterAddon` has the operator's finalizer.
#[must_use]
pub fn has_finalizer(addon: &ClusterAddon) -> bool {
    addon.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == labels::FINALIZER)
}

/// Whether the `ClusterAddon` of a Cluster is as [desired](desired_addon).
#[must_use]
pub fn is_as_desired(addon: &ClusterAddon, cluster: &Cluster) -> bool {
    has_finalizer(addon)
        && cluster_uid(addon) == Some(cluster.uid().unwrap_or_default())
        && addon.spec.cluster_ref.name.as_deref() == Some(cluster.name().as_str())
        && addon.spec.cluster_ref.uid.as_deref() == cluster.uid()
}

/// Returns the `ClusterAddon` of a Cluster to apply. Its owner is the Cluster, whose deletion it does not block.
#[must_use]
pub fn desired_addon(cluster: &Cluster) -> Value {
    let api_version = text(cluster.object(), &["apiVersion"]);
    let (name, namespace) = (cluster.name().as_str(), cluster.namespace().as_str());
    let uid = cluster.uid().unwrap_or_default();
    let label = ObjectName::bounded(name).map(|label| label.to_string()).unwrap_or_default();
    json!({
        "apiVersion": format!("{}/{}", api::GROUP, api::VERSION),
        "kind": "ClusterAddon",
        "metadata": {
            "name": ClusterAddon::name_for(name),
            "namespace": namespace,
            "labels": {labels::MANAGED_BY: labels::FIELD_MANAGER, labels::CLUSTER_NAME: label},
            "finalizers": [labels::FINALIZER],
            "ownerReferences": [{"apiVersion": api_version, "kind": "Cluster", "name": name, "uid": uid}],
        },
        "spec": {"clusterRef": {"apiVersion": api_version, "kind": "Cluster", "namespace": namespace, "name": name, "uid": uid}},
    })
}

/// Returns a digest of each field that the templates of a release's addons read. Resource versions instead would change the
/// status with every change of an object.
#[must_use]
pub fn rendered_inputs(release: &Release, inputs: &ClusterInputs) -> RenderedInputs {
    let templates = release.addons.iter().filter_map(|addon| addon.template.as_ref());
    let fields: BTreeMap<String, String> = templates
        .flat_map(|source| source.template.fields())
        .filter_map(|field| {
            let seen = match field.select(inputs.data()) {
                Seen::Presence(is_true) => is_true.to_string(),
                Seen::Value(value) => value.to_string(),
                Seen::NoField(name, value) => format!("no field {name}: {value}"),
                _ => return None,
            };
            Some((field.to_string(), Digest::of_bytes(seen.as_bytes()).short()))
        })
        .collect();
    RenderedInputs { fields }
}
