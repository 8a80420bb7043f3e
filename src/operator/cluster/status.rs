//! Writing the status of a `ClusterAddon`.

use std::sync::Arc;

use tracing::info;

use super::super::context::Context;
use super::super::enqueue::addon_status_changed;
use super::super::events;
use crate::api::ClusterAddon;
use crate::api::cluster_addon::ClusterAddonStatus;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Change, Key};

/// Writes a status if it changed, and reports the change to the reconciles that read it.
pub(super) async fn write(
    context: &Context,
    addon: &ClusterAddon,
    status: &ClusterAddonStatus,
) -> Result<(), RequestError> {
    let old = addon.status.clone().unwrap_or_default();
    if *status == old {
        context.metrics.runtime.skipped("ClusterAddon");
        return Ok(());
    }
    let key = Key::of(addon);
    let _writing = context.caches.addons.writing(&key);
    let before = addon.metadata.resource_version.as_deref();
    let written: ClusterAddon = context.api.write_status(&key, status, before).await?;
    let written = context.caches.addons.written(written);
    events::ready_changed(context, &*written, &old.conditions, &status.conditions).await;
    info!(
        release = status.release.as_ref().and_then(|release| release.desired.as_deref()),
        ready = status.ready,
        "status written"
    );
    addon_status_changed(context, &Change { before: Some(Arc::new(addon.clone())), now: Some(written) });
    Ok(())
}
