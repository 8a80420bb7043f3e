//! Somebody changes what we made: in the workload cluster, in a generated object, and by suspending one.

use serde_json::{Value, json};
use stackflux_testbed::Object;

use super::scenario::{Scenario, V1, condition, eventually};

const ADDON: &str = "cluster-addon-a";

fn start(name: &'static str) -> Scenario<'static> {
    let scenario = Scenario::shared(name);
    scenario.publish(&[V1]);
    scenario.rename_charts(V1, name);
    scenario.push("charts of our own");
    scenario.apply_stack(&["v1"], &json!({}));
    scenario.create_cluster("a", V1, "one");
    scenario
}

fn is_told(scenario: &Scenario, words: &[&str]) -> bool {
    scenario.events(ADDON).iter().any(|note| words.iter().all(|word| note.contains(word)))
}

fn is_suspended(object: &Value) -> bool {
    object["spec"]["suspend"] == true
}

#[test]
fn what_somebody_changes_is_put_back_and_told() {
    let scenario = start("drift");
    let _operator = scenario.operator();
    scenario.wait_addons("a");
    in_the_workload_cluster(&scenario);
    in_the_values(&scenario);
}

/// An object of an addon is edited. A request to reconcile makes Flux look now, and not at its interval.
fn in_the_workload_cluster(scenario: &Scenario) {
    let workload = scenario.testbed.workload("one").unwrap();
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "cni", "image": "other"}]}}}});
    let image = image.to_string();
    let edit = ["patch", "daemonset", "drift-cni", "--namespace=kube-system", "--patch", &image];
    workload.kubectl(&edit).unwrap();
    let request = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}});
    scenario.patch("clusteraddon", ADDON, &request);
    let daemonset = Object { kind: "daemonset", namespace: "kube-system", name: "drift-cni" };
    let is_right = |found: &Value| found.to_string().contains("busybox:1.37.0");
    workload.wait(daemonset, "corrected", super::scenario::PATIENCE, is_right).unwrap();
    let handled = |addon: &Value| addon["status"]["lastHandledReconcileAt"] == "now";
    scenario.wait("clusteraddon", ADDON, "the request handled", handled);
    scenario.wait_addons("a");
}

/// A key is added below `spec.values`, which an apply alone would leave there, and Helm would install.
fn in_the_values(scenario: &Scenario) {
    let release = || scenario.get("helmrelease", "a.drift-ccm").unwrap();
    let before = release()["spec"].clone();
    scenario.patch("helmrelease", "a.drift-ccm", &json!({"spec": {"values": {"hole": {"in": "the wall"}}}}));
    eventually("the key is gone", || release()["spec"] == before);
    eventually("an event names who it was", || is_told(scenario, &["a.drift-ccm", "somebody"]));
    scenario.wait_addons("a");
    assert_eq!(release()["spec"], before);
}

#[test]
fn a_suspension_is_respected_and_shown() {
    let scenario = start("pause");
    let _operator = scenario.operator();
    scenario.wait_addons("a");
    by_a_person(&scenario);
    by_the_settings(&scenario);
    assert!(!is_told(&scenario, &["changed by"]), "{:?}", scenario.events(ADDON));
}

fn by_a_person(scenario: &Scenario) {
    scenario.patch("helmrelease", "a.pause-ccm", &json!({"spec": {"suspend": true}}));
    scenario.wait_addon("a", "pause-ccm", "Suspended", |addon| addon["phase"] == "Suspended");
    let is_shown = |addon: &Value| condition(addon, "Ready").1 == "Suspended";
    let addon = scenario.wait("clusteraddon", ADDON, "Ready with Suspended", is_shown);
    assert!(condition(&addon, "Ready").2.contains("pause-ccm"), "{:?}", condition(&addon, "Ready"));
    // New values are written all the same: they wait there for the day when it is resumed.
    let host = json!({"spec": {"controlPlaneEndpoint": {"host": "moved.example.org"}}});
    scenario.clusters.patch(&scenario.namespace, "a", &host).unwrap();
    let moved = |release: &Value| release["spec"]["values"].to_string().contains("moved.example.org");
    let release = scenario.wait("helmrelease", "a.pause-ccm", "with the new endpoint", moved);
    assert!(is_suspended(&release));
    scenario.patch("helmrelease", "a.pause-ccm", &json!({"spec": {"suspend": false}}));
    scenario.wait_addons("a");
}

/// The settings suspend two addons. A person had suspended one of them before, and that stays.
fn by_the_settings(scenario: &Scenario) {
    scenario.patch("helmrelease", "a.pause-monitoring", &json!({"spec": {"suspend": true}}));
    let addons = ["pause-cni", "pause-monitoring", "policies"];
    let settings = |suspend: bool| {
        let addons = addons.map(|addon| (addon.to_owned(), json!({"suspend": suspend})));
        json!({"flux": {"addons": addons.into_iter().collect::<serde_json::Map<_, _>>()}})
    };
    scenario.apply_stack(&["v1"], &settings(true));
    scenario.wait("helmrelease", "a.pause-cni", "suspended", is_suspended);
    scenario.wait("kustomization", "a.policies", "suspended", is_suspended);
    for addon in addons {
        scenario.wait_addon("a", addon, "Suspended", |addon| addon["phase"] == "Suspended");
    }
    scenario.apply_stack(&["v1"], &settings(false));
    scenario.wait("helmrelease", "a.pause-cni", "resumed", |object| !is_suspended(object));
    scenario.wait("kustomization", "a.policies", "resumed", |object| !is_suspended(object));
    for addon in ["pause-cni", "policies"] {
        scenario.wait_addon("a", addon, "Applied", |addon| addon["phase"] == "Applied");
    }
    let release = scenario.get("helmrelease", "a.pause-monitoring").unwrap();
    assert!(is_suspended(&release), "a person suspended it, and nobody else resumes it");
    scenario.patch("helmrelease", "a.pause-monitoring", &json!({"spec": {"suspend": null}}));
    scenario.wait_addons("a");
}
