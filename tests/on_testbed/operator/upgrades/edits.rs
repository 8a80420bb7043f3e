//! Edits of class and version one after the other, and back.

use serde_json::json;
use stackflux_testbed::Testbed;

use super::super::scenario::{condition, eventually};
use super::{NEW, OLD, Upgrades, release_of, topology};

/// The annotation that makes Cluster API accept another version while an upgrade waits.
pub(super) const UNSAFE: &str = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check";

/// Class first, or version first: nothing moves between the edits, and the message says what is missing. A Cluster that waits goes
/// back; one that is upgraded does not.
pub(super) fn edits_one_after_the_other_and_the_way_back(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "edited-gate", &[OLD, NEW]);
    let _operator = upgrades.start(&[("class", "one"), ("version", "two")]);
    upgrades.patch("class", &topology(Some(NEW.0), None));
    upgrades.patch("version", &topology(None, Some(NEW.1)));

    let mismatch = upgrades.wait_gate("version", "KubernetesVersionMismatch");
    let message = condition(&mismatch, "UpgradeGate").2;
    let way = "set the class to docker-demo-1-35-v1, the newest release for v1.35.0";
    assert!(message.contains(way) && message.contains("stackflux gate open"), "{message}");
    let is_held = |addon: &_| condition(addon, "Ready").1 == "KubernetesVersionMismatch";
    upgrades.scenario.wait("clusteraddon", "cluster-addon-class", "KubernetesVersionMismatch", is_held);
    for cluster in ["class", "version"] {
        assert_eq!(upgrades.control_plane(cluster), OLD.1);
        assert_eq!(release_of(&upgrades.addon(cluster, "cni")), OLD.0, "nothing of {cluster} moves");
        assert_eq!(upgrades.hook(cluster), OLD.1);
    }

    goes_back(&upgrades);
    upgrades.patch("class", &topology(None, Some(NEW.1)));
    upgrades.wait_upgraded("class", NEW);
    let refused = upgrades.refused("class", &topology(Some(OLD.0), Some(OLD.1)));
    assert!(refused.contains("cannot be decreased"), "{refused}");
    upgrades.scenario.assert_nothing_uninstalled("one");
}

/// The version of a waiting Cluster is taken back with the class: its addons go back too.
fn goes_back(upgrades: &Upgrades<'_>) {
    upgrades.suspend_cni("version", Some(true));
    upgrades.patch("version", &topology(Some(NEW.0), None));
    upgrades.wait_gate("version", "WaitingForAddons");
    eventually("the first addons move", || release_of(&upgrades.addon("version", "cni")) == NEW.0);
    let mut back = topology(Some(OLD.0), Some(OLD.1));
    back["metadata"] = json!({"annotations": {UNSAFE: ""}});
    upgrades.patch("version", &back);
    upgrades.suspend_cni("version", None);
    let ready = upgrades.scenario.wait_at("version", OLD.0);
    assert_eq!(condition(&ready, "UpgradeGate").1, "NotUpgrading", "{ready:#}");
    assert!(ready["status"]["upgrade"].is_null(), "{ready:#}");
    assert_eq!(upgrades.control_plane("version"), OLD.1);
    assert_eq!(upgrades.hook("version"), OLD.1);
    assert_eq!(release_of(&upgrades.addon("version", "cni")), OLD.0);
}
