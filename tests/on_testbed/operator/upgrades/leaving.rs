//! Clusters that leave their ClusterStack, and a write that loses the annotation.

use std::fs;

use serde_json::json;
use stackflux_testbed::Testbed;

use super::super::scenario::eventually;
use super::{HOOK, NEW, OLD, Upgrades, topology};

/// A class of a user's.
const HOUSE: &str = "house";

/// The annotation comes back after `kubectl replace`. It ends for a class of a user's, and when the ClusterStack orphans everything.
pub(super) fn annotation_follows_the_class(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "left-gate", &[OLD, NEW]);
    let scenario = &upgrades.scenario;
    let _operator = upgrades.start(&[("kept", "two")]);
    replace_without_annotation(&upgrades, "kept");
    eventually("the annotation comes back", || upgrades.hook("kept") == OLD.1);

    copy_class(&upgrades, OLD.0, HOUSE);
    upgrades.patch("kept", &topology(Some(HOUSE), None));
    eventually("the annotation ends", || upgrades.hook("kept").is_empty());
    upgrades.patch("kept", &topology(Some(OLD.0), None));
    eventually("the annotation is there again", || upgrades.hook("kept") == OLD.1);
    orphan(&upgrades);
    eventually("the annotation ends", || upgrades.hook("kept").is_empty());
    scenario.wait_gone("clusteraddon", "cluster-addon-kept");
    scenario.assert_nothing_uninstalled("two");
}

/// Replaces a Cluster as a user would who has its manifest without the annotation.
fn replace_without_annotation(upgrades: &Upgrades<'_>, name: &str) {
    let file = upgrades.scenario.path("replaced.json");
    eventually("the Cluster is replaced", || {
        let mut cluster = upgrades.cluster(name);
        cluster["metadata"]["annotations"].as_object_mut().unwrap().remove(HOOK);
        fs::write(&file, cluster.to_string()).unwrap();
        let replace = ["replace", "--filename", file.to_str().unwrap()];
        upgrades.scenario.management().kubectl(&replace).is_ok()
    });
    fs::remove_file(file).unwrap();
}

/// Copies a class. The copy has the same templates.
fn copy_class(upgrades: &Upgrades<'_>, from: &str, to: &str) {
    let class = upgrades.scenario.get("clusterclass", from).unwrap();
    let copy = json!({
        "apiVersion": class["apiVersion"], "kind": class["kind"], "spec": class["spec"],
        "metadata": {"name": to, "namespace": upgrades.scenario.namespace},
    });
    upgrades.scenario.management().apply(&copy.to_string()).unwrap();
}

/// Deletes the ClusterStack of the first release, and orphans what it has.
fn orphan(upgrades: &Upgrades<'_>) {
    let orphan = json!({"metadata": {"annotations": {"clusterstack.x-k8s.io/on-delete": "Orphan"}}});
    upgrades.scenario.patch("clusterstackrelease", OLD.0, &orphan);
    upgrades.scenario.patch("clusterstack", "docker-demo-1-34", &orphan);
    let namespace = format!("--namespace={}", upgrades.scenario.namespace);
    let delete = ["delete", "clusterstack", "docker-demo-1-34", &namespace, "--wait=false"];
    upgrades.scenario.management().kubectl(&delete).unwrap();
}
