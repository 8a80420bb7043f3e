//! The `ClusterAddon` of a Cluster: the Cluster that it was made for, and its desired state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gotemplate::Seen;
use serde_json::{Value, json};

use super::facts::Available;
use crate::api::cluster_addon::RenderedInputs;
use crate::api::{self, ClusterAddon, labels};
use crate::foreign::capi::{Cluster, text};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::gate::{self, ClusterAction};
use crate::names::ObjectName;
use crate::release::Digest;

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

/// Returns kind and name of the objects that a `ClusterAddon` may own: cached objects, and those that its status names.
pub(super) fn possibly_owned(
    addon: &ClusterAddon,
    owned: &[Arc<FluxObject>],
) -> BTreeSet<(FluxKind, String)> {
    let named = addon.status.iter().flat_map(|status| &status.addons).filter_map(|of| of.object.as_ref());
    let named = named.filter_map(|object| Some((FluxKind::of(&object.kind)?, object.name.clone())));
    let named = named.filter(|(kind, _)| !kind.is_source());
    owned.iter().map(|object| (object.kind(), object.name().to_owned())).chain(named).collect()
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
        held: labels::has_finalizer(addon),
        committed: committed_by(addon).is_some(),
    });
    gate::cluster_action(cluster.as_ref(), addon.as_ref(), around)
}

/// Returns the last request to reconcile.
#[must_use]
pub fn requested_at(addon: &ClusterAddon) -> Option<String> {
    addon.metadata.annotations.as_ref()?.get(labels::REQUESTED_AT).cloned()
}

/// Returns the last request to reconcile, unless it is handled.
#[must_use]
pub fn open_request(addon: &ClusterAddon) -> Option<String> {
    let handled = addon.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_deref());
    labels::open_request(addon, handled)
}

/// Returns the `ClusterStack` that commits the Cluster's files, according to the status.
#[must_use]
pub fn committed_by(addon: &ClusterAddon) -> Option<String> {
    addon.status.as_ref()?.committed_by.clone()
}

/// Whether the `ClusterAddon` of a Cluster is as [desired](desired_addon).
#[must_use]
pub fn is_as_desired(addon: &ClusterAddon, cluster: &Cluster) -> bool {
    labels::has_finalizer(addon)
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

/// The release of a Cluster's class, as far as it decides what has to exist for the Cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassState {
    /// The release does not matter, because the Cluster is paused.
    Paused {
        /// Whether this operator reports on the Cluster, which may belong to another shard.
        is_reported: bool,
    },
    /// The release is not known yet.
    Unknown,
    /// There is no release.
    Missing {
        /// Whether the `ClusterStack` is known not to have the release.
        is_certain: bool,
    },
    /// There is a release, valid or not.
    Present,
}

/// The writes for a Cluster before its addons are planned.
#[derive(Clone, Debug, PartialEq)]
pub enum Preparation {
    /// None, until the release of the Cluster's class is known. The metrics of the Cluster are removed.
    Wait,
    /// None: there is nothing to report.
    Nothing,
    /// Changes that are not committed are withheld until the Cluster is resumed.
    Pause {
        /// Whether the `ClusterAddon` reports the pause.
        is_reported: bool,
    },
    /// Write the `ClusterAddon`, which is missing or not as desired.
    WriteAddon,
    /// Make the `ClusterAddon` the owner of the objects that an earlier one left.
    Adopt(Vec<Arc<FluxObject>>),
    /// Nothing: the `ClusterAddon` is as desired.
    Prepared,
}

/// Decides what to write for a Cluster before its addons are planned. `left` are the objects of an earlier `ClusterAddon`
/// that wait for the next one.
#[must_use]
pub fn decide_prepare(
    cluster: &Cluster,
    addon: Option<&ClusterAddon>,
    class: ClassState,
    left: &[Arc<FluxObject>],
) -> Preparation {
    match class {
        ClassState::Paused { is_reported } => {
            let has_status = addon.is_some_and(|addon| addon.status.is_some());
            Preparation::Pause { is_reported: has_status && is_reported }
        }
        ClassState::Unknown => Preparation::Wait,
        ClassState::Missing { is_certain: false } if addon.is_none() => Preparation::Nothing,
        ClassState::Missing { .. } if addon.is_none() => Preparation::WriteAddon,
        ClassState::Present if !addon.is_some_and(|addon| is_as_desired(addon, cluster)) => {
            Preparation::WriteAddon
        }
        ClassState::Present if !left.is_empty() => Preparation::Adopt(left.to_vec()),
        ClassState::Missing { .. } | ClassState::Present => Preparation::Prepared,
    }
}

/// Returns a digest of each field that the templates of addons read. Resource versions instead would change the
/// status with every change of an object.
#[must_use]
pub fn rendered_inputs(available: &Available) -> RenderedInputs {
    let inputs = &available.inputs;
    let templates = available.addons().filter_map(|addon| addon.template.as_ref());
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
