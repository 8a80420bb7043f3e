//! A small server on loopback that behaves as a test says.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::release::Digest;
use crate::source::artifact::ArtifactRef;

/// A server with one artifact.
pub(crate) struct Server {
    /// URL of the artifact.
    pub(crate) url: String,
    asked: Arc<AtomicUsize>,
    answer: Arc<Mutex<(StatusCode, Vec<u8>)>>,
}

impl Server {
    /// Starts a server that answers with these bytes.
    pub(crate) async fn with(body: &[u8]) -> Self {
        let answer = Arc::new(Mutex::new((StatusCode::OK, body.to_vec())));
        let (asked, served) = (Arc::<AtomicUsize>::default(), Arc::clone(&answer));
        let counter = Arc::clone(&asked);
        let router = Router::new().fallback(async move || {
            counter.fetch_add(1, Ordering::SeqCst);
            // Lets simultaneous requests overlap.
            tokio::task::yield_now().await;
            served.lock().unwrap().clone()
        });
        Self { url: serve(router).await, asked, answer }
    }

    /// Starts a server whose body never ends.
    pub(crate) async fn endless() -> Self {
        let zeros = || futures::stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(&[0; 8192])));
        Self::at(serve(Router::new().fallback(async move || Body::from_stream(zeros()))).await)
    }

    /// Starts a server that answers every request with these bytes, and then closes the connection or holds it open.
    pub(crate) async fn raw(answer: &[u8], holds: bool) -> Self {
        let (listener, address) = listen().await;
        let answer = answer.to_vec();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _request = stream.read(&mut [0; 4096]).await;
                let _sent = stream.write_all(&answer).await;
                if holds {
                    tokio::spawn(async move {
                        while stream.read(&mut [0; 4096]).await.is_ok_and(|read| read > 0) {}
                    });
                }
            }
        });
        Self::at(url(address))
    }

    /// Returns a server that no longer listens.
    pub(crate) async fn gone() -> Self {
        Self::at(url(listen().await.1))
    }

    fn at(url: String) -> Self {
        Self { url, asked: Arc::default(), answer: Arc::default() }
    }

    /// Changes the answer.
    pub(crate) fn answer(&self, status: StatusCode, body: &[u8]) {
        *self.answer.lock().unwrap() = (status, body.to_vec());
    }

    /// Returns the number of requests.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// Returns these bytes as an artifact in a status of Flux.
    pub(crate) fn artifact(&self, body: &[u8]) -> ArtifactRef {
        ArtifactRef {
            url: self.url.clone(),
            digest: Digest::of_bytes(body),
            size: Some(body.len() as u64),
            revision: super::commit(),
        }
    }
}

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

async fn serve(router: Router) -> String {
    let (listener, address) = listen().await;
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url(address)
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}/artifact.tar.gz")
}
