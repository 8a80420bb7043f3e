//! The API server of the simulations answers like the real one: every request of this list is sent to both.

#[path = "../simulation/api_server.rs"]
#[expect(dead_code, reason = "the simulations use all of it")]
mod api_server;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use axum::http::{Request, StatusCode};
use futures::future::BoxFuture;
use kube::Client;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use stackflux::api::ClusterStackRelease;
use stackflux::foreign::flux::FluxKind;
use stackflux::foreign::flux::observed::FluxObject;
use stackflux::plan::delivery::foreign_fields;
use stackflux::runtime::api_server::{Answer, ApiServer, RequestError, Transport};
use stackflux::runtime::cache::Key;
use stackflux::runtime::client::{ClusterAccess, connect};
use stackflux::runtime::lease::Fence;
use stackflux::runtime::metrics::Metrics;
use stackflux_testbed::Testbed;

use crate::definitions::apply_definitions;

/// Sends requests to both, and notes their differences.
struct Both {
    real: Client,
    memory: Mutex<Memory>,
}

struct Memory {
    server: api_server::ApiServer,
    /// The UIDs and resource versions of the real one, with those of the other.
    names: BTreeMap<String, String>,
    differences: Vec<String>,
    requests: usize,
}

impl Transport for Both {
    fn send(&self, request: Request<Vec<u8>>) -> BoxFuture<'_, kube::Result<Answer>> {
        Box::pin(async move {
            let content_type = request.headers().get("content-type");
            let call = api_server::Call {
                method: request.method().to_string(),
                uri: request.uri().to_string(),
                content_type: content_type
                    .map(|media| media.to_str().unwrap().to_owned())
                    .unwrap_or_default(),
                body: request.body().clone(),
            };
            let answer = Transport::send(&self.real, request).await?;
            self.memory.lock().unwrap().compare(call, &answer);
            Ok(answer)
        })
    }
}

impl Memory {
    fn compare(&mut self, call: api_server::Call, real: &Answer) {
        self.requests += 1;
        let body = self.renamed(&String::from_utf8(call.body.clone()).unwrap());
        let about = format!("{}. {} {} {body}", self.requests, call.method, call.uri);
        let memory = self.server.answer(&api_server::Call { body: body.into(), ..call });
        let real_body: Value = serde_json::from_slice(&real.body).unwrap();
        self.learn(&real_body, &memory.body, &about);
        let real_body: Value = serde_json::from_str(&self.renamed(&real_body.to_string())).unwrap();
        let (real_fields, fields) = (managed(&real_body), managed(&memory.body));
        let (real, memory) =
            ((real.status, compared(real_body)), (code(memory.code), compared(Value::clone(&memory.body))));
        if real != memory {
            self.differences
                .push(format!("{about}\nreal:   {} {}\nmemory: {} {}", real.0, real.1, memory.0, memory.1));
        }
        if real_fields != fields {
            self.differences.push(format!("{about}\nreal:   {real_fields:?}\nmemory: {fields:?}"));
        }
    }

    /// A text of the real one with the UIDs and resource versions of the other.
    fn renamed(&self, text: &str) -> String {
        let quoted = |text: String, (real, memory): (&String, &String)| {
            let text = text.replace(&format!("\"{real}\""), &format!("\"{memory}\""));
            text.replace(&format!("({real})"), &format!("({memory})"))
        };
        self.names.iter().fold(text.to_owned(), quoted)
    }

    /// Notes which UID and which resource version of one corresponds to which of the other; equal ones must be equal in
    /// both.
    fn learn(&mut self, real: &Value, memory: &Value, about: &str) {
        let Value::Object(fields) = real else { return };
        for (name, real) in fields {
            let memory = &memory[name.as_str()];
            let (Some(text), true) = (real.as_str(), ["uid", "resourceVersion"].contains(&name.as_str()))
            else {
                self.learn(real, memory, about);
                continue;
            };
            let memory = memory.as_str().unwrap_or_default();
            let known = self.names.get(text).map(String::as_str);
            let is_taken = self.names.iter().any(|(of, name)| name == memory && of != text);
            if known.is_some_and(|known| known != memory) || is_taken {
                let note = format!("{about}\n{name}: real {text} (until now {known:?}), memory {memory}");
                self.differences.push(note);
            }
            self.names.insert(text.to_owned(), memory.to_owned());
        }
    }
}

fn code(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap()
}

/// The compared parts of an answer: no times, and of the field managers only those that the operator reads.
fn compared(mut answer: Value) -> Value {
    if let Some(metadata) = answer.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        for time in ["creationTimestamp", "deletionTimestamp"] {
            metadata.entry(time).and_modify(|value| *value = json!("a time"));
        }
    }
    if answer["kind"] == "HelmRelease" {
        // Flux writes it even while the object is suspended.
        answer.as_object_mut().unwrap().remove("status");
    }
    answer.sort_all_objects();
    answer
}

/// The field managers of an object, and the fields of its spec that others have set.
fn managed(object: &Value) -> (BTreeSet<String>, BTreeSet<String>) {
    let managers = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let named = |manager: &Value| {
        let is_of_status = manager.get("subresource").is_some();
        format!("{} {} {is_of_status}", manager["manager"], manager["operation"])
    };
    let managers = managers.filter(|manager| manager["manager"] != "helm-controller");
    (managers.map(named).collect(), foreign_fields(object).into_iter().collect())
}

fn manager(both: &Arc<Both>, name: &'static str) -> ApiServer {
    ApiServer::new(both.clone(), Fence::open(), Metrics::new(&mut Registry::default()), name)
}

/// The clients that send the requests: the operator, and another one.
struct Session {
    ours: ApiServer,
    other: ApiServer,
    namespace: String,
}

type Found = Result<ClusterStackRelease, RequestError>;

impl Session {
    fn key(&self, name: &str) -> Key {
        Key::new(&self.namespace, name)
    }

    /// A `ClusterStackRelease` without a release, so that no operator of another test writes to it.
    fn object(&self, name: &str, change: &Value) -> Value {
        let mut object = json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1",
            "kind": "ClusterStackRelease",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"providerRef": {"kind": "a", "name": "b"}},
        });
        merge(&mut object, change);
        object
    }

    async fn apply(&self, name: &str, change: Value) -> Found {
        self.ours.apply(&self.key(name), &self.object(name, &change), None).await
    }

    async fn patch(&self, name: &str, operations: Value) -> Found {
        self.ours.patch(&self.key(name), operations, &()).await
    }

    /// Sends a deletion to both, if the answer does not matter.
    async fn delete(&self, name: &str, uid: &str, version: Option<&str>) {
        _ = self
            .ours
            .delete::<ClusterStackRelease>(&self.key(name), uid, version.map(str::to_owned), &())
            .await;
    }

    async fn applies(&self) {
        _ = self.ours.get::<ClusterStackRelease>(&self.key("a")).await;
        _ = self
            .ours
            .apply::<ClusterStackRelease>(
                &Key::new("none", "a"),
                &self.object("a", &json!({"metadata": {"namespace": "none"}})),
                None,
            )
            .await;
        let labels = json!({"metadata": {"labels": {"mine": "1", "both": "1"}, "annotations": {"a": "1"}}});
        let created = self.apply("a", labels.clone()).await.unwrap();
        _ = self.apply("a", labels).await;
        let others = json!({"metadata": {"labels": {"both": "1", "theirs": "1"}}});
        _ = self.other.apply::<ClusterStackRelease>(&self.key("a"), &self.object("a", &others), None).await;
        _ = self.apply("a", json!({"spec": {"providerRef": {"kind": "z"}}})).await;
        let over = |version: &str| json!({"metadata": {"resourceVersion": version}});
        _ = self.apply("a", over(&created.metadata.resource_version.unwrap())).await;
        _ = self.apply("a", over("1")).await;
        _ = self.apply("b", over("1")).await;
        let same = |uid: &str| json!({"metadata": {"uid": uid, "labels": {"mine": "2"}}});
        _ = self.apply("a", same(&created.metadata.uid.clone().unwrap())).await;
        _ = self.apply("a", same("00000000-0000-4000-8000-ffffffffffff")).await;
        _ = self.apply("none", same("00000000-0000-4000-8000-ffffffffffff")).await;
        _ = self
            .ours
            .apply::<ClusterStackRelease>(
                &Key::new("none", "a"),
                &self.object("a", &json!({"metadata": {"namespace": "none", "uid": "x"}})),
                None,
            )
            .await;
        let owner = json!({"apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease", "name": "a",
            "uid": created.metadata.uid});
        _ = self
            .apply("b", json!({"metadata": {"ownerReferences": [owner], "finalizers": ["example.org/a"]}}))
            .await;
        _ = self.apply("b", json!({"metadata": {"finalizers": ["example.org/b"]}})).await;
        _ = self.apply("b", json!({})).await;
    }

    async fn patches(&self) {
        let uid = self.apply("c", json!({})).await.unwrap().metadata.uid.unwrap();
        let test = json!({"op": "test", "path": "/metadata/uid", "value": uid});
        let add = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
        _ = self.patch("c", json!([test, add("/metadata/annotations", json!({"a": "b"}))])).await;
        _ = self.patch("c", json!([test, add("/metadata/annotations/x~1y", json!("z"))])).await;
        _ = self.patch("c", json!([{"op": "remove", "path": "/metadata/annotations/x~1y"}])).await;
        _ = self.patch("c", json!([{"op": "remove", "path": "/metadata/annotations/x~1y"}])).await;
        _ = self.patch("c", json!([{"op": "test", "path": "/metadata/uid", "value": "x"}])).await;
        _ = self.patch("c", json!([{"op": "test", "path": "/metadata/labels", "value": null}])).await;
        _ = self.patch("c", json!([{"op": "replace", "path": "/metadata/labels", "value": {}}])).await;
        _ = self.patch("c", json!([add("/metadata/labels/a", json!("b"))])).await;
        // A field is unset like that, whether or not it is set.
        let unset = json!({"op": "remove", "path": "/metadata/labels/b"});
        _ = self.patch("c", json!([add("/metadata/labels/b", json!("c")), unset])).await;
        _ = self.patch("none", json!([add("/metadata/labels", json!({}))])).await;
        _ = self.patch("c", json!([add("/status", json!({"ready": true}))])).await;
        let key = self.key("c");
        for status in [
            json!({"ready": true, "digest": "a"}),
            json!({"ready": true, "digest": "a"}),
            json!({"digest": "b"}),
        ] {
            let now = self.ours.get::<ClusterStackRelease>(&key).await.unwrap().unwrap();
            _ = self.ours.write_status(&now, &status).await;
        }
        for (field, value) in [("resourceVersion", "1"), ("uid", "x"), ("resourceVersion", "2")] {
            let mut before = self.ours.get::<ClusterStackRelease>(&key).await.unwrap().unwrap();
            match field {
                "uid" => before.metadata.uid = Some(value.to_owned()),
                _ => before.metadata.resource_version = Some(value.to_owned()),
            }
            _ = self.ours.write_status(&before, &json!({"digest": "c"})).await;
        }
        let remove = json!({"op": "remove", "path": "/metadata/annotations/a"});
        let change = json!([test, add("/spec/source/path", json!("z")), remove]);
        _ = self.ours.patch_as::<ClusterStackRelease>(&key, change.clone(), "editor", &()).await;
        _ = self.ours.patch_as::<ClusterStackRelease>(&key, change, "editor", &()).await;
        _ = self.ours.patch_as::<ClusterStackRelease>(&self.key("none"), json!([test]), "editor", &()).await;
        _ = self.apply("c", json!({})).await;
        _ = self.ours.get::<ClusterStackRelease>(&key).await;
    }

    async fn deletions(&self) {
        let held = json!({"metadata": {"finalizers": ["example.org/held"]}});
        let uid = self.apply("d", held.clone()).await.unwrap().metadata.uid.unwrap();
        self.delete("d", "another", None).await;
        self.delete("d", &uid, Some("1")).await;
        self.delete("d", &uid, None).await;
        self.delete("d", &uid, None).await;
        let finalizers =
            |names: Value| json!([{"op": "replace", "path": "/metadata/finalizers", "value": names}]);
        _ = self.patch("d", finalizers(json!(["example.org/held", "example.org/new"]))).await;
        let now = self.ours.get::<ClusterStackRelease>(&self.key("d")).await.unwrap().unwrap();
        _ = self.ours.write_status(&now, &json!({"ready": true})).await;
        _ = self.apply("d", held).await;
        _ = self.patch("d", finalizers(json!([]))).await;
        _ = self.ours.get::<ClusterStackRelease>(&self.key("d")).await;
        self.delete("d", &uid, None).await;
        let uid = self.apply("d", json!({})).await.unwrap().metadata.uid.unwrap();
        self.delete("d", &uid, None).await;
    }

    /// A `HelmRelease` that Flux leaves alone.
    async fn flux(&self) {
        let (key, kind) = (self.key("flux"), &FluxKind::HelmRelease);
        let object = json!({
            "apiVersion": "helm.toolkit.fluxcd.io/v2",
            "kind": "HelmRelease",
            "metadata": {"name": "flux", "namespace": self.namespace, "finalizers": ["finalizers.fluxcd.io"]},
            "spec": {"interval": "1h", "suspend": true, "chartRef": {"kind": "HelmChart", "name": "a"},
                "values": {"a": {"b": 1}}},
        });
        _ = self.ours.apply_dynamic::<FluxObject>(&key, &object, None, kind).await;
        let add = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
        let unset = json!([add("/spec/timeout", json!("5m")), {"op": "remove", "path": "/spec/timeout"}]);
        for change in [
            json!([add("/spec/timeout", json!("5m"))]),
            // Every request changes something: the answer to another one would have a resource version of Flux.
            unset,
            json!([add("/spec/timeout", json!("5m"))]),
            json!([add("/spec/interval", json!("2h"))]),
            json!([add("/spec/values/a/c", json!(2)), add("/spec/values/d", json!([1]))]),
        ] {
            _ = self.ours.patch_as::<FluxObject>(&key, change, "editor", kind).await;
        }
        _ = self.ours.apply_dynamic::<FluxObject>(&key, &object, None, kind).await;
        let remove = |path: &str| json!({"op": "remove", "path": path});
        _ = self
            .ours
            .patch::<FluxObject>(&key, json!([remove("/spec/timeout"), remove("/spec/values/d")]), kind)
            .await;
        let mut fewer = object;
        fewer["spec"]["values"] = json!({});
        // Reads after that have a resource version of Flux.
        _ = self.ours.apply_dynamic::<FluxObject>(&key, &fewer, None, kind).await;
    }
}

fn merge(object: &mut Value, change: &Value) {
    match change {
        Value::Object(fields) => fields.iter().for_each(|(name, change)| merge(&mut object[name], change)),
        change => *object = change.clone(),
    }
}

#[test]
fn memory_answers_as_the_real_api_server() {
    let testbed = Testbed::shared();
    let namespace = testbed.namespace("same-answers").unwrap();
    apply_definitions(testbed.management());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let kubeconfig = testbed.management().kubeconfig().to_owned();
        let access = ClusterAccess { kubeconfig: Some(kubeconfig), context: None };
        let real = connect(&access).await.unwrap().client;
        let server = api_server::ApiServer::new(&[&namespace]);
        let memory = Memory { server, names: BTreeMap::new(), differences: Vec::new(), requests: 0 };
        let both = Arc::new(Both { real, memory: Mutex::new(memory) });
        let session =
            Session { ours: manager(&both, "stackflux"), other: manager(&both, "other"), namespace };
        session.applies().await;
        session.patches().await;
        session.deletions().await;
        session.flux().await;
        let memory = both.memory.lock().unwrap();
        assert!(memory.requests > 50, "{} requests", memory.requests);
        assert!(memory.differences.is_empty(), "{}", memory.differences.join("\n\n"));
    });
}
