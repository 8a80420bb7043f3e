//! Leader election: the real candidates and fences, over a Lease in memory.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, Response, StatusCode};
use kube::Client;
use serde_json::{Value, json};
use stackflux::names::Namespace;
use stackflux::operator::metrics::Metrics;
use stackflux::runtime::lease::{Candidate, Fence, Holding, LeaseSettings};
use tokio::runtime::Runtime;

/// The timing: a holder keeps the Lease until it releases it, and a candidate looks often.
const SETTINGS: LeaseSettings = LeaseSettings {
    duration: Duration::from_hours(2),
    renew_deadline: Duration::from_hours(1),
    retry_period: Duration::from_millis(1),
};

/// The election among the processes of a simulation.
pub(crate) struct Election {
    lease: Arc<Mutex<Option<Value>>>,
    runtime: &'static Runtime,
}

/// A process in the election.
pub(crate) struct Elected {
    pub(crate) fence: Fence,
    holding: Holding,
}

impl Election {
    pub(crate) fn new(runtime: &'static Runtime) -> Self {
        Self { lease: Arc::default(), runtime }
    }

    /// Enters a process.
    pub(crate) fn enter(&self, process: usize) -> Elected {
        let namespace: Namespace = "stackflux".parse().unwrap();
        let (metrics, identity) = (Metrics::new().runtime, format!("process-{process}"));
        let client = client(self.lease.clone());
        let candidate = Candidate::new(
            client,
            &namespace,
            "stackflux-leader-election",
            identity,
            SETTINGS,
            metrics,
            "stackflux",
        );
        let (fence, holding) = candidate.start();
        Elected { fence, holding }
    }

    /// Waits until a process leads.
    pub(crate) fn lead(&self, elected: &Elected) {
        self.runtime.block_on(elected.fence.leading()).unwrap();
    }

    /// Ends the leadership of a process: its fence is closed from now on.
    pub(crate) fn end(&self, elected: Elected) {
        self.runtime.block_on(elected.holding.release()).unwrap();
    }
}

/// A client that reaches only a Lease.
fn client(lease: Arc<Mutex<Option<Value>>>) -> Client {
    let answer = move |request: Request<Body>| {
        let lease = lease.clone();
        async move {
            let method = request.method().clone();
            let body = to_bytes(request.into_body(), usize::MAX).await.unwrap();
            let mut lease = lease.lock().unwrap();
            if method != Method::GET {
                let version = lease.as_ref().map_or(0, version);
                let mut written: Value = serde_json::from_slice(&body).unwrap();
                if version > 0 && self::version(&written) != version {
                    return answered(StatusCode::CONFLICT, &failure(409, "Conflict"));
                }
                written["metadata"]["resourceVersion"] = json!((version + 1).to_string());
                *lease = Some(written);
            }
            match &*lease {
                Some(lease) => answered(StatusCode::OK, lease),
                None => answered(StatusCode::NOT_FOUND, &failure(404, "NotFound")),
            }
        }
    };
    Client::new(Router::new().fallback(answer), "stackflux")
}

fn version(lease: &Value) -> u64 {
    let version = lease["metadata"]["resourceVersion"].as_str();
    version.and_then(|version| version.parse().ok()).unwrap_or_default()
}

fn failure(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": reason, "reason": reason, "code": code})
}

fn answered(status: StatusCode, body: &Value) -> Response<Body> {
    Response::builder().status(status).body(Body::from(body.to_string())).unwrap()
}
