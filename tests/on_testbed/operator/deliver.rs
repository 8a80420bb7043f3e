//! From a ClusterStack to Ready addons, and the effects of changing a cluster or a release.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use stackflux_testbed::{Audit, Write};

use super::scenario::{ADDONS, STACK, Scenario, V1, V2, condition};

/// Maximum time until a change of a cluster is written.
const MAX_DELAY: Duration = Duration::from_secs(1);

fn names(addon: &Value) -> Vec<&str> {
    addon["status"]["addons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|addon| addon["name"].as_str().unwrap())
        .collect()
}

#[test]
fn stack_and_two_clusters_become_ready_and_follow() {
    let scenario = Scenario::shared("deliver");
    let audit = scenario.testbed.audit();
    scenario.publish(&[V1, V2]);
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    scenario.wait_ready("clusterstackrelease", V1);
    assert!(scenario.get("clusterclass", V1).is_some(), "the class is there");
    scenario.create_cluster("a", V1, "one");
    scenario.create_cluster("b", V1, "two");
    for cluster in ["a", "b"] {
        assert_eq!(names(&scenario.wait_addons(cluster)), ADDONS.map(|addon| scenario.addon(addon)));
    }
    let all_ready = |stack: &Value| condition(stack, "ClustersReady").2 == "2 of 2 Clusters are ready";
    scenario.wait("clusterstack", STACK, "all Clusters ready", all_ready);
    scenario.wait_ready("clusterstack", STACK);
    one_field_changes(&scenario, &audit);
    a_new_release(&scenario, &audit);
    a_suspended_stack(&scenario, &audit);
}

/// The endpoint of one cluster changes: the addons that read it change within a second, and nothing else. The machine
/// may be busy for a moment, hence three attempts.
fn one_field_changes(scenario: &Scenario, audit: &Audit) {
    let mut reactions = [1, 2, 3].map(|number| {
        let begun = audit.mark().unwrap();
        let host = format!("moved-{number}.example.org");
        scenario.set_endpoint("a", &host);
        scenario.wait_endpoint_ready("a", &host);
        let writes = scenario.writes_since(begun);
        let ccm = scenario.object("a", "ccm");
        assert_eq!(delivered(&writes), [format!("helmreleases {ccm}")]);
        let moved = time_of(&writes, "admin", ("clusters", "a"));
        time_of(&writes, "stackflux", ("helmreleases", &ccm)).duration_since(moved).unsigned_abs()
    });
    reactions.sort();
    assert!(reactions[1] < MAX_DELAY, "much too long: {reactions:?}");
}

/// One cluster moves to a release in which one chart differs.
fn a_new_release(scenario: &Scenario, audit: &Audit) {
    let begun = audit.mark().unwrap();
    scenario.upgrade("a", V2);
    scenario.wait_at("a", V2);
    let monitoring = scenario.object("a", "monitoring");
    assert_eq!(delivered(&scenario.writes_since(begun)), [format!("helmreleases {monitoring}")]);
    assert!(scenario.get("clusterclass", V1).is_some(), "the old class stays, it is in use");
}

/// While its ClusterStack is suspended, a cluster that is upgraded keeps its objects, and its status says so.
fn a_suspended_stack(scenario: &Scenario, audit: &Audit) {
    let suspend = |suspend| scenario.patch("clusterstack", STACK, &json!({"spec": {"suspend": suspend}}));
    suspend(true);
    // The watches of ClusterStacks and of Clusters have no common order.
    let is_seen = |stack: &Value| stack["status"]["observedGeneration"] == stack["metadata"]["generation"];
    scenario.wait("clusterstack", STACK, "seen as suspended", is_seen);
    let begun = audit.mark().unwrap();
    scenario.upgrade("b", V2);
    let stays = |addon: &Value| condition(addon, "Delivered").1 == "Suspended";
    let addon = scenario.wait("clusteraddon", "cluster-addon-b", "suspended", stays);
    let release = &addon["status"]["release"];
    assert_eq!((&release["desired"], &release["applied"]), (&json!(V2), &json!(V1)), "{addon:#}");
    assert!(
        condition(&addon, "Delivered").2.starts_with(&format!("{}: ", scenario.addon("monitoring"))),
        "only that one is another"
    );
    assert_eq!(delivered(&scenario.writes_since(begun)), [] as [&str; 0]);
    suspend(false);
    scenario.wait_at("b", V2);
}

/// The operator's writes other than status, Leases and events: the resource and the name of each, once.
fn delivered(writes: &[Write]) -> Vec<String> {
    let is_one = |write: &&Write| {
        write.user == "stackflux"
            && write.subresource.is_empty()
            && !["leases", "events"].contains(&&*write.resource)
    };
    let mut all: Vec<String> =
        writes.iter().filter(is_one).map(|write| format!("{} {}", write.resource, write.name)).collect();
    all.sort();
    all.dedup();
    all
}

/// Time at which the API server answered the first write of an object by a user.
fn time_of(writes: &[Write], user: &str, (resource, name): (&str, &str)) -> Timestamp {
    let is_it = |write: &&Write| write.user == user && write.resource == resource && write.name == name;
    writes.iter().find(is_it).unwrap().time.parse().unwrap()
}
