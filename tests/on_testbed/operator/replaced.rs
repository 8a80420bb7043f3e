//! Replacements: an addon in another form, the source of a ClusterStack, copies of sources. Nothing is left behind.

use std::fs;

use serde_json::json;
use stackflux::runtime::api_server::TEST_FAILED;

use super::scenario::{STACK, Scenario, V1, V2, addon_status, eventually};
use super::state::generations;

/// Makes the addon `monitoring` of the second release a directory of manifests.
fn monitoring_as_manifests(scenario: &Scenario) {
    let name = scenario.addon("monitoring");
    let addon = scenario.path(&format!("releases/{V2}/cluster-addon/{name}"));
    fs::remove_dir_all(&addon).unwrap();
    fs::create_dir(&addon).unwrap();
    let manifest =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}-form, namespace: kube-system}}\n");
    fs::write(addon.join("configmap.yaml"), manifest).unwrap();
}

/// The operator relies on this if several releases write one source: an apply with the resource version of a missing
/// object creates the object, and conflicts with an existing one.
#[test]
fn apply_of_an_absent_object_never_overwrites_one() {
    let scenario = Scenario::shared("absent");
    let repository = |owner: &str| {
        json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "GitRepository",
            "metadata": {
                "name": "stacks", "namespace": scenario.namespace, "resourceVersion": "1", "labels": {"owner": owner},
            },
            "spec": {"url": scenario.url(), "ref": {"branch": "main"}, "interval": "1m", "suspend": true},
        })
    };
    scenario.management().apply(&repository("one").to_string()).unwrap();
    let refusal = scenario.management().apply(&repository("two").to_string()).unwrap_err().to_string();
    assert!(refusal.contains("the object has been modified"), "{refusal}");
    assert_eq!(scenario.get("gitrepository", "stacks").unwrap()["metadata"]["labels"]["owner"], "one");
}

/// The operator relies on this to distinguish a lost race from a refusal: the API server's answer to a patch whose test
/// fails.
#[test]
fn failed_patch_test_is_distinguished_from_a_refusal() {
    let scenario = Scenario::shared("tested");
    let patch = json!([{"op": "test", "path": "/metadata/uid", "value": "another"}]).to_string();
    let namespace = &*scenario.namespace;
    let arguments = ["patch", "namespace", namespace, "--type=json", "--patch", &patch];
    let answer = scenario.management().kubectl(&arguments).unwrap_err().to_string();
    assert!(answer.contains(TEST_FAILED), "{answer}");
}

/// Whether there is a copy of the chart of an addon.
fn has_chart(scenario: &Scenario, addon: &str) -> bool {
    let prefix = format!("HelmChart {}-", scenario.addon(addon));
    generations(scenario).keys().any(|name| name.starts_with(&prefix))
}

#[test]
fn replaced_object_is_deleted() {
    let scenario = Scenario::shared("replaced");
    scenario.publish(&[V1, V2]);
    monitoring_as_manifests(&scenario);
    scenario.push("the second release has monitoring as manifests");
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1", "v2"], &json!({"flux": {"sources": "PerNamespace"}}));
    scenario.wait_ready("clusterstack", STACK);
    scenario.create_cluster("a", V1, "one");
    scenario.wait_addons("a");
    assert!(has_chart(&scenario, "monitoring"));
    an_addon_in_another_form(&scenario);
    another_source(&scenario);
    copies_of_an_old_release(&scenario);
}

/// The chart is uninstalled, and then the manifests are applied.
fn an_addon_in_another_form(scenario: &Scenario) {
    scenario.upgrade("a", V2);
    scenario.wait_gone("helmrelease", &scenario.object("a", "monitoring"));
    let workload = scenario.testbed.workload("one").unwrap();
    let name = scenario.addon("monitoring");
    assert!(workload.helm_revisions("kube-system", &name).unwrap().is_empty(), "uninstalled by Flux");
    let addon = scenario.wait_at("a", V2);
    assert_eq!(addon["status"]["pruned"]["count"], 1, "it spends the budget: {addon:#}");
    let monitoring = addon_status(&addon, &name).unwrap();
    assert_eq!(
        (&monitoring["object"]["kind"], &monitoring["phase"]),
        (&json!("Kustomization"), &json!("Applied"))
    );
    let is_about_form = |note: &String| note.contains("in another form");
    eventually("an event tells it", || scenario.events("cluster-addon-a").iter().any(is_about_form));
}

/// The GitRepository that was made for the ClusterStack is deleted when the ClusterStack refers to another one; nothing
/// else changes.
fn another_source(scenario: &Scenario) {
    let repository = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "stacks", "namespace": scenario.namespace},
        "spec": {"url": scenario.url(), "ref": {"branch": "main"}, "interval": "1m"},
    });
    scenario.management().apply(&repository.to_string()).unwrap();
    let catalog = format!("{STACK}-catalog");
    let others = || {
        let mut others = generations(scenario);
        others.retain(|name, _| !name.ends_with(&catalog) && !name.ends_with(" stacks"));
        others
    };
    let before = others();
    let source = json!({"gitRepositoryRef": {"name": "stacks"}});
    scenario.apply_stack(&["v1", "v2"], &json!({"flux": {"sources": "PerNamespace"}, "source": source}));
    scenario.wait_gone("gitrepository", &catalog);
    scenario.wait_ready("clusterstack", STACK);
    assert_eq!(others(), before);
}

/// Copies that no cluster uses are deleted with their release.
fn copies_of_an_old_release(scenario: &Scenario) {
    assert!(has_chart(scenario, "monitoring"), "its release is there");
    let more = json!({
        "flux": {"sources": "PerNamespace"},
        "source": {"gitRepositoryRef": {"name": "stacks"}},
        "revisionHistoryLimit": 0,
    });
    scenario.apply_stack(&["v2"], &more);
    scenario.retire(V1);
    scenario.wait_gone("clusterstackrelease", V1);
    eventually("the chart is gone", || !has_chart(scenario, "monitoring"));
    scenario.wait_addons("a");
    for addon in ["cni", "ccm"] {
        assert!(has_chart(scenario, addon), "{addon} is in use");
    }
}
