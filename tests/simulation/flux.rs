//! A stand-in for Flux, and the workload clusters that it installs into.
//!
//! It writes statuses as a running Flux does (`tests/recorded`), each attempt in two steps: its beginning and its result.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use stackflux::release::Digest;

use crate::api_server::kinds::KINDS;
use crate::api_server::{ApiServer, Place};
use crate::repository::{COMMITS, Repository};

const FINALIZER: &str = "finalizers.fluxcd.io";

/// The content that an addon's object has installed in a cluster: the version of the chart or the commit, and the digest
/// of its spec.
pub(crate) type Content = (String, String);

/// The stand-in for Flux.
#[derive(Debug, Default)]
pub(crate) struct Flux {
    /// The position in the API server's log.
    seen: usize,
    pending: BTreeSet<Place>,
    /// The content that each `HelmRelease` and `Kustomization` has installed in its cluster.
    pub(crate) installed: BTreeMap<Place, Content>,
    /// The objects whose deletion uninstalled their content.
    pub(crate) uninstalled: BTreeSet<Place>,
    /// The names of `HelmRelease`s that cannot be installed.
    pub(crate) failing: BTreeSet<String>,
    /// The number of the commit at the head of the stack repository's branch.
    pub(crate) head: usize,
}

impl Flux {
    /// The objects that Flux has to reconcile.
    pub(crate) fn pending(&mut self, server: &ApiServer) -> Vec<Place> {
        for entry in &server.log[self.seen..] {
            let kind = KINDS[entry.kind].name;
            if kind == "GitRepository" || kind == "HelmChart" {
                self.pending.extend(places(server, &["HelmChart", "HelmRelease", "Kustomization"]));
            }
            if ["GitRepository", "HelmChart", "HelmRelease", "Kustomization"].contains(&kind) {
                self.pending.insert(place(entry.kind, &entry.object));
            }
        }
        self.seen = server.log.len();
        self.pending.iter().cloned().collect()
    }

    /// Moves the branch of the stack repository: Flux fetches it at its next interval.
    pub(crate) fn publish(&mut self, server: &ApiServer) {
        self.head += 1;
        self.pending.extend(places(server, &["GitRepository"]));
    }

    /// Makes failed releases installable from now on.
    pub(crate) fn mend(&mut self, server: &ApiServer) {
        self.failing.clear();
        self.pending.extend(places(server, &["HelmRelease"]));
    }

    /// Reconciles one object. Returns a note about the change, if there was one.
    pub(crate) fn look_at(&mut self, server: &mut ApiServer, place: &Place) -> Option<String> {
        self.pending.remove(place);
        let object = server.get(place)?;
        let kind = KINDS[place.0].name;
        let metadata = &object["metadata"];
        if metadata.get("deletionTimestamp").is_some() {
            return self.finalize(server, place, &object);
        }
        let finalizers = metadata["finalizers"].as_array().cloned().unwrap_or_default();
        if !finalizers.contains(&json!(FINALIZER)) {
            let finalizers: Vec<Value> = finalizers.into_iter().chain([json!(FINALIZER)]).collect();
            server.merge_as("flux", place, false, &json!({"metadata": {"finalizers": finalizers}}));
            return Some(format!("flux: finalizer on {kind} {}", place.2));
        }
        if object["spec"]["suspend"] == true {
            return None;
        }
        let mut status = match kind {
            "GitRepository" => self.fetched(&object),
            "HelmChart" => packaged(server, &object)?,
            "HelmRelease" => self.installed(server, place, &object)?,
            _ => self.applied(server, place, &object)?,
        };
        if let Some(asked) = metadata["annotations"].get("reconcile.fluxcd.io/requestedAt") {
            status["lastHandledReconcileAt"] = asked.clone();
        }
        let before = server.log.len();
        server.merge_as("flux", place, true, &json!({"status": status}));
        let ready = &status["conditions"][0];
        (server.log.len() > before)
            .then(|| format!("flux: {kind} {} is {}: {}", place.2, ready["status"], ready["reason"]))
    }

    /// Reconciles an object that is being deleted: its content is uninstalled, unless it is suspended.
    fn finalize(&mut self, server: &mut ApiServer, place: &Place, object: &Value) -> Option<String> {
        let finalizers = object["metadata"]["finalizers"].as_array()?;
        let left: Vec<&Value> = finalizers.iter().filter(|name| **name != FINALIZER).collect();
        if left.len() == finalizers.len() {
            return None;
        }
        let is_suspended = object["spec"]["suspend"] == true;
        if self.installed.contains_key(place) && !is_suspended {
            self.installed.remove(place);
            self.uninstalled.insert(place.clone());
        }
        server.merge_as("flux", place, false, &json!({"metadata": {"finalizers": left}}));
        let how = if is_suspended { "without an uninstall" } else { "uninstalled" };
        Some(format!("flux: {} {} is gone, {how}", KINDS[place.0].name, place.2))
    }

    fn fetched(&self, object: &Value) -> Value {
        let commit = object["spec"]["ref"]["commit"].as_str().unwrap_or(COMMITS[self.head].id);
        let artifact = Repository::shared().artifact(commit);
        let message = format!("stored artifact for revision '{commit}'");
        done(object, "Succeeded", &message, &json!({"artifact": artifact}))
    }

    /// Makes one attempt at a `HelmRelease`.
    fn installed(&mut self, server: &ApiServer, place: &Place, object: &Value) -> Option<Value> {
        let chart = referred(server, "HelmChart", object, "chartRef")?;
        let version = chart["status"]["artifact"]["revision"].as_str()?.to_owned();
        let generation = &object["metadata"]["generation"];
        let values = digest(&object["spec"]["values"]);
        let attempted = json!({
            "lastAttemptedGeneration": generation,
            "lastAttemptedRevision": version,
            "lastAttemptedConfigDigest": values,
        });
        let status = &object["status"];
        if status["lastAttemptedGeneration"] != *generation
            || status["lastAttemptedRevision"] != version.as_str()
        {
            self.pending.insert(place.clone());
            return Some(progressing(object, &attempted));
        }
        let release = object["spec"]["releaseName"].as_str().unwrap_or_default();
        if self.failing.contains(&place.2) {
            return Some(failed(object, release));
        }
        self.installed.insert(place.clone(), (version.clone(), values.clone()));
        let snapshot = json!({
            "action": "install", "apiVersion": "v2", "chartName": release, "chartVersion": version,
            "configDigest": values, "digest": "sha256:0", "firstDeployed": "2026-11-20T20:42:56Z",
            "lastDeployed": "2026-11-20T20:42:56Z", "name": release, "namespace": "kube-system",
            "status": "deployed", "version": 1,
        });
        let more = json!({"history": [snapshot], "failures": null, "installFailures": null});
        Some(done(object, "InstallSucceeded", "Helm install succeeded", &merged(attempted, &more)))
    }

    /// Makes one attempt at a `Kustomization`.
    fn applied(&mut self, server: &ApiServer, place: &Place, object: &Value) -> Option<Value> {
        let source = referred(server, "GitRepository", object, "sourceRef")?;
        let revision = source["status"]["artifact"]["revision"].as_str()?.to_owned();
        self.installed.insert(place.clone(), (revision.clone(), digest(&object["spec"]["path"])));
        let more = json!({"lastAppliedRevision": revision, "lastAttemptedRevision": revision});
        Some(done(object, "ReconciliationSucceeded", &format!("Applied revision: {revision}"), &more))
    }
}

fn packaged(server: &ApiServer, object: &Value) -> Option<Value> {
    let source = referred(server, "GitRepository", object, "sourceRef")?;
    let revision = source["status"]["artifact"]["revision"].as_str()?;
    let commit = revision.rsplit(':').next()?;
    let version = match object["spec"]["reconcileStrategy"].as_str()? {
        "Revision" => format!("1.0.0+{}", &commit[..12]),
        _ => chart_version(object["spec"]["chart"].as_str()?),
    };
    let artifact = json!({
        "url": "http://localhost/chart.tgz", "path": "chart.tgz", "digest": "sha256:0", "revision": version,
        "size": 1, "lastUpdateTime": "2026-11-20T20:42:55Z",
    });
    let more = json!({"artifact": artifact, "observedChartName": "chart", "observedSourceArtifactRevision": revision});
    Some(done(object, "ChartPackageSucceeded", "packaged the chart", &more))
}

/// The version of a chart of the stack repository.
fn chart_version(path: &str) -> String {
    let stack = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/stack");
    let text = fs::read_to_string(stack.join(path).join("Chart.yaml")).unwrap();
    text.lines().find_map(|line| line.strip_prefix("version: ")).unwrap().to_owned()
}

/// The object that a reference names, if it is ready in its present generation.
fn referred(server: &ApiServer, kind: &str, object: &Value, reference: &str) -> Option<Value> {
    let reference = &object["spec"][reference];
    let namespace = reference.get("namespace").unwrap_or(&object["metadata"]["namespace"]);
    let place = (number(kind), namespace.as_str()?.to_owned(), reference["name"].as_str()?.to_owned());
    let found = server.get(&place)?;
    (found["status"]["observedGeneration"] == found["metadata"]["generation"]).then_some(found)
}

/// The status of a successful reconciliation.
fn done(object: &Value, reason: &str, message: &str, more: &Value) -> Value {
    let ready = condition(object, "Ready", "True", reason, message);
    let status = json!({"observedGeneration": object["metadata"]["generation"], "conditions": [ready]});
    merged(status, more)
}

fn progressing(object: &Value, more: &Value) -> Value {
    let (reason, message) = ("Progressing", "Running 'install' action with timeout of 5m0s");
    let ready = condition(object, "Ready", "Unknown", reason, message);
    let reconciling = condition(object, "Reconciling", "True", reason, message);
    merged(json!({"conditions": [ready, reconciling]}), more)
}

fn failed(object: &Value, release: &str) -> Value {
    let message =
        format!("Helm install failed for release kube-system/{release}: timeout waiting for: [Deployment]");
    let ready = condition(object, "Ready", "False", "InstallFailed", &message);
    let released = condition(object, "Released", "False", "InstallFailed", &message);
    let reconciling = condition(object, "Reconciling", "True", "ProgressingWithRetry", "retrying after 1m0s");
    json!({"conditions": [ready, released, reconciling], "failures": 1, "installFailures": 1})
}

fn condition(object: &Value, kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-11-20T20:43:02Z", "observedGeneration": object["metadata"]["generation"],
    })
}

fn merged(mut one: Value, other: &Value) -> Value {
    for (name, value) in other.as_object().into_iter().flatten() {
        one[name] = value.clone();
    }
    one
}

fn digest(value: &Value) -> String {
    Digest::of_bytes(value.to_string().as_bytes()).to_string()
}

/// The number of a kind.
pub(crate) fn number(kind: &str) -> usize {
    KINDS.iter().position(|found| found.name == kind).unwrap()
}

fn place(kind: usize, object: &Value) -> Place {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    (kind, text("namespace"), text("name"))
}

fn places(server: &ApiServer, kinds: &[&str]) -> Vec<Place> {
    let of = |kind: &&str| {
        let kind = number(kind);
        server.list(kind).iter().map(|object| place(kind, object)).collect::<Vec<_>>()
    };
    kinds.iter().flat_map(of).collect()
}
