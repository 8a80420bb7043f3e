//! A move of a waiting Cluster to another management cluster.

use serde_json::{Value, json};
use stackflux_testbed::Testbed;

use super::super::scenario::eventually;
use super::{HOOK, NEW, OLD, Upgrades, annotation, release_of};

/// The writes of `clusterctl move` in their order, in one management cluster: the Cluster is paused, deleted without its finalizers,
/// created as a paused one without a status, and resumed. It waits at both ends, no addon is uninstalled, and the upgrade ends.
pub(super) fn waiting_cluster_moves_to_another_management_cluster(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "moved-gate", &[OLD, NEW]);
    let scenario = &upgrades.scenario;
    let _operator = upgrades.start(&[("moved", "one")]);
    upgrades.suspend_cni("moved", Some(true));
    upgrades.move_to("moved", NEW);
    upgrades.wait_gate("moved", "WaitingForAddons");
    eventually("the first addons move", || release_of(&upgrades.addon("moved", "cni")) == NEW.0);

    upgrades.patch("moved", &json!({"spec": {"paused": true}}));
    let saved = saved(&upgrades.cluster("moved"));
    assert_eq!(annotation(&saved, HOOK), OLD.1, "the annotation moves with the Cluster");
    delete(&upgrades);
    scenario.wait_gone("cluster", "moved");
    scenario.wait_gone("clusteraddon", "cluster-addon-moved");
    eventually("its objects are let go", || {
        scenario.get("helmrelease", &scenario.object("moved", "cni")).is_none()
    });
    scenario.assert_nothing_uninstalled("one");

    upgrades.admit(&saved);
    assert_eq!(upgrades.hook("moved"), OLD.1);
    upgrades.patch("moved", &json!({"spec": {"paused": null}}));
    upgrades.wait_upgraded("moved", NEW);
    scenario.assert_nothing_uninstalled("one");
}

/// A Cluster as `clusterctl move` creates it.
fn saved(cluster: &Value) -> Value {
    let mut saved = cluster.clone();
    saved.as_object_mut().unwrap().remove("status");
    let metadata = saved["metadata"].as_object_mut().unwrap();
    for field in
        ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences"]
    {
        metadata.remove(field);
    }
    saved
}

/// Deletes the Cluster, but none of the objects that it owns: those would move with it.
fn delete(upgrades: &Upgrades<'_>) {
    let namespace = format!("--namespace={}", upgrades.scenario.namespace);
    let arguments = ["delete", "cluster", "moved", &namespace, "--cascade=orphan", "--wait=false"];
    upgrades.scenario.management().kubectl(&arguments).unwrap();
    eventually("the garbage collector has let the objects go", || {
        !upgrades.cluster("moved")["metadata"]["finalizers"].to_string().contains("orphan")
    });
    upgrades.patch("moved", &json!({"metadata": {"finalizers": null}}));
}
