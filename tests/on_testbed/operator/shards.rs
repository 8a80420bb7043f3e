//! Operators with label selectors beside each other: exactly one writes for each Cluster, also after its ClusterStack
//! was moved to another shard.

use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::json;
use stackflux_testbed::Operator;

use super::scenario::{STACK, Scenario, TIMEOUT, V1, condition};

/// A shard of the operator under test.
fn shard(scenario: &Scenario<'_>, label: &str) -> Operator {
    let binary = Path::new(env!("CARGO_BIN_EXE_stackflux"));
    let selector = format!("--watch-label-selector=shard={label}");
    let flags = ["--log-level=debug", "--enable-leader-election=false", &selector];
    let operator =
        Operator::start(scenario.testbed, binary, scenario.testbed.operator_kubeconfig(), &flags).unwrap();
    operator.wait_ready(TIMEOUT).unwrap();
    operator
}

fn give_to(scenario: &Scenario<'_>, shard: &str) {
    scenario.patch("clusterstack", STACK, &json!({"metadata": {"labels": {"shard": shard}}}));
}

#[test]
fn stack_moved_to_other_shard_has_one_writer() {
    let scenario = Scenario::shared("shards");
    scenario.publish(&[V1]);
    let (_one, _two) = (shard(&scenario, "one"), shard(&scenario, "two"));
    scenario.apply_stack(&["v1"], &json!({}));
    scenario.create_cluster("a", V1, "one");
    give_to(&scenario, "one");
    scenario.wait_addons("a");

    give_to(&scenario, "two");
    scenario.apply_stack(&["v1"], &json!({"flux": {"interval": "7m"}}));
    let moved = |release: &serde_json::Value| release["spec"]["interval"] == "7m";
    scenario.wait("helmrelease", &scenario.object("a", "cni"), "the new interval", moved);
    scenario.set_endpoint("a", "moved.example.org");
    scenario.wait_endpoint_ready("a", "moved.example.org");
    scenario.wait_ready("clusterstack", STACK);
    thread::sleep(Duration::from_secs(3));
    let mark = scenario.testbed.audit().mark().unwrap();
    thread::sleep(Duration::from_secs(5));
    assert_eq!(scenario.operator_writes_since(mark), [], "two shards write the same objects");
    let release = scenario.get("helmrelease", &scenario.object("a", "cni")).unwrap();
    assert!(moved(&release), "{release:#}");

    // The other shard does not create again what one shard cleans up.
    scenario.clusters.delete(&scenario.namespace, &["a".to_owned()]).unwrap();
    scenario.wait_gone("clusteraddon", "cluster-addon-a");
    scenario.wait_gone("helmrelease", &scenario.object("a", "cni"));
    scenario.assert_nothing_uninstalled("one");
    let stack = scenario.get("clusterstack", STACK).unwrap();
    assert_eq!(condition(&stack, "Ready").0, "True", "{stack:#}");
}
