//! An upgrade over several minor versions.

use serde_json::json;
use stackflux_testbed::Testbed;

use super::super::scenario::condition;
use super::{NEW, OLD, Release, Upgrades, release_of};

/// A release two minors later.
const LATER: Release = ("docker-demo-1-36-v1", "v1.36.0");

/// Cluster API makes several steps with one gate, whose message names them. The addons after the upgrade follow the last step.
pub(super) fn several_minors_are_one_upgrade(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "stepped-gate", &[OLD, LATER]);
    let scenario = &upgrades.scenario;
    let class = format!("releases/{}/cluster-class/templates/cluster-class.yaml", LATER.0);
    let versions =
        format!("spec:\n  kubernetesVersions: [{}, {}, {}]\n  infrastructure:", OLD.1, NEW.1, LATER.1);
    scenario.edit(&class, "spec:\n  infrastructure:", &versions);
    scenario.push("steps");
    let _operator = scenario.operator();
    upgrades.apply_stack("1.34", &["v1"]);
    upgrades.apply_stack("1.36", &["v1"]);
    upgrades.create_cluster(&scenario.namespace, "stepped", "two", 0);
    scenario.wait_at("stepped", OLD.0);
    upgrades.suspend_cni("stepped", Some(true));
    upgrades.move_to("stepped", LATER);
    let waiting = upgrades.wait_gate("stepped", "WaitingForAddons");
    let steps = format!("from {} to {} through {}, {} waits", OLD.1, LATER.1, NEW.1, LATER.1);
    let message = condition(&waiting, "UpgradeGate").2;
    assert!(message.contains(&steps), "{message}");
    upgrades.suspend_cni("stepped", None);
    scenario.wait("clusteraddon", "cluster-addon-stepped", "between the steps", |addon| {
        addon["status"]["upgrade"]["phase"] == json!("Upgrading")
    });
    assert_eq!(release_of(&upgrades.addon("stepped", "monitoring")), OLD.0, "it belongs after the last step");
    upgrades.wait_upgraded("stepped", LATER);
    scenario.assert_nothing_uninstalled("two");
}
