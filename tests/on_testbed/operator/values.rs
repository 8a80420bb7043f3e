//! The values of a ClusterStack: their ranks, Secrets and `ConfigMaps` that Flux reads, and patches of what Helm renders.

use std::fs;

use serde_json::{Value, json};
use stackflux_testbed::Object;

use super::releases::live;
use super::scenario::{Scenario, V1, addon_status, condition};
use crate::support::scratch;

const ADDON: &str = "cluster-addon-a";

/// Each rank sets its own key and those of the higher ones.
fn ranked(own: &str, keys: &[&str]) -> Value {
    json!({"v": keys.iter().map(|key| ((*key).to_owned(), json!(own))).collect::<Value>()})
}

/// Pushes a chart that renders its values, and returns the URL of the repository and the commit.
fn push_chart(scenario: &Scenario<'_>) -> (String, String) {
    let work = scratch(&format!("{}-files", scenario.namespace));
    fs::create_dir_all(work.join("probe/templates")).unwrap();
    let mut values = ranked("chart", &["chart", "reference", "component", "platform", "rendered", "target"]);
    values["list"] = json!([1, 2, 3]);
    values["gone"] = json!("chart");
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: platform-values, namespace: kube-system}\n\
               data: {values: {{ .Values | toJson | quote }}}\n";
    for (path, text) in [
        ("probe/Chart.yaml", "apiVersion: v2\nname: probe\nversion: 0.1.0\n"),
        ("probe/values.yaml", &values.to_string()),
        ("probe/templates/map.yaml", map),
    ] {
        fs::write(work.join(path), text).unwrap();
    }
    let repository = format!("{}-platform", scenario.namespace);
    let commit = scenario.testbed.git().push_directory(&repository, "main", &work, "probe").unwrap();
    (scenario.testbed.git().url(&repository), commit)
}

#[test]
fn platform_values_are_installed_by_their_ranks() {
    let scenario = Scenario::shared("values");
    scenario.publish(&[V1]);
    let name = scenario.addon("probe");
    let (url, commit) = push_chart(&scenario);
    let own = ranked("component", &["component", "platform", "rendered", "target"]);
    let components = json!({
        "credentials": [{"url": url, "insecure": true}],
        "repositories": [{"name": "platform", "git": {"url": url, "ref": {"commit": commit}}, "components": [{
            "name": name, "chart": "probe", "values": own,
            "template": "v: {rendered: {{ .Cluster.metadata.name }}, target: rendered}\n",
        }]}],
    });
    let object = |kind: &str, name: &str, data: &Value| {
        let object = json!({
            "apiVersion": "v1", "kind": kind,
            "metadata": {
                "name": name, "namespace": scenario.namespace, "labels": {"reconcile.fluxcd.io/watch": "Enabled"},
            },
            if kind == "Secret" { "stringData" } else { "data" }: data,
        });
        scenario.management().apply(&object.to_string()).unwrap();
    };
    let below = ranked("reference", &["reference", "component", "platform", "rendered", "target"]);
    object("ConfigMap", "site", &json!({"values.yaml": below.to_string(), "one": "target"}));
    let mut values = ranked("platform", &["platform", "rendered", "target"]);
    values["list"] = json!([9]);
    values["gone"] = json!(null);
    let patch = "- {op: add, path: /data/patched, value: \"yes\"}";
    let settings = json!({
        "values": values,
        "valuesFrom": [
            {"kind": "ConfigMap", "name": "site", "valuesKey": "one", "targetPath": "v.target"},
            {"kind": "ConfigMap", "name": "site"},
        ],
        "postRenderers": [{"kustomize": {"patches": [{"patch": patch, "target": {"kind": "ConfigMap"}}]}}],
    });
    let apply = |settings: &Value| {
        let flux = json!({"addons": {&name: settings}});
        scenario.apply_stack(&["v1"], &json!({"components": components, "flux": flux}));
    };
    let _operator = scenario.operator();
    apply(&settings);
    scenario.create_cluster("a", V1, "one");
    let addon = scenario.wait_addons("a");
    let map = Object { kind: "configmap", namespace: "kube-system", name: "platform-values" };
    let workload = scenario.testbed.workload("one").unwrap();
    let found = workload.get(map).unwrap().unwrap();
    let installed =
        |found: &Value| -> Value { serde_json::from_str(found["data"]["values"].as_str().unwrap()).unwrap() };
    let expected = json!({"list": [9], "v": {
        "chart": "chart", "reference": "reference", "component": "component", "platform": "platform", "rendered": "a",
        "target": "target",
    }});
    assert_eq!(installed(&found), expected);
    assert_eq!(found["data"]["patched"], "yes");
    let message = addon_status(&addon, &name).unwrap()["message"].as_str().unwrap();
    let overlaps = "valuesFrom ConfigMap site replaces rendered path v.target; values has no effect at v.rendered, v.target: \
                    the values template renders it";
    assert!(message.contains(overlaps), "{message}");

    // A Secret that is missing, then there, and then changed: Flux follows it at once because of its label.
    let mut with_secret = settings;
    with_secret["valuesFrom"] =
        json!([{"kind": "Secret", "name": "of-{cluster}", "valuesKey": "key", "targetPath": "password"}]);
    apply(&with_secret);
    let words = "could not resolve Secret chart values reference";
    let addon = scenario.wait("clusteraddon", ADDON, "the Secret is missing", |addon| {
        addon_status(addon, &name).is_some_and(|of| of["message"].to_string().contains(words))
    });
    assert_ne!(condition(&addon, "Ready").0, "True", "{addon:#}");
    let why = live(&scenario, &["why", "a"]).stdout;
    assert!(why.contains(words) && why.contains("of-a"), "{why}");
    for password in ["first", "second"] {
        object("Secret", "of-a", &json!({"key": password}));
        let has = |found: &Value| installed(found)["password"] == password;
        workload.wait(map, password, super::scenario::TIMEOUT, has).unwrap();
    }
    scenario.wait_addons("a");
}
