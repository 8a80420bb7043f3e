//! One API server and the operations of tests on it, by requests of its own, or through the built kubectl.

mod access;
mod helm;
mod requests;

pub use helm::HelmRevision;
use requests::Ask;
pub(crate) use requests::Requests;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{Context as _, Error, Result};
use crate::probe;
use crate::process::{log_path, tail};

/// The components whose logs explain why an object is not as a test expects.
const CONTROLLERS: [&str; 3] = ["source-controller", "kustomize-controller", "helm-controller"];

/// The kinds of Flux that its controllers reconcile again and again.
const FLUX: [&str; 5] = ["helmrelease", "kustomization", "helmchart", "gitrepository", "ocirepository"];

/// Names an object: `kind` as kubectl accepts it (`helmrelease`, `daemonset.apps`), `namespace` empty for cluster-scoped
/// kinds.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a> {
    /// The kind or resource.
    pub kind: &'a str,
    /// The namespace; empty for cluster-scoped kinds.
    pub namespace: &'a str,
    /// The name.
    pub name: &'a str,
}

/// An API server of the testbed, reached as its administrator.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Cluster {
    pub(crate) name: String,
    pub(crate) server: String,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) kubectl: PathBuf,
    pub(crate) logs: PathBuf,
    #[serde(skip)]
    pub(crate) requests: Requests,
}

impl Cluster {
    /// The name of [`Cluster::certificates`].
    pub(crate) const CERTIFICATES: &str = "certificates";

    /// `management`, or the name of the workload cluster.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The URL of the API server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// A kubeconfig of the administrator, with the certificate authority embedded.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The directory with a certificate for loopback addresses, `apiserver.crt`, which is its own authority, and its key,
    /// `apiserver.key`.
    #[must_use]
    pub fn certificates(&self) -> PathBuf {
        self.kubeconfig.with_file_name(&self.name).join(Self::CERTIFICATES)
    }

    /// The kubectl of this testbed.
    #[must_use]
    pub fn kubectl_path(&self) -> &Path {
        &self.kubectl
    }

    /// Runs kubectl against this cluster. Returns its stdout, or an error with its stderr.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        self.kubectl_with_input(arguments, "")
    }

    /// Applies JSON or YAML documents by server-side apply, as kubectl does: a list is its items, an unknown field is an error.
    /// The first refusal of the API server is the error.
    pub fn apply(&self, text: &str) -> Result<()> {
        let failed = || "cannot parse what to apply".to_owned();
        let documents = match serde_json::from_str(text) {
            Ok(object) => vec![object],
            Err(_) => serde_yaml::from_multiple::<Value>(text).context(failed)?,
        };
        let mut objects = Vec::new();
        for document in documents.iter().filter(|document| !document.is_null()) {
            match document.get("items").and_then(Value::as_array) {
                Some(items) => objects.extend(items),
                None => objects.push(document),
            }
        }
        if objects.is_empty() {
            return Err(Error::new("there is no object to apply"));
        }
        objects.into_iter().try_for_each(|object| self.apply_object(object))
    }

    /// Applies what a program printed for kubectl, by kubectl: it reads YAML in its own way.
    pub fn apply_by_kubectl(&self, text: &str) -> Result<String> {
        self.kubectl_with_input(&["apply", "--server-side", "--force-conflicts", "-f", "-"], text)
    }

    fn apply_object(&self, object: &Value) -> Result<()> {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (kind, api_version) = (text("/kind"), text("/apiVersion"));
        // `<kind>.<version>.<group>`; a kind of the core has no group.
        let kind = match api_version.split_once('/') {
            Some((group, version)) => format!("{kind}.{version}.{group}"),
            None => kind.to_owned(),
        };
        let named =
            Object { kind: &kind, namespace: text("/metadata/namespace"), name: text("/metadata/name") };
        let failed = || format!("apply {kind} {} on cluster {}", named.name, self.name);
        self.requests.send(&self.kubeconfig, named, Ask::Apply(object)).context(failed).map(drop)
    }

    /// Changes an object by a merge patch as a field manager.
    pub fn merge(&self, object: Object<'_>, manager: &str, change: &Value) -> Result<()> {
        let Object { kind, namespace, name } = object;
        let failed = || format!("patch {kind} {namespace}/{name} on cluster {}", self.name);
        let merged =
            self.requests.send(&self.kubeconfig, object, Ask::Merge(manager, change)).context(failed)?;
        merged.map(drop).ok_or_else(|| Error::new(format!("{}: it does not exist", failed())))
    }

    /// The current object, or `None` if it does not exist.
    pub fn get(&self, object: Object<'_>) -> Result<Option<Value>> {
        let failed =
            || format!("get {} {}/{} on cluster {}", object.kind, object.namespace, object.name, self.name);
        self.requests.send(&self.kubeconfig, object, Ask::Get).context(failed)
    }

    /// All objects of a kind in a namespace; `namespace` is empty for a cluster-scoped kind.
    pub fn list(&self, kind: &str, namespace: &str) -> Result<Vec<Value>> {
        self.list_labelled(kind, namespace, "")
    }

    fn list_labelled(&self, kind: &str, namespace: &str, labels: &str) -> Result<Vec<Value>> {
        let failed = || format!("list {kind} of {namespace} on cluster {}", self.name);
        let object = Object { kind, namespace, name: "" };
        let found = self.requests.send(&self.kubeconfig, object, Ask::List(labels)).context(failed)?;
        let Some(Value::Object(mut list)) = found else { return Err(Error::new(failed())) };
        let (version, kind) = (list.remove("apiVersion"), list.remove("kind"));
        let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default().trim_end_matches("List");
        let Some(Value::Array(mut items)) = list.remove("items") else { return Err(Error::new(failed())) };
        // The objects of a list have no kind of their own, if it is one of Kubernetes.
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            item.entry("apiVersion").or_insert_with(|| version.clone().unwrap_or_default());
            item.entry("kind").or_insert_with(|| kind.into());
        }
        Ok(items)
    }

    /// Waits until the object exists and `condition` holds, and returns it. `what` names the expectation.
    ///
    /// After the timeout: an error with the object's last status and the controllers' log lines about it.
    pub fn wait(
        &self,
        object: Object<'_>,
        what: &str,
        timeout: Duration,
        condition: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let mut last = None;
        let met = probe::poll(timeout, || {
            last = self.get(object)?;
            Ok::<_, Error>(last.as_ref().is_some_and(&condition))
        })?;
        match last {
            Some(value) if met => Ok(value),
            last => Err(self.timed_out(object, what, timeout, last.as_ref())),
        }
    }

    /// Waits until the object's condition `Ready` is `True` for its current generation.
    pub fn wait_ready(&self, object: Object<'_>, timeout: Duration) -> Result<Value> {
        self.wait(object, "Ready=True", timeout, is_ready)
    }

    /// Waits until the object is deleted.
    pub fn wait_gone(&self, object: Object<'_>, timeout: Duration) -> Result<()> {
        let mut last = None;
        let gone = probe::poll(timeout, || {
            last = self.get(object)?;
            Ok::<_, Error>(last.is_none())
        })?;
        if gone { Ok(()) } else { Err(self.timed_out(object, "absence", timeout, last.as_ref())) }
    }

    /// Waits until CRDs are served: names such as `crd/kustomizations.kustomize.toolkit.fluxcd.io`, or options that select them.
    pub fn wait_established(&self, crds: &[&str]) -> Result<()> {
        let arguments = [&["wait", "--for=condition=Established", "--timeout=60s"], crds].concat();
        let mut waited = Ok(());
        // kubectl fails at once on a CRD that has no conditions yet.
        probe::poll(Duration::from_mins(1), || {
            waited = self.kubectl(&arguments).map(drop);
            Ok::<_, Error>(waited.is_ok())
        })?;
        waited
    }

    /// Suspends all objects of Flux in a namespace, so that its controllers have nothing more to do for them. All are
    /// tried; the first error is returned.
    pub fn suspend_flux(&self, namespace: &str) -> Result<()> {
        let mut result = Ok(());
        let suspended = json!({"spec": {"suspend": true}});
        for kind in FLUX {
            for object in self.list(kind, namespace)? {
                let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
                let object = Object { kind, namespace, name };
                // One that was deleted meanwhile is suspended, too.
                let ask = Ask::Merge("testbed", &suspended);
                result = result.and(self.requests.send(&self.kubeconfig, object, ask).map(drop));
            }
        }
        result
    }

    pub(crate) fn kubectl_with_input(&self, arguments: &[&str], input: &str) -> Result<String> {
        let failed = || format!("kubectl {} on cluster {}", arguments.join(" "), self.name);
        let mut child = Command::new(&self.kubectl)
            .arg(format!("--kubeconfig={}", self.kubeconfig.display()))
            // Discovery is cached by host and port, and ports are used again in later runs with other CRDs.
            .arg(format!("--cache-dir={}", self.kubeconfig.with_extension("kubectl-cache").display()))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A kubectl that refuses its arguments does not read its input; its own message says more.
            drop(stdin.write_all(input.as_bytes()));
        }
        let output = child.wait_with_output().context(failed)?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(Error::new(format!("{}: {}", failed(), String::from_utf8_lossy(&output.stderr).trim_end())))
        }
    }

    fn timed_out(&self, object: Object<'_>, what: &str, timeout: Duration, last: Option<&Value>) -> Error {
        let Object { kind, namespace, name } = object;
        let mut message =
            format!("{kind} {namespace}/{name} on cluster {}: no {what} within {timeout:?}\n", self.name);
        match last {
            None => message += "  it does not exist\n",
            Some(value) => {
                let status = value.get("status").unwrap_or(&Value::Null);
                // Writing to a String cannot fail.
                let _ = writeln!(message, "  status: {status:#}");
            }
        }
        for controller in CONTROLLERS {
            message += "  ";
            message += controller;
            message += ":\n";
            message += &lines_about(name, &log_path(&self.logs, controller));
        }
        Error::new(message)
    }
}

/// The last lines of a log that name the object; the last lines at all if none does.
fn lines_about(name: &str, log: &Path) -> String {
    let recent = tail(log, 2000);
    let about: Vec<&str> = recent.lines().filter(|line| line.contains(name)).collect();
    if about.is_empty() {
        return tail(log, 3);
    }
    about.iter().skip(about.len().saturating_sub(8)).fold(String::new(), |text, line| text + line + "\n")
}

/// helm-controller sets `Ready=True` a moment before it writes its results. Only the observed generation of the whole
/// status distinguishes the two (-1 before the first time).
fn is_ready(object: &Value) -> bool {
    let number = |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_i64);
    let generation = number(object, "/metadata/generation");
    let is_current = |observed: Option<i64>| observed.is_none() || observed == generation;
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions.into_iter().flatten().any(|condition| {
        condition.get("type").and_then(Value::as_str) == Some("Ready")
            && condition.get("status").and_then(Value::as_str) == Some("True")
            && is_current(number(condition, "/observedGeneration"))
    });
    ready && is_current(number(object, "/status/observedGeneration"))
}

#[cfg(test)]
mod tests;
