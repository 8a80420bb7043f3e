//! Requests to the API server by a plain client, many in flight.

use std::path::Path;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::Request;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use stackflux::runtime::client::{ClusterAccess, connect};
use tokio::runtime::Runtime;

/// Requests in flight, as many as the operator has.
const IN_FLIGHT: usize = 32;
/// The field manager of applied fields.
const FIELD_MANAGER: &str = "plain";

/// The objects of one kind in one namespace.
#[derive(Clone)]
pub(crate) struct Objects(String);

impl Objects {
    pub(crate) fn new(group_version: &str, plural: &str, namespace: &str) -> Self {
        Self(format!("/apis/{group_version}/namespaces/{namespace}/{plural}"))
    }

    fn request(&self) -> Request {
        Request::new(self.0.as_str())
    }
}

/// A client of an administrator.
pub(crate) struct Api {
    runtime: Runtime,
    client: Client,
}

impl Api {
    pub(crate) fn new(kubeconfig: &Path) -> Self {
        let runtime = Runtime::new().unwrap();
        let access = ClusterAccess { kubeconfig: Some(kubeconfig.to_owned()), context: None };
        let client = runtime.block_on(connect(&access)).unwrap().client;
        Self { runtime, client }
    }

    pub(crate) fn list(&self, objects: &Objects) -> Vec<Value> {
        let request = objects.request().list(&ListParams::default()).unwrap();
        let list: Value = self.runtime.block_on(self.client.request(request)).unwrap();
        list["items"].as_array().unwrap().clone()
    }

    /// Creates objects. Returns their names and UIDs.
    pub(crate) fn create(
        &self,
        objects: &Objects,
        bodies: impl Iterator<Item = Value>,
    ) -> Vec<(String, String)> {
        let body =
            |body: Value| objects.request().create(&PostParams::default(), body.to_string().into_bytes());
        self.send::<Value, _>(bodies.map(|object| body(object).unwrap())).iter().map(name_and_uid).collect()
    }

    /// Applies objects by server-side apply. Returns their names and UIDs.
    pub(crate) fn apply(
        &self,
        objects: &Objects,
        bodies: impl Iterator<Item = Value>,
    ) -> Vec<(String, String)> {
        self.send::<Value, _>(bodies.map(|body| apply(objects, &body))).iter().map(name_and_uid).collect()
    }

    /// Applies objects and ignores the answers.
    pub(crate) fn apply_only(&self, objects: &Objects, bodies: impl Iterator<Item = Value>) {
        self.send::<IgnoredAny, _>(bodies.map(|body| apply(objects, &body)));
    }

    /// Patches the objects of these names, or a subresource of theirs.
    pub(crate) fn patch(
        &self,
        objects: &Objects,
        subresource: Option<&str>,
        patches: impl Iterator<Item = (String, Patch<Value>)>,
    ) {
        let parameters =
            PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let request = |(name, patch): (String, Patch<Value>)| match subresource {
            Some(subresource) => objects.request().patch_subresource(subresource, &name, &parameters, &patch),
            None => objects.request().patch(&name, &parameters, &patch),
        };
        self.send::<IgnoredAny, _>(patches.map(|patch| request(patch).unwrap()));
    }

    /// Deletes all of them.
    pub(crate) fn delete_all(&self, objects: &Objects) {
        let (parameters, all) = (DeleteParams::background(), ListParams::default());
        let request = objects.request().delete_collection(&parameters, &all).unwrap();
        let _: IgnoredAny = self.runtime.block_on(self.client.request(request)).unwrap();
    }

    /// Sends requests. Returns the answers in the order of their arrival.
    fn send<T: DeserializeOwned, Body>(&self, requests: impl Iterator<Item = Body>) -> Vec<T>
    where
        Body: Into<axum::http::Request<Vec<u8>>>,
    {
        let send = |request: Body| self.client.request::<T>(request.into());
        let answers = stream::iter(requests.map(send)).buffer_unordered(IN_FLIGHT);
        self.runtime.block_on(answers.try_collect()).unwrap()
    }
}

fn apply(objects: &Objects, body: &Value) -> axum::http::Request<Vec<u8>> {
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    objects.request().patch(text(body, "/metadata/name"), &parameters, &Patch::Apply(body)).unwrap()
}

/// The JSON patch that replaces a status as a whole, which is how the operator writes one.
pub(crate) fn status_patch(status: &Value) -> Patch<Value> {
    let operations = json!([{"op": "add", "path": "/status", "value": status}]);
    Patch::Json(serde_json::from_value(operations).unwrap())
}

pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap()
}

fn name_and_uid(object: &Value) -> (String, String) {
    (text(object, "/metadata/name").to_owned(), text(object, "/metadata/uid").to_owned())
}
