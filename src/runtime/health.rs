//! HTTP endpoints for liveness, readiness and metrics.

mod readiness;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tracing::{error, info};

pub use readiness::{Failure, Readiness};

use super::metrics;
use super::tasks::Tasks;

/// Media type of [`metrics::text`].
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Address to listen on: `host:port`, or `:port` for all addresses of the machine. Port 0 selects a free port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    host: String,
    port: u16,
}

/// Not an address to listen on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not an address to listen on: expected <host>:<port> or :<port>, such as :8080 or 127.0.0.1:8080"
)]
pub struct ListenAddressError(String);

impl FromStr for ListenAddress {
    type Err = ListenAddressError;

    fn from_str(text: &str) -> Result<Self, ListenAddressError> {
        let invalid = || ListenAddressError(text.to_owned());
        let (host, port) = text.rsplit_once(':').ok_or_else(invalid)?;
        let port = port.parse().map_err(|_| invalid())?;
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl ListenAddress {
    async fn bind(&self) -> io::Result<TcpListener> {
        if !self.host.is_empty() {
            return TcpListener::bind(self.to_string()).await;
        }
        // This address accepts IPv6 and IPv4; without IPv6 on the machine it fails.
        match TcpListener::bind(("::", self.port)).await {
            Ok(listener) => Ok(listener),
            Err(_) => TcpListener::bind(("0.0.0.0", self.port)).await,
        }
    }
}

/// A server could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} for {what}: {error}")]
pub struct ServeError {
    what: &'static str,
    address: ListenAddress,
    error: io::Error,
}

/// Serves `/healthz` and `/readyz`. Returns the address that it listens on.
///
/// `/readyz` answers 503 until the operator is ready, with a line for each part that is not.
pub async fn serve_health(
    tasks: &Tasks,
    address: &ListenAddress,
    readiness: Readiness,
) -> Result<SocketAddr, ServeError> {
    let router = Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(ready))
        .with_state(readiness);
    serve(tasks, "health", address, router).await
}

/// Serves `/metrics`. Returns the address that it listens on.
pub async fn serve_metrics(
    tasks: &Tasks,
    address: &ListenAddress,
    registry: Arc<Registry>,
) -> Result<SocketAddr, ServeError> {
    let router = Router::new().route("/metrics", get(text)).with_state(registry);
    serve(tasks, "metrics", address, router).await
}

async fn ready(State(readiness): State<Readiness>) -> Response {
    let waits = readiness.waits();
    if waits.is_empty() {
        "ok".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, waits.join("\n") + "\n").into_response()
    }
}

async fn text(State(registry): State<Arc<Registry>>) -> Response {
    match metrics::text(&registry) {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Listens for connections to a server. Returns also the address that it listens on.
pub async fn listen(
    what: &'static str,
    address: &ListenAddress,
) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |error| ServeError { what, address: address.clone(), error };
    let listener = address.bind().await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    info!(address = %bound, "{what} server listens");
    Ok((listener, bound))
}

/// Serves until the process ends, including shutdown, so that the kubelet does not restart the Pod.
async fn serve(
    tasks: &Tasks,
    what: &'static str,
    address: &ListenAddress,
    router: Router,
) -> Result<SocketAddr, ServeError> {
    let (listener, bound) = listen(what, address).await?;
    tasks.spawn(format!("{what} server"), async move {
        if let Err(error) = axum::serve(listener, router).await {
            error!(%error, "{what} server failed");
        }
    });
    Ok(bound)
}

#[cfg(test)]
mod tests;
