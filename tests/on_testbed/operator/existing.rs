//! An object of a user has the name of a planned one: the operator leaves it alone, and delivers when it is gone.

use serde_json::{Value, json};

use super::scenario::{Scenario, V1, V2, condition};

/// Creates a suspended `HelmRelease` as a user does by hand, and returns what must not change of it.
fn make_by_hand(scenario: &Scenario, name: &str) -> Value {
    let object = json!({
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": name, "namespace": scenario.namespace},
        "spec": {"interval": "1h", "suspend": true, "chartRef": {"kind": "HelmChart", "name": "theirs"}},
    });
    scenario.management().apply(&object.to_string()).unwrap();
    left(scenario, name)
}

/// The parts of an object that only its user may change.
fn left(scenario: &Scenario, name: &str) -> Value {
    let object = scenario.get("helmrelease", name).unwrap();
    let metadata = &object["metadata"];
    json!({
        "uid": metadata["uid"],
        "generation": metadata["generation"],
        "labels": metadata["labels"],
        "annotations": metadata["annotations"],
        "ownerReferences": metadata["ownerReferences"],
        "deletionTimestamp": metadata["deletionTimestamp"],
        "spec": object["spec"],
    })
}

fn delete(scenario: &Scenario, kind: &str, name: &str) {
    let namespace = format!("--namespace={}", scenario.namespace);
    scenario.management().kubectl(&["delete", kind, name, &namespace, "--wait=false"]).unwrap();
}

#[test]
fn users_object_of_a_planned_name_is_left_alone() {
    let scenario = Scenario::shared("existing");
    scenario.publish(&[V1, V2]);
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    scenario.wait_ready("clusterstackrelease", V2);
    let names = ["a", "b"].map(|cluster| scenario.object(cluster, "cni"));
    let before: Vec<Value> = names.iter().map(|name| make_by_hand(&scenario, name)).collect();
    let begun = scenario.testbed.audit().mark().unwrap();
    scenario.create_cluster("a", V1, "one");
    scenario.create_cluster("b", V1, "two");
    for cluster in ["a", "b"] {
        expect_held(&scenario, cluster);
        scenario.upgrade(cluster, V2);
        let is_of_v2 = |release: &Value| release["metadata"]["labels"]["clusterstack.x-k8s.io/release"] == V2;
        scenario.wait("helmrelease", &scenario.object(cluster, "monitoring"), "of the new release", is_of_v2);
        expect_held(&scenario, cluster);
    }
    delete(&scenario, "cluster", "b");
    scenario.wait_gone("clusteraddon", "cluster-addon-b");
    scenario.wait_gone("helmrelease", &scenario.object("b", "ccm"));

    let after: Vec<Value> = names.iter().map(|name| left(&scenario, name)).collect();
    assert_eq!(after, before);
    let mut writes = scenario.operator_writes_since(begun);
    writes.retain(|write| names.contains(&write.name) && write.code < 300);
    assert!(writes.is_empty(), "{writes:?}");

    delete(&scenario, "helmrelease", &scenario.object("a", "cni"));
    scenario.wait_at("a", V2);
}

/// Waits until the status of a cluster names the object of the user.
fn expect_held(scenario: &Scenario, cluster: &str) {
    let name = format!("cluster-addon-{cluster}");
    let is_held = |addon: &Value| condition(addon, "Delivered").1 == "AlreadyExists";
    let addon = scenario.wait("clusteraddon", &name, "held", is_held);
    let object =
        format!("HelmRelease {}/{} exists already", scenario.namespace, scenario.object(cluster, "cni"));
    let (status, _, message) = condition(&addon, "Delivered");
    assert!(status == "False" && message.contains(&object), "{status} {message}");
}
