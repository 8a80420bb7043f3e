//! Events about objects (`events.k8s.io/v1`).

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::time::timeout;
use tracing::{debug, warn};

use super::client::{explain, is_namespace_terminating};

/// How long an event may take. It keeps the reconcile waiting.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How many bytes the note of an event may have: the API server refuses longer ones (`NoteLengthLimit`).
const MAX_NOTE: usize = 1024;

/// Publishes events.
///
/// A [`Recorder`] takes all events with one reason about an object within six minutes for one, and keeps the note of the first.
/// The notes are what people read, so each event has a recorder of its own.
#[derive(Clone)]
pub struct Events {
    client: Client,
    reporter: Reporter,
}

impl Events {
    /// Events that name this controller.
    #[must_use]
    pub fn new(client: Client, controller: &str) -> Self {
        Self { client, reporter: Reporter { controller: controller.to_owned(), instance: None } }
    }

    /// Publishes an event about an object. One that cannot be published is logged: it is not worth a failure.
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
