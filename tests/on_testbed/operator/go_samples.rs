//! ClusterStacks and Clusters as they were written for the Go operator (cluster-stack-operator): applied unchanged.

use std::path::Path;

use serde_json::{Value, json};

use super::scenario::{PATIENCE, Scenario, V1, V2, condition};
use stackflux_testbed::Operator;

/// In the form of the Go operator's own sample: no source, the defaults spelled out.
fn with_versions(namespace: &str) -> String {
    format!(
        "apiVersion: clusterstack.x-k8s.io/v1alpha1
kind: ClusterStack
metadata:
  name: clusterstack
  namespace: {namespace}
spec:
  provider: docker
  name: demo
  kubernetesVersion: \"1.34\"
  channel: stable
  autoSubscribe: false
  noProvider: true
  versions:
    - v1
"
    )
}

/// As its documents recommend: whatever is the latest.
fn subscribed(namespace: &str) -> String {
    with_versions(namespace).replace("autoSubscribe: false", "autoSubscribe: true").replace(
        "  versions:
    - v1
",
        "",
    )
}

/// The Clusters of its time: `topology.class`, references with a version.
fn cluster_v1beta1(namespace: &str, class_namespace: &str) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": "Cluster",
        "metadata": {"name": "old", "namespace": namespace},
        "spec": {
            "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}, "serviceDomain": "cluster.local"},
            "controlPlaneEndpoint": {"host": "old.example.org", "port": 6443},
            "infrastructureRef": {
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DevCluster", "name": "old",
            },
            "topology": {"class": V1, "classNamespace": class_namespace, "version": "v1.34.0"},
        },
    })
}

/// An operator of one namespace, whose source is the default one.
fn operator(scenario: &Scenario) -> Operator {
    let binary = Path::new(env!("CARGO_BIN_EXE_stackflux"));
    let flags = [
        "--enable-leader-election=false",
        "--watch-all-namespaces=false",
        &format!("--runtime-namespace={}", scenario.namespace),
        &format!("--default-source-url={}", scenario.url()),
        "--default-source-interval=2s",
    ];
    let kubeconfig = scenario.management().kubeconfig();
    let operator = Operator::start(scenario.testbed, binary, kubeconfig, &flags).unwrap();
    operator.wait_ready(PATIENCE).unwrap();
    operator
}

#[test]
fn a_stack_without_a_source_takes_the_default_one_and_serves_clusters_of_v1beta1() {
    let scenario = Scenario::shared("gosample");
    scenario.publish(&[V1, V2]);
    let _operator = operator(&scenario);
    scenario.management().apply(&with_versions(&scenario.namespace)).unwrap();
    scenario.wait_ready("clusterstack", "clusterstack");
    assert!(scenario.get("clusterclass", V1).is_some(), "the class is there");
    assert!(scenario.get("clusterclass", V2).is_none(), "only what versions names is offered");

    scenario.testbed.add_kubeconfig_secret(&scenario.namespace, "old", "two").unwrap();
    let cluster = cluster_v1beta1(&scenario.namespace, &scenario.namespace);
    scenario.management().apply(&cluster.to_string()).unwrap();
    let initialized = json!({"type": "ControlPlaneInitialized", "status": "True",
        "reason": "Initialized",
        "message": "", "lastTransitionTime": "2026-11-21T11:00:00Z"});
    let status = json!({"status": {"conditions": [initialized]}});
    scenario.clusters.patch_status(&scenario.namespace, "old", &status).unwrap();
    let addon = scenario.wait_addons("old");
    assert_eq!(condition(&addon, "UpgradeGate").1, "NotImplemented", "{addon:#}");
    scenario.wait_endpoint("old", "old.example.org");
}

#[test]
fn a_subscribed_stack_follows_the_latest_release() {
    let scenario = Scenario::shared("gosubscribed");
    scenario.publish(&[V1]);
    let _operator = operator(&scenario);
    scenario.management().apply(&subscribed(&scenario.namespace)).unwrap();
    let stack = scenario.wait_ready("clusterstack", "clusterstack");
    assert_eq!(stack["status"]["latestRelease"], V1);
    scenario.publish(&[V2]);
    scenario.wait("clusterstack", "clusterstack", "at the new release", |stack| {
        stack["status"]["latestRelease"] == V2 && condition(stack, "Ready").0 == "True"
    });
    assert!(scenario.get("clusterclass", V2).is_some(), "the new class is there");
}
