//! The transport of the operator's requests to the API server in memory, in steps that the driver takes.

use std::future::poll_fn;
use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;

use axum::http::{Request, StatusCode};
use futures::future::BoxFuture;
use serde_json::Value;
use stackflux::runtime::api_server::{Answer, Transport};

use crate::api_server::{ApiServer, Call};

/// The state that the operator and its surroundings share.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// The API server.
    pub(crate) server: ApiServer,
    /// The log of all steps, for readers.
    pub(crate) log: Vec<String>,
    /// Number of changes by requests of the operator.
    pub(crate) writes: usize,
    /// Broken rules.
    pub(crate) wrong: Vec<String>,
}

/// The operator's connection to the API server.
#[derive(Clone, Debug)]
pub(crate) struct Wire(Arc<Mutex<Cluster>>);

impl Wire {
    pub(crate) fn new(server: ApiServer) -> Self {
        Self(Arc::new(Mutex::new(Cluster { server, log: Vec::new(), writes: 0, wrong: Vec::new() })))
    }

    pub(crate) fn cluster(&self) -> MutexGuard<'_, Cluster> {
        self.0.lock().unwrap()
    }
}

impl Transport for Wire {
    /// Sends a request. The request is on its way until the driver continues, and so is the answer: a crash in between
    /// loses one or the other.
    fn send(&self, request: Request<Vec<u8>>) -> BoxFuture<'_, kube::Result<Answer>> {
        let media = request.headers().get("content-type").and_then(|media| media.to_str().ok());
        let call = Call {
            method: request.method().to_string(),
            uri: request.uri().to_string(),
            content_type: media.unwrap_or_default().to_owned(),
            body: request.body().clone(),
        };
        Box::pin(async move {
            pause().await;
            let answer = self.cluster().answer(&call);
            pause().await;
            Ok(answer)
        })
    }
}

impl Cluster {
    fn answer(&mut self, call: &Call) -> Answer {
        let before = self.server.log.len();
        let answer = self.server.answer(call);
        let is_event = call.method == "POST";
        if call.method != "GET" && !is_event {
            let path = call.uri.split('?').next().unwrap_or_default();
            let changes = self.server.log.len() - before;
            self.writes += changes;
            self.log.push(format!("operator: {} {path}: {} ({changes})", call.method, answer.code));
            for entry in &self.server.log[before..] {
                if !is_ours(&entry.object) {
                    self.wrong.push(format!("wrote to an object of another: {path}"));
                }
            }
        }
        if is_event {
            let (reason, note) = (&answer.body["reason"], &answer.body["note"]);
            self.log.push(format!("event: {}: {note}", reason.as_str().unwrap_or_default()));
        }
        let status = StatusCode::from_u16(answer.code).unwrap();
        Answer { status, body: answer.body.to_string().into() }
    }
}

/// Whether the operator may write to an object: it is of our API, or we created it.
fn is_ours(object: &Value) -> bool {
    let is_of_api =
        object["apiVersion"].as_str().is_some_and(|version| version.starts_with("clusterstack.x-k8s.io/"));
    is_of_api || object["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "stackflux"
}

/// Yields once.
async fn pause() {
    let mut is_first = true;
    let wait = poll_fn(|context| {
        if !take(&mut is_first) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    });
    wait.await;
}
