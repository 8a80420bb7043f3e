//! A host on loopback that answers as a test says and records its requests.

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Response, StatusCode};
use futures::StreamExt as _;
use tokio::net::TcpListener;

use crate::http::Url;

/// A recorded request.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }
}

/// An answer.
pub(crate) type Reply = Response<Body>;

/// A running host.
pub(crate) struct Host {
    /// Its root, by address: `http://127.0.0.1:port/`.
    pub(crate) url: Url,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Host {
    /// Starts a host that answers with `answer`.
    pub(crate) async fn start(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let (remembered, answer) = (Arc::clone(&seen), Arc::new(answer));
        let router = Router::new().fallback(async move |request: Request| {
            let (parts, body) = request.into_parts();
            let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
            let asked = Seen {
                method: parts.method.to_string(),
                target: parts.uri.to_string(),
                headers: parts.headers,
                body: String::from_utf8_lossy(&body).into_owned(),
            };
            remembered.lock().unwrap().push(asked.clone());
            answer(&asked)
        });
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, seen }
    }

    /// Returns all requests.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Returns the paths and queries of all requests.
    pub(crate) fn targets(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.target).collect()
    }

    /// Returns host and port.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.url.port().unwrap())
    }

    /// Returns the URL by the host's other name, which counts as another host for credentials.
    pub(crate) fn by_name(&self) -> Url {
        let mut url = self.url.clone();
        url.set_host(Some("localhost")).unwrap();
        url
    }

    pub(crate) fn at(&self, path: &str) -> Url {
        self.url.join(path).unwrap()
    }
}

/// Returns the URL of a host where nothing listens.
pub(crate) async fn unused_port() -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap()
}

pub(crate) fn reply(status: u16, body: impl Into<Body>) -> Reply {
    let mut reply = Response::new(body.into());
    *reply.status_mut() = StatusCode::from_u16(status).unwrap();
    reply
}

/// Adds a header to an answer.
pub(crate) fn with(mut reply: Reply, name: &'static str, value: &str) -> Reply {
    reply.headers_mut().append(name, value.parse().unwrap());
    reply
}

pub(crate) fn redirect(to: &str) -> Reply {
    with(reply(307, ""), "location", to)
}

/// Returns an answer whose body never ends.
pub(crate) fn endless() -> Reply {
    let zeros = || futures::stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(&[0; 8192])));
    reply(200, Body::from_stream(zeros()))
}

/// Returns an answer whose body breaks off after these bytes; `length` is the announced size.
pub(crate) fn broken(status: u16, bytes: &[u8], length: Option<usize>) -> Reply {
    let bytes = Bytes::copy_from_slice(bytes);
    let pieces = futures::stream::once(async { Ok(bytes) }).chain(futures::stream::once(async {
        // Bytes that are written together with the end of a connection are lost.
        tokio::time::sleep(Duration::from_millis(30)).await;
        Err(io::Error::other("broken"))
    }));
    let reply = reply(status, Body::from_stream(pieces));
    match length {
        Some(length) => with(reply, "content-length", &length.to_string()),
        None => reply,
    }
}

/// Returns an answer that announces `length` bytes, and stalls after these.
pub(crate) fn stalled(bytes: &[u8], length: usize) -> Reply {
    let bytes = Bytes::copy_from_slice(bytes);
    let first = futures::stream::once(async { Ok::<_, Infallible>(bytes) });
    let body = Body::from_stream(first.chain(futures::stream::pending()));
    with(reply(200, body), "content-length", &length.to_string())
}
