//! Values that do not exist yet.

use std::fs;

use serde_json::{Value, json};
use stackflux_testbed::{Infrastructure, NewCluster, Object};

use super::scenario::{Scenario, V1, addon_status, condition};
use super::state::generations;

const TEMPLATE: &str = "values: |\n  \
    cluster:\n    \
    name: {{ .Cluster.metadata.name }}\n    \
    endpoint: {{ .Cluster.spec.controlPlaneEndpoint.host }}\n    \
    podCIDR: {{ .InfraCluster.status.network.id }}\n";

/// Changes the status of the cluster's infrastructure, as its provider would.
fn network(scenario: &Scenario, network: &Value) {
    let namespace = format!("--namespace={}", scenario.namespace);
    let change = json!({"status": {"network": network}}).to_string();
    let arguments = ["patch", "openstackcluster", "a", &namespace, "--type=merge", "--patch", &change];
    scenario.management().kubectl(&[&arguments[..], &["--subresource=status"]].concat()).unwrap();
}

fn wait_for_field(scenario: &Scenario) -> Value {
    let waits = |addon: &Value| condition(addon, "Ready").1 == "WaitingForField";
    scenario.wait("clusteraddon", "cluster-addon-a", "Ready with WaitingForField", waits)
}

#[test]
fn addon_is_delivered_when_its_field_appears() {
    let scenario = Scenario::shared("fields");
    scenario.publish(&[V1]);
    let ccm = scenario.addon("ccm");
    let template = scenario.path(&format!("releases/{V1}/cluster-addon/{ccm}/overwrite.yaml"));
    fs::write(template, TEMPLATE).unwrap();
    scenario.push("a value of the infrastructure");
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1"], &json!({}));
    scenario.wait_ready("clusterstackrelease", V1);
    scenario.testbed.add_kubeconfig_secret(&scenario.namespace, "a", "one").unwrap();
    let cluster = NewCluster { infrastructure: Infrastructure::OpenStack, ..scenario.new_cluster("a", V1) };
    scenario.clusters.create(&[cluster]).unwrap();

    for addon in ["cni", "monitoring", "policies"] {
        scenario.wait_addon("a", &scenario.addon(addon), "Applied", |addon| addon["phase"] == "Applied");
    }
    let addon = wait_for_field(&scenario);
    for kind in ["ValuesRendered", "Ready"] {
        let (status, reason, message) = condition(&addon, kind);
        assert_eq!((status, reason), ("Unknown", "WaitingForField"), "{kind}: {message}");
        assert!(message.contains(&ccm) && message.contains(".InfraCluster.status.network.id"), "{message}");
    }
    let held = addon_status(&addon, &ccm).unwrap();
    assert_eq!((&held["phase"], &held["reason"]), (&json!("Held"), &json!("WaitingForField")));
    assert_eq!(
        scenario.get("helmrelease", &scenario.object("a", "ccm")),
        None,
        "nothing is delivered with a hole in it"
    );

    let before = generations(&scenario);
    network(&scenario, &json!({"id": "7d1c"}));
    scenario.wait_addons("a");
    let seen = Object { kind: "configmap", namespace: "kube-system", name: &ccm };
    let seen = scenario.testbed.workload("one").unwrap().get(seen).unwrap().unwrap();
    assert_eq!(seen["data"]["podCIDR"], "7d1c", "{seen:#}");
    let after = generations(&scenario);
    assert!(
        before.iter().all(|(name, generation)| after.get(name) == Some(generation)),
        "{before:?} {after:?}"
    );

    // It is removed again: the delivered objects stay as they are, and the status reports that.
    network(&scenario, &Value::Null);
    wait_for_field(&scenario);
    assert_eq!(generations(&scenario), after);
    network(&scenario, &json!({"id": "7d1c"}));
    scenario.wait_addons("a");
    assert_eq!(generations(&scenario), after, "the same value is nothing to write");
}
