//! An API server that lies in its lists and watches, while every single object and every write is true.
//!
//! Plain HTTP on loopback in front; behind it the real API server, as the user of a kubeconfig.

mod question;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use kube::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::client;
use crate::error::{Context as _, Result};
use question::Question;

/// The proxy's answers to lists and watches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lie {
    /// The truth.
    None,
    /// Every list and watch is refused with this HTTP status, such as 401, 410 or 500.
    Refused(u16),
    /// Lists are empty; watches end with the event that their resource version has expired, so that clients list again.
    EmptyLists,
    /// Every list gets its first answer; watches end as with empty lists.
    StaleLists,
    /// Watches end immediately.
    ClosedWatches,
}

/// A proxy in front of the management API server, with a kubeconfig for the operator under test.
pub struct LyingProxy {
    /// Its threads and all connections end with the runtime.
    _runtime: Runtime,
    proxy: Arc<Proxy>,
    kubeconfig: PathBuf,
}

/// A lie, and the plural name of its kind; `None` for all kinds.
type About = (Option<&'static str>, Lie);

struct Proxy {
    client: Client,
    lie: watch::Sender<About>,
    served: AtomicUsize,
    /// The first answer to each list.
    lists: Mutex<BTreeMap<String, Value>>,
    /// The paths whose last list was a lie. A true watch that continues from such a list would never report what the lie
    /// left out, like any API server.
    misled: Mutex<BTreeSet<String>>,
}

impl LyingProxy {
    /// Starts to tell the truth on a port of its own. Writes its kubeconfig beside the one of the user whose requests it
    /// forwards.
    pub fn start(kubeconfig: &Path) -> Result<Self> {
        let runtime = client::runtime()?;
        let client = runtime.block_on(client::connect(kubeconfig))?;
        let (lie, _) = watch::channel((None, Lie::None));
        let proxy = Proxy {
            client,
            lie,
            served: AtomicUsize::new(0),
            lists: Mutex::default(),
            misled: Mutex::default(),
        };
        let proxy = Arc::new(proxy);
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
        let listener = listener.context(|| "cannot listen on loopback".to_owned())?;
        let address = listener.local_addr().context(|| "cannot listen on loopback".to_owned())?;
        let router = Router::new().fallback(answer).with_state(Arc::clone(&proxy));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { _runtime: runtime, proxy, kubeconfig: write_kubeconfig(kubeconfig, address)? })
    }

    /// The kubeconfig for the client that is lied to.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Tells this lie from now on. All running watches end.
    pub fn set_lie(&self, lie: Lie) {
        self.proxy.lie.send_replace((None, lie));
    }

    /// Tells this lie about one kind (its plural name) from now on, and the truth about all others. All running watches end.
    pub fn set_lie_for(&self, kind: &'static str, lie: Lie) {
        self.proxy.lie.send_replace((Some(kind), lie));
    }

    /// Number of requests that were answered with a lie: a test without any has shown nothing.
    #[must_use]
    pub fn lies_served(&self) -> usize {
        self.proxy.served.load(Ordering::Relaxed)
    }
}

fn write_kubeconfig(of: &Path, address: SocketAddr) -> Result<PathBuf> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "proxy",
        "clusters": [{"name": "proxy", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "proxy", "user": {}}],
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
    });
    let path = of.with_extension(format!("proxy-{}.kubeconfig", address.port()));
    fs::write(&path, config.to_string()).context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

async fn answer(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    // Before the request is sent: a watch that begins while the lie changes ends at once.
    let mut lies = proxy.lie.subscribe();
    let (kind, lie) = *lies.borrow_and_update();
    let concerns = |kind: &str| request.uri().path().rsplit('/').next() == Some(kind);
    let lie = if kind.is_none_or(concerns) { lie } else { Lie::None };
    match (Question::of(request.method(), request.uri()), lie) {
        (Question::Other, _) => proxy.truth(request).await,
        (_, Lie::Refused(status)) => proxy.refuse(status),
        (Question::Watch, Lie::EmptyLists | Lie::StaleLists) => proxy.expired(),
        (Question::Watch, Lie::ClosedWatches) => {
            proxy.served.fetch_add(1, Ordering::Relaxed);
            ([(header::CONTENT_TYPE, "application/json")], "").into_response()
        }
        (Question::Watch, Lie::None) if locked(&proxy.misled).contains(request.uri().path()) => {
            proxy.expired()
        }
        (Question::Watch, Lie::None) => {
            let (head, body) = proxy.truth(request).await.into_parts();
            let changed = Box::pin(async move { lies.changed().await });
            Response::from_parts(head, Body::from_stream(body.into_data_stream().take_until(changed)))
        }
        (Question::List(key), lie) => proxy.list(request, key, lie).await,
    }
}

impl Proxy {
    /// The API server's answer.
    async fn truth(&self, request: Request) -> Response {
        match self.forward(request).await {
            Ok(response) => response,
            Err(error) => (StatusCode::BAD_GATEWAY, error).into_response(),
        }
    }

    async fn forward(&self, request: Request) -> std::result::Result<Response, String> {
        let (head, body) = request.into_parts();
        let body = whole(body).await?;
        let mut forwarded = axum::http::Request::builder().method(head.method).uri(head.uri);
        for name in [header::ACCEPT, header::CONTENT_TYPE] {
            if let Some(value) = head.headers.get(&name) {
                forwarded = forwarded.header(name, value);
            }
        }
        let forwarded = forwarded.body(kube::client::Body::from(body)).map_err(|error| error.to_string())?;
        let (head, body) = self.client.send(forwarded).await.map_err(|error| error.to_string())?.into_parts();
        let mut response = Response::new(Body::new(body));
        *response.status_mut() = head.status;
        if let Some(kind) = head.headers.get(header::CONTENT_TYPE) {
            response.headers_mut().insert(header::CONTENT_TYPE, kind.clone());
        }
        Ok(response)
    }

    /// A watch of a resource version that is too old: the API server accepts it, and reports an error as its only event.
    fn expired(&self) -> Response {
        self.served.fetch_add(1, Ordering::Relaxed);
        json_response(&json!({"type": "ERROR", "object": refusal(410)}))
    }

    fn refuse(&self, code: u16) -> Response {
        self.served.fetch_add(1, Ordering::Relaxed);
        let mut response = json_response(&refusal(code));
        *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response
    }

    async fn list(&self, request: Request, key: String, lie: Lie) -> Response {
        let path = request.uri().path().to_owned();
        let (head, body) = self.truth(request).await.into_parts();
        let list = match whole(body).await {
            Ok(bytes) if head.status.is_success() => serde_json::from_slice(&bytes),
            Ok(bytes) => return Response::from_parts(head, Body::from(bytes)),
            Err(error) => return (StatusCode::BAD_GATEWAY, error).into_response(),
        };
        let list: Value = match list {
            Ok(list) => list,
            Err(error) => return (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
        };
        let served = match lie {
            Lie::EmptyLists => as_the_whole(list, Some(json!([]))),
            Lie::StaleLists => as_the_whole(self.first(key, list), None),
            Lie::None | Lie::Refused(_) | Lie::ClosedWatches => {
                self.first(key, list.clone());
                locked(&self.misled).remove(&path);
                return json_response(&list);
            }
        };
        locked(&self.misled).insert(path);
        self.served.fetch_add(1, Ordering::Relaxed);
        json_response(&served)
    }

    /// The first answer to a list, or this one if there was none before.
    fn first(&self, key: String, list: Value) -> Value {
        locked(&self.lists).entry(key).or_insert(list).clone()
    }
}

/// A `Status` of an API server with this code.
fn refusal(code: u16) -> Value {
    let reason = match code {
        401 => "Unauthorized",
        410 => "Expired",
        _ => "InternalError",
    };
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "the proxy refuses", "reason": reason, "code": code})
}

/// A panic leaves the value whole: every change is one call.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A list without further pages.
fn as_the_whole(mut list: Value, items: Option<Value>) -> Value {
    if let Some(metadata) = list.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("continue");
        metadata.shift_remove("remainingItemCount");
    }
    if let (Some(list), Some(items)) = (list.as_object_mut(), items) {
        list.insert("items".to_owned(), items);
    }
    list
}

fn json_response(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

async fn whole(body: Body) -> std::result::Result<Bytes, String> {
    axum::body::to_bytes(body, usize::MAX).await.map_err(|error| error.to_string())
}
