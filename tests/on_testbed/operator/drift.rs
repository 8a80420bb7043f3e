//! Changes of our objects by others: in the workload cluster, in a generated object, and a suspension.

use serde_json::{Value, json};
use stackflux_testbed::Object;

use super::scenario::{Scenario, TIMEOUT, condition, eventually};

const ADDON: &str = "cluster-addon-a";
/// The image in the chart `cni` of the first release.
const IMAGE: &str = "busybox:1.37.0";

fn has_event(scenario: &Scenario, words: &[&str]) -> bool {
    scenario.events(ADDON).iter().any(|note| words.iter().all(|word| note.contains(word)))
}

fn is_suspended(object: &Value) -> bool {
    object["spec"]["suspend"] == true
}

#[test]
fn drifted_object_is_restored_and_reported() {
    let (scenario, _operator) = Scenario::shared("drift").with_cluster();
    in_the_workload_cluster(&scenario);
    in_the_values(&scenario);
}

/// An object of an addon is edited. A request to reconcile makes Flux check now, and not at its interval: Flux corrects
/// the object, or only reports it if the settings say so.
fn in_the_workload_cluster(scenario: &Scenario) {
    let cni = scenario.addon("cni");
    edit_image(scenario);
    request(scenario, "first");
    wait_for_image(scenario, IMAGE);
    scenario.wait_addons("a");

    let detection = |mode: &str| json!({"flux": {"addons": {&cni: {"driftDetection": mode}}}});
    scenario.apply_stack(&["v1"], &detection("warn"));
    let only_reports = |release: &Value| release["spec"]["driftDetection"]["mode"] == "warn";
    scenario.wait("helmrelease", &scenario.object("a", "cni"), "driftDetection: warn", only_reports);
    edit_image(scenario);
    request(scenario, "second");
    let is_drifted = |addon: &Value| condition(addon, "Ready").1 == "Drifted";
    let addon = scenario.wait("clusteraddon", ADDON, "not ready for drift", is_drifted);
    let (status, _, message) = condition(&addon, "Ready");
    assert!(
        status == "False" && message.contains(&format!("DaemonSet/kube-system/{cni}")),
        "{status} {message}"
    );
    wait_for_image(scenario, "other");
    scenario.apply_stack(&["v1"], &detection("enabled"));
    wait_for_image(scenario, IMAGE);
    scenario.wait_addon("a", &cni, "Applied", |addon| addon["phase"] == "Applied");
}

/// Edits an object of the addon `cni`.
fn edit_image(scenario: &Scenario) {
    let container = json!({"name": "cni", "image": "other"});
    let edit = json!({"spec": {"template": {"spec": {"containers": [container]}}}}).to_string();
    let arguments =
        ["patch", "daemonset", &scenario.addon("cni"), "--namespace=kube-system", "--patch", &edit];
    scenario.testbed.workload("one").unwrap().kubectl(&arguments).unwrap();
}

fn wait_for_image(scenario: &Scenario, image: &str) {
    let daemonset = Object { kind: "daemonset", namespace: "kube-system", name: &scenario.addon("cni") };
    let has = |found: &Value| crate::text(found, "/spec/template/spec/containers/0/image") == image;
    scenario.testbed.workload("one").unwrap().wait(daemonset, image, TIMEOUT, has).unwrap();
}

/// Requests a reconciliation, and waits until it is done.
fn request(scenario: &Scenario, token: &str) {
    let request = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": token}}});
    scenario.patch("clusteraddon", ADDON, &request);
    let handled = |addon: &Value| addon["status"]["lastHandledReconcileAt"] == token;
    scenario.wait("clusteraddon", ADDON, "the request handled", handled);
}

/// A key is added below `spec.values`, which an apply alone would leave there, and Helm would install.
fn in_the_values(scenario: &Scenario) {
    let name = scenario.object("a", "ccm");
    let release = || scenario.get("helmrelease", &name).unwrap();
    let before = release()["spec"].clone();
    scenario.patch("helmrelease", &name, &json!({"spec": {"values": {"hole": {"in": "the wall"}}}}));
    eventually("the key is gone", || release()["spec"] == before);
    eventually("an event names who it was", || has_event(scenario, &[&name, "somebody"]));
    // The next one is reported as well, also within the time in which equal events are merged.
    let other =
        ["patch", "helmrelease", &name, &format!("--namespace={}", scenario.namespace), "--type=merge"];
    let change = ["--field-manager=another", r#"--patch={"spec": {"values": {"hole": {"in": "the roof"}}}}"#];
    scenario.management().kubectl(&[&other[..], &change].concat()).unwrap();
    eventually("an event names who it was now", || has_event(scenario, &[&name, "another"]));
    eventually("the other key is gone", || release()["spec"] == before);
    scenario.wait_addons("a");
    assert_eq!(release()["spec"], before);
}

#[test]
fn suspension_is_respected_and_shown() {
    let (scenario, _operator) = Scenario::shared("pause").with_cluster();
    by_a_person(&scenario);
    by_the_settings(&scenario);
    assert!(!has_event(&scenario, &["changed by"]), "{:?}", scenario.events(ADDON));
}

fn by_a_person(scenario: &Scenario) {
    let (ccm, release) = (scenario.addon("ccm"), scenario.object("a", "ccm"));
    scenario.patch("helmrelease", &release, &json!({"spec": {"suspend": true}}));
    scenario.wait_addon("a", &ccm, "Suspended", |addon| addon["phase"] == "Suspended");
    let is_shown = |addon: &Value| condition(addon, "Ready").1 == "Suspended";
    let addon = scenario.wait("clusteraddon", ADDON, "Ready with Suspended", is_shown);
    assert!(condition(&addon, "Ready").2.contains(&ccm), "{:?}", condition(&addon, "Ready"));
    // New values are written nevertheless: they wait there until the object is resumed.
    scenario.set_endpoint("a", "moved.example.org");
    assert!(is_suspended(&scenario.wait_endpoint("a", "moved.example.org")));
    scenario.patch("helmrelease", &release, &json!({"spec": {"suspend": false}}));
    scenario.wait_addons("a");
}

/// The settings suspend two addons. A user had suspended one of them before, and that suspension stays.
fn by_the_settings(scenario: &Scenario) {
    let [cni, monitoring, policies] =
        ["cni", "monitoring", "policies"].map(|addon| scenario.object("a", addon));
    scenario.patch("helmrelease", &monitoring, &json!({"spec": {"suspend": true}}));
    let addons = ["cni", "monitoring", "policies"].map(|addon| scenario.addon(addon));
    let settings = |suspend: bool| {
        let one = |addon: &String| (addon.clone(), json!({"suspend": suspend}));
        json!({"flux": {"addons": addons.iter().map(one).collect::<serde_json::Map<_, _>>()}})
    };
    scenario.apply_stack(&["v1"], &settings(true));
    scenario.wait("helmrelease", &cni, "suspended", is_suspended);
    scenario.wait("kustomization", &policies, "suspended", is_suspended);
    for addon in &addons {
        scenario.wait_addon("a", addon, "Suspended", |addon| addon["phase"] == "Suspended");
    }
    scenario.apply_stack(&["v1"], &settings(false));
    scenario.wait("helmrelease", &cni, "resumed", |object| !is_suspended(object));
    scenario.wait("kustomization", &policies, "resumed", |object| !is_suspended(object));
    for addon in [&addons[0], &addons[2]] {
        scenario.wait_addon("a", addon, "Applied", |addon| addon["phase"] == "Applied");
    }
    let release = scenario.get("helmrelease", &monitoring).unwrap();
    assert!(is_suspended(&release), "a person suspended it, and nobody else resumes it");
    scenario.patch("helmrelease", &monitoring, &json!({"spec": {"suspend": null}}));
    scenario.wait_addons("a");
}
