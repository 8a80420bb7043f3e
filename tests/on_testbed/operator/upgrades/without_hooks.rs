//! Cluster API without its feature gate `RuntimeSDK`, and the end of stackflux.

use serde_json::{Value, json};
use stackflux_testbed::{Options, Providers};

use super::super::scenario::{Alone, condition, eventually};
use super::{NEW, OLD, Upgrades};
use crate::support::stackflux;

/// Cluster API waits for nothing: that is said before the first upgrade and after it, and all addons move. An invalid control plane
/// moves nothing. Then all annotations are removed without an operator.
pub(super) fn cluster_api_waits_for_nothing_and_all_annotations_go() {
    let options = Options { workloads: &["one"], cluster_api: Providers::WithoutHooks, ..Options::default() };
    let alone = Alone::start_with(&options);
    let upgrades = Upgrades::new(&alone.testbed, "unhooked-gate", &[OLD, NEW]);
    let operator = upgrades.scenario.operator();
    upgrades.apply_stack("1.34", &["v1"]);
    upgrades.apply_stack("1.35", &["v1"]);
    upgrades.create_cluster(&upgrades.scenario.namespace, "unhooked", "one", 0);
    upgrades.scenario.wait_at("unhooked", OLD.0);
    let is_told = |addon: &Value| {
        let (status, reason, message) = condition(addon, "UpgradeGate");
        (status, reason) == ("Unknown", "NotEnforced") && message.contains("RuntimeSDK")
    };
    upgrades.scenario.wait("clusteraddon", "cluster-addon-unhooked", "NotEnforced beforehand", is_told);
    upgrades.move_to("unhooked", NEW);
    eventually("the control plane moves", || upgrades.control_plane("unhooked") == NEW.1);
    let ready = upgrades.scenario.wait_at("unhooked", NEW.0);
    assert!(is_told(&ready), "{ready:#}");

    let kubeconfig = upgrades.scenario.management().kubeconfig().to_str().unwrap();
    let release = ["gate", "release", "--all", "--kubeconfig", kubeconfig];
    drop(operator);
    let released = stackflux(&release);
    assert_eq!(released.code, 0, "{}", released.stderr);
    assert_eq!(upgrades.hook("unhooked"), "", "{}", released.stderr);
    upgrades.patch("unhooked", &json!({"metadata": {"labels": {"left": "alone"}}}));
    assert_eq!(upgrades.hook("unhooked"), "", "no operator adds it");
}
