//! Events about objects (`events.k8s.io/v1`).

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Resource as _;
use kube::api::PostParams;
use kube::core::Request;
use kube::runtime::events::EventType;
use tokio::time::timeout;
use tracing::{debug, warn};

use super::api_server::{self, Transport};
use super::client::{explain, is_namespace_terminating};

/// Timeout of one event, which the reconcile waits for.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of an event's note in bytes: the API server refuses longer notes (`NoteLengthLimit`).
const MAX_NOTE: usize = 1024;

/// Publishes events.
///
/// kube's recorder merges all events with one reason about an object within six minutes, and keeps the note of the first.
/// Users read the notes, so each note is a separate event here.
#[derive(Clone)]
pub struct Events {
    transport: Arc<dyn Transport>,
    controller: String,
}

impl Events {
    /// Creates events that name this controller.
    #[must_use]
    pub fn new(transport: Arc<dyn Transport>, controller: &str) -> Self {
        Self { transport, controller: controller.to_owned() }
    }

    /// Publishes an event about an object. A failure is logged, and does not fail the reconcile.
    pub async fn publish(&self, about: &ObjectReference, type_: EventType, reason: &str, note: &str) {
        let event = self.event(about, type_, reason, note, Timestamp::now());
        match timeout(TIMEOUT, self.create(&event)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) if is_namespace_terminating(&error) => {
                debug!("cannot publish an event: {}", explain(&error));
            }
            Ok(Err(error)) => warn!("cannot publish an event: {}", explain(&error)),
            Err(_) => warn!("cannot publish an event: timed out after {} s", TIMEOUT.as_secs()),
        }
    }

    async fn create(&self, event: &Event) -> kube::Result<()> {
        let namespace = event.metadata.namespace.as_deref().unwrap_or("default");
        let body = serde_json::to_vec(event).map_err(kube::Error::SerdeError)?;
        let request = Request::new(Event::url_path(&(), Some(namespace)))
            .create(&PostParams::default(), body)
            .map_err(kube::Error::BuildRequest)?;
        let _: Event = api_server::request(&*self.transport, request).await?;
        Ok(())
    }

    fn event(
        &self,
        about: &ObjectReference,
        type_: EventType,
        reason: &str,
        note: &str,
        now: Timestamp,
    ) -> Event {
        let name = about.name.as_ref().unwrap_or(&self.controller);
        let type_ = match type_ {
            EventType::Normal => "Normal",
            EventType::Warning => "Warning",
        };
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{:x}", now.as_nanosecond())),
                namespace: about.namespace.clone(),
                ..ObjectMeta::default()
            },
            type_: Some(type_.to_owned()),
            reason: Some(reason.to_owned()),
            note: Some(fitting(note)),
            action: Some("Reconcile".to_owned()),
            event_time: Some(MicroTime(now)),
            regarding: Some(about.clone()),
            reporting_controller: Some(self.controller.clone()),
            reporting_instance: Some(self.controller.clone()),
            ..Event::default()
        }
    }
}

/// The note, truncated to the maximum length.
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
