//! A stand-in for Flux, and the workload clusters that it installs into.
//!
//! It writes statuses as a running Flux does (`tests/recorded`), each attempt in steps: its beginning, its result and, if
//! an upgrade failed, its rollback.

pub(crate) mod fleet;
mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use stackflux::api::labels::{FORCE_AT, REQUESTED_AT};
use stackflux::release::Digest;

use crate::api_server::kinds::KINDS;
use crate::api_server::{ApiServer, Place};
use crate::repository::{COMMITS, Repository};
use fleet::{FLEET, Fleet};
use status::{attempted, deployed, is_latest_deployed, is_ready_now, is_running, merged};

/// The address of the stack repository.
const REPOSITORY: &str = "https://git.example.org/stacks.git";
const FINALIZER: &str = "finalizers.fluxcd.io";

/// The content that an addon's object has installed in a cluster: the version of the chart or the commit, and the digest
/// of its values or its path.
pub(crate) type Content = (String, String);

/// The kinds that it reconciles.
const OBJECTS: [&str; 5] = ["GitRepository", "OCIRepository", "HelmChart", "HelmRelease", "Kustomization"];

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
    /// Number of uninstalls so far.
    pub(crate) uninstalls: usize,
    /// The names of `HelmRelease`s and `Kustomization`s whose content does not become ready.
    pub(crate) failing: BTreeSet<String>,
    /// The number of the commit at the head of the stack repository's branch.
    pub(crate) head: usize,
    /// The repository that the operator commits to.
    pub(crate) fleet: Option<Fleet>,
    /// The commit of that repository that Flux has seen.
    fleet_head: Option<String>,
    /// Whether it is still the last one: nobody could commit since.
    pub(crate) is_fleet_current: bool,
    /// Whether it does nothing, as long as anything else is left to do.
    pub(crate) is_delayed: bool,
    /// The digest of the values of each `HelmRelease`, with its UID and its generation.
    digests: BTreeMap<Place, ([Value; 2], String)>,
}

impl Flux {
    /// A copy that does not follow the repository of the operator.
    pub(crate) fn without_fleet(&self) -> Self {
        Self {
            seen: self.seen,
            pending: self.pending.clone(),
            installed: self.installed.clone(),
            uninstalled: self.uninstalled.clone(),
            failing: self.failing.clone(),
            head: self.head,
            digests: self.digests.clone(),
            ..Self::default()
        }
    }

    /// One that only applies what the repository of the operator has; `None` if there is no repository.
    pub(crate) fn only_fleet(&self) -> Option<Self> {
        let fleet = self.fleet.as_ref()?.borrow();
        Some(Self { fleet: Some(fleet), head: self.head, ..Self::default() })
    }

    /// Fetches the repository of the operator and applies it, and reconciles nothing else. Returns the positions of the
    /// changes of the applied objects in the log.
    pub(crate) fn apply_fleet(&mut self, server: &mut ApiServer) -> Vec<usize> {
        let mut applied = Vec::new();
        for kind in ["GitRepository", "Kustomization"].map(number) {
            let places: Vec<Place> = server.places(kind).filter(|place| place.2 == FLEET).cloned().collect();
            for place in places {
                self.pending.insert(place.clone());
                while self.pending.contains(&place) {
                    let before = server.log.len();
                    self.look_at(server, &place);
                    applied.extend((before..server.log.len()).filter(|at| server.log[*at].place != place));
                }
            }
        }
        applied
    }

    /// Number of objects that Flux has to reconcile.
    pub(crate) fn count_pending(&mut self, server: &ApiServer) -> usize {
        for entry in &server.log[self.seen..] {
            let kind = KINDS[entry.place.0].name;
            if ["GitRepository", "OCIRepository", "HelmChart"].contains(&kind) {
                self.pending.extend(places(server, &["HelmChart", "HelmRelease", "Kustomization"]));
            }
            if OBJECTS.contains(&kind) {
                self.pending.insert(entry.place.clone());
            }
        }
        self.seen = server.log.len();
        self.pending.len()
    }

    /// Looks for a commit in the repository of the operator. Returns the subject of the last one, if it is new.
    pub(crate) fn fetch(&mut self, server: &ApiServer) -> Option<String> {
        let fleet = self.fleet.as_ref().filter(|_| !self.is_fleet_current)?;
        self.is_fleet_current = true;
        let fleet_head = fleet.head();
        if fleet_head == self.fleet_head {
            return None;
        }
        self.fleet_head = fleet_head;
        self.pending.extend(places(server, &["GitRepository"]));
        fleet.subject()
    }

    /// One of the objects that Flux has to reconcile, by its number.
    pub(crate) fn pending(&self, number: usize) -> Option<Place> {
        self.pending.iter().nth(number).cloned()
    }

    /// Moves the branch of the stack repository to a commit: Flux fetches it at its next interval.
    pub(crate) fn publish(&mut self, server: &ApiServer, head: usize) {
        self.head = head;
        self.pending.extend(places(server, &["GitRepository", "OCIRepository"]));
    }

    /// Makes failed content ready from now on.
    pub(crate) fn mend(&mut self, server: &ApiServer) {
        self.failing.clear();
        self.pending.extend(places(server, &["HelmRelease", "Kustomization"]));
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
        if let Some(fleet) = self.fleet.as_mut().filter(|_| kind == "Kustomization" && place.2 == FLEET) {
            let source = referred(server, &object, "sourceRef")?;
            let revision = source["status"]["artifact"]["revision"].as_str()?;
            if fleet.apply(server, &object, revision.rsplit(':').next()?) {
                self.pending.insert(place.clone());
                return Some(format!("flux: Kustomization {FLEET} applies {revision}"));
            }
        }
        let mut status = match kind {
            "GitRepository" => self.fetched(&object)?,
            "OCIRepository" => fetched_artifact(&object, self.head),
            "HelmChart" => packaged(server, &object)?,
            "HelmRelease" => self.installed(server, place, &object)?,
            _ => self.applied(server, place, &object)?,
        };
        if let Some(asked) = metadata["annotations"].get(REQUESTED_AT) {
            status["lastHandledReconcileAt"] = asked.clone();
        }
        if let Some(forced) = metadata["annotations"].get(FORCE_AT).filter(|_| kind == "HelmRelease") {
            status["lastHandledForceAt"] = forced.clone();
        }
        let fleet = self.fleet.as_ref().filter(|_| kind == "Kustomization" && place.2 == FLEET);
        if let Some(fleet) = fleet.filter(|_| status.get("lastAppliedRevision").is_some()) {
            status["inventory"] = fleet.inventory();
        }
        let before = server.log.len();
        server.merge_as("flux", place, true, &json!({"status": status}));
        let ready = &server.object(place)?["status"]["conditions"][0];
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
            self.uninstalls += 1;
        }
        server.merge_as("flux", place, false, &json!({"metadata": {"finalizers": left}}));
        let how = if is_suspended { "without an uninstall" } else { "uninstalled" };
        Some(format!("flux: {} {} is gone, {how}", KINDS[place.0].name, place.2))
    }

    fn fetched(&self, object: &Value) -> Option<Value> {
        if let Some(fleet) = self.fleet.as_ref().filter(|fleet| object["spec"]["url"] == fleet.url()) {
            return fleet.fetched(object);
        }
        let commit = object["spec"]["ref"]["commit"].as_str().unwrap_or(COMMITS[self.head].id);
        let artifact =
            Repository::shared().artifact(commit).unwrap_or_else(|| elsewhere(&format!("sha1:{commit}")));
        let message = format!("stored artifact for revision '{commit}'");
        Some(status::done(object, "Succeeded", &message, &json!({"artifact": artifact})))
    }

    /// Makes the next step of a `HelmRelease`. Returns the changes of its status.
    fn installed(&mut self, server: &ApiServer, place: &Place, object: &Value) -> Option<Value> {
        let chart = referred(server, object, "chartRef")?;
        // helm-controller takes the digest of an artifact, without its tag.
        let version = chart["status"]["artifact"]["revision"].as_str()?.rsplit('@').next()?.to_owned();
        let wanted: Content = (version, self.digest_of_values(place, object));
        let attempted = attempted(object, &wanted);
        if status::is_forced(object) && !self.failing.contains(&place.2) {
            self.installed.insert(place.clone(), wanted.clone());
            return Some(merged(attempted, &status::installed(object, &wanted)));
        }
        if deployed(object).as_ref() == Some(&wanted) && is_latest_deployed(object) && !is_running(object) {
            // Nothing that Helm installs has changed.
            self.installed.insert(place.clone(), wanted);
            return Some(status::still_installed(object, &attempted));
        }
        let is_attempted = object["status"]["lastAttemptedRevision"] == wanted.0.as_str()
            && object["status"]["lastAttemptedConfigDigest"] == wanted.1.as_str()
            && object["status"]["lastAttemptedGeneration"] == object["metadata"]["generation"];
        let fails = self.failing.contains(&place.2);
        match deployed(object) {
            // Flux waits before it tries again.
            _ if is_attempted && fails && status::has_failed(object) => Some(json!({})),
            Some(before) if is_attempted && status::has_failed_upgrade(object) => {
                self.installed.insert(place.clone(), before);
                Some(status::rolled_back(object, &wanted))
            }
            _ if !is_attempted || !is_running(object) => {
                self.pending.insert(place.clone());
                Some(status::progressing(object, &attempted))
            }
            Some(_) if fails => {
                self.installed.insert(place.clone(), (wanted.0, "failed".to_owned()));
                Some(status::upgrade_failed(object))
            }
            None if fails => Some(status::install_failed(object, &wanted)),
            _ => {
                self.installed.insert(place.clone(), wanted.clone());
                Some(merged(attempted, &status::installed(object, &wanted)))
            }
        }
    }

    fn digest_of_values(&mut self, place: &Place, object: &Value) -> String {
        let state = ["uid", "generation"].map(|field| object["metadata"][field].clone());
        if let Some((_, digest)) = self.digests.get(place).filter(|(known, _)| *known == state) {
            return digest.clone();
        }
        let found = digest(&object["spec"]["values"]);
        self.digests.insert(place.clone(), (state, found.clone()));
        found
    }

    /// Makes the next step of a `Kustomization`. Returns the changes of its status.
    fn applied(&mut self, server: &ApiServer, place: &Place, object: &Value) -> Option<Value> {
        let source = referred(server, object, "sourceRef")?;
        let revision = source["status"]["artifact"]["revision"].as_str()?.to_owned();
        let content = (revision.clone(), digest(&object["spec"]["path"]));
        let is_attempted = object["status"]["lastAttemptedRevision"] == revision.as_str();
        if is_ready_now(object)
            && object["status"]["lastAppliedRevision"] == revision.as_str()
            && self.installed.get(place) == Some(&content)
        {
            return Some(json!({}));
        }
        let fails = self.failing.contains(&place.2);
        if is_attempted && fails && status::has_failed(object) {
            return Some(json!({}));
        }
        if !is_attempted || !is_running(object) {
            self.pending.insert(place.clone());
            return Some(status::progressing(object, &json!({"lastAttemptedRevision": revision})));
        }
        if fails {
            return Some(status::unhealthy(object));
        }
        self.installed.insert(place.clone(), content);
        Some(status::applied(object, &revision))
    }
}

/// The status of an `OCIRepository`. What a tag or a range stands for moves with the stack repository.
fn fetched_artifact(object: &Value, head: usize) -> Value {
    let revision = match object["spec"]["ref"]["digest"].as_str() {
        Some(digest) => digest.to_owned(),
        None => format!("1.{head}.0@{}", Digest::of_bytes(COMMITS[head].id.as_bytes())),
    };
    let message = format!("stored artifact for digest '{revision}'");
    status::done(object, "Succeeded", &message, &json!({"artifact": elsewhere(&revision)}))
}

/// An artifact of another repository than that of the stack, which nobody fetches.
fn elsewhere(revision: &str) -> Value {
    json!({
        "url": "http://localhost/source.tar.gz", "path": "source.tar.gz", "digest": "sha256:0", "revision": revision,
        "size": 1, "lastUpdateTime": "2026-11-20T20:42:55Z",
    })
}

fn packaged(server: &ApiServer, object: &Value) -> Option<Value> {
    let source = referred(server, object, "sourceRef")?;
    let revision = source["status"]["artifact"]["revision"].as_str()?;
    let commit = revision.rsplit(':').next()?;
    let packaged = match Repository::shared().chart_version(commit, object["spec"]["chart"].as_str()?) {
        Some(version) => version,
        // A chart of another repository.
        None if source["spec"]["url"] != REPOSITORY => "1.0.0",
        None => return None,
    };
    let version = match object["spec"]["reconcileStrategy"].as_str()? {
        "Revision" => format!("{}+{}", status::semantic(packaged), &commit[..12]),
        _ => packaged.to_owned(),
    };
    let artifact = json!({
        "url": "http://localhost/chart.tgz", "path": "chart.tgz", "digest": "sha256:0", "revision": version,
        "size": 1, "lastUpdateTime": "2026-11-20T20:42:55Z",
    });
    let more = json!({"artifact": artifact, "observedChartName": "chart", "observedSourceArtifactRevision": revision});
    Some(status::done(object, "ChartPackageSucceeded", "packaged the chart", &more))
}

/// The object that a reference names, if it is ready in its present generation.
fn referred(server: &ApiServer, object: &Value, reference: &str) -> Option<Arc<Value>> {
    let reference = &object["spec"][reference];
    let kind = reference["kind"].as_str()?;
    let namespace = reference.get("namespace").unwrap_or(&object["metadata"]["namespace"]);
    let place = (number(kind), namespace.as_str()?.to_owned(), reference["name"].as_str()?.to_owned());
    let found = server.get(&place)?;
    (found["status"]["observedGeneration"] == found["metadata"]["generation"]).then_some(found)
}

/// The digest of values or of a path in a [`Content`].
pub(crate) fn digest(value: &Value) -> String {
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
    kinds.iter().flat_map(|kind| server.places(number(kind))).cloned().collect()
}
