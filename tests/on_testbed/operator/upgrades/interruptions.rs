//! Upgrades while the operator is down, is killed, and while others change what it writes.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use stackflux_testbed::Testbed;

use super::super::scenario::{TIMEOUT, condition, eventually};
use super::{HOOK, NEW, OLD, Upgrades, release_of};

/// The hook of somebody else.
const THEIRS: &str = "before-upgrade.hook.cluster.cluster.x-k8s.io/somebody";

/// An upgrade that begins while the operator is down waits for it, and ends though it is killed three times. Beside the annotation
/// of another client, the gate says what Cluster API still waits for. Nothing is uninstalled.
pub(super) fn operator_is_down_killed_and_disturbed(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "disturbed-gate", &[OLD, NEW]);
    let operator = upgrades.start(&[("killed", "one"), ("beside", "two")]);
    annotate(&upgrades, "beside", HOOK, &Value::Null);
    eventually("the annotation comes back", || upgrades.hook("beside") == OLD.1);

    operator.process().unwrap().kill().unwrap();
    upgrades.move_to("killed", NEW);
    thread::sleep(Duration::from_secs(8));
    assert_eq!(upgrades.control_plane("killed"), OLD.1, "no operator, no upgrade");
    assert_eq!(release_of(&upgrades.addon("killed", "cni")), OLD.0);
    for pause in [2, 4, 6] {
        operator.start_again().unwrap();
        thread::sleep(Duration::from_secs(pause));
        operator.process().unwrap().kill().unwrap();
    }
    operator.start_again().unwrap();
    operator.wait_ready(TIMEOUT).unwrap();

    annotate(&upgrades, "beside", THEIRS, &json!(""));
    upgrades.move_to("beside", NEW);
    let says = |addon: &Value| {
        let (status, reason, message) = condition(addon, "UpgradeGate");
        (status, reason) == ("True", "Opened") && message.contains(THEIRS)
    };
    upgrades.scenario.wait("clusteraddon", "cluster-addon-beside", "open, but held by another", says);
    assert_eq!(upgrades.hook("beside"), "", "ours is gone");
    assert_eq!(upgrades.control_plane("beside"), OLD.1);
    annotate(&upgrades, "beside", THEIRS, &Value::Null);
    upgrades.wait_upgraded("beside", NEW);
    upgrades.wait_upgraded("killed", NEW);

    for workload in ["one", "two"] {
        upgrades.scenario.assert_nothing_uninstalled(workload);
    }
}

fn annotate(upgrades: &Upgrades<'_>, cluster: &str, annotation: &str, value: &Value) {
    upgrades.patch(cluster, &json!({"metadata": {"annotations": {annotation: value}}}));
}
