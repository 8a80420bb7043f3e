//! The events of one Cluster's addons.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Resource as _;
use kube::runtime::events::{Event, EventType};
use tracing::warn;

use super::super::client::explain;
use super::super::world::World;
use crate::api::cluster_addon::ClusterAddonStatus;
use crate::api::{ClusterAddon, ConditionType, Reason};
use crate::plan::ObjectId;

/// Tells that the cluster became ready, or has an issue. What is only on its way is no event.
pub(super) async fn ready_changed(world: &World, addon: &Arc<ClusterAddon>, old: &ClusterAddonStatus) {
    let ready = |conditions: &[Condition]| {
        let found = conditions.iter().find(|condition| condition.type_ == ConditionType::Ready.as_str());
        found.map(|ready| (ready.status.clone(), ready.reason.clone(), ready.message.clone()))
    };
    let Some((status, reason, message)) = addon.status.as_ref().and_then(|status| ready(&status.conditions))
    else {
        return;
    };
    let before = ready(&old.conditions).map(|(status, reason, _)| (status, reason));
    if before.as_ref() == Some(&(status.clone(), reason.clone())) {
        return;
    }
    let kind = match status.as_str() {
        "True" => EventType::Normal,
        "False" => EventType::Warning,
        _ => return,
    };
    publish(world, addon, kind, reason, message).await;
}

/// Tells that somebody else's changes to an object were taken out.
pub(super) async fn repaired(world: &World, addon: &ClusterAddon, object: &ObjectId, manager: &str) {
    let message = format!("{object} was changed by {manager}: it is as planned again");
    publish(world, addon, EventType::Warning, Reason::Foreign.to_string(), message).await;
}

/// Tells that the cluster answers again, and that Flux was asked to look at its addons.
pub(super) async fn came_back(world: &World, addon: &ClusterAddon, count: usize) {
    let message =
        format!("the cluster's API server answers again: Flux was asked to look at {count} objects now");
    publish(world, addon, EventType::Normal, Reason::Available.to_string(), message).await;
}

/// Tells that the addons were let go.
pub(super) async fn let_go(world: &World, addon: &ClusterAddon, message: String) {
    publish(world, addon, EventType::Normal, Reason::Deleting.to_string(), message).await;
}

/// An event that cannot be published is not worth a failure: the status says the same.
async fn publish(world: &World, addon: &ClusterAddon, type_: EventType, reason: String, message: String) {
    let event = Event { type_, reason, note: Some(message), action: "Reconcile".to_owned(), secondary: None };
    if world.api.may_write()
        && let Err(error) = world.recorder.publish(&event, &addon.object_ref(&())).await
    {
        warn!("an event was not published: {}", explain(&error));
    }
}
