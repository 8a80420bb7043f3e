//! The whole state of a scenario as a value: two scenarios with the same end state are equal, however they reached it.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stackflux::api::labels;

use super::scenario::{Scenario, TIMEOUT, eventually};

/// The kinds that the operator writes in a namespace, except events.
pub(crate) const WRITTEN: [&str; 7] = [
    "clusterstacks",
    "clusterstackreleases",
    "clusteraddons",
    "gitrepositories",
    "helmcharts",
    "helmreleases",
    "kustomizations",
];

/// Each object's spec and status, by kind and name, without the parts that differ between two namespaces.
pub(crate) fn of(scenario: &Scenario, commit: &str) -> BTreeMap<String, Value> {
    let summary = objects(scenario).iter().map(summary).collect::<BTreeMap<_, _>>();
    let text = serde_json::to_string(&summary).unwrap();
    let text = text.replace(&scenario.namespace, "<namespace>").replace(commit, "<commit>");
    serde_json::from_str(&text.replace(&commit[..12], "<commit>")).unwrap()
}

/// Waits until the state stays for a second, and returns it: a status can say that all is ready before its last number is
/// written.
pub(crate) fn settled(scenario: &Scenario, commit: &str) -> BTreeMap<String, Value> {
    let mut state = of(scenario, commit);
    eventually("nothing changes for a second", || {
        thread::sleep(Duration::from_secs(1));
        let before = std::mem::replace(&mut state, of(scenario, commit));
        state == before
    });
    state
}

/// Waits until a scenario is in a state, and fails with the differences if it never is.
pub(crate) fn wait_for(state: &BTreeMap<String, Value>, scenario: &Scenario, commit: &str) {
    let begun = Instant::now();
    while of(scenario, commit) != *state && begun.elapsed() < TIMEOUT {
        thread::sleep(Duration::from_millis(500));
    }
    assert_same(state, &of(scenario, commit));
}

/// Fails if two scenarios differ, with the differences.
pub(crate) fn assert_same(one: &BTreeMap<String, Value>, other: &BTreeMap<String, Value>) {
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differing = names.into_iter().filter(|name| one.get(*name) != other.get(*name));
    let summary = differing.map(|name| format!("{name}:\n  {:?}\n  {:?}", one.get(name), other.get(name)));
    assert_eq!(summary.collect::<Vec<_>>().join("\n"), "", "these differ");
}

/// The generation of each Flux object: 1 for its creation, and one more for each change of its spec.
pub(crate) fn generations(scenario: &Scenario) -> BTreeMap<String, i64> {
    let objects = objects(scenario);
    let flux = objects.iter().filter(|object| crate::text(object, "/apiVersion").contains("fluxcd"));
    flux.map(|object| (name(object), object["metadata"]["generation"].as_i64().unwrap())).collect()
}

/// The UID of each object: a different one shows that the object was deleted and created again.
pub(crate) fn uids(scenario: &Scenario) -> BTreeMap<String, String> {
    let uid = |object| (name(object), crate::text(object, "/metadata/uid").to_owned());
    objects(scenario).iter().map(uid).collect()
}

/// The objects of the namespace, and the namespaces that belong to it.
fn objects(scenario: &Scenario) -> Vec<Value> {
    let mut all: Vec<Value> = WRITTEN.iter().flat_map(|kind| scenario.list(kind)).collect();
    let is_its = |object: &Value| crate::text(object, "/metadata/name").starts_with(&scenario.namespace);
    all.extend(scenario.management().list("namespaces", "").unwrap().into_iter().filter(is_its));
    all
}

fn name(object: &Value) -> String {
    format!("{} {}", crate::text(object, "/kind"), crate::text(object, "/metadata/name"))
}

fn summary(object: &Value) -> (String, Value) {
    let metadata = &object["metadata"];
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut annotations = metadata["annotations"].as_object().cloned().unwrap_or_default();
    // They contain the namespace.
    annotations.remove(labels::PLAN_DIGEST);
    let mut owners: Vec<_> = list(&metadata["ownerReferences"])
        .iter()
        .filter(|owner| owner["kind"] != "Namespace")
        .map(|owner| json!([owner["kind"], owner["name"]]))
        .collect();
    owners.sort_by_key(Value::to_string);
    // Flux records whether its last action was an installation or an upgrade, which depends on the history.
    let is_ours = crate::text(object, "/apiVersion").starts_with("clusterstack");
    let conditions: BTreeMap<String, Value> = list(&object["status"]["conditions"])
        .iter()
        .map(|condition| {
            let reason = is_ours.then(|| &condition["reason"]);
            (crate::text(condition, "/type").to_owned(), json!([condition["status"], reason]))
        })
        .collect();
    let addons: Vec<_> = list(&object["status"]["addons"])
        .iter()
        .map(|addon| json!([addon["name"], addon["phase"], addon["version"], addon["object"]]))
        .collect();
    let mut spec = object["spec"].clone();
    if let Some(cluster) = spec.pointer_mut("/clusterRef/uid") {
        cluster.take();
    }
    let value = json!({
        "labels": metadata["labels"], "annotations": annotations, "finalizers": metadata["finalizers"],
        "owners": owners, "spec": spec, "conditions": conditions, "addons": addons,
        "release": object["status"]["release"], "summary": object["status"]["summary"],
    });
    (name(object), value)
}
