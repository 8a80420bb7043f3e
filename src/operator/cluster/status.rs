//! Writing the status of a `ClusterAddon`.

use std::sync::Arc;

use tracing::info;

use super::super::cache::{Change, Key};
use super::super::events;
use super::super::world::World;
use crate::api::ClusterAddon;
use crate::api::cluster_addon::ClusterAddonStatus;
use crate::sink::cluster::RequestError;

/// Writes a status where it changed, and has everybody hear of it who looks at it.
pub(super) async fn write(
    world: &World,
    addon: &ClusterAddon,
    status: &ClusterAddonStatus,
) -> Result<(), RequestError> {
    let old = addon.status.clone().unwrap_or_default();
    if *status == old {
        world.metrics.skipped("ClusterAddon");
        return Ok(());
    }
    let key = Key::of(addon);
    let _writing = world.caches.addons.writing(&key);
    let before = addon.metadata.resource_version.as_deref();
    let written: ClusterAddon = world.api.write_status(&key, status, before).await?;
    let written = world.caches.addons.written(written);
    events::ready_changed(world, &*written, &old.conditions, &status.conditions).await;
    info!(
        release = status.release.as_ref().and_then(|release| release.desired.as_deref()),
        ready = status.ready,
        "status written"
    );
    world.addon_status_changed(&Change { before: Some(Arc::new(addon.clone())), now: Some(written) });
    Ok(())
}
