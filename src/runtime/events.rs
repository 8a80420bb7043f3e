//! Events about objects (`events.k8s.io/v1`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Resource as _;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::Request;
use kube::runtime::events::EventType;
use serde_json::json;
use tokio::time::timeout;
use tracing::{debug, warn};

use super::api_server::{self, Transport};
use super::client::{explain, is_namespace_terminating};

/// Timeout of one event, which the reconcile waits for.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of an event's note in bytes: the API server refuses longer notes (`NoteLengthLimit`).
const MAX_NOTE: usize = 1024;

/// Time after which an event is not counted in the one before it: the API server deletes events after an hour by default.
const SERIES: SignedDuration = SignedDuration::from_hours(1);

/// What the events of a series have in common: UID of the object, reason, and subject.
type Subject = (String, String, String);

/// An event that is counted.
#[derive(Clone, Debug)]
struct Series {
    namespace: Option<String>,
    name: String,
    count: i32,
    last: Timestamp,
}

/// Publishes events.
///
/// kube's recorder merges all events with one reason about an object within six minutes, and keeps the note of the first.
/// Users read the notes, so each note is a separate event here, except for those that are [counted](Self::count).
#[derive(Clone)]
pub struct Events {
    transport: Arc<dyn Transport>,
    controller: String,
    counted: Arc<Mutex<BTreeMap<Subject, Series>>>,
}

impl Events {
    /// Creates events that name this controller.
    #[must_use]
    pub fn new(transport: Arc<dyn Transport>, controller: &str) -> Self {
        Self { transport, controller: controller.to_owned(), counted: Arc::default() }
    }

    /// Publishes an event about an object. A failure is logged, and does not fail the reconcile.
    pub async fn publish(&self, about: &ObjectReference, type_: EventType, reason: &str, note: &str) {
        let event = self.event(about, type_, reason, note, Timestamp::now());
        logged(self.create(&event)).await;
    }

    /// Publishes an event that may happen again and again. As long as the earlier one with that reason and subject about the
    /// object exists, the event is counted there, and that one keeps its note.
    pub async fn count(
        &self,
        about: &ObjectReference,
        type_: EventType,
        (reason, subject): (&str, &str),
        note: &str,
    ) {
        let now = Timestamp::now();
        let uid = about.uid.clone().unwrap_or_default();
        let subject = (uid, reason.to_owned(), subject.to_owned());
        if let Some(series) = self.one_more(&subject, now) {
            match logged(self.update(&series)).await {
                Some(kube::Error::Api(status)) if status.is_not_found() => {}
                _ => return,
            }
        }
        let event = self.event(about, type_, reason, note, now);
        let (namespace, name) = (event.metadata.namespace.clone(), event.metadata.name.clone());
        let series = Series { namespace, name: name.unwrap_or_default(), count: 1, last: now };
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).insert(subject.clone(), series);
        if logged(self.create(&event)).await.is_some() {
            self.counted.lock().unwrap_or_else(PoisonError::into_inner).remove(&subject);
        }
    }

    /// Counts an event in its series, if there is one; forgets the series that have ended.
    fn one_more(&self, subject: &Subject, now: Timestamp) -> Option<Series> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.retain(|_, series| now.duration_since(series.last) < SERIES);
        let series = counted.get_mut(subject)?;
        (series.count, series.last) = (series.count.saturating_add(1), now);
        Some(series.clone())
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

    /// Writes the number of events in a series.
    async fn update(&self, series: &Series) -> kube::Result<()> {
        let namespace = series.namespace.as_deref().unwrap_or("default");
        let value = EventSeries { count: series.count, last_observed_time: MicroTime(series.last) };
        let patch = json!([{"op": "add", "path": "/series", "value": value}]);
        let patch = serde_json::from_value(patch).map_err(kube::Error::SerdeError)?;
        let request = Request::new(Event::url_path(&(), Some(namespace)))
            .patch(&series.name, &PatchParams::default(), &Patch::<()>::Json(patch))
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

/// Waits for a request about an event. Logs a failure, and returns it unless the request timed out.
async fn logged(request: impl Future<Output = kube::Result<()>>) -> Option<kube::Error> {
    let Ok(result) = timeout(TIMEOUT, request).await else {
        warn!("cannot publish an event: timed out after {} s", TIMEOUT.as_secs());
        return None;
    };
    let error = result.err()?;
    match &error {
        // A new event follows.
        kube::Error::Api(status) if status.is_not_found() => debug!("the event does not exist any longer"),
        _ if is_namespace_terminating(&error) => debug!("cannot publish an event: {}", explain(&error)),
        _ => warn!("cannot publish an event: {}", explain(&error)),
    }
    Some(error)
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
