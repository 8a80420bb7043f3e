//! From a ClusterStack to Ready addons, and what a change of a cluster or a release changes.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scenario::{STACK, Scenario, V1, V2, condition};

const ADDONS: [&str; 4] = ["cni", "ccm", "monitoring", "policies"];

fn names(addon: &Value) -> Vec<&str> {
    addon["status"]["addons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|addon| addon["name"].as_str().unwrap())
        .collect()
}

#[test]
fn a_stack_and_two_clusters_get_ready_and_follow_what_changes() {
    let scenario = Scenario::shared("deliver");
    scenario.publish(&[V1, V2]);
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    scenario.wait_ready("clusterstackrelease", V1);
    assert!(scenario.get("clusterclass", V1).is_some(), "the class is there");
    scenario.create_cluster("a", V1, "one");
    scenario.create_cluster("b", V1, "two");
    for cluster in ["a", "b"] {
        assert_eq!(names(&scenario.wait_addons(cluster)), ADDONS);
    }
    let stack = scenario.wait_ready("clusterstack", STACK);
    assert_eq!(condition(&stack, "AddonsReady").2, "2 of 2 clusters");
    one_field_changes(&scenario);
    a_new_release(&scenario);
}

/// The endpoint of one cluster changes: what reads it changes, within a second, and nothing else.
fn one_field_changes(scenario: &Scenario) {
    let before = scenario.versions();
    let begun = Instant::now();
    scenario
        .clusters
        .patch(
            &scenario.namespace,
            "a",
            &json!({"spec": {"controlPlaneEndpoint": {"host": "moved.example.org"}}}),
        )
        .unwrap();
    let moved = |release: &Value| release["spec"]["values"].to_string().contains("moved.example.org");
    scenario.wait("helmrelease", "a.ccm", "with the new endpoint", moved);
    assert!(begun.elapsed() < Duration::from_secs(10), "much too long: {:?}", begun.elapsed());
    scenario.wait_addons("a");
    let changed = changes(&before, &scenario.versions());
    assert_eq!(changed, ["HelmRelease a.ccm"]);
}

/// One cluster moves to a release in which one chart differs.
fn a_new_release(scenario: &Scenario) {
    let before = scenario.versions();
    scenario.clusters.upgrade(&scenario.namespace, "a", V2, "v1.34.0").unwrap();
    let is_at =
        |addon: &Value| addon["status"]["release"]["applied"] == V2 && condition(addon, "Ready").0 == "True";
    scenario.wait("clusteraddon", "cluster-addon-a", "at the second release", is_at);
    assert_eq!(changes(&before, &scenario.versions()), ["HelmRelease a.monitoring"]);
    assert!(scenario.get("clusterclass", V1).is_some(), "the old class stays, it is in use");
}

/// What has another generation, or is new.
fn changes(before: &[(String, String)], after: &[(String, String)]) -> Vec<String> {
    after.iter().filter(|object| !before.contains(object)).map(|(name, _)| name.clone()).collect()
}
