//! The `ClusterAddon` of a Cluster.

use std::sync::Arc;

use kube::ResourceExt as _;

use super::super::context::Context;
use super::super::enqueue::on_addon_status;
use super::super::objects::{ClusterObject, addon_key};
use crate::addons::desired_addon;
use crate::api::ClusterAddon;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Change, Key};

/// Writes the `ClusterAddon` of a Cluster as desired. `found` is the existing one.
pub(super) async fn write(
    context: &Context,
    cluster_key: &Key,
    cluster: &ClusterObject,
    found: Option<Arc<ClusterAddon>>,
) -> Result<Arc<ClusterAddon>, RequestError> {
    let key = addon_key(cluster_key);
    let before = found.as_ref().and_then(|found| found.resource_version());
    let _writing = context.caches.addons.writing(&key);
    let addon = context.api.apply(&key, &desired_addon(&cluster.cluster), before.as_deref()).await?;
    let addon = context.caches.addons.written(addon);
    // A ClusterAddon that was missing in a list already has a status, and no watch reports the result of a write.
    on_addon_status(context, &Change { before: found, now: Some(addon.clone()) });
    Ok(addon)
}
