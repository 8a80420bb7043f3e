//! The oracle of intent: a `ClusterAddon` is `Ready` only with the addons that the pure core plans for the release, the
//! `ClusterStack` and the Cluster, in a state that its reconcile could know.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Value, json};
use stackflux::cli::planned_addons;
use stackflux::foreign::flux::observed::SpecDigest;
use stackflux::names::Key;

use crate::api_server::kinds::KINDS;
use crate::api_server::{ApiServer, Watched};
use crate::flux::number;
use crate::past::Past;
use crate::properties::condition;
use crate::repository::{COMMITS, loaded};
use crate::wire::Seen;

/// The kinds whose states a plan depends on, besides those of sources.
const INPUTS: [&str; 4] = ["Cluster", "ClusterStack", "ClusterStackRelease", "ClusterAddonOverride"];
/// The kinds of sources.
const SOURCES: [&str; 3] = ["GitRepository", "OCIRepository", "HelmChart"];

/// The objects of a Cluster's addons: kind, name and digest of the spec.
type Addons = BTreeSet<(String, String, String)>;

/// For each kind the position in the log up to which a reconcile knew all events when it began.
#[derive(Clone, Debug)]
pub(crate) struct Known(Vec<usize>);

impl Known {
    /// What a process knows that has seen this.
    pub(crate) fn of(server: &ApiServer, seen: &[Seen]) -> Self {
        let known = |(kind, seen): (usize, &Seen)| {
            let news = server.log.iter().enumerate().skip(seen.position);
            let first = news.filter(|(_, entry)| entry.place.0 == kind).map(|(at, _)| at).next();
            if seen.is_blind { 0 } else { first.unwrap_or(server.log.len()) }
        };
        Self(seen.iter().enumerate().map(known).collect())
    }

    /// What a process knows that has seen everything.
    pub(crate) fn all(server: &ApiServer) -> Self {
        Self(vec![server.log.len(); KINDS.len()])
    }

    /// Notes that a list shows a kind as it was at this position, also to a reconcile that has begun.
    pub(crate) fn is_shown(&mut self, kind: usize, position: usize) {
        self.0[kind] = self.0[kind].min(position);
    }

    /// The position for a kind.
    pub(crate) fn of_kind(&self, kind: &str) -> usize {
        self.0[number(kind)]
    }

    /// The positions up to `now` at which a kind has another state each, the last one first.
    pub(crate) fn states(&self, server: &ApiServer, kind: &str, now: usize) -> Vec<usize> {
        let known = self.of_kind(kind).min(now);
        let news = server.log[known..now].iter().enumerate();
        let changes = news.filter(|(_, entry)| entry.place.0 == number(kind)).map(|(at, _)| known + at + 1);
        let mut states: Vec<usize> = [known].into_iter().chain(changes).collect();
        states.reverse();
        states
    }
}

/// Whether a `ClusterAddon` is ready in its present generation.
pub(crate) fn is_ready(addon: &Value) -> bool {
    condition(addon, "Ready") == Some(("True", true))
}

/// Checks the status of a `ClusterAddon`. `position` is that of the status in the log.
pub(crate) fn check(server: &ApiServer, position: usize, known: &Known) -> Result<(), String> {
    let Watched { object: addon, place, .. } = &server.log[position];
    let status = &addon["status"];
    // Ready, perhaps in an earlier generation: its deletion is one.
    let was_ready = condition(addon, "Ready").is_some_and(|(status, _)| status == "True");
    if (status["ready"] == true) != was_ready {
        return Err(format!("status.ready is {}", status["ready"]));
    }
    let before = Past::new(server, position).get(place);
    let is_new = |pointer| {
        let before = before.map(|before| text(before, pointer)).unwrap_or_default();
        !text(addon, pointer).is_empty() && text(addon, pointer) != before
    };
    if is_new("/status/release/lastKnownGood") && !was_ready {
        return Err("it has another last known good release".to_owned());
    }
    if is_ready(addon) || is_new("/status/release/applied") {
        check_plan(server, position, known)
    } else {
        Ok(())
    }
}

/// Checks that the addons of a status are those of the plan for the applied release.
fn check_plan(server: &ApiServer, position: usize, known: &Known) -> Result<(), String> {
    let addon = &server.log[position].object;
    let status = &addon["status"];
    let cluster = Key::new(text(addon, "/metadata/namespace"), text(addon, "/spec/clusterRef/name"));
    let named: Addons = status["addons"].as_array().into_iter().flatten().map(named).collect();
    let applied = text(addon, "/status/release/applied");
    let mut plans = BTreeSet::new();
    let inputs = INPUTS.map(|kind| known.states(server, kind, position));
    for &clusters in &inputs[0] {
        let of_class = Past::new(server, clusters).named("Cluster", &cluster.namespace, &cluster.name);
        if of_class.is_none_or(|found| text(found, "/spec/topology/classRef/name") != applied) {
            continue;
        }
        for &stacks in &inputs[1] {
            let others =
                inputs[2].iter().flat_map(|of| inputs[3].iter().map(move |requests| (*of, *requests)));
            for (releases, requests) in others {
                let objects = objects(server, [clusters, stacks, releases, requests], position);
                let Some(plan) = planned(&objects, &cluster, applied) else { continue };
                if plan == named {
                    return Ok(());
                }
                plans.insert(plan);
            }
        }
    }
    if plans.is_empty() && !is_ready(addon) {
        // The release is gone.
        return Ok(());
    }
    Err(format!("its addons of {applied} are {named:?}, and the plans are {plans:?}"))
}

/// The object of an addon in a status, with the digest of its spec.
fn named(addon: &Value) -> (String, String, String) {
    let field = |pointer| text(addon, pointer).to_owned();
    (field("/object/kind"), field("/object/name"), field("/expected/specDigest"))
}

/// The objects that a plan depends on: the inputs at their positions, and the sources and the names of Helm releases at that of
/// the status.
fn objects(server: &ApiServer, at: [usize; 4], now: usize) -> Vec<Value> {
    let inputs = INPUTS.into_iter().zip(at);
    let all = inputs.chain(SOURCES.into_iter().map(|kind| (kind, now)));
    let of_kind = |(kind, at): (&'static str, usize)| {
        let found = Past::new(server, at).list(kind).into_iter().cloned();
        found.map(move |mut object| {
            object["kind"] = KINDS[number(kind)].name.into();
            if kind == "ClusterStackRelease" {
                // A release that is being deleted and is used again is delivered until its Clusters leave it. Its status
                // may say only that it is being deleted, and not whether its content is valid.
                object["metadata"].as_object_mut().unwrap().remove("deletionTimestamp");
                if let Some(Value::Array(conditions)) = object.pointer_mut("/status/conditions") {
                    conditions.retain(|condition| condition["reason"] != "Terminating");
                }
            }
            object
        })
    };
    let helm_releases = Past::new(server, now).list("HelmRelease").into_iter().map(names);
    all.flat_map(of_kind).chain(helm_releases).collect()
}

/// The names of the Helm release of a `HelmRelease`, which stay.
fn names(object: &Value) -> Value {
    let pick = |from: &Value, fields: &[&str]| -> Value {
        fields.iter().map(|field| ((*field).to_owned(), from[*field].clone())).collect()
    };
    json!({
        "kind": "HelmRelease", "metadata": pick(&object["metadata"], &["name", "namespace"]),
        "spec": pick(&object["spec"], &["releaseName", "targetNamespace", "storageNamespace"]),
    })
}

/// The plan for a Cluster of a release.
fn planned(objects: &[Value], cluster: &Key, release: &str) -> Option<Addons> {
    thread_local! {
        static PLANS: RefCell<BTreeMap<u64, BTreeMap<Key, Addons>>> = RefCell::default();
    }
    let mut hasher = DefaultHasher::new();
    release.hash(&mut hasher);
    for object in objects {
        essence(object).to_string().hash(&mut hasher);
    }
    PLANS.with_borrow_mut(|plans| {
        let plans = plans.entry(hasher.finish()).or_insert_with(|| {
            let plans = pinned(objects, release).map(|head| planned_addons(objects, loaded(head)).unwrap());
            plans.into_iter().flatten().map(|(key, plan)| (key, stored(plan))).collect()
        });
        plans.get(cluster).cloned()
    })
}

/// The number of the commit at which a release is pinned.
fn pinned(objects: &[Value], release: &str) -> Option<usize> {
    let is_it = |object: &&Value| {
        object["kind"] == "ClusterStackRelease" && text(object, "/metadata/name") == release
    };
    let revision = text(objects.iter().find(is_it)?, "/spec/source/revision");
    COMMITS.iter().position(|commit| revision.ends_with(commit.id))
}

/// Planned objects as the API server stores them.
fn stored(plan: Vec<Value>) -> Addons {
    let stored = plan.into_iter().map(|mut object| {
        let kind = text(&object, "/kind").to_owned();
        KINDS[number(&kind)].add_defaults(&mut object);
        let name = text(&object, "/metadata/name").to_owned();
        (kind, name, SpecDigest::of(object["spec"].take()).to_string())
    });
    stored.collect()
}

/// The part of an object that a plan depends on.
fn essence(object: &Value) -> Value {
    let metadata = ["name", "namespace", "labels", "annotations", "ownerReferences", "deletionTimestamp"]
        .map(|field| &object["metadata"][field]);
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let is_valid: Vec<_> =
        conditions.filter(|it| it["type"] == "ReleaseValid").map(|it| &it["status"]).collect();
    let status = ["initialization", "artifact"].map(|field| &object["status"][field]);
    let uid = &object["metadata"]["uid"];
    let uid = if object["kind"] == "ClusterStack" { uid } else { &Value::Null };
    json!([object["kind"], metadata, uid, object["spec"], status, is_valid])
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
