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
const LISTS: [&str; 17] = [
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
    "/apis/apps/v1/deployments",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/cluster.x-k8s.io/v1beta2/clusterclasses",
];

/// The running API server.
pub(crate) struct ApiServer {
    kubeconfig: String,
    writes: Receiver<String>,
}

/// What the API server has.
#[derive(Clone)]
struct Content {
    /// The objects by the path of their list in all namespaces.
    objects: BTreeMap<&'static str, Vec<Value>>,
    /// Its version.
    version: &'static str,
    /// What its user may not request: the ends of paths.
    forbidden: &'static [&'static str],
}

impl ApiServer {
    /// Starts an API server with these objects; the namespace of its kubeconfig is `alpha`.
    pub(crate) fn start(name: &str, objects: Vec<Value>) -> Self {
        Self::start_with(name, objects, "v1.34.2", &[])
    }

    /// Starts an API server of a version, whose user may not request the paths with these ends.
    pub(crate) fn start_with(
        name: &str,
        objects: Vec<Value>,
        version: &'static str,
        forbidden: &'static [&'static str],
    ) -> Self {
        let lists = LISTS.iter().map(|path| (*path, Vec::new())).collect();
        let mut all = Content { objects: lists, version, forbidden };
        for object in objects {
            let plural = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
            let list = all.objects.iter_mut().find(|(path, _)| path.ends_with(&format!("/{plural}")));
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
fn serve(stream: &TcpStream, all: &Content, writes: &Sender<String>) {
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
    let (status, body) = if all.forbidden.iter().any(|end| path.ends_with(end)) {
        (403, refusal(path, "Forbidden", 403))
    } else {
        answer.map_or_else(|| (404, refusal(path, "NotFound", 404)), |found| (200, found))
    };
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

/// The body for a path: the version, the groups, a group, a list in all namespaces or one, or an object; `None` if it does not
/// exist. Every account has every right.
fn answer(path: &str, query: &str, all: &Content) -> Option<Value> {
    match path {
        "/version" => return Some(version(all.version)),
        "/apis" => return Some(groups()),
        "/apis/authorization.k8s.io/v1/subjectaccessreviews" => {
            return Some(json!({"status": {"allowed": true}}));
        }
        _ => {}
    }
    if path == "/apis/cluster.x-k8s.io" {
        let version = json!({"groupVersion": "cluster.x-k8s.io/v1beta2", "version": "v1beta2"});
        return Some(json!({
            "kind": "APIGroup", "apiVersion": "v1", "name": "cluster.x-k8s.io", "versions": [version],
            "preferredVersion": version,
        }));
    }
    let (list, namespace, name) = match path.split_once("/namespaces/") {
        None => match path.rsplit_once('/').filter(|(list, _)| all.objects.contains_key(*list)) {
            Some((list, name)) => (list.to_owned(), None, Some(name)),
            None => (path.to_owned(), None, None),
        },
        Some((root, rest)) => {
            let mut parts = rest.split('/');
            let (namespace, plural) = (parts.next()?, parts.next()?);
            (format!("{root}/{plural}"), Some(namespace), parts.next())
        }
    };
    let label = query.split('&').find_map(|part| part.strip_prefix("labelSelector=name%3D"));
    let found = all.objects.get(list.as_str())?.iter().filter(|object| {
        namespace.is_none_or(|namespace| object["metadata"]["namespace"] == namespace)
            && label.is_none_or(|label| object["metadata"]["labels"]["name"] == label)
    });
    match name {
        Some(name) => found.clone().find(|object| object["metadata"]["name"] == name).cloned(),
        None => Some(json!({"metadata": {"resourceVersion": "1"}, "items": found.collect::<Vec<_>>()})),
    }
}

fn version(version: &str) -> Value {
    let fields =
        ["buildDate", "compiler", "gitCommit", "gitTreeState", "goVersion", "major", "minor", "platform"];
    let mut all: serde_json::Map<_, _> =
        fields.iter().map(|field| ((*field).to_owned(), json!(""))).collect();
    all.insert("gitVersion".to_owned(), json!(version));
    all.into()
}

/// The groups of all lists, each with its version.
fn groups() -> Value {
    let mut groups = BTreeMap::new();
    for path in LISTS.iter().filter_map(|path| path.strip_prefix("/apis/")) {
        let parts: Vec<_> = path.split('/').collect();
        let version = json!({"groupVersion": format!("{}/{}", parts[0], parts[1]), "version": parts[1]});
        groups
            .insert(parts[0], json!({"name": parts[0], "versions": [version], "preferredVersion": version}));
    }
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups.into_values().collect::<Vec<_>>()})
}

fn refusal(path: &str, reason: &str, code: u16) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code,
        "message": format!("{path}: {reason}"),
    })
}
