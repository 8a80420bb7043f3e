//! What goes when delivery is through Git: its file, and Flux does the rest.

use std::fs;
use std::path::Path;

use serde_json::json;
use stackflux_testbed::{Options, Testbed};

use super::fleet::{Fleet, PATH};
use super::removal::without_monitoring;
use super::scenario::{STACK, Scenario, V1, V2, eventually};

/// The names of all generated files that are objects, without their directories.
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
fn an_addon_a_release_a_cluster_and_a_stack_go_one_after_the_other() {
    let testbed = Testbed::start_own(&Options::default()).unwrap();
    let scenario = Scenario::on(&testbed, "gitremoval");
    let fleet = Fleet::followed(&scenario);
    scenario.publish(&[V1, V2]);
    without_monitoring(&scenario);
    scenario.push("the second release has no monitoring");
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1", "v2"], &fleet.delivery());
    scenario.wait_ready("clusterstack", STACK);
    scenario.create_cluster("a", V1, "one");
    scenario.wait_addons("a");
    let workload = testbed.workload("one").unwrap();

    scenario.upgrade("a", V2);
    scenario.wait_gone("helmrelease", "a.monitoring");
    assert!(workload.helm_revisions("kube-system", "monitoring").unwrap().is_empty(), "uninstalled by Flux");
    scenario.wait_at("a", V2);
    let files = objects(&fleet.clone("addon"));
    assert!(!files.contains(&"helmrelease-a.monitoring.yaml".to_owned()), "{files:?}");
    assert!(files.contains(&"helmrelease-a.cni.yaml".to_owned()), "{files:?}");

    let more = json!({"revisionHistoryLimit": 0, "delivery": fleet.delivery()["delivery"]});
    scenario.apply_stack(&["v2"], &more);
    scenario.retire(V1);
    scenario.wait_gone("clusterstackrelease", V1);
    eventually("the old class is gone", || scenario.get("clusterclass", V1).is_none());
    let files = objects(&fleet.clone("release"));
    assert!(files.iter().all(|file| !file.starts_with(&format!("helmrelease-{V1}"))), "{files:?}");
    scenario.wait_addons("a");

    scenario.clusters.delete(&scenario.namespace, &["a".to_owned()]).unwrap();
    scenario.wait_gone("clusteraddon", "cluster-addon-a");
    for addon in ["cni", "ccm"] {
        scenario.wait_gone("helmrelease", &format!("a.{addon}"));
        workload.assert_no_helm_uninstall("kube-system", addon).unwrap();
    }
    let namespace = format!("--namespace={}", scenario.namespace);
    let delete = ["delete", "clusterstack", STACK, &namespace, "--wait=false"];
    scenario.management().kubectl(&delete).unwrap();
    scenario.wait_gone("clusterstack", STACK);
    scenario.wait_gone("gitrepository", &format!("{STACK}-catalog"));
    assert_eq!(objects(&fleet.clone("stack")), [] as [String; 0]);
}
