//! No lie: `Ready` of a `ClusterAddon` against the content that its cluster has had.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;

use serde_json::Value;
use stackflux::foreign::flux::observed::SpecDigest;

use crate::api_server::{ApiServer, Place, Watched};
use crate::flux::{Content, Flux, digest, number};
use crate::intent::{self, Known};
use crate::past::is_deleting;
use crate::properties::{Rule, condition};
use crate::reported;
use crate::wire::Cluster;

/// Maximum number of steps until a change that no status has seen is in one. The operator runs all the time, and its
/// watches work.
const STEPS_TO_SEE: usize = 600;

/// A content with the spec of the object that it was installed for: the version of the chart or the commit, and the digest
/// of the spec.
type Installed = (String, String);

/// What a recorded content depends on: the content as Flux names it, the UID of the Cluster, and UID and generation of the
/// object.
type Recorded = (Content, Option<String>, [Value; 2]);

/// The contents that the simulated clusters have had.
#[derive(Clone, Debug, Default)]
pub(crate) struct Truth {
    /// The present content for each object, as Flux and as a status names it.
    has: BTreeMap<Place, (Content, Installed)>,
    /// The contents of each object in order, with the UID of the Cluster and the position in the API server's log.
    had: BTreeMap<Place, Vec<(usize, String, Option<Installed>)>>,
    /// The state of each object whose content is recorded.
    recorded: BTreeMap<Place, Recorded>,
    /// The plan digest of each object of an addon, and all that it had.
    planned: BTreeMap<Place, (String, BTreeSet<String>)>,
    /// Number of steps since each status is outdated, by name and problem.
    outdated: BTreeMap<(String, String), usize>,
    /// The position in the API server's log that was checked.
    checked: usize,
    is_moved: bool,
}

impl Truth {
    /// Records the content after Flux reconciled an object.
    pub(crate) fn reconciled(&mut self, server: &ApiServer, flux: &Flux, place: &Place) {
        let content = flux.installed.get(place);
        let Some((content, object)) = content.zip(server.object(place)) else {
            self.recorded.remove(place);
            if self.has.remove(place).is_some() {
                self.is_moved = true;
                let gone = (server.log.len(), String::new(), None);
                self.had.entry(place.clone()).or_default().push(gone);
            }
            return;
        };
        let cluster = text(object, "/metadata/labels/cluster.x-k8s.io~1cluster-name");
        let cluster = server.object(&(number("Cluster"), place.1.clone(), cluster.to_owned()));
        let cluster = cluster.map(|cluster| text(cluster, "/metadata/uid").to_owned());
        let state = ["uid", "generation"].map(|field| object["metadata"][field].clone());
        let recorded = (content.clone(), cluster.clone(), state);
        if self.recorded.get(place) == Some(&recorded) {
            return;
        }
        self.recorded.insert(place.clone(), recorded);
        let part = object["spec"].get("values").unwrap_or(&object["spec"]["path"]);
        let is_of_spec = content.1 == digest(part);
        if !is_of_spec && self.has.get(place).is_some_and(|(known, _)| known == content) {
            return;
        }
        let spec =
            if is_of_spec { SpecDigest::of(object["spec"].clone()).to_string() } else { String::new() };
        let installed = (content.0.clone(), spec);
        if let Some(uid) = cluster {
            let had = (server.log.len(), uid, Some(installed.clone()));
            self.had.entry(place.clone()).or_default().push(had);
        }
        self.has.insert(place.clone(), (content.clone(), installed));
        self.is_moved = true;
    }

    /// Forgets how long statuses are outdated: the operator was not running.
    pub(crate) fn overlook(&mut self) {
        self.outdated.values_mut().for_each(|steps| *steps = 0);
    }

    /// Checks all statuses after a step. `can_see` is whether the watches of the operator work.
    pub(crate) fn check(&mut self, cluster: &mut Cluster, can_see: bool) {
        self.compare_written(cluster);
        let kinds = ["ClusterAddon", "Cluster"].map(number);
        let mut news = cluster.server.log[self.checked..].iter();
        if self.is_moved || news.any(|entry| kinds.contains(&entry.place.0)) {
            self.compare(cluster);
        }
        self.check_reported(cluster);
        (self.checked, self.is_moved) = (cluster.server.log.len(), false);
        let mut late = None;
        for (problem, steps) in self.outdated.iter_mut().filter(|_| can_see) {
            *steps += 1;
            if *steps > STEPS_TO_SEE {
                late = Some(problem);
            }
        }
        if let Some((name, problem)) = late {
            cluster.broke(Rule::Late, format!("{name} stays Ready for {STEPS_TO_SEE} steps, but {problem}"));
        }
    }

    /// Checks that no status is outdated when nothing is left to do.
    pub(crate) fn settled(&mut self, cluster: &mut Cluster) {
        if let Some((name, problem)) = self.outdated.keys().next() {
            cluster.broke(Rule::Late, format!("{name} stays Ready to the end, but {problem}"));
        }
        let (known, position) = (Known::all(&cluster.server), cluster.server.log.len());
        let statuses = ["ClusterStack", "ClusterStackRelease"].map(|kind| cluster.server.list(number(kind)));
        for object in statuses.iter().flatten().filter(|object| !is_deleting(object)) {
            if let Err(problem) = reported::check(&cluster.server, object, position, &known) {
                let name = text(object, "/metadata/name");
                cluster.broke(Rule::Late, format!("{name} stays so to the end, but {problem}"));
            }
        }
    }

    /// Checks that no status is ready when an object of another plan comes: an operator that ends then would leave it so. What
    /// a request of an operator that has ended writes, the next one sees and takes back.
    fn compare_written(&mut self, cluster: &mut Cluster) {
        let kinds = ["HelmRelease", "Kustomization"].map(number);
        let news = cluster.server.log.iter().enumerate().skip(self.checked);
        let news = news.filter(|(_, entry)| !entry.is_deleted && kinds.contains(&entry.place.0));
        let mut lies = Vec::new();
        for (position, entry) in news {
            let plan = text(&entry.object, "/metadata/annotations/clusterstack.x-k8s.io~1digest");
            let (last, all) = self.planned.entry(entry.place.clone()).or_default();
            let is_known = all.contains(plan);
            // A lost commit brings earlier objects back, which only the operator's next look at the repository shows.
            let is_lost = is_known && entry.object["metadata"].get("ownerReferences").is_none();
            let is_same = last == plan;
            plan.clone_into(last);
            all.insert(plan.to_owned());
            if !is_same
                && !is_lost
                && !cluster.written_late.contains(&position)
                && let Some(name) = ready_before(&cluster.server, entry)
            {
                let (kind, object) = (text(&entry.object, "/kind"), &entry.place.2);
                lies.push(format!("{name} is Ready, but {kind} {object} has another plan than its status"));
            }
        }
        for lie in lies {
            cluster.broke(Rule::Lie, lie);
        }
    }

    /// Checks the statuses that reconciles have written.
    fn check_reported(&self, cluster: &mut Cluster) {
        for (position, reconcile) in take(&mut cluster.reported) {
            let object = cluster.server.log[position].object.clone();
            let Some(known) = cluster.known.get(&reconcile) else { continue };
            let result = match text(&object, "/kind") {
                "ClusterAddon" => self.check_addon(&cluster.server, &object, position, known),
                _ => reported::check(&cluster.server, &object, position, known),
            };
            if let Err(lie) = result {
                let (kind, name) = (text(&object, "/kind"), text(&object, "/metadata/name"));
                let ready = condition(&object, "Ready").map(|(status, _)| status.to_owned());
                cluster.broke(Rule::Lie, format!("Ready of {kind} {name} is {ready:?}, but {lie}"));
            }
        }
    }

    /// Checks the status of a `ClusterAddon`.
    fn check_addon(
        &self,
        server: &ApiServer,
        addon: &Value,
        position: usize,
        known: &Known,
    ) -> Result<(), String> {
        if intent::is_ready(addon) {
            let mut content = addon["status"]["addons"].as_array().into_iter().flatten();
            content.try_for_each(|named| self.compare_reported(addon, named, known))?;
        }
        intent::check(server, position, known)
    }

    /// Compares an addon in a new status with what its cluster had since the reconcile began.
    fn compare_reported(&self, addon: &Value, named: &Value, known: &Known) -> Result<(), String> {
        let (kind, object) = (text(named, "/object/kind"), text(named, "/object/name"));
        let (version, spec) = (text(named, "/expected/version"), text(named, "/expected/specDigest"));
        if version.is_empty() || spec.is_empty() {
            return Err(format!("the status names no content: {named}"));
        }
        let place = (number(kind), text(addon, "/metadata/namespace").to_owned(), object.to_owned());
        let uid = text(addon, "/spec/clusterRef/uid");
        let had = self.had.get(&place).map(Vec::as_slice).unwrap_or_default();
        let since = known.of_kind(kind);
        // The last content before counts too: it was there when the reconcile began.
        let first = had.iter().rposition(|(at, ..)| *at <= since).unwrap_or_default();
        let is_it = |(_, of, content): &(usize, String, Option<Installed>)| {
            of == uid && content.as_ref().is_some_and(|content| is_named(content, version, spec))
        };
        if had[first..].iter().any(is_it) {
            return Ok(());
        }
        Err(format!("the cluster had no {kind} {object} {version} with spec {spec} when it was reported"))
    }

    /// Compares the statuses with the clusters.
    fn compare(&mut self, cluster: &mut Cluster) {
        let mut outdated = BTreeMap::new();
        let addons = cluster.server.list(number("ClusterAddon"));
        for addon in addons.iter().filter(|addon| condition(addon, "Ready") == Some(("True", true))) {
            let name = text(addon, "/metadata/name").to_owned();
            if let Some(problem) = outdated_class(&cluster.server, addon) {
                outdated.insert((name.clone(), problem), 0);
            }
            let named = addon["status"]["addons"].as_array().into_iter().flatten();
            for problem in named.filter_map(|named| self.compare_one(addon, named)) {
                outdated.insert((name.clone(), problem), 0);
            }
        }
        for (problem, steps) in &mut outdated {
            *steps = self.outdated.get(problem).copied().unwrap_or_default();
        }
        self.outdated = outdated;
    }

    /// Compares an addon in a status with its cluster. Returns whether the cluster has another content now.
    fn compare_one(&self, addon: &Value, named: &Value) -> Option<String> {
        let (kind, object) = (text(named, "/object/kind"), text(named, "/object/name"));
        let (version, spec) = (text(named, "/expected/version"), text(named, "/expected/specDigest"));
        let place = (number(kind), text(addon, "/metadata/namespace").to_owned(), object.to_owned());
        let has_it = self.has.get(&place).is_some_and(|(_, installed)| is_named(installed, version, spec));
        (!has_it).then(|| format!("the cluster has another content of {kind} {object}"))
    }
}

/// Whether a status names a content: the version of the chart or the commit, and the digest of the spec.
fn is_named((of, digest): &Installed, version: &str, spec: &str) -> bool {
    (of == version || of.rsplit(':').next() == Some(version)) && digest == spec
}

/// The `ClusterAddon` of an object, if it is ready and its status is about another spec of the object.
fn ready_before(server: &ApiServer, entry: &Watched) -> Option<String> {
    let cluster = text(&entry.object, "/metadata/labels/cluster.x-k8s.io~1cluster-name");
    let name = format!("cluster-addon-{cluster}");
    let addon = server.object(&(number("ClusterAddon"), entry.place.1.clone(), name.clone()))?;
    let digest = SpecDigest::of(entry.object["spec"].clone()).to_string();
    let named = addon["status"]["addons"].as_array()?;
    let mut named = named.iter().filter(|named| text(named, "/object/name") == entry.place.2);
    let is_about_it = named.any(|named| text(named, "/expected/specDigest") == digest);
    (condition(addon, "Ready")?.0 == "True" && !is_about_it).then_some(name)
}

/// The problem if a status is that of another Cluster or class.
fn outdated_class(server: &ApiServer, addon: &Value) -> Option<String> {
    let of = &addon["spec"]["clusterRef"];
    let namespace = text(addon, "/metadata/namespace").to_owned();
    let place = (number("Cluster"), namespace, of["name"].as_str().unwrap_or_default().to_owned());
    let cluster = server.object(&place).filter(|cluster| !is_deleting(cluster));
    let Some(cluster) = cluster.filter(|cluster| cluster["metadata"]["uid"] == of["uid"]) else {
        return Some("its Cluster is gone".to_owned());
    };
    let class = text(cluster, "/spec/topology/classRef/name");
    let desired = text(addon, "/status/release/desired");
    let annotations = &cluster["metadata"]["annotations"];
    let is_paused = cluster["spec"]["paused"] == true || annotations.get("cluster.x-k8s.io/paused").is_some();
    (class != desired && !is_paused)
        .then(|| format!("the status is about {desired}, and the class is {class}"))
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
