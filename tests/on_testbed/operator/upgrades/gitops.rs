//! Clusters from Git, and addons through Git.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use stackflux_testbed::{Gitea, Testbed};

use super::super::fleet::{Fleet, PATH};
use super::super::reviewed::Reviewed;
use super::super::scenario::{condition, eventually};
use super::{HOOK, NEW, OLD, Upgrades};
use crate::git::git;
use crate::support::scratch;

/// Flux applies two Clusters every ten seconds. One has the annotation in its manifest, and the gate says whose it is.
pub(super) fn clusters_come_from_git_and_one_with_the_annotation(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "applied-gate", &[OLD, NEW]);
    let scenario = &upgrades.scenario;
    let _operator = upgrades.start(&[]);
    for (cluster, workload) in [("plain", "one"), ("hooked", "two")] {
        upgrades.add_kubeconfig(&scenario.namespace, cluster, workload);
    }
    let fleet = Fleet::followed(scenario);
    let work = scratch("applied-gate-fleet");
    fs::create_dir_all(work.join(PATH)).unwrap();
    git(&work, &["init", "--quiet", "--initial-branch=main"]);
    git(&work, &["remote", "add", "origin", &testbed.git().url(&format!("{}-fleet", scenario.namespace))]);
    let commit = |clusters: &[&Value]| commit(&work, clusters);
    let (plain, hooked) = (
        upgrades.new_cluster(&scenario.namespace, "plain", 0),
        upgrades.new_cluster(&scenario.namespace, "hooked", 0),
    );
    commit(&[&plain, &hooked]);
    for cluster in ["plain", "hooked"] {
        scenario.wait_at(cluster, OLD.0);
        assert_eq!(upgrades.hook(cluster), OLD.1, "Flux does not remove what it does not apply");
    }

    let moved = |mut cluster: Value| {
        cluster["spec"]["topology"]["classRef"]["name"] = json!(NEW.0);
        cluster["spec"]["topology"]["version"] = json!(NEW.1);
        cluster
    };
    let (plain, hooked) = (moved(plain), moved(hooked));
    let mut with_hook = hooked.clone();
    with_hook["metadata"]["annotations"] = json!({HOOK: ""});
    commit(&[&plain, &with_hook]);
    let is_foreign = |addon: &Value| {
        let (status, reason, message) = condition(addon, "UpgradeGate");
        (status, reason) == ("False", "ForeignAnnotation") && message.starts_with("kustomize-controller sets")
    };
    scenario.wait("clusteraddon", "cluster-addon-hooked", "ForeignAnnotation", is_foreign);
    upgrades.wait_upgraded("plain", NEW);
    // Cluster API is faster than Flux, which puts the annotation back within ten seconds.
    scenario.wait_at("hooked", NEW.0);
    commit(&[&plain, &hooked]);
    eventually("the annotation is the operator's", || upgrades.hook("hooked") == NEW.1);
    upgrades.wait_upgraded("hooked", NEW);
    drop(fleet);
}

/// Commits these Clusters, and nothing else.
fn commit(work: &Path, clusters: &[&Value]) {
    let documents: Vec<String> = clusters.iter().map(ToString::to_string).collect();
    fs::write(work.join(PATH).join("clusters.yaml"), documents.join("\n---\n")).unwrap();
    git(work, &["add", "--all"]);
    git(work, &["commit", "--quiet", "--message=clusters"]);
    git(work, &["push", "--quiet", "origin", "HEAD:main"]);
}

/// The gate waits until the commit of the first addons is applied.
pub(super) fn addons_are_delivered_through_git(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "committed-gate", &[OLD, NEW]);
    let scenario = &upgrades.scenario;
    let fleet = Fleet::followed(scenario);
    let _operator = scenario.operator();
    for minor in ["1.34", "1.35"] {
        upgrades.apply_stack_with(minor, &["v1"], &fleet.delivery());
    }
    upgrades.create_cluster(&scenario.namespace, "committed", "one", 0);
    scenario.wait_at("committed", OLD.0);
    upgrades.move_to("committed", NEW);
    upgrades.wait_upgraded("committed", NEW);
    scenario.assert_nothing_uninstalled("one");
}

/// The gate waits until a user has merged the pull request of the first addons.
pub(super) fn addons_wait_for_their_pull_requests(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "reviewed-gate", &[OLD, NEW]);
    let scenario = &upgrades.scenario;
    let gitea = Gitea::start().unwrap();
    let reviewed = Reviewed::start(scenario, &gitea);
    let _operator = scenario.operator();
    for minor in ["1.34", "1.35"] {
        upgrades.apply_stack_with(minor, &["v1"], &reviewed.delivery());
    }
    let merge_until = |what: &str, done: &dyn Fn() -> bool| {
        eventually(what, || {
            // The operator pushes again to a branch that another merge is in conflict with.
            if let Some(number) = reviewed.open().first() {
                reviewed.merge(*number);
            }
            done()
        });
    };
    let is_at = |release: &str| {
        let addon = scenario.get("clusteraddon", "cluster-addon-reviewed");
        addon.is_some_and(|addon| {
            addon["status"]["release"]["applied"] == release && condition(&addon, "Ready").0 == "True"
        })
    };
    upgrades.add_kubeconfig(&scenario.namespace, "reviewed", "two");
    let cluster = upgrades.new_cluster(&scenario.namespace, "reviewed", 0).to_string();
    merge_until("the Cluster is admitted", &|| scenario.management().apply(&cluster).is_ok());
    merge_until("ready", &|| is_at(OLD.0));

    upgrades.move_to("reviewed", NEW);
    upgrades.wait_gate("reviewed", "WaitingForAddons");
    eventually("a pull request", || !reviewed.open().is_empty());
    thread::sleep(Duration::from_secs(5));
    assert_eq!(upgrades.hook("reviewed"), OLD.1, "the pull request is not merged");
    assert_eq!(upgrades.control_plane("reviewed"), OLD.1);
    merge_until("upgraded", &|| is_at(NEW.0));
    upgrades.wait_upgraded("reviewed", NEW);
    scenario.assert_nothing_uninstalled("two");
}
