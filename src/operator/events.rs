//! Events about our own objects.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Resource;
use kube::runtime::events::{Event, EventType};
use tracing::warn;

use super::client::explain;
use super::world::World;
use crate::api::{ConditionType, Reason};

/// Tells something that is as it should be.
pub async fn normal<K: Resource<DynamicType = ()>>(world: &World, object: &K, reason: Reason, note: String) {
    publish(world, object, EventType::Normal, reason.as_str(), note).await;
}

/// Tells something that somebody should look at.
pub async fn warning<K: Resource<DynamicType = ()>>(world: &World, object: &K, reason: &str, note: String) {
    publish(world, object, EventType::Warning, reason, note).await;
}

/// Tells that an object became ready, or has an issue. What is only on its way is no event.
pub async fn ready_changed<K: Resource<DynamicType = ()>>(
    world: &World,
    object: &K,
    before: &[Condition],
    now: &[Condition],
) {
    let ready = |conditions: &[Condition]| {
        let found = conditions.iter().find(|condition| condition.type_ == ConditionType::Ready.as_str());
        found.cloned()
    };
    let Some(now) = ready(now) else { return };
    if ready(before).is_some_and(|before| (&before.status, &before.reason) == (&now.status, &now.reason)) {
        return;
    }
    match now.status.as_str() {
        "True" => publish(world, object, EventType::Normal, &now.reason, now.message).await,
        "False" => publish(world, object, EventType::Warning, &now.reason, now.message).await,
        _ => {}
    }
}

/// An event that cannot be published is not worth a failure: the status says the same.
async fn publish<K: Resource<DynamicType = ()>>(
    world: &World,
    object: &K,
    type_: EventType,
    reason: &str,
    note: String,
) {
    let reason = reason.to_owned();
    let event = Event { type_, reason, note: Some(note), action: "Reconcile".to_owned(), secondary: None };
    if world.api.may_write()
        && let Err(error) = world.recorder.publish(&event, &object.object_ref(&())).await
    {
        warn!("an event was not published: {}", explain(&error));
    }
}
