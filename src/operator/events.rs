//! Events about the operator's own objects.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Resource;
use kube::runtime::events::EventType;

use super::context::Context;
use crate::api::{ConditionType, Reason};
use crate::plan::ObjectId;
use crate::runtime::api_server::RequestError;

/// Publishes an event about an expected state.
pub async fn normal<K: Resource<DynamicType = ()>>(
    context: &Context,
    object: &K,
    reason: Reason,
    note: &str,
) {
    publish(context, object, EventType::Normal, reason.as_str(), note).await;
}

/// Publishes a warning.
pub async fn warning<K: Resource<DynamicType = ()>>(
    context: &Context,
    object: &K,
    reason: Reason,
    note: &str,
) {
    publish(context, object, EventType::Warning, reason.as_str(), note).await;
}

/// Publishes that the operator reverted the changes of another field manager to one of its objects. Two controllers that
/// disagree fill no API server: the repairs of an object are counted in one event.
pub async fn repaired<K: Resource<DynamicType = ()>>(
    context: &Context,
    object: &K,
    repaired: &ObjectId,
    manager: &str,
) {
    let note = format!("{repaired} was changed by {manager}: the operator restored it");
    count(context, object, EventType::Warning, (Reason::Foreign.as_str(), &note), &note).await;
}

/// Publishes that the operator could not forward a request to reconcile to Flux.
pub async fn not_forwarded<K: Resource<DynamicType = ()>>(
    context: &Context,
    object: &K,
    refusal: &RequestError,
) {
    let note = format!("the request to reconcile is not handed on: {refusal}");
    publish(context, object, EventType::Warning, Reason::DeliveryFailed.as_str(), &note).await;
}

/// Publishes that an object became ready or has an issue. An object in progress causes no event.
pub async fn ready_changed<K: Resource<DynamicType = ()>>(
    context: &Context,
    object: &K,
    before: &[Condition],
    now: &[Condition],
) {
    if let Some((type_, ready)) = ready_change(before, now) {
        let Condition { reason, message, .. } = ready;
        let is_foreign = |condition: &Condition| condition.reason == Reason::Foreign.as_str();
        if is_foreign(ready) {
            // The message has the time of the next repair, and the event keeps its note.
            let note = "another client changed objects: the condition Ready names them, and says when they are restored";
            count(context, object, type_, (reason, note), note).await;
        } else if ready_of(before).is_some_and(is_foreign) {
            count(context, object, type_, (reason, "restored"), message).await;
        } else {
            publish(context, object, type_, reason, message).await;
        }
    }
}

/// Publishes that the gate of an upgrade opened, or that an upgrade did not wait for the addons.
pub async fn gate_changed<K: Resource<DynamicType = ()>>(
    context: &Context,
    object: &K,
    before: &[Condition],
    now: &[Condition],
) {
    if let Some((type_, gate)) = gate_change(before, now) {
        publish(context, object, type_, &gate.reason, &gate.message).await;
    }
}

/// Returns the condition `UpgradeGate` if its change deserves an event.
fn gate_change<'a>(before: &[Condition], now: &'a [Condition]) -> Option<(EventType, &'a Condition)> {
    let gate_of = |conditions: &'a [Condition]| {
        conditions.iter().find(|condition| condition.type_ == ConditionType::UpgradeGate.as_str())
    };
    let gate = gate_of(now)?;
    if before.iter().any(|known| known.type_ == gate.type_ && known.reason == gate.reason) {
        return None;
    }
    match Reason::of(&gate.reason)? {
        Reason::Opened | Reason::Upgrading => Some((EventType::Normal, gate)),
        Reason::Forced
        | Reason::ForeignAnnotation
        | Reason::NotEnforced
        | Reason::Bypassed
        | Reason::GateNotWritable => Some((EventType::Warning, gate)),
        _ => None,
    }
}

fn ready_of(conditions: &[Condition]) -> Option<&Condition> {
    conditions.iter().find(|condition| condition.type_ == ConditionType::Ready.as_str())
}

/// Returns the condition `Ready` if its change deserves an event.
fn ready_change<'a>(before: &[Condition], now: &'a [Condition]) -> Option<(EventType, &'a Condition)> {
    let ready = ready_of(now)?;
    let is_same = |before: &Condition| (&before.status, &before.reason) == (&ready.status, &ready.reason);
    match ready.status.as_str() {
        _ if ready_of(before).is_some_and(is_same) => None,
        "True" => Some((EventType::Normal, ready)),
        "False" => Some((EventType::Warning, ready)),
        _ => None,
    }
}

async fn publish<K: Resource<DynamicType = ()>>(
    context: &Context,
    object: &K,
    type_: EventType,
    reason: &str,
    note: &str,
) {
    if may_publish(context, object) {
        context.events.publish(&object.object_ref(&()), type_, reason, note).await;
    }
}

/// Publishes an event, or counts it in the last one with this reason and subject.
async fn count<K: Resource<DynamicType = ()>>(
    context: &Context,
    object: &K,
    type_: EventType,
    reason_and_subject: (&str, &str),
    note: &str,
) {
    if may_publish(context, object) {
        context.events.count(&object.object_ref(&()), type_, reason_and_subject, note).await;
    }
}

/// No object can be created in a namespace that is being deleted, including events.
fn may_publish<K: Resource<DynamicType = ()>>(context: &Context, object: &K) -> bool {
    let namespace = object.meta().namespace.as_deref().unwrap_or_default();
    context.api.may_write() && !context.is_terminating(namespace)
}

#[cfg(test)]
mod tests;
