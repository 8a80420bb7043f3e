//! Removal with delivery through Git: the operator removes the file, and Flux does the rest.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use stackflux_testbed::{Cluster, Object};

use super::fleet::{Fleet, PATH};
use super::removal::without;
use super::scenario::{STACK, Scenario, V1, V2, condition, eventually};

/// A release that lacks one addon more than the second one.
const V3: &str = "docker-demo-1-34-v3";

/// The names of all generated files of objects, without their directories.
fn objects(clone: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut directories = vec![clone.join(PATH)];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
            } else if entry.path().extension().is_some_and(|kind| kind == "yaml")
                && name != "kustomization.yaml"
            {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn removals_reach_git_one_by_one() {
    let scenario = Scenario::shared("gitremoval");
    let fleet = Fleet::followed(&scenario);
    scenario.publish(&[V1, V2]);
    without(&scenario, V2, &scenario.addon("monitoring"));
    scenario.push("the second release has no monitoring");
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1", "v2"], &fleet.delivery());
    scenario.wait_ready("clusterstack", STACK);
    scenario.create_cluster("a", V1, "one");
    scenario.wait_addons("a");
    let workload = scenario.testbed.workload("one").unwrap();

    scenario.upgrade("a", V2);
    let [cni, monitoring] = ["cni", "monitoring"].map(|addon| scenario.object("a", addon));
    scenario.wait_gone("helmrelease", &monitoring);
    assert!(
        workload.helm_revisions("kube-system", &scenario.addon("monitoring")).unwrap().is_empty(),
        "uninstalled by Flux"
    );
    scenario.wait_at("a", V2);
    let files = objects(&fleet.clone("addon"));
    assert!(!files.contains(&format!("helmrelease-{monitoring}.yaml")), "{files:?}");
    assert!(files.contains(&format!("helmrelease-{cni}.yaml")), "{files:?}");

    let more = json!({"revisionHistoryLimit": 0, "delivery": fleet.delivery()["delivery"]});
    scenario.apply_stack(&["v2"], &more);
    scenario.retire(V1);
    scenario.wait_gone("clusterstackrelease", V1);
    eventually("the old class is gone", || scenario.get("clusterclass", V1).is_none());
    let files = objects(&fleet.clone("release"));
    assert!(files.iter().all(|file| !file.starts_with(&format!("helmrelease-{V1}"))), "{files:?}");
    scenario.wait_addons("a");

    a_removal_ends_before_the_cluster_addon(&scenario, &fleet, workload);
    flux_prunes_before_the_next_cluster_addon(&scenario, &fleet, workload);
    scenario.clusters.delete(&scenario.namespace, &["a".to_owned()]).unwrap();
    scenario.wait_gone("clusteraddon", "cluster-addon-a");
    scenario.wait_gone("helmrelease", &cni);
    workload.assert_no_helm_uninstall("kube-system", &scenario.addon("cni")).unwrap();
    let namespace = format!("--namespace={}", scenario.namespace);
    let delete = ["delete", "clusterstack", STACK, &namespace, "--wait=false"];
    scenario.management().kubectl(&delete).unwrap();
    scenario.wait_gone("clusterstack", STACK);
    scenario.wait_gone("gitrepository", &format!("{STACK}-catalog"));
    assert_eq!(objects(&fleet.clone("stack")), [] as [String; 0]);
}

/// A deleted `ClusterAddon` stays until the addon that waits for the budget is uninstalled: the next one would not know
/// of it.
fn a_removal_ends_before_the_cluster_addon(scenario: &Scenario, fleet: &Fleet, workload: &Cluster) {
    scenario.derive(V2, V3);
    let ccm = scenario.object("a", "ccm");
    without(scenario, V3, &scenario.addon("ccm"));
    scenario.push("the third release has no ccm");
    scenario.apply_stack(&["v3"], &fleet.delivery());
    scenario.wait_ready("clusterstackrelease", V3);
    scenario.upgrade("a", V3);
    let (name, budget) = ("cluster-addon-a", "PruneBudgetExceeded");
    let held = |addon: &Value| condition(addon, "Delivered").1 == budget;
    let old = scenario.wait("clusteraddon", name, "held by the budget", held);
    let namespace = format!("--namespace={}", scenario.namespace);
    let delete = ["delete", "clusteraddon", name, &namespace, "--wait=false"];
    scenario.management().kubectl(&delete).unwrap();
    let waits = scenario.wait("clusteraddon", name, "deleted, and waiting", |addon| {
        condition(addon, "Delivered").2.ends_with("; the ClusterAddon is deleted after that")
    });
    assert_eq!(condition(&waits, "Ready").0, "Unknown", "{waits:#}");
    let release = scenario.get("helmrelease", &ccm).unwrap();
    assert!(release["spec"]["suspend"].is_null(), "{release:#}");

    let message = condition(&waits, "Delivered").2;
    let allowed = message.split("clusterstack.x-k8s.io/prune=").nth(1).unwrap();
    let allowed = allowed.split_whitespace().next().unwrap();
    let allow = json!({"metadata": {"annotations": {"clusterstack.x-k8s.io/prune": allowed}}});
    scenario.patch("clusterstack", STACK, &allow);
    scenario.wait_gone("helmrelease", &ccm);
    assert!(
        workload.helm_revisions("kube-system", &scenario.addon("ccm")).unwrap().is_empty(),
        "uninstalled by Flux"
    );
    let next = |addon: &Value| addon["metadata"]["uid"] != old["metadata"]["uid"];
    scenario.wait("clusteraddon", name, "another one", next);
    scenario.wait_at("a", V3);
    workload.assert_no_helm_uninstall("kube-system", &scenario.addon("cni")).unwrap();
}

/// Flux deletes the suspended objects of a deleted `ClusterAddon` before there is another one. The next one resumes
/// existing objects, and Flux would uninstall those that it deletes after that.
fn flux_prunes_before_the_next_cluster_addon(scenario: &Scenario, fleet: &Fleet, workload: &Cluster) {
    let (cni, name) = (scenario.object("a", "cni"), "cluster-addon-a");
    let revision = format!("sh.helm.release.v1.{}.v1", scenario.addon("cni"));
    let revision = Object { kind: "secret", namespace: "kube-system", name: &revision };
    let uid = || workload.get(revision).unwrap().map(|found| found["metadata"]["uid"].clone());
    let installed = uid().expect("the first revision is kept");
    let old = scenario.get("clusteraddon", name).unwrap();
    scenario.patch("gitrepository", "fleet", &json!({"spec": {"suspend": true}}));
    let namespace = format!("--namespace={}", scenario.namespace);
    let delete = ["delete", "clusteraddon", name, &namespace, "--wait=false"];
    scenario.management().kubectl(&delete).unwrap();
    let waits = scenario.wait("clusteraddon", name, "waits for Flux", |addon| {
        condition(addon, "Delivered").1 == "CommitNotApplied"
    });
    let message = condition(&waits, "Delivered").2;
    assert!(message.contains(&format!("Kustomization {}/fleet", scenario.namespace)), "{message}");
    assert!(!objects(&fleet.clone("without")).contains(&format!("helmrelease-{cni}.yaml")));
    assert_eq!(scenario.get("helmrelease", &cni).unwrap()["spec"]["suspend"], true);
    scenario.patch("gitrepository", "fleet", &json!({"spec": {"suspend": false}}));
    let is_next = |addon: &Value| addon["metadata"]["uid"] != old["metadata"]["uid"];
    scenario.wait("clusteraddon", name, "another one", is_next);
    scenario.wait_at("a", V3);
    assert!(scenario.get("helmrelease", &cni).unwrap()["spec"]["suspend"].is_null());
    assert_eq!(uid(), Some(installed), "uninstalled");
}
