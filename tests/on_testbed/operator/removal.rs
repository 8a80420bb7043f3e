//! Removals: an addon that a release drops, later the old release, a class, a stack repository.

use serde_json::json;

use crate::git::git;

use super::scenario::{STACK, Scenario, V1, V2, condition, eventually};
use super::state::generations;

/// Removes an addon from a release.
pub(crate) fn without(scenario: &Scenario, release: &str, addon: &str) {
    let release = scenario.path(&format!("releases/{release}"));
    std::fs::remove_dir_all(release.join("cluster-addon").join(addon)).unwrap();
    let stages = std::fs::read_to_string(release.join("clusteraddon.yaml")).unwrap();
    let name = format!("name: {addon}");
    assert!(stages.lines().any(|line| line.contains(&name)), "{stages}");
    std::fs::write(release.join("clusteraddon.yaml"), without_entries(&stages, addon)).unwrap();
}

/// The list entries of a YAML text without those of an addon; lines that are indented more belong to an entry.
fn without_entries(text: &str, addon: &str) -> String {
    let mut kept = Vec::new();
    let mut dropped: Option<usize> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if dropped.is_some_and(|of| indent <= of) {
            dropped = None;
        }
        if line.trim() == format!("- name: {addon}") {
            dropped = Some(indent);
        }
        if dropped.is_none() {
            kept.push(line);
        }
    }
    kept.join("\n") + "\n"
}

#[test]
fn dropped_addon_is_uninstalled_within_budget() {
    let scenario = Scenario::shared("removal");
    let monitoring = scenario.addon("monitoring");
    scenario.publish(&[V1, V2]);
    without(&scenario, V2, &monitoring);
    scenario.push("the second release has no monitoring");
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    scenario.wait_ready("clusterstack", STACK);
    for (cluster, workload) in [("a", "one"), ("b", "two")] {
        scenario.create_cluster(cluster, V1, workload);
    }
    for cluster in ["a", "b"] {
        scenario.wait_addons(cluster);
    }
    let workload = scenario.testbed.workload("one").unwrap();
    workload.assert_no_helm_uninstall("kube-system", &monitoring).unwrap();

    scenario.upgrade("a", V2);
    scenario.wait_gone("helmrelease", &scenario.object("a", "monitoring"));
    assert!(workload.helm_revisions("kube-system", &monitoring).unwrap().is_empty(), "uninstalled by Flux");
    for addon in ["cni", "ccm"] {
        workload.assert_no_helm_uninstall("kube-system", &scenario.addon(addon)).unwrap();
    }
    let addon = scenario.wait_at("a", V2);
    assert_eq!(addon["status"]["pruned"]["count"], 1);
    the_budget_is_used_up(&scenario);
    old_release_is_removed(&scenario);
}

/// One of eight may be removed in an hour: the second waits until a user allows it.
fn the_budget_is_used_up(scenario: &Scenario) {
    scenario.upgrade("b", V2);
    let addon = scenario.wait("clusteraddon", "cluster-addon-b", "held by the budget", |addon| {
        condition(addon, "Delivered").1 == "PruneBudgetExceeded"
    });
    assert_eq!(condition(&addon, "Ready").0, "Unknown", "nothing is broken: {addon:#}");
    assert_eq!(
        condition(&addon, "Reconciling"),
        ("True", "PruneBudgetExceeded", condition(&addon, "Reconciling").2)
    );
    let message = condition(&addon, "Delivered").2;
    assert!(message.contains("1 of 7 addon objects may be deleted per hour, the next at "), "{message}");
    let allowed = message.split("clusterstack.x-k8s.io/prune=").nth(1).unwrap();
    let allowed = allowed.split_whitespace().next().unwrap();
    let monitoring = scenario.object("b", "monitoring");
    assert!(scenario.get("helmrelease", &monitoring).is_some());
    what_waits_outlives_its_cluster_addon(scenario, &addon);
    scenario.patch(
        "clusterstack",
        STACK,
        &json!({"metadata": {"annotations": {"clusterstack.x-k8s.io/prune": allowed}}}),
    );
    scenario.wait_gone("helmrelease", &monitoring);
    scenario.wait_addons("b");
    let workload = scenario.testbed.workload("two").unwrap();
    assert!(
        workload.helm_revisions("kube-system", &scenario.addon("monitoring")).unwrap().is_empty(),
        "uninstalled by Flux"
    );
}

/// The next `ClusterAddon` takes over the objects of the deleted one, including one that waits for its removal.
fn what_waits_outlives_its_cluster_addon(scenario: &Scenario, addon: &serde_json::Value) {
    let uid = |name: &str| {
        let release = scenario.get("helmrelease", name).unwrap();
        assert!(release["spec"]["suspend"].is_null(), "{release:#}");
        crate::text(&release, "/metadata/uid").to_owned()
    };
    let names = ["monitoring", "cni", "ccm"].map(|addon| scenario.object("b", addon));
    let before = names.each_ref().map(|name| uid(name));
    let namespace = format!("--namespace={}", scenario.namespace);
    let delete = ["delete", "clusteraddon", "cluster-addon-b", &namespace];
    scenario.management().kubectl(&delete).unwrap();
    let old = crate::text(addon, "/metadata/uid");
    let next = scenario.wait("clusteraddon", "cluster-addon-b", "another one, held by the budget", |addon| {
        crate::text(addon, "/metadata/uid") != old && condition(addon, "Delivered").1 == "PruneBudgetExceeded"
    });
    assert_eq!(condition(&next, "Ready").0, "Unknown", "{next:#}");
    assert_eq!(names.each_ref().map(|name| uid(name)), before, "the same objects");
    let owner = |name: &str| {
        let release = scenario.get("helmrelease", name).unwrap();
        assert!(
            release["metadata"]["annotations"]["clusterstack.x-k8s.io/handed-over"].is_null(),
            "{release:#}"
        );
        crate::text(&release, "/metadata/ownerReferences/0/uid").to_owned()
    };
    assert!(names.iter().all(|name| owner(name) == crate::text(&next, "/metadata/uid")));
}

/// No cluster uses the first release now, and it is not offered: after its time it is deleted, and no cluster changes.
fn old_release_is_removed(scenario: &Scenario) {
    let addons = || {
        let mut all = generations(scenario);
        all.retain(|name, _| name.contains(" a.") || name.contains(" b."));
        all
    };
    let before = addons();
    scenario.apply_stack(&["v2"], &json!({"revisionHistoryLimit": 0}));
    scenario.retire(V1);
    scenario.wait_gone("clusterstackrelease", V1);
    eventually("the old class is gone", || scenario.get("clusterclass", V1).is_none());
    for cluster in ["a", "b"] {
        scenario.wait_addons(cluster);
    }
    assert_eq!(addons(), before);
}

#[test]
fn missing_stack_repository_deletes_nothing() {
    let scenario = Scenario::shared("vanishes");
    scenario.publish(&[V1]);
    let _operator = scenario.operator();
    // The server keeps its default branch, so another one is deleted.
    let push = |what: &str| git(&scenario.path("."), &["push", "--quiet", &scenario.url(), what]);
    push("HEAD:refs/heads/live");
    let git_source = json!({"url": scenario.url(), "ref": {"branch": "live"}, "interval": "2s"});
    scenario.apply_stack(&["v1"], &json!({"source": {"git": git_source}}));
    scenario.wait_ready("clusterstack", STACK);
    scenario.create_cluster("a", V1, "one");
    scenario.wait_addons("a");
    let before = generations(&scenario);
    push(":refs/heads/live");
    let stack = scenario.wait("clusterstack", STACK, "told", |stack| {
        condition(stack, "SourceReady").0 == "False" && condition(stack, "Ready").0 == "False"
    });
    assert!(condition(&stack, "SourceReady").2.contains("live"), "it says what is missing: {stack}");
    assert_eq!(condition(&scenario.wait_addons("a"), "Ready").0, "True");
    assert_eq!(generations(&scenario), before, "nothing was touched");
    push("HEAD:refs/heads/live");
    scenario.wait_ready("clusterstack", STACK);
    assert_eq!(generations(&scenario), before, "nothing was touched");
}

#[test]
fn class_without_stack_deletes_nothing() {
    let (scenario, _operator) = Scenario::shared("unknown").with_cluster();
    let before = generations(&scenario);
    scenario.upgrade("a", "somebody-elses");
    let addon = scenario.wait("clusteraddon", "cluster-addon-a", "told of the class", |addon| {
        condition(addon, "ReleaseReady").1 == "ClassUnknown"
    });
    let (status, _, message) = condition(&addon, "Ready");
    assert_eq!(status, "False");
    assert!(message.contains("somebody-elses"), "{addon}");
    assert_eq!(generations(&scenario), before);
    scenario.upgrade("a", V1);
    scenario.wait_addons("a");
    assert_eq!(generations(&scenario), before);
}
