//! An API server in memory that the program is run against: it has a few objects, and refuses what it does not know.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::{Value, json};

use crate::support::{Run, scratch};

/// The path of each list that the live commands need.
const LISTS: [&str; 12] = [
    "/apis/clusterstack.x-k8s.io/v1alpha1/clusterstacks",
    "/apis/clusterstack.x-k8s.io/v1alpha1/clusterstackreleases",
    "/apis/clusterstack.x-k8s.io/v1alpha1/clusteraddons",
    "/apis/clusterstack.x-k8s.io/v1alpha1/clusteraddonoverrides",
    "/apis/cluster.x-k8s.io/v1beta2/clusters",
    "/apis/helm.toolkit.fluxcd.io/v2/helmreleases",
    "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations",
    "/apis/source.toolkit.fluxcd.io/v1/gitrepositories",
    "/apis/source.toolkit.fluxcd.io/v1/helmcharts",
    "/apis/source.toolkit.fluxcd.io/v1/ocirepositories",
    "/apis/coordination.k8s.io/v1/leases",
    "/api/v1/events",
];

/// The running API server.
pub(crate) struct ApiServer {
    kubeconfig: String,
    writes: Receiver<String>,
}

/// The objects by the path of their list in all namespaces.
type Objects = BTreeMap<&'static str, Vec<Value>>;

impl ApiServer {
    /// Starts an API server with these objects; the namespace of its kubeconfig is `alpha`.
    pub(crate) fn start(name: &str, objects: Vec<Value>) -> Self {
        let mut all: Objects = LISTS.iter().map(|path| (*path, Vec::new())).collect();
        for object in objects {
            let plural = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
            let list = all.iter_mut().find(|(path, _)| path.ends_with(&format!("/{plural}")));
            list.unwrap_or_else(|| panic!("no list of {plural}")).1.push(object);
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let (sender, writes) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (all, sender) = (all.clone(), sender.clone());
                thread::spawn(move || serve(&stream, &all, &sender));
            }
        });
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "a", "users": [{"name": "a", "user": {}}],
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a", "namespace": "alpha"}}],
            "clusters": [{"name": "a", "cluster": {"server": server}}],
        });
        let path = scratch(&format!("api-server-{name}")).join("kubeconfig");
        std::fs::write(&path, config.to_string()).unwrap();
        Self { kubeconfig: path.display().to_string(), writes }
    }

    /// Runs the program against this API server.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stackflux"));
        for variable in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env_remove(variable).env_remove(variable.to_lowercase());
        }
        let output = command.args(arguments).args(["--kubeconfig", &self.kubeconfig]);
        let output = output.stdin(Stdio::null()).output().unwrap();
        Run {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap(),
        }
    }

    /// Method and path of the writes since the last call.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.writes.try_iter().collect()
    }
}

/// An object with its kind, namespace and name; its labels are `name: <name>`.
pub(crate) fn object(api_version: &str, kind: &str, namespace: &str, name: &str, spec: &Value) -> Value {
    let metadata = json!({
        "namespace": namespace, "name": name, "uid": format!("uid-of-{namespace}-{name}"), "labels": {"name": name},
        "creationTimestamp": "2026-11-26T10:00:00Z", "resourceVersion": "1", "generation": 1,
    });
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})
}

/// Answers one request of a connection.
fn serve(stream: &TcpStream, all: &Objects, writes: &Sender<String>) {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    let _ = reader.read_line(&mut line);
    let mut header = String::new();
    while reader.read_line(&mut header).is_ok_and(|read| read > 2) {
        if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        header.clear();
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if method != "GET" {
        let _ = writes.send(format!("{method} {path}"));
    }
    let answer = answer(path, query, all).map(|found| merged(found, &body));
    let (status, body) = answer.map_or_else(|| (404, missing(path)), |found| (200, found));
    let body = body.to_string();
    let head =
        format!("HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {}", body.len());
    let _ = write!(&*stream, "{head}\r\nConnection: close\r\n\r\n{body}");
}

/// The object after a merge patch (RFC 7396), whose status reports the request to reconcile as handled.
fn merged(mut object: Value, patch: &[u8]) -> Value {
    merge(&mut object, &serde_json::from_slice(patch).unwrap_or_else(|_| json!({})));
    if let Some(time) = object.pointer("/metadata/annotations/reconcile.fluxcd.io~1requestedAt").cloned() {
        object["status"]["lastHandledReconcileAt"] = time;
    }
    object
}

fn merge(into: &mut Value, patch: &Value) {
    for (field, value) in patch.as_object().unwrap() {
        match value {
            Value::Null => drop(into.as_object_mut().unwrap().remove(field)),
            Value::Object(_) => {
                if !into[field].is_object() {
                    into[field] = json!({});
                }
                merge(&mut into[field], value);
            }
            _ => into[field] = value.clone(),
        }
    }
}

/// The body for a path: a group, a list in all namespaces or one, or an object; `None` if it does not exist.
fn answer(path: &str, query: &str, all: &Objects) -> Option<Value> {
    if path == "/apis/cluster.x-k8s.io" {
        let version = json!({"groupVersion": "cluster.x-k8s.io/v1beta2", "version": "v1beta2"});
        return Some(json!({
            "kind": "APIGroup", "apiVersion": "v1", "name": "cluster.x-k8s.io", "versions": [version],
            "preferredVersion": version,
        }));
    }
    let (list, namespace, name) = match path.split_once("/namespaces/") {
        None => (path.to_owned(), None, None),
        Some((root, rest)) => {
            let mut parts = rest.split('/');
            let (namespace, plural) = (parts.next()?, parts.next()?);
            (format!("{root}/{plural}"), Some(namespace), parts.next())
        }
    };
    let label = query.split('&').find_map(|part| part.strip_prefix("labelSelector=name%3D"));
    let found = all.get(list.as_str())?.iter().filter(|object| {
        namespace.is_none_or(|namespace| object["metadata"]["namespace"] == namespace)
            && label.is_none_or(|label| object["metadata"]["labels"]["name"] == label)
    });
    match name {
        Some(name) => found.clone().find(|object| object["metadata"]["name"] == name).cloned(),
        None => Some(json!({"metadata": {"resourceVersion": "1"}, "items": found.collect::<Vec<_>>()})),
    }
}

fn missing(path: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
        "message": format!("{path} not found"),
    })
}
