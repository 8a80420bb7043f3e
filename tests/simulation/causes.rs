//! The causes of deletions: each must hold in the real state of the API server, now or when the reconcile asked for it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use stackflux::addons::{course, kind_of};
use stackflux::api::{ClusterAddon, ClusterStack};
use stackflux::foreign::capi::Cluster;
use stackflux::gate::upgrade::Phase;
use stackflux::inputs::overrides::Requests;
use stackflux::inputs::platform::with_components;
use stackflux::inputs::stack::Stack;
use stackflux::names::ReleaseName;
use stackflux::release::Digest;

use crate::api_server::kinds::KINDS;
use crate::api_server::{ApiServer, Place};
use crate::operator::{Millis, timestamp};
use crate::past::{Past, is_deleting};
use crate::properties::{Rule, condition};
use crate::repository::Repository;

const ADDON: &str = "clusterstack.x-k8s.io/addon";
const CLUSTER: &str = "cluster.x-k8s.io/cluster-name";
const RELEASE: &str = "clusterstack.x-k8s.io/release";
const RETIRING: &str = "clusterstack.x-k8s.io/retiring-since";
const ON_DELETE: &str = "clusterstack.x-k8s.io/on-delete";

/// A deletion that the API server carried out.
pub(crate) struct Request {
    pub(crate) place: Place,
    /// The UID in its precondition.
    pub(crate) uid: Option<String>,
    pub(crate) reconcile: usize,
    /// The position in the log before it.
    pub(crate) before: usize,
    pub(crate) now: Millis,
}

/// The deletions of the operator, and what it asked before them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deletions {
    /// The position in the log at which each reconcile last asked for an object or for a list.
    asked: BTreeMap<usize, BTreeMap<Place, usize>>,
    /// The time of the deletions that the status of each object (by UID) has to count, and the UIDs of what was deleted.
    counted: BTreeMap<String, BTreeMap<String, Millis>>,
    /// The UIDs of what was deleted with a cause.
    checked: BTreeSet<String>,
}

/// A cause of a deletion.
enum Cause {
    /// Nothing counts the deletion.
    Free,
    /// The status of the object with this kind and UID counts it.
    Counted(&'static str, String),
}

type Checked = Result<(), (Rule, String)>;

impl Deletions {
    /// Records that a reconcile asked for an object or for a list.
    pub(crate) fn asked(&mut self, reconcile: usize, place: Place, position: usize) {
        self.asked.entry(reconcile).or_default().insert(place, position);
    }

    /// Checks a deletion.
    pub(crate) fn check(&mut self, server: &ApiServer, request: &Request) -> Checked {
        let now = Past::new(server, request.before);
        let name = format!("{} {}", KINDS[request.place.0].name, request.place.2);
        let Some(object) = now.get(&request.place) else { return Ok(()) };
        let uid = text(&object["metadata"]["uid"]);
        let Some(decided) = &request.uid else {
            return Err((Rule::DeletionOfAnother, format!("{name}: its UID is not a precondition")));
        };
        if decided != uid {
            return Err((Rule::DeletionOfAnother, format!("{name} with UID {uid} instead of {decided}")));
        }
        let asked = self.asked.get(&request.reconcile).into_iter().flatten();
        // Only a list of Clusters says that none uses a release.
        let is_of_cause = |place: &Place| object["kind"] != "ClusterStackRelease" || place.2.is_empty();
        let asked = asked.filter(|(place, _)| is_of_cause(place)).map(|(_, position)| *position);
        let cause_at = |position| cause(Past::new(server, position), now, object);
        let found = asked.chain([request.before]).find_map(cause_at);
        self.checked.insert(uid.to_owned());
        match found {
            None => Err((Rule::DeletionWithoutCause, name)),
            Some(Cause::Free) => Ok(()),
            Some(Cause::Counted(kind, by)) => self.count(now, kind, &by, uid, request.now),
        }
    }

    /// Checks a removal from the repository, which had a cause since a position of the log.
    pub(crate) fn check_removal(
        &mut self,
        server: &ApiServer,
        object: &Value,
        since: usize,
        time: Millis,
    ) -> Checked {
        let (now, uid) = (Past::new(server, server.log.len()), text(&object["metadata"]["uid"]));
        match cause_since(server, object, since) {
            None => Err((Rule::Uninstall, "it has no cause".to_owned())),
            Some(Cause::Free) => Ok(()),
            Some(Cause::Counted(kind, by)) => self.count(now, kind, &by, uid, time),
        }
    }

    /// Whether the operator deleted the object with this UID, and the deletion was checked.
    pub(crate) fn is_checked(&self, uid: &str) -> bool {
        self.checked.contains(uid)
    }

    /// Checks that the status of the object `by` counts this deletion and the others of the same hour.
    fn count(&mut self, now: Past, kind: &str, by: &str, uid: &str, time: Millis) -> Checked {
        let deleted = self.counted.entry(by.to_owned()).or_default();
        deleted.insert(uid.to_owned(), time);
        let pruned =
            now.with_uid(kind, by).map(|found| found["status"]["pruned"].clone()).unwrap_or_default();
        let since: Option<Timestamp> = pruned["since"].as_str().and_then(|since| since.parse().ok());
        let count = pruned["count"].as_u64().unwrap_or_default();
        let is_counted = |time: &&Millis| since.is_none_or(|since| timestamp(**time) >= since);
        let deletions = deleted.values().filter(is_counted).count() as u64;
        if count >= deletions {
            return Ok(());
        }
        Err((
            Rule::Uncounted,
            format!("{deletions} deletions for {kind} {by}, and its status counts {count}"),
        ))
    }
}

/// Whether the deletion of an object has had a cause since a position of the log.
pub(crate) fn had_cause(server: &ApiServer, object: &Value, since: usize) -> bool {
    cause_since(server, object, since).is_some()
}

/// The last cause of the deletion of an object since a position of the log.
fn cause_since(server: &ApiServer, object: &Value, since: usize) -> Option<Cause> {
    let now = Past::new(server, server.log.len());
    (since..=server.log.len()).rev().find_map(|at| cause(Past::new(server, at), now, object))
}

/// The cause of the deletion of `object` in a state of the API server, if there is one. `now` is the present state.
fn cause(past: Past, now: Past, object: &Value) -> Option<Cause> {
    let kind = text(&object["kind"]);
    let free = |is_cause: bool| is_cause.then_some(Cause::Free);
    match kind {
        "ClusterAddon" => free(is_cluster_gone(past, object) || is_orphaned(past, object)),
        "ClusterStackRelease" => of_release(past, now, object),
        "HelmRelease" | "Kustomization" if !text(&object["metadata"]["labels"][CLUSTER]).is_empty() => {
            of_addon(past, object, kind)
        }
        "GitRepository" if is_left_over(past, object) => Some(Cause::Free),
        "GitRepository" | "OCIRepository" | "HelmChart" if is_unused_component(now, object) => {
            Some(Cause::Free)
        }
        _ => free(is_release_deleted(past, object) && !is_class_used(past, object)),
    }
}

/// Whether the Cluster of a `ClusterAddon` does not exist, is another one, or is being deleted, or its namespace is.
fn is_cluster_gone(past: Past, addon: &Value) -> bool {
    let namespace = text(&addon["metadata"]["namespace"]);
    let of = &addon["spec"]["clusterRef"];
    let cluster = past.named("Cluster", namespace, text(&of["name"]));
    cluster.is_none_or(|cluster| is_deleting(cluster) || cluster["metadata"]["uid"] != of["uid"])
        || is_terminating(past, namespace)
}

fn is_terminating(past: Past, namespace: &str) -> bool {
    past.named("Namespace", "", namespace).is_none_or(is_deleting)
}

/// Whether a deleted `ClusterStack` orphans the release of a `ClusterAddon`.
fn is_orphaned(past: Past, addon: &Value) -> bool {
    let release = &addon["status"]["release"];
    let names = [&release["applied"], &release["desired"]].map(text);
    let releases = past.list("ClusterStackRelease").into_iter();
    let mut releases = releases.filter(|release| names.contains(&text(&release["metadata"]["name"])));
    let is_of_orphaning =
        |owner: &Value| past.with_uid("ClusterStack", text(&owner["uid"])).is_some_and(is_orphaning);
    releases.any(|release| is_orphaning(release) || owners(release, "ClusterStack").any(is_of_orphaning))
}

fn is_orphaning(object: &Value) -> bool {
    is_deleting(object) && object["metadata"]["annotations"][ON_DELETE] == "Orphan"
}

/// The cause of the deletion of an addon's object: nothing is uninstalled because it is suspended, or the release of the
/// Cluster's class does not have the addon in this form.
fn of_addon(past: Past, object: &Value, kind: &str) -> Option<Cause> {
    let metadata = &object["metadata"];
    let (namespace, cluster_name) = (text(&metadata["namespace"]), text(&metadata["labels"][CLUSTER]));
    let owner = owners(object, "ClusterAddon").next();
    let addon = match owner {
        Some(owner) => past.with_uid("ClusterAddon", text(&owner["uid"])),
        // Its owner was deleted without its finalizer.
        None if is_named(object) => {
            past.named("ClusterAddon", namespace, &format!("cluster-addon-{cluster_name}"))
        }
        None => None,
    };
    let cluster = past.named("Cluster", namespace, cluster_name);
    if object["spec"]["suspend"] == true {
        let is_gone = match addon {
            Some(addon) => is_cluster_gone(past, addon),
            // The owner is deleted, or the object waits for the next one.
            None => owner.is_some() || cluster.is_none_or(is_deleting) || is_terminating(past, namespace),
        };
        return is_gone.then_some(Cause::Free);
    }
    let (addon, cluster) = (addon?, cluster.filter(|cluster| !is_deleting(cluster))?);
    let is_same = addon["spec"]["clusterRef"]["uid"] == cluster["metadata"]["uid"];
    let is_paused = cluster["spec"]["paused"] == true
        || cluster["metadata"]["annotations"].get("cluster.x-k8s.io/paused").is_some()
        || addon["spec"]["suspend"] == true;
    let class = &cluster["spec"]["topology"]["classRef"];
    let of = class.get("namespace").and_then(Value::as_str).unwrap_or(namespace);
    let release = past.named("ClusterStackRelease", of, text(&class["name"]))?;
    let stacks: Vec<&Value> = owners(release, "ClusterStack")
        .filter_map(|owner| past.with_uid("ClusterStack", text(&owner["uid"])))
        .collect();
    let is_suspended = stacks.iter().any(|stack| stack["spec"]["suspend"] == true);
    let requested = past.named("ClusterAddonOverride", namespace, cluster_name);
    let of = (release, stacks.first().copied());
    let has_it = has_addon(of, (cluster, addon, requested), text(&metadata["labels"][ADDON]), kind)?;
    let by = text(&addon["metadata"]["uid"]).to_owned();
    // Nothing is uninstalled that was never installed.
    let cause = if is_never_installed(object) { Cause::Free } else { Cause::Counted("ClusterAddon", by) };
    (is_same && !is_paused && !is_suspended && !has_it).then_some(cause)
}

/// Whether an object has the name that its labels make.
fn is_named(object: &Value) -> bool {
    let metadata = &object["metadata"];
    let name = format!("{}.{}", text(&metadata["labels"][CLUSTER]), text(&metadata["labels"][ADDON]));
    metadata["name"] == name.as_str()
}

/// Whether Flux has failed to install an object before it installed anything.
fn is_never_installed(object: &Value) -> bool {
    let status = &object["status"];
    let is_empty = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
    let is_installed = match text(&object["kind"]) {
        "HelmRelease" => !is_empty(&status["history"]),
        _ => !is_empty(&status["inventory"]["entries"]) || status["lastAppliedRevision"].is_string(),
    };
    !is_installed && condition(object, "Ready").is_some_and(|(status, _)| status == "False")
}

/// Whether a release, with the components of its `ClusterStack`, has an addon for a Cluster as an object of this kind, at the stage
/// that the status of the `ClusterAddon` has recorded.
fn has_addon(
    (release, stack): (&Value, Option<&Value>),
    (cluster, status, requested): (&Value, &Value, Option<&Value>),
    addon: &str,
    kind: &str,
) -> Option<bool> {
    let name: ReleaseName = text(&release["metadata"]["name"]).parse().ok()?;
    let digest: Digest = text(&release["spec"]["source"]["digest"]).parse().ok()?;
    let content = Repository::shared().release_cache.release(&name, digest)?;
    let stack: Option<ClusterStack> = stack.and_then(|stack| serde_json::from_value(stack.clone()).ok());
    let stack = stack.and_then(|stack| Stack::new(&stack, None, std::iter::empty()).ok());
    let whole = stack.as_ref().map_or(Cow::Borrowed(&*content), |stack| with_components(stack, &content));
    let cluster = Cluster::new(cluster.clone()).ok()?;
    let requested = requested.and_then(|found| serde_json::from_value(found.clone()).ok()).map(Arc::new);
    let requests = stack.as_ref().map(|stack| Requests::decide(requested.as_ref(), stack, &whole, &cluster));
    let requests = requests.unwrap_or_default();
    let status: ClusterAddon = serde_json::from_value(status.clone()).ok()?;
    let namespace = text(&release["metadata"]["namespace"]);
    let course = course(&status, (namespace, &whole), Phase::Steady);
    let mut addons = course.addons(&whole, &cluster, &requests);
    let is_kept = requests.keeps(addon);
    Some(is_kept || addons.any(|of| of.name.as_str() == addon && kind_of(of).as_str() == kind))
}

/// The cause of the deletion of a `ClusterStackRelease`: it is unused, and retired or left by its deleted `ClusterStack`.
fn of_release(past: Past, now: Past, release: &Value) -> Option<Cause> {
    let owner = owners(release, "ClusterStack").next().map(|owner| text(&owner["uid"]).to_owned());
    let stack = owner.as_deref().and_then(|uid| past.with_uid("ClusterStack", uid));
    let is_used = is_used(past, release) && is_used(now, release);
    match stack {
        Some(stack) if is_orphaning(stack) => Some(Cause::Free),
        Some(stack) if is_deleting(stack) => (!is_used).then_some(Cause::Free),
        Some(_) => {
            let is_retiring = release["metadata"]["annotations"].get(RETIRING).is_some();
            (is_retiring && !is_used).then_some(Cause::Counted("ClusterStack", owner?))
        }
        None => (!is_used).then_some(Cause::Free),
    }
}

/// Whether a Cluster has the class of a release.
fn is_used(past: Past, release: &Value) -> bool {
    let (namespace, name) = (text(&release["metadata"]["namespace"]), text(&release["metadata"]["name"]));
    let has_class = |cluster: &Value| {
        let class = &cluster["spec"]["topology"]["classRef"];
        let own = cluster["metadata"]["namespace"].as_str();
        class["name"] == name && class["namespace"].as_str().or(own) == Some(namespace)
    };
    past.list("Cluster").into_iter().any(has_class)
}

/// Whether the releases or the `ClusterStack` that an object was made for are deleted.
fn is_release_deleted(past: Past, object: &Value) -> bool {
    let namespace = text(&object["metadata"]["namespace"]);
    let kinds = ["ClusterStackRelease", "ClusterStack"];
    let mut of_kinds =
        kinds.iter().flat_map(|kind| owners(object, kind).map(|owner| (*kind, owner))).peekable();
    if of_kinds.peek().is_none() {
        let release = text(&object["metadata"]["labels"][RELEASE]);
        return past.named("ClusterStackRelease", namespace, release).is_none_or(is_deleting);
    }
    of_kinds.all(|(kind, owner)| past.with_uid(kind, text(&owner["uid"])).is_none_or(is_deleting))
}

/// Whether nothing refers to the source or chart of a component, which has no label of a release.
fn is_unused_component(now: Past, object: &Value) -> bool {
    let (metadata, kind) = (&object["metadata"], &object["kind"]);
    let refers = |user: &Value| {
        let reference = user["spec"].get("chartRef").unwrap_or(&user["spec"]["sourceRef"]);
        reference["kind"] == *kind && reference["name"] == metadata["name"]
    };
    let mut users = ["HelmRelease", "Kustomization", "HelmChart"].into_iter().flat_map(|kind| now.list(kind));
    let is_of_release = owners(object, "ClusterStackRelease").next().is_some();
    is_of_release && metadata["labels"].get(RELEASE).is_none() && !users.any(refers)
}

/// Whether a `GitRepository` was made for a `ClusterStack` that now refers to another one.
fn is_left_over(past: Past, object: &Value) -> bool {
    let stack = owners(object, "ClusterStack").next();
    let stack = stack.and_then(|owner| past.with_uid("ClusterStack", text(&owner["uid"])));
    stack.is_some_and(|stack| stack["spec"]["source"].get("git").is_none())
}

/// Whether an object installs the class of a release that Clusters use.
fn is_class_used(past: Past, object: &Value) -> bool {
    let installs = ["HelmRelease", "Kustomization"].contains(&text(&object["kind"]));
    let mut releases = owners(object, "ClusterStackRelease")
        .filter_map(|owner| past.with_uid("ClusterStackRelease", text(&owner["uid"])));
    installs && releases.any(|release| is_used(past, release))
}

fn owners<'a>(object: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.filter(move |owner| owner["kind"] == kind)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
