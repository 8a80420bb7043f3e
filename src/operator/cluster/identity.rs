//! The `ClusterAddon` of a Cluster: its name, its owner, its finalizer.

use std::collections::BTreeMap;
use std::sync::Arc;

use gotemplate::Seen;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::super::context::{Context, Prepared};
use super::super::enqueue::addon_status_changed;
use super::super::objects::{ClusterObject, addon_key};
use crate::api::cluster_addon::RenderedInputs;
use crate::api::{self, ClusterAddon, labels};
use crate::foreign::capi::text;
use crate::inputs::ClusterInputs;
use crate::names::ObjectName;
use crate::release::Digest;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Change, Key};

/// The UID of the Cluster that a `ClusterAddon` was made for.
pub(super) fn cluster_uid(addon: &ClusterAddon) -> Option<String> {
    let owner = addon.owner_references().iter().find(|owner| owner.kind == "Cluster");
    owner.map(|owner| owner.uid.clone()).or_else(|| addon.spec.cluster_ref.uid.clone())
}

/// Whether a `ClusterAddon` was made for this Cluster, and not for an earlier one of the same name.
pub(in super::super) fn made_for(addon: &ClusterAddon, cluster: &ClusterObject) -> bool {
    cluster_uid(addon) == cluster.uid()
}

/// The last request to reconcile.
pub(super) fn requested_at(addon: &ClusterAddon) -> Option<String> {
    addon.annotations().get(labels::REQUESTED_AT).cloned()
}

/// The `ClusterStack` that commits what the Cluster gets, as the status has it.
pub(super) fn committed_by(addon: &ClusterAddon) -> Option<String> {
    addon.status.as_ref()?.committed_by.clone()
}

/// The `ClusterAddon` of a Cluster, written where it is not there or not as it should be.
pub(super) async fn ensure(
    context: &Context,
    cluster_key: &Key,
    cluster: &ClusterObject,
    found: Option<Arc<ClusterAddon>>,
) -> Result<Arc<ClusterAddon>, RequestError> {
    let uid = cluster.uid().unwrap_or_default();
    let is_right = |addon: &Arc<ClusterAddon>| {
        addon.finalizers().iter().any(|finalizer| finalizer == labels::FINALIZER)
            && cluster_uid(addon).as_ref() == Some(&uid)
            && addon.spec.cluster_ref.name.as_deref() == Some(&cluster_key.name)
    };
    if let Some(addon) = found.as_ref().filter(|addon| is_right(addon)) {
        return Ok(addon.clone());
    }
    let key = addon_key(cluster_key);
    let before = found.as_ref().and_then(|found| found.resource_version());
    let _writing = context.caches.addons.writing(&key);
    let addon = context.api.apply(&key, &desired(cluster_key, &uid, cluster), before.as_deref()).await?;
    let addon = context.caches.addons.written(addon);
    // One that a list had left out has a status already, and no watch tells what a write has brought.
    addon_status_changed(context, &Change { before: found, now: Some(addon.clone()) });
    Ok(addon)
}

/// The `ClusterAddon` as we apply it. Its owner is the Cluster, which it does not keep from going.
fn desired(cluster_key: &Key, uid: &str, cluster: &ClusterObject) -> Value {
    let api_version = text(cluster.cluster.object(), &["apiVersion"]);
    let (name, namespace) = (&cluster_key.name, &cluster_key.namespace);
    let label = ObjectName::bounded(name).map(|label| label.to_string()).unwrap_or_default();
    json!({
        "apiVersion": format!("{}/{}", api::GROUP, api::VERSION),
        "kind": "ClusterAddon",
        "metadata": {
            "name": addon_key(cluster_key).name,
            "namespace": namespace,
            "labels": {labels::MANAGED_BY: labels::FIELD_MANAGER, labels::CLUSTER_NAME: label},
            "finalizers": [labels::FINALIZER],
            "ownerReferences": [{"apiVersion": api_version, "kind": "Cluster", "name": name, "uid": uid}],
        },
        "spec": {"clusterRef": {"apiVersion": api_version, "kind": "Cluster", "namespace": namespace, "name": name, "uid": uid}},
    })
}

/// What the values of a release's addons are rendered from: a digest of each field that a template reads. Resource
/// versions would change the status whenever something else in an object changes.
pub(super) fn rendered_inputs(prepared: &Prepared, inputs: &ClusterInputs) -> RenderedInputs {
    let templates = prepared.release.addons.iter().filter_map(|addon| addon.template.as_ref());
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
