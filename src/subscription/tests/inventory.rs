//! Tests of a release's objects, and of those that other releases have too.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::api::{ClusterStackRelease, labels};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{Entry, FluxObject};
use crate::inputs::line::Line;
use crate::names::Key;

const V1: &str = "docker-demo-1-34-v1";
const V2: &str = "docker-demo-1-34-v2";

fn object(kind: &str, name: &str, release: &str, spec: &Value) -> Arc<FluxObject> {
    let object = json!({
        "apiVersion": "x/v1", "kind": kind,
        "metadata": {
            "name": name, "namespace": "stacks",
            "labels": {labels::MANAGED_BY: labels::FIELD_MANAGER, labels::RELEASE: release},
        },
        "spec": spec,
    });
    Arc::new(serde_json::from_value(object).unwrap())
}

fn owned_by(object: &Arc<FluxObject>, uid: &str) -> Arc<FluxObject> {
    let mut object = (**object).clone();
    let owner = json!([{"apiVersion": "x", "kind": "ClusterStackRelease", "name": uid, "uid": uid}]);
    object.object.owner_references = serde_json::from_value(owner).unwrap();
    Arc::new(object)
}

/// Returns a release whose status names these objects, as `Kind name`.
fn made(name: &str, objects: &[&str]) -> ClusterStackRelease {
    let objects: Vec<Value> = objects
        .iter()
        .filter_map(|object| object.split_once(' '))
        .map(|(kind, name)| {
            let namespace = if kind == "Namespace" { "" } else { "stacks" };
            json!({"kind": kind, "namespace": namespace, "name": name})
        })
        .collect();
    serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
        "metadata": {"name": name, "namespace": "stacks", "uid": name},
        "spec": {}, "status": {"objects": objects},
    }))
    .unwrap()
}

fn in_short(found: &Inventory) -> String {
    let flux = found.flux.iter().map(|(kind, key)| format!("{kind} {}", key.name));
    let namespaces = found.namespaces.iter().map(|key| format!("Namespace {}", key.name));
    flux.chain(namespaces).collect::<Vec<_>>().join(", ")
}

#[test]
fn inventory_has_recorded_and_owned_objects() {
    let release = made(
        V1,
        &["HelmRelease class", "Kustomization images", "HelmChart a", "GitRepository s", "Namespace n"],
    );
    let owned = [(FluxKind::HelmChart, "b"), (FluxKind::GitRepository, "s")];
    let owned = owned.map(|(kind, name)| (kind, Key::new("stacks", name))).into();
    let facts = InventoryFacts {
        release: &release,
        line: Line::of(&super::release("v1")),
        others: &[],
        owned,
        objects: &[],
    };
    let expected =
        "HelmRelease class, Kustomization images, GitRepository s, HelmChart a, HelmChart b, Namespace n";
    assert_eq!(in_short(&inventory(facts)), expected);
}

#[test]
fn inventory_has_unused_sources_of_missing_releases() {
    let chart = |name: &str, release: &str, source: &str| -> Arc<FluxObject> {
        let spec = json!({"chart": "x", "sourceRef": {"kind": "GitRepository", "name": source}});
        object("HelmChart", name, release, &spec)
    };
    let repository = |name: &str, release: &str| -> Arc<FluxObject> {
        object("GitRepository", name, release, &json!({"url": "https://x"}))
    };
    let uses = |chart: &str| -> Arc<FluxObject> {
        object("HelmRelease", "user", V1, &json!({"chartRef": {"kind": "HelmChart", "name": chart}}))
    };
    let applies = |source: &str| -> Arc<FluxObject> {
        let reference = json!({"kind": "GitRepository", "name": source, "namespace": "stacks"});
        object("Kustomization", "user", V1, &json!({"sourceRef": reference}))
    };
    let foreign = {
        let mut found = (*repository("foreign", V1)).clone();
        found.object.labels = Some([(labels::RELEASE.to_owned(), V1.to_owned())].into());
        Arc::new(found)
    };
    let v0 = "docker-demo-1-34-v0";
    let other_line = "docker-other-1-34-v1";
    for (what, others, objects, expected) in [
        ("its own", vec![], vec![chart("c", V1, "s"), repository("s", V1)], "GitRepository s, HelmChart c"),
        ("of a release that is gone", vec![], vec![repository("s", v0)], "GitRepository s"),
        ("of a release that exists", vec![made(V2, &[])], vec![repository("s", V2)], ""),
        ("of another line", vec![], vec![repository("s", other_line)], ""),
        ("owned", vec![], vec![owned_by(&repository("s", V1), "x")], ""),
        ("not by stackflux", vec![], vec![foreign], ""),
        (
            "chart in use, and its source",
            vec![],
            vec![chart("c", V1, "s"), repository("s", V1), uses("c")],
            "",
        ),
        ("source of manifests in use", vec![], vec![repository("s", V1), applies("s")], ""),
        (
            "source of a chart that stays",
            vec![made(V2, &[])],
            vec![chart("c", V2, "s"), repository("s", V1)],
            "",
        ),
    ] {
        let others: Vec<_> = others.into_iter().map(Arc::new).collect();
        let facts = InventoryFacts {
            release: &made(V1, &[]),
            line: Line::of(&super::release("v1")),
            others: &others,
            owned: BTreeSet::new(),
            objects: &objects,
        };
        assert_eq!(in_short(&inventory(facts)), expected, "{what}");
    }
}

#[test]
fn object_is_shared_with_releases_that_stay() {
    let (ours, naming, silent) =
        (made(V1, &["GitRepository s"]), made(V2, &["GitRepository s"]), made(V2, &["HelmChart s"]));
    let mut deleted = naming.clone();
    deleted.metadata.deletion_timestamp = serde_json::from_value(json!("2026-11-23T02:00:00Z")).unwrap();
    let source: Arc<FluxObject> = object("GitRepository", "s", V1, &json!({"url": "https://x"}));
    let owned = owned_by(&source, V2);
    for (what, others, object, expected) in [
        ("nothing else", vec![], &source, false),
        ("the release itself", vec![&ours], &source, false),
        ("in the status of another", vec![&ours, &naming], &source, true),
        ("another kind of that name", vec![&silent], &source, false),
        ("owned by another", vec![&silent], &owned, true),
        ("another that is deleted", vec![&deleted], &owned, false),
        ("an owner that is gone", vec![&ours], &owned, false),
    ] {
        assert_eq!(is_shared(&ours, others, object), expected, "{what}");
    }
}

#[test]
fn shared_object_is_reported_in_words() {
    let ids =
        |ids: &[&str]| -> BTreeSet<Entry> { ids.iter().map(|id| Entry { id: (*id).to_owned() }).collect() };
    let ours = ids(&["demo_shared__ConfigMap", "_cluster_example.org_Image"]);
    for (theirs, expected) in [
        (&[][..], None),
        (&["other_shared__ConfigMap"], None),
        (&["demo_shared__ConfigMap"], Some("ConfigMap demo/shared with docker-demo-1-34-v2")),
        (&["_cluster_example.org_Image"], Some("Image cluster with docker-demo-1-34-v2")),
    ] {
        assert_eq!(shared_object(&ours, &ids(theirs), V2).as_deref(), expected);
    }
}
