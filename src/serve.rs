//! Serves bare Git repositories, read only, over smart HTTP (<https://git-scm.com/docs/http-protocol>).
//!
//! ```text
//! connection ─▶ route ─▶ repository ─▶ body, unpacked ─▶ git upload-pack ─▶ answer
//! ```
//! What clients send is hostile. It has limits in number, size and time, and no part of it becomes an argument of a program
//! or a path. The git program speaks the protocol, because libgit2 has no server.

#![allow(clippy::disallowed_methods, reason = "a connection has an end in time")]

mod body;
mod login;
mod quota;
mod route;
mod tls;
mod upload_pack;

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

pub use login::Login;
use quota::{Place, Quota};
use route::{NoRoute, Route};
pub use tls::{Certificate, CertificateError};

/// Pause after a connection that could not be accepted, such as without a free file descriptor.
const PAUSE: Duration = Duration::from_millis(100);

/// The limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Number of connections; three quarters for one address. Further ones are closed.
    pub connections: usize,
    /// Number of git programs at a time; three quarters for one address. Further requests are answered with 503.
    pub programs: usize,
    /// Size of a request in bytes, unpacked.
    pub request: usize,
    /// Time for the head of a request, and for its body.
    pub head: Duration,
    /// Time for everything on a connection, which has one request.
    pub connection: Duration,
    /// Time after which a git program ends, if the client takes nothing.
    pub idle: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections: 128,
            programs: 8,
            request: 256 << 10,
            head: Duration::from_secs(10),
            connection: Duration::from_mins(2),
            idle: Duration::from_secs(20),
        }
    }
}

/// The repositories of a server.
pub trait Repositories: Send + Sync + 'static {
    /// Finds the repository with an identifier, which a client has chosen.
    fn find(&self, identifier: &str) -> Found;
}

/// The answer to an identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A bare repository.
    At {
        /// Its directory.
        directory: PathBuf,
        /// The login that a client needs, if any.
        login: Option<Login>,
    },
    /// The repository is not complete yet, and why.
    NotYet(String),
    /// There is no such repository.
    Unknown,
}

/// A server of Git repositories.
pub struct GitServer {
    repositories: Arc<dyn Repositories>,
    certificate: Option<Arc<Certificate>>,
    limits: ServerLimits,
    programs: Quota,
}

impl GitServer {
    /// Creates a server of these repositories. It speaks TLS if it has a certificate, and plain HTTP otherwise.
    pub fn new(
        repositories: Arc<dyn Repositories>,
        certificate: Option<Certificate>,
        limits: ServerLimits,
    ) -> Self {
        let certificate = certificate.map(Arc::new);
        Self { repositories, certificate, limits, programs: Quota::new(limits.programs) }
    }

    /// Answers the connections to a listener. Never returns.
    pub async fn run(self, listener: TcpListener) {
        let connections = Quota::new(self.limits.connections);
        let server = Arc::new(self);
        loop {
            match listener.accept().await {
                Ok((stream, client)) => {
                    let Some(place) = connections.take(client.ip()) else { continue };
                    tokio::spawn(server.clone().connection(stream, client.ip(), place));
                }
                Err(error) => {
                    warn!(%error, "cannot accept a connection to the Git server");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn connection(self: Arc<Self>, stream: TcpStream, client: IpAddr, place: Place) {
        let Some(certificate) = &self.certificate else { return self.http(stream, client, place).await };
        let handshake = async { certificate.acceptor().await.accept(stream).await };
        match timeout(self.limits.head, handshake).await {
            Ok(Ok(stream)) => self.http(stream, client, place).await,
            Ok(Err(error)) => debug!(%error, "a connection to the Git server has no TLS"),
            Err(_) => debug!("the TLS handshake of a connection to the Git server took too long"),
        }
    }

    async fn http(
        self: Arc<Self>,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        client: IpAddr,
        place: Place,
    ) {
        let ServerLimits { head, connection, .. } = self.limits;
        let answer = service_fn(|request| {
            let server = self.clone();
            async move { Ok::<_, io::Error>(server.answer(request, client).await) }
        });
        let mut http = http1::Builder::new();
        let serve =
            http.timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(16 << 10).keep_alive(false);
        let served = timeout(connection, serve.serve_connection(TokioIo::new(stream), answer)).await;
        match served {
            Ok(Ok(())) => {}
            Ok(Err(error)) => debug!(%error, "a connection to the Git server failed"),
            Err(_) => debug!("a connection to the Git server took too long"),
        }
        drop(place);
    }

    async fn answer(&self, request: Request<Incoming>, client: IpAddr) -> Response<Body> {
        let (head, body) = request.into_parts();
        let route = match Route::of(&head.method, head.uri.path(), head.uri.query()) {
            Ok(route) => route,
            Err(NoRoute::Method) => {
                return refused(StatusCode::METHOD_NOT_ALLOWED, "only git fetch is served");
            }
            Err(NoRoute::Service) => return refused(StatusCode::FORBIDDEN, "only git fetch is served"),
            Err(NoRoute::Path) => return refused(StatusCode::NOT_FOUND, "there is no such repository"),
        };
        let directory = match self.repositories.find(route.identifier()) {
            Found::At { login: Some(login), .. } if !login.is_in(&head.headers) => return unauthorized(),
            Found::At { directory, .. } => directory,
            Found::NotYet(why) => return busy(&why),
            Found::Unknown => return refused(StatusCode::NOT_FOUND, "there is no such repository"),
        };
        // The whole request is there before a program is started, which a slow client would hold.
        let input = match route {
            Route::Refs(_) => Vec::new(),
            Route::Pack(_) => {
                let read = body::read(&head.headers, body, self.limits.request);
                match timeout(self.limits.head, read).await {
                    Ok(Ok(input)) => input,
                    Ok(Err(error)) => return refused(error.status(), &error.to_string()),
                    Err(_) => return refused(StatusCode::REQUEST_TIMEOUT, "the request took too long"),
                }
            }
        };
        let Some(place) = self.programs.take(client) else {
            return busy("too many requests at a time");
        };
        let is_list = matches!(route, Route::Refs(_));
        match upload_pack::run(&directory, is_list, input, self.limits.idle, place) {
            Ok(output) => answer(is_list, output),
            Err(error) => {
                warn!(%error, "cannot run git upload-pack");
                refused(StatusCode::INTERNAL_SERVER_ERROR, "the Git server cannot run git")
            }
        }
    }
}

fn answer(is_list: bool, output: Body) -> Response<Body> {
    let kind = if is_list { "advertisement" } else { "result" };
    let response = Response::builder()
        .header(CONTENT_TYPE, format!("application/x-git-upload-pack-{kind}"))
        .header(CACHE_CONTROL, "no-cache");
    response.body(output).unwrap_or_default()
}

fn refused(status: StatusCode, why: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("{why}\n")));
    *response.status_mut() = status;
    response
}

fn unauthorized() -> Response<Body> {
    let mut response = refused(StatusCode::UNAUTHORIZED, "the user name or the password is wrong");
    let scheme = axum::http::HeaderValue::from_static("Basic realm=\"stackflux\"");
    response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
    response
}

fn busy(why: &str) -> Response<Body> {
    let mut response = refused(StatusCode::SERVICE_UNAVAILABLE, why);
    response.headers_mut().insert(RETRY_AFTER, axum::http::HeaderValue::from_static("5"));
    response
}

#[cfg(test)]
mod tests;
