//! The API server: all requests of the operator about objects that it knows by name, and a list before some deletions.
//!
//! Each request has a timeout and is counted, and each write passes the [`Fence`] of leader election. Nothing is retried
//! here: the reconcile retries.

mod error;
mod transport;

use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::api::{DeleteParams, GetParams, ListParams, Patch, PatchParams, Preconditions};
use kube::core::{ApiResource, DynamicObject, Request};
use kube::{Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

pub use error::{RequestError, RequestFailure, TEST_FAILED};
pub(in crate::runtime) use transport::request;
pub use transport::{Answer, Transport};

use crate::runtime::cache::Key;
use crate::runtime::lease::Fence;
use crate::runtime::metrics::{Metrics, Verb, Written};

/// Timeout of a request. A reachable API server answers in milliseconds.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of objects in an answer to a list.
const PAGE: u32 = 500;
/// Maximum number of concurrent requests: more requests only wait longer in the API server.
const MAX_IN_FLIGHT: usize = 32;

/// A kind of object for requests.
pub trait Kind: Resource + DeserializeOwned + Clone + std::fmt::Debug {}
impl<K: Resource + DeserializeOwned + Clone + std::fmt::Debug> Kind for K {}

/// The result of a deletion.
#[derive(Debug)]
pub enum Deleted<K> {
    /// The object does not exist, or another object has its name.
    Gone,
    /// The object will be deleted when its finalizers are removed.
    Terminating(Box<K>),
}

/// The API server of the management cluster.
#[derive(Clone)]
pub struct ApiServer {
    transport: Arc<dyn Transport>,
    fence: Fence,
    metrics: Metrics,
    field_manager: &'static str,
    in_flight: Arc<Semaphore>,
}

/// Describes a request in messages and metrics.
#[derive(Clone, Copy)]
struct About<'a> {
    verb: Verb,
    kind: &'a str,
    key: &'a Key,
}

impl ApiServer {
    /// Creates a client for the API server that `transport` reaches. It writes as `field_manager` while `fence` is open.
    #[must_use]
    pub fn new(
        transport: Arc<dyn Transport>,
        fence: Fence,
        metrics: Metrics,
        field_manager: &'static str,
    ) -> Self {
        Self { transport, fence, metrics, field_manager, in_flight: Arc::new(Semaphore::new(MAX_IN_FLIGHT)) }
    }

    /// Whether this process may write now.
    #[must_use]
    pub fn may_write(&self) -> bool {
        self.fence.check().is_ok()
    }

    /// Fetches an object as it is now; `None` if it does not exist. An object may be missing from a cache only because its
    /// event has not arrived, so the cause of every deletion is confirmed with this method.
    pub async fn get<K: Kind<DynamicType = ()>>(&self, key: &Key) -> Result<Option<K>, RequestError> {
        self.get_dynamic(key, &()).await
    }

    /// Fetches an object as [`ApiServer::get`] does, of a kind that is only known at run time.
    pub async fn get_dynamic<K: Kind>(
        &self,
        key: &Key,
        kind: &K::DynamicType,
    ) -> Result<Option<K>, RequestError> {
        let name = K::kind(kind);
        let about = About { verb: Verb::Get, kind: &name, key };
        let request = resource::<K>(key, kind).get(&key.name, &GetParams::default());
        match self.send(about, request).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists the objects of a kind as they are now, in a namespace or in all, until one fits. They are JSON: one that cannot
    /// be read hides no others. Reconciles read the caches instead, except before a deletion whose cause no GET can confirm.
    pub async fn any_listed(
        &self,
        namespace: Option<&str>,
        kind: &ApiResource,
        mut fits: impl FnMut(Value) -> bool,
    ) -> Result<bool, RequestError> {
        let key = Key::new(namespace.unwrap_or("*"), "*");
        let about = About { verb: Verb::List, kind: &kind.kind, key: &key };
        let mut parameters = ListParams::default().limit(PAGE);
        loop {
            let request = Request::new(DynamicObject::url_path(kind, namespace)).list(&parameters);
            let page: Page = self.send(about, request).await?;
            if page.items.into_iter().any(&mut fits) {
                return Ok(true);
            }
            match page.metadata.continue_.filter(|next| !next.is_empty()) {
                Some(next) => parameters = parameters.continue_token(&next),
                None => return Ok(false),
            }
        }
    }

    /// Lists the names of the objects of a kind in a namespace that have the owner with this UID, as [`Self::any_listed`] does.
    pub async fn listed_of(
        &self,
        namespace: &str,
        kind: &ApiResource,
        owner: &str,
    ) -> Result<Vec<String>, RequestError> {
        let mut names = Vec::new();
        let note = |object: Value| {
            let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
            if owners.into_iter().flatten().any(|found| found["uid"] == owner) {
                names.extend(object.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned));
            }
            false
        };
        self.any_listed(Some(namespace), kind, note).await?;
        Ok(names)
    }

    /// Applies an object (server-side, with force). `before` is the object's resource version, if known.
    pub async fn apply<K: Kind<DynamicType = ()>>(
        &self,
        key: &Key,
        object: &impl Serialize,
        before: Option<&str>,
    ) -> Result<K, RequestError> {
        self.apply_dynamic(key, object, before, &()).await
    }

    /// Applies an object as [`ApiServer::apply`] does, of a kind that is only known at run time.
    pub async fn apply_dynamic<K: Kind>(
        &self,
        key: &Key,
        object: &impl Serialize,
        before: Option<&str>,
        kind: &K::DynamicType,
    ) -> Result<K, RequestError> {
        let name = K::kind(kind);
        let about = About { verb: Verb::Apply, kind: &name, key };
        let parameters = PatchParams::apply(self.field_manager).force();
        let request = resource::<K>(key, kind).patch(&key.name, &parameters, &Patch::Apply(object));
        self.write(about, request, |written: &K| is_of(written, before)).await
    }

    /// Replaces the whole status of an object of the operator. Conflicts if the object is another one than `before`, or
    /// changed since: a request that is late does not replace a later status.
    pub async fn write_status<K: Kind<DynamicType = ()>>(
        &self,
        before: &K,
        status: &impl Serialize,
    ) -> Result<K, RequestError> {
        let (name, key, meta) = (K::kind(&()), &Key::of(before), before.meta());
        let about = About { verb: Verb::Patch, kind: &name, key };
        // Another resource version is answered with a conflict, whose message is better than that of a test that fails.
        let operations = json!([
            {"op": "test", "path": "/metadata/uid", "value": meta.uid},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": meta.resource_version},
            {"op": "add", "path": "/status", "value": status},
        ]);
        let request = json_patch(operations).and_then(|patch| {
            resource::<K>(key, &()).patch_subresource("status", &key.name, &by(self.field_manager), &patch)
        });
        self.write(about, request, |written: &K| is_of(written, meta.resource_version.as_deref())).await
    }

    /// Changes an object with a JSON patch (RFC 6902). If the patch tests the resource version, it fails after a concurrent
    /// write.
    pub async fn patch<K: Kind>(
        &self,
        key: &Key,
        operations: Value,
        kind: &K::DynamicType,
    ) -> Result<K, RequestError> {
        self.patch_as(key, operations, self.field_manager, kind).await
    }

    /// Changes an object as [`ApiServer::patch`] does, as another field manager.
    pub async fn patch_as<K: Kind>(
        &self,
        key: &Key,
        operations: Value,
        field_manager: &str,
        kind: &K::DynamicType,
    ) -> Result<K, RequestError> {
        let name = K::kind(kind);
        let about = About { verb: Verb::Patch, kind: &name, key };
        let request = json_patch(operations)
            .and_then(|patch| resource::<K>(key, kind).patch(&key.name, &by(field_manager), &patch));
        self.write(about, request, |_| false).await
    }

    /// Deletes the object with this UID, but not another object with the same name. If a resource version is given and the
    /// object has another one, the deletion conflicts.
    pub async fn delete<K: Kind>(
        &self,
        key: &Key,
        uid: &str,
        version: Option<String>,
        kind: &K::DynamicType,
    ) -> Result<Deleted<K>, RequestError> {
        let name = K::kind(kind);
        let about = About { verb: Verb::Delete, kind: &name, key };
        let any_version = version.is_none();
        let preconditions = Preconditions { uid: Some(uid.to_owned()), resource_version: version };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
        let request = resource::<K>(key, kind).delete(&key.name, &parameters);
        // The answer is the object while it has finalizers, and a Status when it is deleted.
        let answer: Value = match self.write(about, request, |_| false).await {
            Ok(answer) => answer,
            Err(error) if error.is_not_found() => return Ok(Deleted::Gone),
            Err(error) if error.is_conflict() && any_version => {
                let live: Option<K> = self.get_dynamic(key, kind).await?;
                let is_there = live.is_some_and(|live| live.meta().uid.as_deref() == Some(uid));
                return if is_there { Err(error) } else { Ok(Deleted::Gone) };
            }
            Err(error) => return Err(error),
        };
        if answer.get("kind").and_then(Value::as_str) == Some("Status") {
            return Ok(Deleted::Gone);
        }
        let object = K::deserialize(&answer).map_err(|error| about.failed(kube::Error::SerdeError(error)))?;
        Ok(Deleted::Terminating(Box::new(object)))
    }

    /// Sends a write, and counts whether it changed the object.
    async fn write<T: DeserializeOwned>(
        &self,
        about: About<'_>,
        request: Prepared,
        is_unchanged: impl FnOnce(&T) -> bool,
    ) -> Result<T, RequestError> {
        let answer = self.fence.guard(self.send(about, request)).await;
        let written = answer.unwrap_or_else(|closed| Err(about.failed(closed)));
        let result = match &written {
            Ok(object) if is_unchanged(object) => Written::Unchanged,
            Ok(_) => Written::Changed,
            Err(error) => error.written(),
        };
        self.metrics.wrote(about.verb, about.kind, result);
        written
    }

    /// Sends a request, and waits for its answer until the timeout.
    async fn send<T: DeserializeOwned>(
        &self,
        about: About<'_>,
        request: Prepared,
    ) -> Result<T, RequestError> {
        let request = request.map_err(|error| about.failed(kube::Error::BuildRequest(error)))?;
        // The semaphore is never closed.
        let _permit = self.in_flight.acquire().await;
        let begun = Instant::now();
        let answer = tokio::time::timeout(TIMEOUT, transport::request(&*self.transport, request)).await;
        self.metrics.answered(about.verb, about.kind, begun.elapsed());
        match answer {
            Ok(answer) => answer.map_err(|error| about.failed(error)),
            Err(_) => Err(about.failed(RequestFailure::Timeout(TIMEOUT))),
        }
    }
}

/// A page of a list. An answer without `items` is an error, and no empty list: a deletion may follow.
#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: ListMeta,
    items: Vec<Value>,
}

/// A request that is ready to be sent, or the reason why it is invalid.
type Prepared = Result<axum::http::Request<Vec<u8>>, kube::core::request::Error>;

impl About<'_> {
    fn failed(&self, failure: impl Into<RequestFailure>) -> RequestError {
        RequestError {
            verb: self.verb,
            object: format!("{} {}", self.kind, self.key),
            failure: failure.into(),
        }
    }
}

/// Whether the object still has this resource version.
fn is_of(object: &impl Resource, version: Option<&str>) -> bool {
    version.is_some() && object.resource_version().as_deref() == version
}

/// Creates a builder of requests about a kind's objects. An empty namespace is that of cluster-scoped kinds.
fn resource<K: Resource>(key: &Key, kind: &K::DynamicType) -> Request {
    let namespace = Some(key.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    Request::new(K::url_path(kind, namespace))
}

fn by(field_manager: &str) -> PatchParams {
    PatchParams { field_manager: Some(field_manager.to_owned()), ..PatchParams::default() }
}

fn json_patch(operations: Value) -> Result<Patch<()>, kube::core::request::Error> {
    serde_json::from_value(operations).map(Patch::Json).map_err(kube::core::request::Error::SerializeBody)
}

#[cfg(test)]
mod tests;
