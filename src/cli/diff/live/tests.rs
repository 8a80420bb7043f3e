//! Tests with the example in a live cluster that is made by hand.

mod classes;
mod existing;
mod removals;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::*;
use crate::api::{ClusterStack, labels};
use crate::cli::{clusters, objects};
use crate::foreign::flux::observed::SpecDigest;
use crate::gate::upgrade::Phase;
use crate::inputs::defaults::Defaults;
use crate::names::Key;
use crate::plan::delivery::is_kept_by_namespace;
use crate::plan::stages::Course;
use crate::plan::{self, ObjectId, PlannedObject, Step};

const V1: &str = "docker-demo-1-34-v1";
const PIN: &str = "4f2d1c0a9b8e7f6a5d4c3b2a1908f7e6d5c4b3a2";

fn example(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(below)
}

/// Returns a live cluster with the ClusterStack and the Clusters of the example, and its first release, pinned.
fn live() -> Present {
    let text = objects::read_file(&example("clusterstack.yaml")).unwrap();
    let mut stack = ClusterStack::from_yaml(&text).unwrap();
    stack.metadata.uid = Some("stack".to_owned());
    let releases = Releases::open(&example("stack")).unwrap();
    let digest = releases.load(&V1.parse().unwrap()).unwrap().release.digest.to_string();
    let owner =
        json!({"apiVersion": "x", "kind": "ClusterStack", "name": "docker-demo-1-34", "uid": "stack"});
    let release = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
        "metadata": {"name": V1, "namespace": "demo", "uid": "release", "ownerReferences": [owner]},
        "spec": {"source": {"revision": PIN, "digest": digest, "path": format!("releases/{V1}")}},
    });
    let addon = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddon",
        "metadata": {"name": "cluster-addon-one", "namespace": "demo", "uid": "addon"},
        "spec": {"clusterRef": {"kind": "Cluster", "name": "one"}},
    });
    let key = |name: &str| Key::new("demo", name);
    Present {
        stacks: [(key("docker-demo-1-34"), stack)].into(),
        releases: [(key(V1), serde_json::from_value(release).unwrap())].into(),
        addons: [(key("one"), serde_json::from_value(addon).unwrap())].into(),
        clusters: clusters::among(&objects::read(&[example("clusters/one.yaml")]).unwrap()).unwrap(),
        flux: Vec::new(),
    }
}

fn stacks(present: &Present) -> (Stacks<'_>, Vec<String>) {
    let releases = Loaded::read(&example("stack")).unwrap();
    Stacks::of(present, &releases, &Defaults::default(), Some("demo"))
}

fn differences(present: &Present) -> Differences {
    let (stacks, skipped) = stacks(present);
    assert_eq!(skipped, Vec::<String>::new());
    compared(present, &stacks)
}

fn compared(present: &Present, stacks: &Stacks) -> Differences {
    let namespaces = namespaces();
    let live = Live::new(present, &namespaces, Timestamp::now()).unwrap();
    compare(&live, stacks, Some(live.shares()), Some("demo")).unwrap()
}

/// Returns the one Namespace, by its name.
fn namespaces() -> BTreeMap<String, LiveNamespace> {
    let namespace = LiveNamespace { uid: "namespace".to_owned(), is_terminating: false, plan_digest: None };
    [("demo".to_owned(), namespace)].into()
}

/// Returns the planned objects that all Clusters share, and those of the one Cluster.
fn planned(present: &Present) -> (Vec<PlannedObject>, Vec<PlannedObject>) {
    let (stacks, _) = stacks(present);
    let inputs = stacks.of_cluster(&present.clusters[0]).unwrap().inputs();
    let cluster = plan::cluster(&inputs, &present.clusters[0], &Course::ended(Phase::Steady)).unwrap();
    let shared = stacks.shared().flat_map(|shared| shared.plan.objects());
    (shared.cloned().collect(), cluster.objects().cloned().collect())
}

/// Returns a live cluster in which all planned objects exist, as the operator wrote them and an API server returns
/// them.
fn delivered() -> Present {
    let mut present = live();
    let (shared, cluster) = planned(&present);
    for planned in shared.iter().chain(&cluster) {
        let owner = match planned.step {
            Step::Addons => "addon",
            _ if planned.id.name.ends_with("-catalog") => "stack",
            _ => "release",
        };
        let keeper = is_kept_by_namespace(&planned.id.kind).then_some("namespace");
        let owners: Vec<&str> = [owner].into_iter().chain(keeper).collect();
        let object = came_back(&planned.value, &owners);
        let written = SpecDigest::of(object["spec"].clone()).to_string();
        keep(
            &mut present,
            planned,
            Some(if planned.id.kind == "Namespace" { planned.digest() } else { &written }),
        );
        present.flux.extend(Some(object).filter(|object| object["kind"] != "Namespace"));
    }
    present
}

/// Adds the second release of the example, pinned, without any object. Returns its name.
fn add_second_release(present: &mut Present) -> &'static str {
    let name = "docker-demo-1-34-v2";
    let mut release = present.releases.values().next().unwrap().clone();
    release.metadata.uid = Some("second".to_owned());
    release.metadata.name = Some(name.to_owned());
    release.status = None;
    let pin = release.spec.source.as_mut().unwrap();
    let releases = Releases::open(&example("stack")).unwrap();
    pin.digest = releases.load(&name.parse().unwrap()).unwrap().release.digest.to_string();
    present.releases.insert(Key::new("demo", name), release);
    name
}

/// Records in the status of its owner the digest that the spec of an object had when it was written.
fn keep(present: &mut Present, planned: &PlannedObject, digest: Option<&str>) {
    let ObjectId { kind, namespace, name, .. } = &planned.id;
    if planned.step == Step::Addons {
        let addon = planned.value["metadata"]["labels"][labels::ADDON].as_str().unwrap();
        let status = present.addons.values_mut().next().unwrap().status.get_or_insert_default();
        let kept = json!({"name": addon, "phase": "Applied", "reason": "Applied", "message": "",
            "expected": {"specDigest": digest}});
        status.addons.retain(|kept| kept.name != addon);
        status.addons.push(serde_json::from_value(kept).unwrap());
    } else if name.ends_with("-catalog") {
        let status = present.stacks.values_mut().next().unwrap().status.get_or_insert_default();
        let kept = json!({"gitRepository": format!("{namespace}/{name}"), "specDigest": digest});
        status.source = Some(serde_json::from_value(kept).unwrap());
    } else {
        let status = present.releases.values_mut().next().unwrap().status.get_or_insert_default();
        let kept = json!({"kind": kind, "namespace": namespace, "name": name, "specDigest": digest});
        status.objects.push(serde_json::from_value(kept).unwrap());
    }
}

fn fields(value: &Value) -> Value {
    let Value::Object(object) = value else { return json!({}) };
    object.iter().map(|(key, value)| (format!("f:{key}"), fields(value))).collect::<Map<_, _>>().into()
}

/// Returns the owner reference to the object with a UID.
fn owner(uid: &str) -> Value {
    let (kind, name) = match uid {
        "addon" | "earlier" => ("ClusterAddon", "cluster-addon-one"),
        "namespace" => ("Namespace", "demo"),
        other => ("Owner", other),
    };
    json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": uid})
}

fn came_back(planned: &Value, owners: &[&str]) -> Value {
    let mut object = planned.clone();
    object["spec"]["defaulted"] = json!("by the API server");
    object["metadata"]["uid"] = json!("1");
    object["metadata"]["ownerReferences"] = owners.iter().map(|uid| owner(uid)).collect();
    let written = json!({"manager": "stackflux", "fieldsV1": fields(planned)});
    object["metadata"]["managedFields"] = json!([written]);
    object
}

fn object<'a>(present: &'a mut Present, kind: &str, name: &str) -> &'a mut Value {
    let is_it = |object: &&mut Value| object["kind"] == kind && object["metadata"]["name"] == name;
    present.flux.iter_mut().find(is_it).unwrap()
}

fn texts(Differences { plans, held_classes, .. }: &Differences) -> String {
    anstream::adapter::strip_str(&text::write_live(plans, held_classes, false)).to_string()
}

#[test]
fn empty_cluster_gets_all_but_the_class_created() {
    let text = texts(&differences(&live()));
    for line in [
        "created   GitRepository demo/docker-demo-1-34-catalog",
        "created   GitRepository demo/docker-demo-1-34-v1",
        "created   Kustomization demo/docker-demo-1-34-v1-node-images",
        "created   HelmRelease demo/one.ccm: Helm installs it",
        "created   Kustomization demo/one.policies: Flux applies its manifests",
    ] {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
    assert!(!text.contains("docker-demo-1-34-v2"), "it is not in use:\n{text}");
    assert!(!text.contains("HelmRelease demo/docker-demo-1-34-v1"), "the class needs the images:\n{text}");
}

#[test]
fn planned_state_has_no_differences() {
    let found = differences(&delivered());
    assert!(!found.differs, "{}", texts(&found));
    assert!(found.plans.clusters.is_empty(), "a Cluster without changes is left out");
}

#[test]
fn live_diff_shows_changed_and_unplanned_objects() {
    let mut present = delivered();
    let ccm = object(&mut present, "HelmRelease", "one.ccm");
    ccm["metadata"]["annotations"][labels::PLAN_DIGEST] = json!("sha256:earlier");
    ccm["spec"]["interval"] = json!("1h");
    let mut old = ccm.clone();
    old["metadata"]["name"] = json!("one.old");
    old["metadata"]["labels"][labels::ADDON] = json!("old");
    let mut others = old.clone();
    old["metadata"]["ownerReferences"] = json!([owner("addon")]);
    others["metadata"]["name"] = json!("one.others");
    others["metadata"]["ownerReferences"] = json!([owner("earlier")]);
    present.flux.extend([old, others]);
    let text = texts(&differences(&present));
    assert!(text.contains("changed   HelmRelease demo/one.ccm\n"), "{text}");
    assert!(text.contains("-  interval: 1h\n+  interval: 10m\n"), "{text}");
    assert!(text.contains("removed   HelmRelease demo/one.old: Helm uninstalls it"), "{text}");
    assert!(!text.contains("one.others") && !text.contains("one.cni ("), "{text}");
}

#[test]
fn drifted_object_is_shown_as_changed_back() {
    let mut present = delivered();
    let ccm = object(&mut present, "HelmRelease", "one.ccm");
    ccm["spec"]["values"]["foreign"] = json!(true);
    let manager = json!({"manager": "somebody", "fieldsV1": {"f:spec": {"f:values": {"f:foreign": {}}}}});
    ccm["metadata"]["managedFields"].as_array_mut().unwrap().push(manager);
    let text = texts(&differences(&present));
    assert!(
        text.contains("changed   HelmRelease demo/one.ccm: Helm upgrades it with other values"),
        "{text}"
    );
    assert!(text.contains("-    foreign: true"), "{text}");
}

#[test]
fn object_without_its_owner_is_written_again() {
    let mut present = delivered();
    object(&mut present, "HelmRelease", "one.ccm")["metadata"]["ownerReferences"] = json!([]);
    let text = texts(&differences(&present));
    let line = "changed   HelmRelease demo/one.ccm: stackflux applies it again; its spec stays the same\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn source_without_owning_release_is_written_again() {
    let mut present = delivered();
    add_second_release(&mut present);
    let text = texts(&differences(&present));
    let shared = "changed   GitRepository demo/docker-demo-1-34-v1: stackflux applies it again; its spec stays the same\n";
    assert!(text.contains(shared), "{text}");
    assert!(text.contains("created   GitRepository demo/docker-demo-1-34-v2\n"), "{text}");
}

#[test]
fn object_without_known_write_is_written_again() {
    let mut present = delivered();
    present.addons.values_mut().next().unwrap().status = None;
    let text = texts(&differences(&present));
    for name in ["HelmRelease demo/one.ccm", "Kustomization demo/one.policies"] {
        assert!(text.contains(&format!("changed   {name}: stackflux applies it again")), "{text}");
    }
}

#[test]
fn terminating_object_is_recreated_once_it_is_gone() {
    let mut present = delivered();
    for (kind, name) in [("HelmRelease", "one.ccm"), ("GitRepository", "docker-demo-1-34-v1")] {
        let object = object(&mut present, kind, name);
        object["metadata"]["deletionTimestamp"] = json!("2026-11-21T10:00:00Z");
    }
    let text = texts(&differences(&present));
    for line in [
        "recreated HelmRelease demo/one.ccm: Helm installs it, once Flux has deleted the old one\n",
        "recreated GitRepository demo/docker-demo-1-34-v1, once Flux has deleted the old one\n",
    ] {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
}

#[test]
fn addon_in_another_form_waits_for_its_old_object() {
    let mut present = delivered();
    let ccm = object(&mut present, "HelmRelease", "one.ccm");
    ccm["kind"] = json!("Kustomization");
    let text = texts(&differences(&present));
    let created = "created   HelmRelease demo/one.ccm: Helm installs it, once Flux has deleted Kustomization demo/one.ccm\n";
    assert!(text.contains(created), "{text}");
    assert!(text.contains("removed   Kustomization demo/one.ccm"), "{text}");
}

#[test]
fn suspended_object_of_a_dropped_addon_stays() {
    let mut present = delivered();
    let mut old = object(&mut present, "HelmRelease", "one.ccm").clone();
    old["metadata"]["name"] = json!("one.old");
    old["metadata"]["labels"][labels::ADDON] = json!("old");
    old["spec"]["suspend"] = json!(true);
    present.flux.push(old);
    let found = differences(&present);
    let text = texts(&found);
    let held = "addon old: AddonRemoved: neither the release nor its ClusterStack gives it to the Cluster any longer: HelmRelease one.old is suspended, and stays until it is resumed";
    assert!(text.contains(held) && !text.contains("removed "), "{text}");
    assert!(!found.differs, "nothing is written");
}

#[test]
fn cluster_in_another_repository_is_held() {
    let mut present = live();
    let other =
        json!({"mode": "Git", "git": {"url": "https://git.example.org/other.git", "path": "clusters"}});
    let mut stack = present.stacks.values().next().unwrap().clone();
    stack.spec.delivery = serde_json::from_value(other).unwrap();
    (stack.metadata.name, stack.metadata.uid) = (Some("other".to_owned()), Some("other".to_owned()));
    present.stacks.insert(Key::new("demo", "other"), stack);
    let status = json!({"committedBy": "demo/other"});
    present.addons.values_mut().next().unwrap().status = serde_json::from_value(status).unwrap();
    let mut found = differences(&present);
    found.plans.objects.clear();
    let text = texts(&found);
    assert!(
        text.contains("held      all of it: DeliveredElsewhere: ClusterStack demo/other has the files"),
        "{text}"
    );
    assert!(!text.contains("created "), "{text}");
}

#[test]
fn object_applied_from_git_needs_no_owner() {
    let mut present = delivered();
    let git =
        json!({"mode": "Git", "git": {"url": "https://git.example.org/clusters.git", "path": "clusters"}});
    present.stacks.values_mut().next().unwrap().spec.delivery = serde_json::from_value(git).unwrap();
    for object in &mut present.flux {
        object["metadata"]["ownerReferences"] = json!([]);
        object["spec"]["foreign"] = json!(true);
    }
    let found = differences(&present);
    assert!(!found.differs, "Flux corrects drift: {}", texts(&found));
}

#[test]
fn suspended_addons_are_not_written() {
    let mut present = live();
    present.addons.values_mut().next().unwrap().spec.suspend = true;
    let text = texts(&differences(&present));
    assert!(text.contains("held      all of it: Suspended: its ClusterAddon has spec.suspend"), "{text}");
    present.stacks.values_mut().next().unwrap().spec.suspend = true;
    let (stacks, skipped) = stacks(&present);
    assert_eq!(skipped, ["ClusterStack demo/docker-demo-1-34 is suspended: nothing is written"]);
    assert!(!compared(&present, &stacks).differs);
}

#[test]
fn release_with_mismatched_digest_is_left_out() {
    let mut present = live();
    let pin = present.releases.values_mut().next().unwrap().spec.source.as_mut().unwrap();
    pin.digest = pin.digest.chars().rev().collect();
    let (stacks, skipped) = stacks(&present);
    assert!(stacks.is_empty());
    assert!(skipped[0].contains("digest mismatch: expected"), "{skipped:?}");
}

#[test]
fn unreadable_resolved_release_is_reported() {
    let mut present = live();
    let release = present.releases.values_mut().next().unwrap();
    release.spec.source.as_mut().unwrap().revision = "yesterday".to_owned();
    let (_, skipped) = stacks(&present);
    assert!(
        skipped[0].contains(&format!("spec.source.revision of ClusterStackRelease demo/{V1}: ")),
        "{skipped:?}"
    );

    let mut present = live();
    let artifact = json!({"url": "http://x", "digest": "sha256:short", "revision": "main@sha1:0"});
    present.flux.push(json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": "docker-demo-1-34-catalog", "namespace": "demo"},
        "status": {"artifact": artifact},
    }));
    let (_, skipped) = stacks(&present);
    let expected = "GitRepository demo/docker-demo-1-34-catalog, status.artifact: ";
    assert!(skipped[0].contains(expected), "{skipped:?}");

    let mut present = live();
    let (_, release) = present.releases.pop_first().unwrap();
    present.releases.insert(Key::new("demo", "mine"), release);
    let (_, skipped) = stacks(&present);
    assert!(skipped[0].starts_with("ClusterStackRelease demo/mine is left out: "), "{skipped:?}");
}
