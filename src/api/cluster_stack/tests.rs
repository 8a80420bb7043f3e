//! What is in a cluster already, written by the cluster-stack-operator, can be read.

use serde_json::{Value, json};

use crate::api::{ClusterAddon, ClusterStack, ClusterStackRelease};

/// Cluster API's conditions of v1beta1: without reason and message where they are true.
fn conditions() -> Value {
    json!([
        {"type": "Ready", "status": "True", "lastTransitionTime": "2024-05-01T10:00:00Z"},
        {"type": "ReleasesSynced", "status": "False", "severity": "Warning", "reason": "FailedToSync",
            "message": "no", "lastTransitionTime": "2024-05-01T10:00:00Z"},
    ])
}

#[test]
fn a_cluster_stack_of_the_go_operator() {
    let stack: ClusterStack = serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1",
        "kind": "ClusterStack",
        "metadata": {"name": "clusterstack", "namespace": "cluster"},
        "spec": {"provider": "docker", "name": "ferrol", "kubernetesVersion": "1.27", "noProvider": true},
        "status": {
            "latestRelease": "docker-ferrol-1-27-v2 | v1.27.7",
            "summary": [{"name": "docker-ferrol-1-27-v2", "ready": false, "phase": "downloading release assets"}],
            "conditions": conditions(),
        },
    }))
    .unwrap();
    assert!(stack.validate().is_empty());
    let status = stack.status.unwrap();
    assert_eq!(status.summary[0].phase, "downloading release assets");
    assert_eq!(
        (status.conditions[0].reason.as_str(), status.conditions[1].reason.as_str()),
        ("", "FailedToSync")
    );
}

#[test]
fn a_release_and_the_addons_of_a_cluster_of_the_go_operator() {
    let release: ClusterStackRelease = serde_json::from_value(json!({
        "metadata": {"name": "docker-ferrol-1-27-v2"},
        "spec": {},
        "status": {"kubernetesVersion": "1.27.7", "resources": [{"kind": "Pod"}], "conditions": conditions()},
    }))
    .unwrap();
    assert!(!release.status.unwrap().ready);
    let addon: ClusterAddon = serde_json::from_value(json!({
        "metadata": {"name": "cluster-addon-prod"},
        "spec": {"clusterRef": {"kind": "Cluster", "name": "prod"}, "hook": "AfterControlPlaneInitialized"},
        "status": {"ready": true, "stages": [{"name": "cni", "action": "apply", "phase": "done"}]},
    }))
    .unwrap();
    assert_eq!(addon.spec.cluster_ref.name.as_deref(), Some("prod"));
    assert_eq!(addon.status.unwrap().stages[0].phase, "done");
}
