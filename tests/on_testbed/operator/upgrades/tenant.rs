//! A Cluster in a tenant's namespace, with its class in the provider's.

use serde_json::Value;
use stackflux_testbed::{Object, Testbed};

use super::super::scenario::{TIMEOUT, condition};
use super::{HOOK, NEW, OLD, Upgrades, annotation, topology};

/// The Cluster is gated, upgraded, and the release that it leaves is removed when its ClusterStack no longer offers it.
pub(super) fn cluster_of_a_tenant_is_gated(testbed: &Testbed) {
    let provider = Upgrades::new(testbed, "provided-gate", &[OLD, NEW]);
    let _operator = provider.scenario.operator();
    provider.apply_stack("1.34", &["v1"]);
    provider.apply_stack("1.35", &["v1"]);
    let tenant = testbed.namespace("tenant-of-gate").unwrap();
    provider.create_cluster(&tenant, "theirs", "one", 0);
    let management = testbed.management();
    let addon = Object { kind: "clusteraddon", namespace: &tenant, name: "cluster-addon-theirs" };
    let cluster = Object { kind: "cluster", namespace: &tenant, name: "theirs" };
    let is_at = |release: &'static str| {
        move |found: &Value| {
            found["status"]["release"]["applied"] == release && condition(found, "Ready").0 == "True"
        }
    };
    management.wait(addon, "ready at the old release", TIMEOUT, is_at(OLD.0)).unwrap();
    let found = management.get(cluster).unwrap().unwrap();
    assert_eq!(annotation(&found, HOOK), OLD.1, "its class is in another namespace");

    let mut change = topology(Some(NEW.0), Some(NEW.1));
    change["spec"]["topology"]["classRef"]["namespace"] = provider.scenario.namespace.as_str().into();
    let (namespace, change) = (format!("--namespace={tenant}"), change.to_string());
    management
        .kubectl(&["patch", "cluster", "theirs", &namespace, "--type=merge", "--patch", &change])
        .unwrap();
    let upgraded = management.wait(addon, "ready at the new release", TIMEOUT, is_at(NEW.0)).unwrap();
    assert_eq!(condition(&upgraded, "UpgradeGate").1, "NotUpgrading", "{upgraded:#}");
    provider.apply_stack("1.34", &[]);
    provider.scenario.retire(OLD.0);
    provider.scenario.wait_gone("clusterstackrelease", OLD.0);
    provider.scenario.assert_nothing_uninstalled("one");
    management.suspend_flux(&tenant).unwrap();
}
