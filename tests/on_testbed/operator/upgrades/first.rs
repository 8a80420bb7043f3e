//! The first version of a Cluster.

use serde_json::{Value, json};
use stackflux_testbed::Testbed;

use super::super::scenario::condition;
use super::edits::UNSAFE;
use super::{NEW, OLD, Upgrades, topology};

/// A Cluster that is made at the new version is not upgraded. Cluster API refuses another version while a control plane is
/// provisioned; if it is forced, the upgrade waits for the control plane and for the first addons of the new release.
pub(super) fn clusters_begin_at_the_new_version_or_change_it_early(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "first-gate", &[OLD, NEW]);
    let scenario = &upgrades.scenario;
    let _operator = upgrades.start(&[]);
    upgrades.add_kubeconfig(&scenario.namespace, "new", "one");
    let mut new = upgrades.new_cluster(&scenario.namespace, "new", 0);
    new["spec"]["topology"]["classRef"]["name"] = json!(NEW.0);
    new["spec"]["topology"]["version"] = json!(NEW.1);
    upgrades.admit(&new);

    upgrades.create_cluster(&scenario.namespace, "early", "two", 0);
    let with_control_plane = scenario.wait("cluster", "early", "a control plane", |cluster| {
        cluster["spec"]["controlPlaneRef"]["name"].is_string()
    });
    let control_plane = with_control_plane["spec"]["controlPlaneRef"]["name"].as_str().unwrap();
    let pause = |value: Value| {
        let change = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": value}}});
        scenario.patch("kubeadmcontrolplane", control_plane, &change);
    };
    pause(json!(""));
    let mut to_new = topology(Some(NEW.0), Some(NEW.1));
    let refused = upgrades.refused("early", &to_new);
    assert!(refused.contains("control plane is currently provisioning"), "{refused}");
    to_new["metadata"] = json!({"annotations": {UNSAFE: ""}});
    upgrades.patch("early", &to_new);
    let waiting = upgrades.wait_gate("early", "ControlPlaneNotInitialized");
    assert_eq!(condition(&waiting, "UpgradeGate").0, "False", "{waiting:#}");
    assert!(scenario.get("helmrelease", &scenario.object("early", "cni")).is_none(), "no addon moves");
    pause(Value::Null);

    let ready = scenario.wait_at("new", NEW.0);
    assert!(ready["status"]["upgrade"].is_null(), "{ready:#}");
    for cluster in ["new", "early"] {
        upgrades.wait_upgraded(cluster, NEW);
    }
}
