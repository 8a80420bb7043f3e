//! Deletions: of a `ClusterStack`, with and without `Orphan`, of Clusters, `ClusterAddon`s and the namespace. Nothing is
//! uninstalled from a cluster.

use serde_json::{Value, json};

use super::fixture::{ADDON, OBJECTS, STACK, orphan, settle_with_budget, stack};
use crate::driver::Simulation;
use crate::properties::{run, settle};
use crate::repository::{V1, V2, WITHOUT_MONITORING};

/// Fails unless nothing of the Cluster's addons is left in the management cluster, and all of it in the cluster itself.
#[track_caller]
fn expect_gone(simulation: &Simulation) {
    assert!(!simulation.has("ClusterAddon", ADDON));
    assert!(
        OBJECTS.iter().all(|(kind, name)| !simulation.has(kind, name)),
        "{:?}",
        simulation.names("HelmRelease")
    );
    assert!(
        simulation.uninstalled().iter().all(|name| !name.starts_with("one.")),
        "{:?}",
        simulation.uninstalled()
    );
}

#[test]
fn deleted_stack_is_kept_while_clusters_use_it() {
    run("in-use", |simulation| {
        simulation.deliver();
        simulation.delete("ClusterStack", STACK);
        settle(simulation);
        simulation.expect("ClusterStack", STACK, "Ready", "False InUse");
        simulation.expect_ready_at("one", V1);
        simulation.delete("Cluster", "one");
        settle(simulation);
        expect_gone(simulation);
        let ours = ["ClusterStack", "ClusterStackRelease", "HelmRelease", "HelmChart", "GitRepository"];
        assert!(ours.iter().all(|kind| simulation.names(kind).is_empty()));
        assert_eq!(simulation.uninstalled(), [V1, &format!("{V1}-node-images")]);
    });
}

#[test]
fn orphaned_stack_leaves_objects_suspended() {
    run("orphan", |simulation| {
        simulation.deliver();
        simulation.merge("ClusterStack", STACK, &orphan());
        simulation.delete("ClusterStack", STACK);
        settle(simulation);
        for kind in ["ClusterStack", "ClusterStackRelease", "ClusterAddon"] {
            assert_eq!(simulation.names(kind), [] as [String; 0]);
        }
        for (kind, name) in OBJECTS.iter().chain(&[("HelmRelease", V1)]) {
            assert_eq!(simulation.field(kind, name, "/spec/suspend"), true, "{name}");
            let owners = simulation.field(kind, name, "/metadata/ownerReferences").to_string();
            assert!(!owners.contains("Cluster"), "{name}: {owners}");
        }
        assert!(simulation.uninstalled().is_empty());

        // The same ClusterStack takes over everything again, and nothing is installed again.
        simulation.offer(&["v1"], &json!({}));
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert!(OBJECTS.iter().all(|(kind, name)| simulation.field(kind, name, "/spec/suspend") != true));
        assert_eq!(simulation.revisions(), [1, 1, 1]);
    });
}

#[test]
fn release_with_another_owner_is_left_to_it() {
    run("left", |simulation| {
        simulation.deliver();
        simulation.apply(&stack(simulation, "other", &["v1"], &json!({})));
        settle(simulation);
        let other = simulation.field("ClusterStack", "other", "/metadata/uid");
        simulation.keep_by_other();
        simulation.merge("ClusterStack", STACK, &orphan());
        simulation.delete("ClusterStack", STACK);
        settle(simulation);
        assert!(!simulation.has("ClusterStack", STACK));
        // It becomes the controller when the operator writes the release again.
        let owners = simulation.field("ClusterStackRelease", V1, "/metadata/ownerReferences");
        let uids: Vec<&Value> = owners.as_array().unwrap().iter().map(|owner| &owner["uid"]).collect();
        assert_eq!(uids, [&other]);
        simulation.expect("ClusterStackRelease", V1, "Ready", "True Usable");
        simulation.expect_ready_at("one", V1);
        assert!(OBJECTS.iter().all(|(kind, name)| simulation.field(kind, name, "/spec/suspend") != true));
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn stack_orphaned_while_it_is_kept_is_deleted() {
    run("orphan-late", |simulation| {
        simulation.deliver();
        simulation.at_any_time(|simulation| simulation.delete("ClusterStack", STACK));
        simulation.at_any_time(|simulation| simulation.merge("ClusterStack", STACK, &orphan()));
        settle(simulation);
        assert!(!simulation.has("ClusterStack", STACK) && !simulation.has("ClusterAddon", ADDON));
        assert!(OBJECTS.iter().all(|(kind, name)| simulation.field(kind, name, "/spec/suspend") == true));
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn deleted_cluster_keeps_its_addons() {
    run("cluster", |simulation| {
        simulation.deliver();
        simulation.delete("Cluster", "one");
        settle(simulation);
        expect_gone(simulation);
        simulation.expect("ClusterStack", STACK, "Ready", "True Usable");
    });
}

#[test]
fn cluster_that_a_list_lacks_keeps_its_addons() {
    run("cluster-unseen", |simulation| {
        simulation.deliver();
        let before = simulation.generations();
        simulation.restart_blind("Cluster");
        simulation.at_any_time(Simulation::touch_cluster);
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert_eq!(simulation.generations(), before, "nothing is suspended");
    });
}

#[test]
fn deleted_stack_is_kept_while_a_list_lacks_its_clusters() {
    run("in-use-unseen", |simulation| {
        simulation.deliver();
        simulation.always("no release is deleted", |state| {
            state.field("ClusterStackRelease", V1, "/metadata/deletionTimestamp").is_null()
        });
        simulation.restart_blind("Cluster");
        simulation.delete("ClusterStack", STACK);
        simulation.at_any_time(Simulation::touch_cluster);
        settle(simulation);
        simulation.expect("ClusterStack", STACK, "Ready", "False InUse");
        simulation.expect_ready_at("one", V1);
    });
}

#[test]
fn orphaned_stack_leaves_releases_suspended_that_a_list_lacks() {
    run("orphan-unseen", |simulation| {
        simulation.deliver();
        simulation.merge("ClusterStack", STACK, &orphan());
        settle(simulation);
        simulation.always("a class without its release is suspended", |state| {
            state.get("ClusterStackRelease", V1).is_some()
                || state.get("HelmRelease", V1).is_some_and(|class| class["spec"]["suspend"] == true)
        });
        simulation.restart_blind("ClusterStackRelease");
        simulation.delete("ClusterStack", STACK);
        settle(simulation);
        assert!(!simulation.has("ClusterStack", STACK) && !simulation.has("ClusterStackRelease", V1));
        assert!(simulation.uninstalled().is_empty(), "{:?}", simulation.uninstalled());
    });
}

#[test]
fn orphaned_stack_leaves_addons_suspended_that_a_list_lacks() {
    run("orphan-addon-unseen", |simulation| {
        simulation.deliver();
        simulation.merge("ClusterStack", STACK, &orphan());
        settle(simulation);
        simulation.restart_blind("ClusterAddon");
        simulation.delete("ClusterStack", STACK);
        settle(simulation);
        assert!(!simulation.has("ClusterStack", STACK) && !simulation.has("ClusterStackRelease", V1));
        // A second list that lies hides the Cluster itself, and nothing else names it.
        if !simulation.wire.cluster().log.iter().any(|line| line == "an empty list of Cluster") {
            assert!(!simulation.has("ClusterAddon", ADDON), "it is handed over");
            assert!(OBJECTS.iter().all(|(kind, name)| simulation.field(kind, name, "/spec/suspend") == true));
        }
        assert!(simulation.uninstalled().is_empty(), "{:?}", simulation.uninstalled());
    });
}

/// A leader that still has the deleted `ClusterStack` in its list becomes no owner of what it left: it would be collected.
#[test]
fn orphaned_source_stays_beside_an_outdated_list() {
    run("orphan-outdated", |simulation| {
        simulation.begin_with(|simulation| {
            simulation.publish(1);
            simulation.offer(&["v1"], &json!({}));
            settle(simulation);
        });
        let before = simulation.position();
        simulation.merge("ClusterStack", STACK, &orphan());
        simulation.delete("ClusterStack", STACK);
        settle(simulation);
        assert!(simulation.has("GitRepository", "docker-catalog"));
        simulation.restart_outdated("ClusterStack", before);
        settle(simulation);
        assert!(simulation.has("GitRepository", "docker-catalog"), "it is not collected");
        assert!(simulation.uninstalled().is_empty(), "{:?}", simulation.uninstalled());
    });
}

#[test]
fn cluster_deleted_slowly_reports_it() {
    run("slowly", |simulation| {
        simulation.deliver();
        simulation.merge("Cluster", "one", &json!({"metadata": {"finalizers": ["example.org/slow"]}}));
        simulation.delete("Cluster", "one");
        settle(simulation);
        assert!(OBJECTS.iter().all(|(kind, name)| !simulation.has(kind, name)));
        assert!(simulation.uninstalled().is_empty());
        if simulation.has("ClusterAddon", ADDON) {
            simulation.expect("ClusterAddon", ADDON, "Ready", "False Deleting");
        }
        simulation.merge("Cluster", "one", &json!({"metadata": {"finalizers": []}}));
        settle(simulation);
        expect_gone(simulation);
    });
}

#[test]
fn recreated_cluster_gets_addons_of_its_own() {
    run("recreated", |simulation| {
        simulation.deliver();
        let before = simulation.field("ClusterAddon", ADDON, "/metadata/uid");
        simulation.at_any_time(|simulation| {
            simulation.delete("Cluster", "one");
            simulation.create_cluster("one", V1);
        });
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert_ne!(simulation.field("ClusterAddon", ADDON, "/metadata/uid"), before);
        let cluster = simulation.field("Cluster", "one", "/metadata/uid");
        assert_eq!(simulation.field("ClusterAddon", ADDON, "/metadata/ownerReferences/0/uid"), cluster);
        assert!(simulation.uninstalled().is_empty());
    });
}

/// The operator starts with the `ClusterAddon` of the Cluster before: the objects are those of the next one.
#[test]
fn recreated_cluster_keeps_its_addons_beside_an_outdated_list() {
    run("recreated-outdated", |simulation| {
        simulation.deliver();
        let before = simulation.position();
        simulation.delete("Cluster", "one");
        simulation.create_cluster("one", V1);
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        let uids = |simulation: &Simulation| {
            OBJECTS.map(|(kind, name)| simulation.field(kind, name, "/metadata/uid"))
        };
        let own = uids(simulation);
        simulation.restart_outdated("ClusterAddon", before);
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert_eq!(uids(simulation), own, "nothing is deleted");
    });
}

/// The operator starts without a list of the `ClusterAddon`s, and learns of none before the Cluster is another one.
#[test]
fn recreated_cluster_never_gets_an_addon_that_a_list_lacks() {
    run("recreated-unseen", |simulation| {
        simulation.deliver();
        simulation.restart_blind("ClusterAddon");
        simulation.delay("ClusterAddon");
        simulation.delete("Cluster", "one");
        simulation.create_cluster("one", V1);
        let cluster = simulation.field("Cluster", "one", "/metadata/uid");
        let before = simulation.field("ClusterAddon", ADDON, "/metadata/uid");
        simulation.always("the ClusterAddon of the earlier Cluster keeps its owner", move |state| {
            state.field("ClusterAddon", ADDON, "/metadata/uid") != before
                || state.field("ClusterAddon", ADDON, "/metadata/ownerReferences/0/uid") != cluster
        });
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn deleted_cluster_addon_hands_over_its_objects() {
    run("handed", |simulation| {
        simulation.deliver();
        let before = simulation.generations();
        let old = simulation.field("ClusterAddon", ADDON, "/metadata/uid");
        simulation.at_any_time(|simulation| simulation.delete("ClusterAddon", ADDON));
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert_ne!(simulation.field("ClusterAddon", ADDON, "/metadata/uid"), old);
        assert_eq!(simulation.generations(), before, "the same objects");
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn deleted_cluster_addon_hands_over_objects_that_a_list_lacks() {
    run("handed-unseen", |simulation| {
        simulation.deliver();
        let before = simulation.generations();
        simulation.restart_blind("HelmRelease");
        simulation.delete("ClusterAddon", ADDON);
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert_eq!(simulation.generations(), before, "the same objects");
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn cluster_deleted_with_its_addon_keeps_its_addons() {
    run("both", |simulation| {
        simulation.deliver();
        simulation.at_any_time(|simulation| simulation.delete("ClusterAddon", ADDON));
        simulation.at_any_time(|simulation| simulation.delete("Cluster", "one"));
        settle(simulation);
        expect_gone(simulation);
    });
}

#[test]
fn deleted_namespace_uninstalls_nothing() {
    run("namespace", |simulation| {
        simulation.deliver();
        simulation.always("nothing is uninstalled from the cluster", |state| {
            state.flux.uninstalled.iter().all(|place| !place.2.starts_with("one."))
        });
        simulation.delete_namespace();
        settle(simulation);
        expect_gone(simulation);
        assert!(simulation.names("Namespace").is_empty(), "{:?}", simulation.names("Namespace"));
    });
}

/// Someone strips the finalizer of a `ClusterAddon` and deletes it, and garbage collection takes its name from the objects.
/// The release that the Cluster has by then lacks one of them.
#[test]
fn stripped_cluster_addon_leaves_no_object_behind() {
    run("stripped", |simulation| {
        simulation.publish(2);
        simulation.offer(&["v2", "v3"], &json!({}));
        simulation.create_cluster("one", V2);
        settle(simulation);
        simulation.merge("ClusterAddon", ADDON, &json!({"metadata": {"finalizers": null}}));
        simulation.delete("ClusterAddon", ADDON);
        simulation.upgrade("one", WITHOUT_MONITORING);
        settle_with_budget(simulation);
        simulation.expect_ready_at("one", WITHOUT_MONITORING);
        assert_eq!(simulation.uninstalled(), ["one.monitoring"]);
        assert_eq!(simulation.field("ClusterAddon", ADDON, "/status/pruned/count"), 1);
    });
}
