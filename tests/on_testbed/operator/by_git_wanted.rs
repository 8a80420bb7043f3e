//! What is committed is what is wanted now, by the one ClusterStack that has the Cluster.

use serde_json::{Value, json};
use stackflux_testbed::{Options, Testbed};

use super::fleet::{Fleet, PATH};
use super::scenario::{STACK, Scenario, V1, condition};

/// Names a Secret for the pushes that is not there.
fn without_secret(scenario: &Scenario<'_>, secret: &str) {
    let change = json!({"spec": {"delivery": {"git": {"secretRef": {"name": secret}}}}});
    scenario.patch("clusterstack", STACK, &change);
}

/// Creates it. The Git server lets everybody in.
fn with_secret(scenario: &Scenario<'_>, secret: &str) {
    let object = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": {"username": "any", "password": "any"},
        "metadata": {"name": secret, "namespace": scenario.namespace},
    });
    scenario.management().apply(&object.to_string()).unwrap();
}

fn wait_held(scenario: &Scenario<'_>, cluster: &str) {
    let is_held = |addon: &Value| condition(addon, "Delivered").1 == "SecretInvalid";
    scenario.wait("clusteraddon", &format!("cluster-addon-{cluster}"), "held", is_held);
}

#[test]
fn what_was_held_is_not_committed_for_a_paused_cluster_and_no_other_stack_keeps_a_deleted_one() {
    let testbed = Testbed::start_own(&Options { workloads: &["one", "two"], ..Options::default() }).unwrap();
    let scenario = Scenario::on(&testbed, "gitwanted");
    let fleet = Fleet::followed(&scenario);
    scenario.publish(&[V1]);
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1"], &fleet.delivery());
    scenario.wait_ready("clusterstack", STACK);

    without_secret(&scenario, "push");
    scenario.create_cluster("a", V1, "one");
    scenario.create_cluster("b", V1, "two");
    wait_held(&scenario, "a");
    wait_held(&scenario, "b");
    scenario.patch("cluster", "b", &json!({"spec": {"paused": true}}));
    with_secret(&scenario, "push");
    let addon = scenario.wait_addons("a");
    assert_eq!(addon["status"]["committedBy"], format!("{}/{STACK}", scenario.namespace), "{addon:#}");
    let clusters = fleet.clone("paused").join(PATH).join("clusters").join(&scenario.namespace);
    assert!(clusters.join("a").exists() && !clusters.join("b").exists(), "the paused one was written");
    scenario.patch("cluster", "b", &json!({"spec": {"paused": false}}));
    scenario.wait_addons("b");

    // Somebody else's stack of the same line has no say, and what a deletion waits for is told.
    let other = format!("{}-other", scenario.namespace);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}});
    scenario.management().apply(&namespace.to_string()).unwrap();
    let mut stack = scenario.get("clusterstack", STACK).unwrap();
    stack["metadata"] = json!({"name": STACK, "namespace": other});
    stack["spec"]["delivery"]["git"]["secretRef"]["name"] = json!("nobody-has-it");
    stack.as_object_mut().unwrap().remove("status");
    scenario.management().apply(&stack.to_string()).unwrap();
    scenario.clusters.delete(&scenario.namespace, &["a".to_owned()]).unwrap();
    scenario.wait_gone("clusteraddon", "cluster-addon-a");
    without_secret(&scenario, "later");
    scenario.clusters.delete(&scenario.namespace, &["b".to_owned()]).unwrap();
    wait_held(&scenario, "b");
    with_secret(&scenario, "later");
    scenario.wait_gone("clusteraddon", "cluster-addon-b");
    assert!(!fleet.clone("gone").join(PATH).join("clusters").exists());
    scenario.management().kubectl(&["delete", "namespace", &other, "--wait=false"]).unwrap();
}
