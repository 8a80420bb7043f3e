//! Delivery through Git: the operator commits, Flux applies, and the operator sees what Flux has applied.

use std::path::Path;

use serde_json::json;

use super::diary::Diary;
use super::fleet::{Fleet, PATH};
use super::scenario::{ADDONS, STACK, Scenario, V1, V2, condition, eventually};
use crate::git::git;

/// The files that the last commit changed.
fn changed(clone: &Path) -> Vec<String> {
    git(clone, &["show", "--format=", "--name-only", "HEAD"]).lines().map(str::to_owned).collect()
}

#[test]
fn committed_objects_are_applied_and_reported() {
    let scenario = Scenario::shared("bygit");
    let fleet = Fleet::followed(&scenario);
    scenario.publish(&[V1, V2]);
    let begun = scenario.testbed.audit().mark().unwrap();
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1", "v2"], &fleet.delivery());
    scenario.wait_ready("clusterstackrelease", V1);
    scenario.create_cluster("a", V1, "one");
    scenario.wait_addons("a");
    let stack = scenario.wait("clusterstack", STACK, "delivered", |stack| {
        condition(stack, "Delivered").1 == "Delivered" && condition(stack, "Ready").0 == "True"
    });
    let delivery = &stack["status"]["delivery"];
    assert_eq!(delivery["kustomization"], json!(format!("{}/fleet", scenario.namespace)));
    assert_eq!(delivery["commit"], json!(fleet.commits("first")[0]), "{delivery}");
    let writes = scenario.operator_writes_since(begun);
    let flux = writes
        .iter()
        .filter(|write| ["helmreleases", "helmcharts", "gitrepositories"].contains(&&*write.resource));
    assert_eq!(flux.map(|write| format!("{write:?}")).collect::<Vec<_>>(), [] as [String; 0]);
    one_field(&scenario, &fleet);
    edited_file_is_kept(&scenario, &fleet);
    an_upgrade(&scenario, &fleet);
    lost_commit_is_delivered_again(&scenario, &fleet);
    cluster_is_deleted(&scenario, &fleet);
}

/// One field of one cluster changes: one commit, and nothing but files of the cluster in it.
fn one_field(scenario: &Scenario<'_>, fleet: &Fleet<'_>) {
    let before = fleet.commits("before").len();
    scenario.set_endpoint("a", "moved.example.org");
    scenario.wait_endpoint_ready("a", "moved.example.org");
    let clone = fleet.clone("after");
    assert_eq!(fleet.commits("count").len(), before + 1);
    let directory = format!("{PATH}/clusters/{}/a/", scenario.namespace);
    let files = changed(&clone);
    assert!(files.iter().all(|file| file.starts_with(&directory)), "{files:?}");
    assert!(
        files.contains(&format!("{directory}helmrelease-{}.yaml", scenario.object("a", "ccm"))),
        "{files:?}"
    );
    let message = git(&clone, &["log", "-1", "--format=%B"]);
    assert!(message.starts_with("stackflux: cluster "), "{message}");
    assert!(message.contains("changed HelmRelease"), "{message}");
}

/// The operator does not overwrite a file that another author edited, and the cluster's status names the file.
fn edited_file_is_kept(scenario: &Scenario<'_>, fleet: &Fleet<'_>) {
    let file = format!("clusters/{}/a/helmrelease-{}.yaml", scenario.namespace, scenario.object("a", "cni"));
    fleet.edit("edit", &file, |text| format!("# mine\n{text}"));
    scenario.set_endpoint("a", "again.example.org");
    let addon = scenario.wait("clusteraddon", "cluster-addon-a", "held", |addon| {
        condition(addon, "Delivered").1 == "FileEdited"
    });
    let message = condition(&addon, "Delivered").2;
    assert!(message.contains(&file) && message.contains("edited since"), "{message}");
    let stack =
        scenario.wait("clusterstack", STACK, "held", |stack| condition(stack, "Delivered").1 == "FileEdited");
    assert!(condition(&stack, "Delivered").2.contains(&file));
    fleet.edit("undo", &file, |text| text.trim_start_matches("# mine\n").to_owned());
    scenario.wait_endpoint_ready("a", "again.example.org");
}

/// The cluster is upgraded, and only files that differ are committed.
fn an_upgrade(scenario: &Scenario<'_>, fleet: &Fleet<'_>) {
    scenario.upgrade("a", V2);
    scenario.wait_at("a", V2);
    let clone = fleet.clone("upgrade");
    let file =
        format!("clusters/{}/a/helmrelease-{}.yaml", scenario.namespace, scenario.object("a", "monitoring"));
    let release = clone.join(PATH).join(file);
    assert!(std::fs::read_to_string(release).unwrap().contains(V2));
}

/// A force push drops the last commit: the operator says so, and commits the same again.
fn lost_commit_is_delivered_again(scenario: &Scenario<'_>, fleet: &Fleet<'_>) {
    let diary = Diary::of(scenario);
    let clone = fleet.clone("force");
    let lost = git(&clone, &["rev-parse", "HEAD"]).trim().to_owned();
    git(&clone, &["push", "--quiet", "--force", "origin", "HEAD~1:main"]);
    diary.wait_for(&format!("Delivered=Unknown CommitLost: branch main does not contain commit {lost} now"));
    let stack = scenario.wait("clusterstack", STACK, "delivered", |stack| {
        condition(stack, "Delivered").1 == "Delivered"
            && stack["status"]["delivery"]["commit"] != lost.as_str()
    });
    assert_eq!(stack["status"]["delivery"]["commit"], json!(fleet.commits("again")[0]));
    assert_eq!(
        git(&fleet.clone("same"), &["rev-parse", "HEAD^{tree}"]),
        git(&clone, &["rev-parse", "HEAD^{tree}"])
    );
    scenario.wait_at("a", V2);
}

/// The cluster is deleted: its files are removed, and nothing is uninstalled.
fn cluster_is_deleted(scenario: &Scenario<'_>, fleet: &Fleet<'_>) {
    scenario.clusters.delete(&scenario.namespace, &["a".to_owned()]).unwrap();
    for addon in ADDONS.iter().filter(|addon| **addon != "policies") {
        scenario.wait_gone("helmrelease", &scenario.object("a", addon));
    }
    scenario.wait_gone("clusteraddon", "cluster-addon-a");
    scenario.assert_nothing_uninstalled("one");
    eventually("its files are gone", || {
        let clone = fleet.clone("gone");
        !clone.join(PATH).join(format!("clusters/{}/a", scenario.namespace)).exists()
    });
}
