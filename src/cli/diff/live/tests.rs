//! The example in a live cluster that is made by hand.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::*;
use crate::api::{ClusterStack, labels};
use crate::cli::{clusters, objects};

const V1: &str = "docker-demo-1-34-v1";
const PIN: &str = "4f2d1c0a9b8e7f6a5d4c3b2a1908f7e6d5c4b3a2";

fn example(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(below)
}

/// A live cluster with the ClusterStack and the Clusters of the example, and its first release, pinned.
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
        "metadata": {"name": V1, "namespace": "demo", "ownerReferences": [owner]},
        "spec": {"source": {"revision": PIN, "digest": digest, "path": format!("releases/{V1}")}},
    });
    let addon = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddon",
        "metadata": {"name": "cluster-addon-one", "namespace": "demo", "uid": "addon"},
        "spec": {"clusterRef": {"kind": "Cluster", "name": "one"}},
    });
    let key = |name: &str| ("demo".to_owned(), name.to_owned());
    Present {
        stacks: [(key("docker-demo-1-34"), stack)].into(),
        releases: [(key(V1), serde_json::from_value(release).unwrap())].into(),
        addons: [(key("one"), serde_json::from_value(addon).unwrap())].into(),
        clusters: clusters::among(&objects::read(&[example("clusters/one.yaml")]).unwrap()).unwrap(),
        flux: Vec::new(),
    }
}

fn stacks(present: &Present) -> (Stacks, Vec<String>) {
    let releases = Releases::open(&example("stack")).unwrap();
    Stacks::of(present, &releases, &Defaults { source: None, account: None }, Some("demo"))
}

fn differences(present: &Present) -> Plans {
    let (stacks, left_out) = stacks(present);
    assert_eq!(left_out, Vec::<String>::new());
    compare(present, &stacks, Some("demo")).unwrap()
}

/// Everything that is planned is there, as an API server gives it back.
fn delivered() -> Present {
    let mut present = live();
    // The second time sources are found where the first time they were resolved to.
    let (stacks, _) = stacks(&present);
    let cluster =
        plan::cluster(&stacks.of_cluster(&present.clusters[0]).unwrap().inputs(), &present.clusters[0])
            .unwrap();
    let shared = stacks.shared().flat_map(|shared| shared.plan.objects());
    let all: Vec<Value> = shared.chain(cluster.objects()).map(|planned| came_back(&planned.value)).collect();
    present.flux = all;
    let kept: Vec<Value> = stacks
        .shared()
        .flat_map(|shared| shared.plan.objects())
        .filter(|planned| planned.id.kind == "Namespace")
        .map(|planned| json!({"kind": "Namespace", "namespace": "", "name": planned.id.name, "specDigest": planned.digest()}))
        .collect();
    let release = present.releases.values_mut().next().unwrap();
    release.status = serde_json::from_value(json!({"objects": kept})).unwrap();
    present
}

fn fields(value: &Value) -> Value {
    let Value::Object(object) = value else { return json!({}) };
    object.iter().map(|(key, value)| (format!("f:{key}"), fields(value))).collect::<Map<_, _>>().into()
}

fn came_back(planned: &Value) -> Value {
    let mut object = planned.clone();
    object["spec"]["defaulted"] = json!("by the API server");
    object["metadata"]["uid"] = json!("1");
    let written = json!({"manager": "stackflux", "fieldsV1": fields(planned)});
    object["metadata"]["managedFields"] = json!([written]);
    object
}

fn object<'a>(present: &'a mut Present, kind: &str, name: &str) -> &'a mut Value {
    let is_it = |object: &&mut Value| object["kind"] == kind && object["metadata"]["name"] == name;
    present.flux.iter_mut().find(is_it).unwrap()
}

fn texts(plans: &Plans) -> String {
    anstream::adapter::strip_str(&text::write_live(plans, false)).to_string()
}

#[test]
fn where_nothing_is_there_everything_is_created() {
    let text = texts(&differences(&live()));
    for line in [
        "created   GitRepository demo/docker-demo-1-34-catalog",
        "created   GitRepository demo/docker-demo-1-34-v1",
        "created   Namespace demo-docker-demo-1-34-v1-helm",
        "created   HelmRelease demo/docker-demo-1-34-v1",
        "created   HelmRelease demo/one.ccm: Helm installs it",
        "created   Kustomization demo/one.policies: Flux applies its manifests",
    ] {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
    assert!(!text.contains("docker-demo-1-34-v2"), "it is not in use:\n{text}");
}

#[test]
fn where_everything_is_as_planned_nothing_differs() {
    let plans = differences(&delivered());
    assert!(!plans.differ(), "{}", texts(&plans));
    assert!(plans.clusters.is_empty(), "a Cluster without changes is left out");
}

#[test]
fn live_diff_shows_changed_and_unplanned_owned_objects() {
    let mut present = delivered();
    let ccm = object(&mut present, "HelmRelease", "one.ccm");
    ccm["metadata"]["annotations"][labels::PLAN_DIGEST] = json!("sha256:earlier");
    ccm["spec"]["interval"] = json!("1h");
    let mut old = ccm.clone();
    old["metadata"]["name"] = json!("one.old");
    old["metadata"]["labels"][labels::ADDON] = json!("old");
    let mut others = old.clone();
    old["metadata"]["ownerReferences"] = json!([{"uid": "addon"}]);
    others["metadata"]["name"] = json!("one.others");
    present.flux.extend([old, others]);
    let text = texts(&differences(&present));
    assert!(text.contains("changed   HelmRelease demo/one.ccm\n"), "{text}");
    assert!(text.contains("-  interval: 1h\n+  interval: 10m\n"), "{text}");
    assert!(text.contains("removed   HelmRelease demo/one.old: Helm uninstalls it"), "{text}");
    assert!(!text.contains("one.others") && !text.contains("one.cni ("), "{text}");
}

#[test]
fn what_somebody_changed_below_the_plan_is_put_right() {
    let mut present = delivered();
    let (_, addon) = present.addons.iter_mut().next().unwrap();
    let status = json!({"addons": [
        {"name": "ccm", "phase": "Applied", "reason": "Applied", "message": "", "expected": {"specDigest": "as written"}},
    ]});
    addon.status = serde_json::from_value(status).unwrap();
    let ccm = object(&mut present, "HelmRelease", "one.ccm");
    ccm["spec"]["values"]["foreign"] = json!(true);
    let somebody = json!({"manager": "somebody", "fieldsV1": {"f:spec": {"f:values": {"f:foreign": {}}}}});
    ccm["metadata"]["managedFields"].as_array_mut().unwrap().push(somebody);
    let text = texts(&differences(&present));
    assert!(
        text.contains("changed   HelmRelease demo/one.ccm: Helm upgrades it with other values"),
        "{text}"
    );
    assert!(text.contains("-    foreign: true"), "{text}");
}

#[test]
fn what_is_suspended_is_not_written() {
    let mut present = live();
    present.addons.values_mut().next().unwrap().spec.suspend = true;
    let text = texts(&differences(&present));
    assert!(text.contains("held      all of it: Suspended: its ClusterAddon has spec.suspend"), "{text}");
    present.stacks.values_mut().next().unwrap().spec.suspend = true;
    let (stacks, left_out) = stacks(&present);
    assert_eq!(left_out, ["ClusterStack demo/docker-demo-1-34 is suspended: nothing is written"]);
    assert!(!compare(&present, &stacks, Some("demo")).unwrap().differ());
}

#[test]
fn release_with_mismatched_digest_is_left_out() {
    let mut present = live();
    let pin = present.releases.values_mut().next().unwrap().spec.source.as_mut().unwrap();
    pin.digest = pin.digest.chars().rev().collect();
    let (stacks, left_out) = stacks(&present);
    assert!(stacks.is_empty());
    assert!(left_out[0].contains("digest mismatch: expected"), "{left_out:?}");
}

#[test]
fn what_a_release_is_resolved_with_and_cannot_be_read_is_told() {
    let mut present = live();
    let release = present.releases.values_mut().next().unwrap();
    release.spec.source.as_mut().unwrap().revision = "yesterday".to_owned();
    let (_, left_out) = stacks(&present);
    assert!(
        left_out[0].contains(&format!("spec.source.revision of ClusterStackRelease demo/{V1}: ")),
        "{left_out:?}"
    );

    let mut present = live();
    let artifact = json!({"url": "http://x", "digest": "sha256:short", "revision": "main@sha1:0"});
    present.flux.push(json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": "docker-demo-1-34-catalog", "namespace": "demo"},
        "status": {"artifact": artifact},
    }));
    let (_, left_out) = stacks(&present);
    let told = "GitRepository demo/docker-demo-1-34-catalog, status.artifact: ";
    assert!(left_out[0].contains(told), "{left_out:?}");

    let mut present = live();
    let (_, release) = present.releases.pop_first().unwrap();
    present.releases.insert(("demo".to_owned(), "mine".to_owned()), release);
    let (_, left_out) = stacks(&present);
    assert!(left_out[0].starts_with("ClusterStackRelease demo/mine is left out: "), "{left_out:?}");
}
