//! Clusters in special states: paused, moved, suspended, claimed by two `ClusterStack`s, and many at once.

use std::time::Duration;

use serde_json::{Value, json};

use super::fixture::{ADDON, OBJECTS, STACK, settle_with_budget, stack};
use crate::driver::Simulation;
use crate::properties::{run, settle};
use crate::repository::{V1, V2, WITHOUT_MONITORING};

/// All conditions of a `ClusterAddon`.
const CONDITIONS: [&str; 6] =
    ["Ready", "ClusterAvailable", "ReleaseReady", "ValuesRendered", "Delivered", "AddonsReady"];

fn endpoint(host: &str) -> Value {
    json!({"spec": {"controlPlaneEndpoint": {"host": host}}})
}

fn paused(is_paused: bool) -> Value {
    json!({"spec": {"paused": is_paused}})
}

fn annotated_as_paused(value: &Value) -> Value {
    json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": value}}})
}

#[test]
fn paused_cluster_is_not_written_until_resumed() {
    run("paused", |simulation| {
        simulation.deliver_first_of_two();
        simulation.merge("Cluster", "one", &annotated_as_paused(&json!("")));
        settle(simulation);
        for condition in CONDITIONS {
            simulation.expect("ClusterAddon", ADDON, condition, "Unknown Paused");
        }
        assert_eq!(simulation.field("ClusterStack", STACK, "/status/clusters/paused"), 1);
        let before = simulation.generations();
        simulation.merge("Cluster", "one", &endpoint("elsewhere.example.org"));
        simulation.upgrade("one", V2);
        settle(simulation);
        assert_eq!(simulation.generations(), before);
        simulation.merge("Cluster", "one", &annotated_as_paused(&Value::Null));
        settle(simulation);
        simulation.expect_ready_at("one", V2);
        let values = simulation.field("HelmRelease", "one.ccm", "/spec/values/cluster/endpoint");
        assert_eq!(values, "https://elsewhere.example.org:6443");
    });
}

/// `clusterctl move` pauses the Cluster, creates a paused copy elsewhere, deletes the original, and resumes the copy.
#[test]
fn moved_cluster_keeps_its_addons_in_both_places() {
    run("moved", |simulation| {
        simulation.deliver();
        simulation.at_any_time(|simulation| simulation.merge("Cluster", "one", &paused(true)));
        simulation.at_any_time(|simulation| simulation.delete("Cluster", "one"));
        settle(simulation);
        assert!(!simulation.has("ClusterAddon", ADDON));
        assert!(OBJECTS.iter().all(|(kind, name)| !simulation.has(kind, name)));
        // The namespace now stands for the one in the other management cluster.
        simulation.create_cluster("one", V1);
        simulation.merge("Cluster", "one", &paused(true));
        simulation.set_up("one");
        settle(simulation);
        simulation.merge("Cluster", "one", &paused(false));
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn suspended_stack_writes_nothing_until_resumed() {
    run("suspended", |simulation| {
        simulation.deliver_first_of_two();
        let before = simulation.generations();
        simulation.offer(&["v1", "v2"], &json!({"suspend": true}));
        settle(simulation);
        simulation.upgrade("one", V2);
        simulation.merge("Cluster", "one", &endpoint("elsewhere.example.org"));
        settle(simulation);
        let message = simulation.message("ClusterAddon", ADDON, "Delivered");
        assert!(message.contains("is suspended"), "{message}");
        assert_eq!(simulation.generations(), before);
        simulation.offer(&["v1", "v2"], &json!({"suspend": false}));
        settle(simulation);
        simulation.expect_ready_at("one", V2);
    });
}

#[test]
fn suspended_cluster_addon_is_not_written() {
    run("suspended-one", |simulation| {
        simulation.deliver_first_of_two();
        let before = simulation.generations();
        simulation.merge("ClusterAddon", ADDON, &json!({"spec": {"suspend": true}}));
        settle(simulation);
        simulation.upgrade("one", V2);
        settle(simulation);
        simulation.expect("ClusterAddon", ADDON, "Delivered", "Unknown Suspended");
        assert_eq!(simulation.generations(), before);
        simulation.merge("ClusterAddon", ADDON, &json!({"spec": {"suspend": false}}));
        settle(simulation);
        simulation.expect_ready_at("one", V2);
    });
}

#[test]
fn release_claimed_by_two_stacks_belongs_to_the_first() {
    run("claims", |simulation| {
        simulation.deliver();
        let other = stack(simulation, "other", &["v1"], &json!({}));
        simulation.apply(&other);
        settle(simulation);
        simulation.expect("ClusterStack", "other", "ReleasesSynced", "False ReleaseClaimed");
        simulation.expect_ready_at("one", V1);
        let owner = |simulation: &Simulation| {
            simulation.field("ClusterStackRelease", V1, "/metadata/ownerReferences/0/name")
        };
        assert_eq!(owner(simulation), STACK);
        // The first one gives everything to the other, and nothing is installed again.
        let orphan = json!({"metadata": {"annotations": {"clusterstack.x-k8s.io/on-delete": "Orphan"}}});
        simulation.merge("ClusterStack", STACK, &orphan);
        simulation.delete("ClusterStack", STACK);
        settle(simulation);
        assert_eq!(owner(simulation), "other");
        simulation.expect_ready_at("one", V1);
        assert_eq!(simulation.revisions(), [1, 1, 1]);
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn release_stays_with_an_owner_that_a_list_lacks() {
    run("claims-late", |simulation| {
        simulation.deliver();
        let other = stack(simulation, "other", &["v1"], &json!({}));
        simulation.apply(&other);
        settle(simulation);
        simulation.always("the release belongs to the first ClusterStack", |state| {
            state.field("ClusterStackRelease", V1, "/metadata/ownerReferences/0/name") == STACK
        });
        simulation.restart_blind("ClusterStack");
        let changed = json!({"metadata": {"labels": {"changed": "true"}}});
        simulation.merge("ClusterStack", "other", &changed);
        settle(simulation);
        simulation.expect("ClusterStack", "other", "ReleasesSynced", "False ReleaseClaimed");
        simulation.merge("ClusterStack", STACK, &changed);
        settle(simulation);
        simulation.expect("ClusterStack", "other", "ReleasesSynced", "False ReleaseClaimed");
        simulation.expect_ready_at("one", V1);
    });
}

/// The status of the `ClusterStack` counts the removal in a Cluster that is deleted afterwards.
#[test]
fn removal_in_a_deleted_cluster_stays_counted() {
    run("counted", |simulation| {
        simulation.publish(2);
        simulation.offer(&["v2", "v3"], &json!({}));
        simulation.create_cluster("one", V2);
        simulation.create_cluster("two", V2);
        settle(simulation);
        simulation.upgrade("one", WITHOUT_MONITORING);
        settle(simulation);
        assert_eq!(simulation.field("ClusterStack", STACK, "/status/prunedAddons/count"), 1);
        simulation.delete("Cluster", "one");
        settle(simulation);
        assert!(!simulation.has("ClusterAddon", ADDON));
        simulation.crash();
        simulation.upgrade("two", WITHOUT_MONITORING);
        settle(simulation);
        assert!(simulation.has("HelmRelease", "two.monitoring"), "the hour is not over");
        let reason = simulation.condition("ClusterAddon", "cluster-addon-two", "Delivered");
        assert!(reason.ends_with("PruneBudgetExceeded"), "{reason}");
        settle_with_budget(simulation);
        assert!(!simulation.has("HelmRelease", "two.monitoring"));
    });
}

/// A release drops an addon: of 12 objects of three Clusters one may be deleted in an hour.
#[test]
fn dropped_addon_of_many_clusters_waits_for_budget() {
    run("budget", |simulation| {
        simulation.publish(2);
        simulation.offer(&["v2", "v3"], &json!({}));
        for name in ["one", "two", "three"] {
            simulation.create_cluster(name, V2);
        }
        settle(simulation);
        for name in ["one", "two", "three"] {
            simulation.upgrade(name, WITHOUT_MONITORING);
        }
        settle(simulation);
        assert!(simulation.uninstalled().len() <= 1, "{:?}", simulation.uninstalled());
        simulation.wait(Duration::from_hours(1));
        settle(simulation);
        assert!((1..=2).contains(&simulation.uninstalled().len()), "{:?}", simulation.uninstalled());
        let reason =
            |name: &&str| simulation.condition("ClusterAddon", &format!("cluster-addon-{name}"), "Delivered");
        let waits =
            ["one", "two", "three"].into_iter().find(|name| reason(name).ends_with("PruneBudgetExceeded"));
        // A user allows the rest.
        let addon = format!("cluster-addon-{}", waits.unwrap());
        let message = simulation.message("ClusterAddon", &addon, "Delivered");
        let allowed = message.split("clusterstack.x-k8s.io/prune=").nth(1).unwrap();
        let allowed = allowed.split_whitespace().next().unwrap();
        let allow = json!({"metadata": {"annotations": {"clusterstack.x-k8s.io/prune": allowed}}});
        simulation.merge("ClusterStack", STACK, &allow);
        settle(simulation);
        for name in ["one", "two", "three"] {
            simulation.expect_ready_at(name, WITHOUT_MONITORING);
        }
        assert_eq!(simulation.uninstalled(), ["one.monitoring", "three.monitoring", "two.monitoring"]);
    });
}

/// A Cluster whose ClusterStack adopts Helm releases from now on keeps those that it has under their names.
#[test]
fn installed_releases_keep_their_names() {
    run("names", |simulation| {
        simulation.deliver();
        let before = simulation.generations();
        simulation.offer(&["v1"], &json!({"flux": {"adopt": true}}));
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert_eq!(simulation.generations(), before);
        assert_eq!(simulation.field("HelmRelease", "one.cni", "/spec/releaseName"), "cni");
        let addons = simulation.field("ClusterAddon", ADDON, "/status/addons");
        let message = addons[1]["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("keeps Helm release kube-system/"), "{addons}");
        simulation.create_cluster("new", V1);
        settle(simulation);
        assert_eq!(simulation.field("HelmRelease", "new.cni", "/spec/releaseName"), "cluster-addon");
    });
}
