//! Dependencies that Flux does not know: a chart waits for manifests, which wait for another chart.

use serde_json::{Value, json};

use super::releases::live;
use super::scenario::{Scenario, V1, V2, condition};

const BROKEN: &str = "docker-demo-1-34-v3";
const MENDED: &str = "docker-demo-1-34-v4";

/// Makes a release in which all addons but the CNI have other content.
fn derive(scenario: &Scenario, release: &str, image: &str, quota: &str) {
    scenario.derive(V2, release);
    let file = |path: &str| format!("releases/{release}/cluster-addon/{path}");
    for chart in ["ccm", "monitoring"] {
        let values = file(&format!("{}/values.yaml", scenario.addon(chart)));
        scenario.edit(&values, "busybox:1.37.0", image);
    }
    let manifest = file(&format!("{}/resource-quota.yaml", scenario.addon("policies")));
    scenario.edit(&manifest, "pods: \"100\"", quota);
}

/// The time at which Helm deployed the present revision, or Flux applied the present commit.
fn done_at(object: &Value) -> &str {
    let deployed = object.pointer("/status/history/0/lastDeployed");
    let applied = object.pointer("/status/history/0/lastReconciled");
    deployed.or(applied).and_then(Value::as_str).unwrap()
}

#[test]
fn chart_waits_for_manifests_and_these_for_a_chart() {
    let scenario = Scenario::shared("needs");
    scenario.publish(&[V1, V2]);
    derive(&scenario, BROKEN, "busybox:1.37.5", "no-such-field: {}");
    derive(&scenario, MENDED, "busybox:1.37.6", "pods: \"200\"");
    scenario.push("two releases, of which one has manifests that cannot be applied");
    let _operator = scenario.operator();
    let [ccm, monitoring, policies] = ["ccm", "monitoring", "policies"].map(|addon| scenario.addon(addon));
    let settings = json!({"addons": {
        &monitoring: {"dependsOn": [&policies]},
        &policies: {"dependsOn": [&ccm]},
    }});
    scenario.apply_stack(&["v1", "v3", "v4"], &json!({"flux": settings}));
    scenario.create_cluster("needs", V1, "one");
    scenario.wait_at("needs", V1);
    let object = |kind: &str, addon: &str| scenario.get(kind, &scenario.object("needs", addon)).unwrap();
    let first = object("helmrelease", "monitoring");

    scenario.upgrade("needs", BROKEN);
    let addon = scenario.wait("clusteraddon", "cluster-addon-needs", "held for the manifests", |addon| {
        let delivered = condition(addon, "Delivered");
        delivered.1 == "WaitingForDependency" && delivered.2.contains("no-such-field")
    });
    let message = condition(&addon, "Delivered").2;
    let waits = format!("{monitoring}: waits until {policies} is applied, as dependsOn says; {policies}: ");
    assert!(message.starts_with(&waits), "{message}");
    let why = live(&scenario, &["why", "needs"]);
    assert!(why.stdout.contains(&waits), "{}", why.stdout);
    let now = object("helmrelease", "monitoring");
    assert_eq!(now["spec"], first["spec"], "the chart keeps what it has");
    assert_ne!(object("helmrelease", "ccm")["status"]["history"][0]["version"], 1, "the first has moved");

    scenario.upgrade("needs", MENDED);
    scenario.wait_at("needs", MENDED);
    let [ccm, policies, monitoring] =
        [("helmrelease", "ccm"), ("kustomization", "policies"), ("helmrelease", "monitoring")]
            .map(|(kind, addon)| object(kind, addon));
    assert!(done_at(&ccm) <= done_at(&policies), "{ccm:#} {policies:#}");
    assert!(done_at(&policies) <= done_at(&monitoring), "{policies:#} {monitoring:#}");
    assert_eq!(monitoring["status"]["history"].as_array().unwrap().len(), 2, "not upgraded in between");
    scenario.assert_nothing_uninstalled("one");
}
