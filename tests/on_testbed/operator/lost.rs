//! A cluster that Cluster API does not reach for a while.

use serde_json::{Value, json};

use super::scenario::{Scenario, V1, condition, eventually};

const OBJECTS: [(&str, &str); 4] = [
    ("helmrelease", "a.lost-cni"),
    ("helmrelease", "a.lost-ccm"),
    ("helmrelease", "a.lost-monitoring"),
    ("kustomization", "a.policies"),
];

/// Says as Cluster API whether the cluster answers.
fn probe(scenario: &Scenario, status: &str, message: &str) {
    let probe = json!({
        "type": "RemoteConnectionProbe",
        "status": status,
        "reason": if status == "True" { "ProbeSucceeded" } else { "ProbeFailed" },
        "message": message,
        "lastTransitionTime": "2026-11-21T12:00:00Z",
    });
    let change = json!({"status": {"conditions": [probe]}});
    scenario.clusters.patch_status(&scenario.namespace, "a", &change).unwrap();
}

fn requests(scenario: &Scenario) -> Vec<String> {
    let requested = |(kind, name)| {
        let object = scenario.get(kind, name).unwrap();
        let annotations = &object["metadata"]["annotations"];
        annotations["reconcile.fluxcd.io/requestedAt"].as_str().unwrap_or_default().to_owned()
    };
    OBJECTS.map(requested).to_vec()
}

#[test]
fn a_cluster_that_comes_back_is_looked_at_once_and_at_once() {
    let scenario = Scenario::shared("lost");
    scenario.publish(&[V1]);
    scenario.rename_charts(V1, "lost");
    scenario.push("charts of our own");
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1"], &json!({}));
    scenario.create_cluster("a", V1, "one");
    scenario.wait_addons("a");

    probe(&scenario, "False", "Remote connection probe failed, probe last succeeded 5 minutes ago");
    let is_lost = |addon: &Value| condition(addon, "ClusterAvailable").1 == "Unreachable";
    let addon = scenario.wait("clusteraddon", "cluster-addon-a", "ClusterAvailable=Unreachable", is_lost);
    let told = ("False", "Unreachable", "Remote connection probe failed, probe last succeeded 5 minutes ago");
    assert_eq!(condition(&addon, "ClusterAvailable"), told);
    let (status, reason, message) = condition(&addon, "Ready");
    assert_eq!((status, reason), ("False", "Unreachable"), "{message}");
    assert_eq!(requests(&scenario), [""; 4], "nothing is asked of Flux while the cluster is lost");

    probe(&scenario, "True", "Remote connection probe succeeded");
    scenario.wait_addons("a");
    let asked = requests(&scenario);
    assert!(!asked[0].is_empty() && asked.iter().all(|request| *request == asked[0]), "{asked:?}");
    for (kind, name) in OBJECTS {
        let handled = |object: &Value| object["status"]["lastHandledReconcileAt"] == *asked[0];
        scenario.wait(kind, name, "looked at by Flux", handled);
    }
    let told = "the cluster's API server answers again: Flux was asked to look at 4 objects now";
    eventually("an event tells it", || scenario.events("cluster-addon-a").iter().any(|note| note == told));

    // What else happens to the Cluster asks for nothing.
    probe(&scenario, "True", "Remote connection probe succeeded again");
    let host = json!({"spec": {"controlPlaneEndpoint": {"host": "moved.example.org"}}});
    scenario.clusters.patch(&scenario.namespace, "a", &host).unwrap();
    let moved = |release: &Value| release["spec"]["values"].to_string().contains("moved.example.org");
    scenario.wait("helmrelease", "a.lost-ccm", "with the new endpoint", moved);
    assert_eq!(requests(&scenario), asked, "asked once");
}
