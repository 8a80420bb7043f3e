//! A release with a broken addon, and what users do while a Cluster waits for it.

use std::thread;
use std::time::Duration;

use serde_json::json;
use stackflux_testbed::Testbed;

use super::super::record::record;
use super::super::scenario::condition;
use super::{NEW, OLD, Release, Upgrades, release_of, topology};

/// A correction of the release for the same version of Kubernetes.
const MENDED: Release = ("docker-demo-1-35-v2", "v1.35.0");

/// A broken addon keeps the gate closed. A paused Cluster stays as it is, a deleted one is let go, and another release for the same
/// version ends the wait. The ClusterStack of before can be deleted: its release stays until the Cluster has left it.
pub(super) fn broken_release_is_mended_and_a_waiting_cluster_is_paused_or_deleted(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "mended-gate", &[OLD, NEW, MENDED]);
    let scenario = &upgrades.scenario;
    let broken =
        format!("releases/{}/cluster-addon/{}/templates/daemonset.yaml", NEW.0, scenario.addon("cni"));
    scenario.edit(&broken, "kind: DaemonSet", "kind: DemonSet");
    scenario.push("a typing error");
    let _operator = upgrades.start(&[("mended", "one"), ("deleted", "two")]);
    upgrades.apply_stack("1.35", &["v1", "v2"]);
    scenario.wait_ready("clusterstackrelease", MENDED.0);
    for cluster in ["mended", "deleted"] {
        upgrades.move_to(cluster, NEW);
    }
    for cluster in ["mended", "deleted"] {
        let fails = |addon: &_| condition(addon, "UpgradeGate").2.contains("DemonSet");
        scenario.wait("clusteraddon", &format!("cluster-addon-{cluster}"), "waits with Flux's words", fails);
        assert_eq!(upgrades.control_plane(cluster), OLD.1);
    }
    record("gate-addon", scenario);

    let namespace = format!("--namespace={}", scenario.namespace);
    scenario.management().kubectl(&["delete", "cluster", "deleted", &namespace, "--wait=false"]).unwrap();
    scenario.wait_gone("clusteraddon", "cluster-addon-deleted");
    scenario.assert_nothing_uninstalled("two");

    upgrades.patch("mended", &json!({"spec": {"paused": true}}));
    upgrades.patch("mended", &topology(Some(MENDED.0), None));
    thread::sleep(Duration::from_secs(5));
    assert_eq!(
        release_of(&upgrades.addon("mended", "cni")),
        NEW.0,
        "nothing is written for a paused Cluster"
    );
    assert_eq!(upgrades.hook("mended"), OLD.1);
    scenario
        .management()
        .kubectl(&["delete", "clusterstack", "docker-demo-1-34", &namespace, "--wait=false"])
        .unwrap();
    upgrades.patch("mended", &json!({"spec": {"paused": null}}));
    upgrades.wait_upgraded("mended", MENDED);
    scenario.wait_gone("clusterstackrelease", OLD.0);
    scenario.assert_nothing_uninstalled("one");
}
