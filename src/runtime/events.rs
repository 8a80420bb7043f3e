//! Events about objects (`events.k8s.io/v1`).

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::time::timeout;
use tracing::{debug, warn};

use super::client::{explain, is_namespace_terminating};

/// Timeout of one event, which the reconcile waits for.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of an event's note in bytes: the API server refuses longer notes (`NoteLengthLimit`).
const MAX_NOTE: usize = 1024;

/// Publishes events.
///
/// A [`Recorder`] merges all events with one reason about an object within six minutes, and keeps the note of the first.
/// People read the notes, so each event has its own recorder.
#[derive(Clone)]
pub struct Events {
    client: Client,
    reporter: Reporter,
}

impl Events {
    /// Creates events that name this controller.
    #[must_use]
    pub fn new(client: Client, controller: &str) -> Self {
        Self { client, reporter: Reporter { controller: controller.to_owned(), instance: None } }
    }

    /// Publishes an event about an object. A failure is logged, and does not fail the reconcile.
    pub async fn publish(&self, about: &ObjectReference, type_: EventType, reason: &str, note: &str) {
        let (reason, note) = (reason.to_owned(), Some(fitting(note)));
        let event = Event { type_, reason, note, action: "Reconcile".to_owned(), secondary: None };
        let recorder = Recorder::new(self.client.clone(), self.reporter.clone());
        match timeout(TIMEOUT, recorder.publish(&event, about)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) if is_namespace_terminating(&error) => {
                debug!("cannot publish an event: {}", explain(&error));
            }
            Ok(Err(error)) => warn!("cannot publish an event: {}", explain(&error)),
            Err(_) => warn!("cannot publish an event: timed out after {} s", TIMEOUT.as_secs()),
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
