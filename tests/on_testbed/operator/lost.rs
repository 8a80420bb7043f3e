//! A cluster that Cluster API cannot reach for a while.

use serde_json::{Value, json};

use super::scenario::{ADDONS, Scenario, condition, eventually};

/// The kind and name of each object of the cluster.
fn objects(scenario: &Scenario) -> [(&'static str, String); 4] {
    ADDONS.map(|addon| {
        let kind = if addon == "policies" { "kustomization" } else { "helmrelease" };
        (kind, scenario.object("a", addon))
    })
}

/// Writes Cluster API's condition about whether the cluster answers.
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
    let requested = |(kind, name): (_, String)| {
        let object = scenario.get(kind, &name).unwrap();
        let annotations = &object["metadata"]["annotations"];
        annotations["reconcile.fluxcd.io/requestedAt"].as_str().unwrap_or_default().to_owned()
    };
    objects(scenario).map(requested).to_vec()
}

#[test]
fn recovered_cluster_is_reconciled_once_at_once() {
    let (scenario, _operator) = Scenario::shared("lost").with_cluster();

    probe(&scenario, "False", "Remote connection probe failed, probe last succeeded 5 minutes ago");
    let is_lost = |addon: &Value| condition(addon, "ClusterAvailable").1 == "Unreachable";
    let addon = scenario.wait("clusteraddon", "cluster-addon-a", "ClusterAvailable=Unreachable", is_lost);
    let expected =
        ("False", "Unreachable", "Remote connection probe failed, probe last succeeded 5 minutes ago");
    assert_eq!(condition(&addon, "ClusterAvailable"), expected);
    let (status, reason, message) = condition(&addon, "Ready");
    assert_eq!((status, reason), ("False", "Unreachable"), "{message}");
    assert_eq!(requests(&scenario), [""; 4], "nothing is asked of Flux while the cluster is lost");

    probe(&scenario, "True", "Remote connection probe succeeded");
    scenario.wait_addons("a");
    let asked = requests(&scenario);
    assert!(!asked[0].is_empty() && asked.iter().all(|request| *request == asked[0]), "{asked:?}");
    for (kind, name) in objects(&scenario) {
        let handled = |object: &Value| object["status"]["lastHandledReconcileAt"] == *asked[0];
        scenario.wait(kind, &name, "looked at by Flux", handled);
    }
    let expected = "the cluster's API server is reachable again: asked Flux to reconcile 4 objects now";
    eventually("an event tells it", || {
        scenario.events("cluster-addon-a").iter().any(|note| note == expected)
    });

    // Other changes of the Cluster cause no requests.
    probe(&scenario, "True", "Remote connection probe succeeded again");
    scenario.set_endpoint("a", "moved.example.org");
    scenario.wait_endpoint("a", "moved.example.org");
    assert_eq!(requests(&scenario), asked, "asked once");
}
