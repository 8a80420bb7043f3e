//! Events about our own objects.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};
use tokio::time::timeout;
use tracing::{debug, warn};

use super::client::{explain, is_namespace_terminating};
use super::world::World;
use crate::api::labels::FIELD_MANAGER;
use crate::api::{ConditionType, Reason};
use crate::plan::ObjectId;
use crate::sink::cluster::RequestError;

/// How long an event may take. It keeps the reconcile waiting.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How many bytes the note of an event may have: the API server refuses longer ones (`NoteLengthLimit`).
const MAX_NOTE: usize = 1024;

/// Where events are published.
///
/// A [`Recorder`] takes all events with one reason about an object within six minutes for one, and keeps the note of the first.
/// The notes are what people read, so each event has a recorder of its own.
#[derive(Clone)]
pub struct Events {
    client: Client,
    reporter: Reporter,
}

impl Events {
    /// Events of this operator.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, reporter: Reporter { controller: FIELD_MANAGER.into(), instance: None } }
    }

    fn recorder(&self) -> Recorder {
        Recorder::new(self.client.clone(), self.reporter.clone())
    }
}

/// Tells something that is as it should be.
pub async fn normal<K: Resource<DynamicType = ()>>(world: &World, object: &K, reason: Reason, note: &str) {
    publish(world, object, EventType::Normal, reason.as_str(), note).await;
}

/// Tells that somebody else's changes to an object of ours were taken out.
pub async fn repaired<K: Resource<DynamicType = ()>>(
    world: &World,
    object: &K,
    repaired: &ObjectId,
    manager: &str,
) {
    let note = format!("{repaired} was changed by {manager}: it is as planned again");
    publish(world, object, EventType::Warning, Reason::Foreign.as_str(), &note).await;
}

/// Tells that Flux was not asked to reconcile an object, though that was asked for.
pub async fn not_handed_on<K: Resource<DynamicType = ()>>(world: &World, object: &K, refusal: &RequestError) {
    let note = format!("the request to reconcile is not handed on: {refusal}");
    publish(world, object, EventType::Warning, Reason::DeliveryFailed.as_str(), &note).await;
}

/// Tells that an object became ready, or has an issue. What is only on its way is no event.
pub async fn ready_changed<K: Resource<DynamicType = ()>>(
    world: &World,
    object: &K,
    before: &[Condition],
    now: &[Condition],
) {
    if let Some((type_, ready)) = news(before, now) {
        publish(world, object, type_, &ready.reason, &ready.message).await;
    }
}

/// The condition `Ready` where it is worth an event.
fn news<'a>(before: &[Condition], now: &'a [Condition]) -> Option<(EventType, &'a Condition)> {
    let is_ready = |condition: &&Condition| condition.type_ == ConditionType::Ready.as_str();
    let ready = now.iter().find(is_ready)?;
    let is_same = |before: &Condition| (&before.status, &before.reason) == (&ready.status, &ready.reason);
    match ready.status.as_str() {
        _ if before.iter().find(is_ready).is_some_and(is_same) => None,
        "True" => Some((EventType::Normal, ready)),
        "False" => Some((EventType::Warning, ready)),
        _ => None,
    }
}

/// An event that cannot be published is not worth a failure: the status says the same.
async fn publish<K: Resource<DynamicType = ()>>(
    world: &World,
    object: &K,
    type_: EventType,
    reason: &str,
    note: &str,
) {
    // Nothing can be made in a namespace that is being deleted, and events neither.
    let namespace = object.meta().namespace.as_deref().unwrap_or_default();
    if !world.api.may_write() || world.is_terminating(namespace) {
        return;
    }
    let (reason, note) = (reason.to_owned(), Some(fitting(note)));
    let event = Event { type_, reason, note, action: "Reconcile".to_owned(), secondary: None };
    match timeout(TIMEOUT, world.events.recorder().publish(&event, &object.object_ref(&()))).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) if is_namespace_terminating(&error) => {
            debug!("an event was not published: {}", explain(&error));
        }
        Ok(Err(error)) => warn!("an event was not published: {}", explain(&error)),
        Err(_) => warn!("an event was not published: the API server did not answer within {TIMEOUT:?}"),
    }
}

/// The note, or the beginning of one that is too long.
fn fitting(note: &str) -> String {
    let mut fitting = note.to_owned();
    if note.len() > MAX_NOTE {
        fitting.truncate(note.floor_char_boundary(MAX_NOTE - '…'.len_utf8()));
        fitting.push('…');
    }
    fitting
}

#[cfg(test)]
mod tests;
