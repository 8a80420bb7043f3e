//! The `ClusterAddon` of a Cluster.

use std::sync::Arc;

use kube::ResourceExt as _;
use serde_json::json;

use super::super::context::Context;
use super::super::enqueue::on_addon_status;
use super::super::objects::{ClusterObject, addon_key};
use super::super::write::{ABSENT, refresh};
use crate::addons::desired_addon;
use crate::api::ClusterAddon;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Change, Key};

/// Writes the `ClusterAddon` of a Cluster as desired. `found` is the existing one. If another one exists, caches it and fails
/// with the conflict: it may be that of an earlier Cluster of the name.
pub(super) async fn write(
    context: &Context,
    cluster_key: &Key,
    cluster: &ClusterObject,
    found: Option<Arc<ClusterAddon>>,
) -> Result<Arc<ClusterAddon>, RequestError> {
    let key = addon_key(cluster_key);
    let before = found.as_ref().and_then(|found| found.resource_version());
    let _writing = context.caches.addons.writing(&key);
    let mut desired = desired_addon(&cluster.cluster);
    if let Some(metadata) = desired.get_mut("metadata") {
        match &found {
            None => metadata["resourceVersion"] = json!(ABSENT),
            Some(found) => metadata["uid"] = json!(found.metadata.uid),
        }
    }
    match context.api.apply(&key, &desired, before.as_deref()).await {
        Err(conflict) if conflict.is_conflict() => {
            refresh::<ClusterAddon>(context, &key).await?;
            Err(conflict)
        }
        written => {
            let addon = context.caches.addons.written(written?);
            on_addon_status(context, &Change { before: found, now: Some(addon.clone()) });
            Ok(addon)
        }
    }
}
