//! Requests to an API server without kubectl. One kubectl costs 0.15 s of a processor, and a waiting test sends ten
//! requests a second.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use axum::http::{Method, Request, header};
use kube::Client;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::Object;
use crate::client;
use crate::error::{Context as _, Error, Result};

/// All kinds in one answer: <https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery>.
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The media type of an object that is applied.
const APPLY: &str = "application/apply-patch+yaml";
/// Number of times that a kind is looked up, with a pause between two: discovery names one soon after it is served.
const ATTEMPTS: usize = 10;
const PAUSE: Duration = Duration::from_millis(200);

/// The connection to one API server, opened at the first request. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Requests(Arc<Mutex<Option<Connection>>>);

#[derive(Clone)]
struct Connection {
    client: Client,
    resources: Arc<[Resource]>,
}

/// A kind that the API server serves.
struct Resource {
    /// Plural and singular name.
    names: [String; 2],
    short_names: Vec<String>,
    group: String,
    /// `/api/v1` or `/apis/<group>/<version>`.
    path: String,
    is_namespaced: bool,
}

/// A request about an object.
#[derive(Clone, Copy)]
pub(super) enum Ask<'a> {
    /// Its current state.
    Get,
    /// All of its namespace with these labels, such as `owner=helm`, if it has an empty name.
    List(&'a str),
    /// A change of it by a merge patch, as a field manager.
    Merge(&'a str, &'a Value),
    /// The object itself, applied server-side with force, as kubectl does.
    Apply(&'a Value),
}

/// An answer of the API server.
enum Answer {
    Object(Value),
    /// The object does not exist.
    NotFound,
    /// The kind is not served, as far as the connection knows.
    NotServed,
}

impl Requests {
    /// Sends a request about an object. `None` if the object to read or to change does not exist.
    pub(super) fn send(&self, kubeconfig: &Path, object: Object<'_>, ask: Ask<'_>) -> Result<Option<Value>> {
        let known = self.lock().clone();
        let mut answer = match known {
            Some(connection) => connection.send(object, ask)?,
            None => Answer::NotServed,
        };
        // The kind may have been added, or changed its version, since discovery.
        for attempt in 0..ATTEMPTS {
            if !matches!(answer, Answer::NotServed) {
                break;
            }
            if attempt > 0 {
                thread::sleep(PAUSE);
            }
            let connection = Connection::new(kubeconfig)?;
            *self.lock() = Some(connection.clone());
            answer = connection.send(object, ask)?;
        }
        match answer {
            Answer::Object(object) => Ok(Some(object)),
            Answer::NotFound => Ok(None),
            Answer::NotServed => Err(Error::new(format!("the API server does not serve {}", object.kind))),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Connection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Requests {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Requests")
    }
}

impl Connection {
    fn new(kubeconfig: &Path) -> Result<Self> {
        let kubeconfig = kubeconfig.to_owned();
        wait(async move {
            let client = client::connect(&kubeconfig).await?;
            let mut resources = Vec::new();
            for path in ["/api", "/apis"] {
                let request = Request::get(path).header(header::ACCEPT, DISCOVERY).body(Vec::new());
                let request = request.context(|| path.to_owned())?;
                let served: Value = client.request(request).await.context(|| format!("GET {path}"))?;
                resources.extend(resources_of(&served));
            }
            Ok(Self { client, resources: resources.into() })
        })
    }

    fn send(&self, object: Object<'_>, ask: Ask<'_>) -> Result<Answer> {
        let Some(path) = path_of(&self.resources, object) else { return Ok(Answer::NotServed) };
        let (method, query, media, body) = ask.parts();
        let (client, uri) = (self.client.clone(), format!("{path}{query}"));
        wait(async move {
            let failed = || format!("{method} {path}");
            let mut last = None;
            // A kept connection may have ended with its API server.
            for _ in 0..2 {
                let request = Request::builder().method(&method).uri(&uri);
                let request = request.header(header::CONTENT_TYPE, media);
                match client.request::<Value>(request.body(body.clone()).context(failed)?).await {
                    Ok(answer) => return Ok(Answer::Object(answer)),
                    // Without details it is the path that is not served.
                    Err(kube::Error::Api(status)) if status.code == 404 && status.details.is_none() => {
                        return Ok(Answer::NotServed);
                    }
                    // To apply an object needs its namespace alone.
                    Err(kube::Error::Api(status)) if status.code == 404 && media != APPLY => {
                        return Ok(Answer::NotFound);
                    }
                    Err(kube::Error::Api(status)) => return Err(status.message).context(failed),
                    Err(error) => last = Some(error),
                }
            }
            Err(Error::new(format!(
                "{}: {}",
                failed(),
                last.map_or_else(String::new, |error| error.to_string())
            )))
        })
    }
}

impl Ask<'_> {
    /// Method, query, media type and body.
    fn parts(self) -> (Method, String, &'static str, Vec<u8>) {
        match self {
            Self::Get => (Method::GET, String::new(), "application/json", Vec::new()),
            Self::List(labels) => {
                let query = format!("?labelSelector={}", labels.replace('=', "%3D"));
                (Method::GET, query, "application/json", Vec::new())
            }
            Self::Merge(manager, change) => {
                let query = format!("?fieldManager={manager}");
                (Method::PATCH, query, "application/merge-patch+json", change.to_string().into_bytes())
            }
            Self::Apply(object) => {
                let query = "?fieldManager=kubectl&force=true&fieldValidation=Strict".to_owned();
                (Method::PATCH, query, APPLY, object.to_string().into_bytes())
            }
        }
    }
}

/// The kinds of an `APIGroupDiscoveryList`, in the API server's order of preference.
fn resources_of(list: &Value) -> Vec<Resource> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let array = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let mut all = Vec::new();
    for item in array(list, "items") {
        let group = item.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        for served in array(&item, "versions") {
            let version = text(&served, "version");
            let path =
                if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
            all.extend(array(&served, "resources").iter().map(|resource| {
                Resource {
                    names: [text(resource, "resource"), text(resource, "singularResource")],
                    short_names: array(resource, "shortNames")
                        .iter()
                        .filter_map(|it| Some(it.as_str()?.to_owned()))
                        .collect(),
                    group: group.clone(),
                    path: path.clone(),
                    is_namespaced: resource["scope"] == "Namespaced",
                }
            }));
        }
    }
    all
}

/// The path of an object, with its kind named as kubectl accepts it.
fn path_of(resources: &[Resource], object: Object<'_>) -> Option<String> {
    let kind = object.kind.to_lowercase();
    let (name, group) =
        kind.split_once('.').map_or((kind.as_str(), None), |(name, group)| (name, Some(group)));
    // `<kind>.<group>` or `<kind>.<version>.<group>`.
    let is_in = |resource: &Resource, group: &str| {
        let version = resource.path.rsplit('/').next().unwrap_or_default();
        resource.group == group || group.strip_prefix(version) == Some(&format!(".{}", resource.group))
    };
    let in_group = |resource: &&Resource| group.is_none_or(|group| is_in(resource, group));
    let by_name =
        resources.iter().filter(in_group).find(|resource| resource.names.iter().any(|known| known == name));
    let by_short_name = || {
        resources
            .iter()
            .filter(in_group)
            .find(|resource| resource.short_names.iter().any(|known| known == name))
    };
    let Resource { path, names: [plural, _], is_namespaced, .. } = by_name.or_else(by_short_name)?;
    let mut found = path.clone();
    if *is_namespaced {
        let namespace = if object.namespace.is_empty() { "default" } else { object.namespace };
        found = format!("{found}/namespaces/{namespace}");
    }
    found = format!("{found}/{plural}");
    Some(if object.name.is_empty() { found } else { format!("{found}/{}", object.name) })
}

/// Waits for work that runs on another runtime, so that tests with a runtime of their own can wait too.
fn wait<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    static RUNTIME: OnceLock<Result<Runtime>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(client::runtime).as_ref().map_err(Clone::clone)?;
    let (sender, receiver) = mpsc::channel();
    runtime.spawn(async move { drop(sender.send(work.await)) });
    receiver.recv().context(|| "a request ended without an answer".to_owned())?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kind_is_found_by_all_names_of_kubectl() {
        let served = |group: &str, version: &str, resource: Value| {
            resources_of(&json!({"items": [{
                "metadata": {"name": group}, "versions": [{"version": version, "resources": [resource]}],
            }]}))
        };
        let resources: Vec<Resource> = [
            served("", "v1", json!({"resource": "nodes", "singularResource": "node", "scope": "Cluster"})),
            served("apps", "v1", json!({
                "resource": "daemonsets", "singularResource": "daemonset", "shortNames": ["ds"], "scope": "Namespaced",
            })),
            served("example.org", "v2", json!({"resource": "nodes", "singularResource": "node", "scope": "Namespaced"})),
        ]
        .into_iter()
        .flatten()
        .collect();
        let path = |kind, namespace| path_of(&resources, Object { kind, namespace, name: "x" });
        let daemon_set = Some("/apis/apps/v1/namespaces/a/daemonsets/x".to_owned());
        for kind in ["daemonset", "daemonsets", "DaemonSet", "ds", "daemonset.apps"] {
            assert_eq!(path(kind, "a"), daemon_set, "{kind}");
        }
        assert_eq!(path("node", "a").as_deref(), Some("/api/v1/nodes/x"));
        assert_eq!(
            path("node.example.org", "").as_deref(),
            Some("/apis/example.org/v2/namespaces/default/nodes/x")
        );
        let in_version = path("node.v2.example.org", "");
        assert_eq!(in_version.as_deref(), Some("/apis/example.org/v2/namespaces/default/nodes/x"));
        assert_eq!(path("node.v1.example.org", ""), None);
        assert_eq!(path("unknown", "a"), None);
        assert_eq!(path("daemonset.example.org", "a"), None);
    }
}
