//! A Flux that is too old for charts whose name changes.

use serde_json::{Value, json};
use stackflux_testbed::{Cluster, Operator};

use super::record::record;
use super::scenario::{Scenario, V1, condition, eventually, leads};

/// The CRD whose fields tell Flux's age, and the path of the field in the schema of a version.
pub(super) const CRD: &str = "helmreleases.helm.toolkit.fluxcd.io";
const FIELD: &str =
    "schema/openAPIV3Schema/properties/spec/properties/upgrade/properties/chartNameChangeStrategy";
/// A release whose network plugin is a chart of another name.
const RENAMED: &str = "docker-demo-1-34-v3";

/// Without the field by which helm-controller upgrades a renamed chart in place, the addon keeps what is installed, and says why.
/// The operator continues by itself when Flux is upgraded.
pub(super) fn renamed_chart_is_held(scenario: &Scenario<'_>, operator: &Operator) {
    scenario.derive(V1, RENAMED);
    let chart = format!("releases/{RENAMED}/cluster-addon/{}/Chart.yaml", scenario.addon("cni"));
    scenario.edit(&chart, "name: docker-demo-1-34-cluster-addon", "name: docker-demo-cni");
    scenario.push("a chart of another name");
    let (path, schema) = field(scenario.management());
    let management = scenario.management();
    management.kubectl(&["label", "crd", CRD, "app.kubernetes.io/version=v2.8.1", "--overwrite"]).unwrap();
    patch(scenario, &json!([{"op": "remove", "path": path}]));
    // It reads the CRD when it starts.
    operator.process().unwrap().kill().unwrap();
    operator.start_again().unwrap();
    eventually("it leads", || leads(operator));
    scenario.apply_stack(&["v1", "v2", "v3"], &json!({}));
    scenario.wait_ready("clusterstackrelease", RENAMED);
    scenario.upgrade("a", RENAMED);
    let held = scenario.wait("clusteraddon", "cluster-addon-a", "the chart is held", |addon| {
        condition(addon, "Ready").1 == "FluxTooOld"
    });
    let (status, _, message) = condition(&held, "Ready");
    assert_eq!(status, "False", "{message}");
    let charts = "chart docker-demo-1-34-cluster-addon before it installs docker-demo-cni";
    for part in [&scenario.addon("cni"), "v2.8.1", charts] {
        assert!(message.contains(part), "{message}");
    }
    record("flux-too-old", scenario);

    patch(scenario, &json!([{"op": "add", "path": path, "value": schema}]));
    scenario.wait_at("a", RENAMED);
    let moved = scenario.get("helmrelease", &scenario.object("a", "cni")).unwrap();
    assert_eq!(moved["status"]["history"][0]["chartName"], "docker-demo-cni", "{moved:#}");
    scenario.assert_nothing_uninstalled("one");
}

/// Returns the path of the field in the CRD, and its schema.
pub(super) fn field(management: &Cluster) -> (String, Value) {
    let found = management.kubectl(&["get", "crd", CRD, "--output=json"]).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    let versions = found["spec"]["versions"].as_array().unwrap();
    let version = versions.iter().position(|version| version["name"] == "v2").unwrap();
    let path = format!("/spec/versions/{version}/{FIELD}");
    let schema = found.pointer(&path).expect("the CRD of the testbed has the field").clone();
    (path, schema)
}

fn patch(scenario: &Scenario<'_>, changes: &Value) {
    let changes = format!("--patch={changes}");
    scenario.management().kubectl(&["patch", "crd", CRD, "--type=json", &changes]).unwrap();
}
