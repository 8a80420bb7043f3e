//! ClusterStacks and Clusters as they were written for the Go operator (cluster-stack-operator): applied unchanged.

use std::path::Path;

use serde_json::{Value, json};

use super::scenario::{Scenario, TIMEOUT, condition};
use stackflux_testbed::Operator;

/// The releases of the samples.
const FERROL: [&str; 2] = ["docker-ferrol-1-27-v1", "docker-ferrol-1-27-v2"];

/// The Go operator's own sample (its `config/cso`), in the namespace of the test: no source, the defaults written out.
fn sample(namespace: &str) -> Value {
    json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1",
        "kind": "ClusterStack",
        "metadata": {"name": "clusterstack", "namespace": namespace},
        "spec": {
            "provider": "docker", "name": "ferrol", "kubernetesVersion": "1.27", "channel": "stable",
            "autoSubscribe": false, "noProvider": true, "versions": ["v1"],
        },
    })
}

/// The setting that its documents recommend: always the latest.
fn subscribed(namespace: &str) -> Value {
    let mut stack = sample(namespace);
    stack["spec"]["autoSubscribe"] = json!(true);
    stack["spec"].as_object_mut().unwrap().shift_remove("versions");
    stack
}

/// The ClusterStack of SCS's quickstart: a test build, with the hash of its content as version.
fn quickstart(namespace: &str) -> Value {
    json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1",
        "kind": "ClusterStack",
        "metadata": {"name": "docker", "namespace": namespace},
        "spec": {
            "provider": "docker", "name": "scs", "kubernetesVersion": "1.30", "channel": "custom",
            "autoSubscribe": false, "noProvider": true, "versions": ["v0-sha.rwvgrna"],
        },
    })
}

/// Clusters of that time: `topology.class`, references with a version.
fn cluster_v1beta1(namespace: &str, name: &str, class: &str, version: &str) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": "Cluster",
        "metadata": {"name": name, "namespace": namespace, "labels": {"managed-secret": "cloud-config"}},
        "spec": {
            "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}, "serviceDomain": "cluster.local"},
            "controlPlaneEndpoint": {"host": format!("{name}.example.org"), "port": 6443},
            "infrastructureRef": {
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DevCluster", "name": name,
            },
            "topology": {
                "class": class, "version": version,
                "controlPlane": {"replicas": 1},
                "workers": {"machineDeployments": [{"class": "default-worker", "name": "md-0", "replicas": 1}]},
            },
        },
    })
}

/// Creates a Cluster whose control plane is initialized, and waits for its addons.
fn deliver(scenario: &Scenario, name: &str, class: &str, version: &str) -> Value {
    scenario.testbed.add_kubeconfig_secret(&scenario.namespace, name, "two").unwrap();
    let cluster = cluster_v1beta1(&scenario.namespace, name, class, version);
    scenario.management().apply(&cluster.to_string()).unwrap();
    let initialized = json!({"type": "ControlPlaneInitialized", "status": "True",
        "reason": "Initialized",
        "message": "", "lastTransitionTime": "2026-11-21T11:00:00Z"});
    let status = json!({"status": {"conditions": [initialized]}});
    scenario.clusters.patch_status(&scenario.namespace, name, &status).unwrap();
    scenario.wait_addons(name)
}

/// An operator of one namespace, with a default source.
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
    operator.wait_ready(TIMEOUT).unwrap();
    operator
}

#[test]
fn default_source_serves_v1beta1_clusters() {
    let scenario = Scenario::shared("gosample");
    for release in FERROL {
        scenario.publish_as(release, "v1.27.7");
    }
    let _operator = operator(&scenario);
    scenario.management().apply(&sample(&scenario.namespace).to_string()).unwrap();
    scenario.wait_ready("clusterstack", "clusterstack");
    assert!(scenario.get("clusterclass", FERROL[0]).is_some(), "the class is there");
    assert!(scenario.get("clusterclass", FERROL[1]).is_none(), "only what versions names is offered");

    let addon = deliver(&scenario, "old", FERROL[0], "v1.27.7");
    // Nothing converts the stored v1beta1 Cluster here, so that the API server refuses every write of it.
    let (status, reason, _) = condition(&addon, "UpgradeGate");
    assert_eq!((status, reason), ("Unknown", "GateNotWritable"), "{addon:#}");
    scenario.wait_endpoint("old", "old.example.org");
}

#[test]
fn subscribed_stack_follows_the_latest_release() {
    let scenario = Scenario::shared("gosubscribed");
    scenario.publish_as(FERROL[0], "v1.27.7");
    let _operator = operator(&scenario);
    scenario.management().apply(&subscribed(&scenario.namespace).to_string()).unwrap();
    let stack = scenario.wait_ready("clusterstack", "clusterstack");
    assert_eq!(stack["status"]["latestRelease"], FERROL[0]);
    scenario.publish_as(FERROL[1], "v1.27.7");
    scenario.wait("clusterstack", "clusterstack", "at the new release", |stack| {
        stack["status"]["latestRelease"] == FERROL[1] && condition(stack, "Ready").0 == "True"
    });
    assert!(scenario.get("clusterclass", FERROL[1]).is_some(), "the new class is there");
}

#[test]
fn quickstart_of_custom_channel_is_delivered() {
    let scenario = Scenario::shared("goquickstart");
    scenario.publish_as("docker-scs-1-30-v0-sha-rwvgrna", "v1.30.10");
    let _operator = operator(&scenario);
    let mut stack = quickstart(&scenario.namespace);
    scenario.management().apply(&stack.to_string()).unwrap();
    let ready = scenario.wait_ready("clusterstack", "docker");
    assert_eq!(ready["status"]["usableVersions"], "v0-sha.rwvgrna", "{ready:#}");
    assert_eq!(ready["status"].get("latestRelease"), None, "versions of custom have no order");
    assert!(scenario.get("clusterstackrelease", "docker-scs-1-30-v0-sha-rwvgrna").is_some());
    let class = "docker-scs-1-30-v0-sha.rwvgrna";
    assert!(scenario.get("clusterclass", class).is_some(), "the class has a dot in its name");

    let addon = deliver(&scenario, "docker-testcluster", class, "v1.30.10");
    assert_eq!(addon["status"]["release"]["applied"], "docker-scs-1-30-v0-sha-rwvgrna", "{addon:#}");
    scenario.wait_endpoint("docker-testcluster", "docker-testcluster.example.org");
    scenario.wait("clusterstack", "docker", "its Cluster is counted", |stack| {
        let (status, _, message) = condition(stack, "ClustersReady");
        status == "True" && message.contains("1 of 1 Cluster")
    });
    let missing = "docker-scs-1-30-v0-sha.nope";
    let moved = cluster_v1beta1(&scenario.namespace, "docker-testcluster", missing, "v1.30.10");
    scenario.management().apply(&moved.to_string()).unwrap();
    scenario.wait("clusterstack", "docker", "a release that does not exist", |stack| {
        let (status, reason, _) = condition(stack, "ClustersReady");
        (status, reason) == ("False", "ReleaseNotFound")
    });

    stack["spec"]["autoSubscribe"] = json!(true);
    scenario.management().apply(&stack.to_string()).unwrap();
    let note = "autoSubscribe has no effect";
    scenario.wait("clusterstack", "docker", note, |stack| {
        let conditions = stack["status"]["conditions"].as_array();
        let synced = conditions.into_iter().flatten().find(|found| found["type"] == "ReleasesSynced");
        synced.is_some_and(|found| {
            found["status"] == "True" && found["message"].as_str().is_some_and(|text| text.contains(note))
        })
    });
}
