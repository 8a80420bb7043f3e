//! The life of releases: retired, broken, changed, without an addon, with one in another form.

use std::time::Duration;

use serde_json::{Value, json};
use stackflux::subscription::deletions;

use super::fixture::{ADDON, OBJECTS, STACK, settle_with_budget};
use crate::api_server::{ApiServer, Place};
use crate::driver::Simulation;
use crate::flux::number;
use crate::properties::{run, settle};
use crate::repository::{BROKEN, MONITORING_AS_MANIFESTS, V1, V2, WITHOUT_MONITORING};

/// The time after which an unused release is deleted.
const RETIREMENT_DELAY: Duration = Duration::from_mins(10);

#[test]
fn release_without_users_is_deleted_after_its_time() {
    run("retired", |simulation| {
        simulation.deliver_first_of_two();
        simulation.upgrade("one", V2);
        settle(simulation);
        let before = simulation.generations();
        simulation.offer(&["v2"], &json!({"revisionHistoryLimit": 0}));
        settle(simulation);
        simulation.expect("ClusterStackRelease", V1, "InUse", "False Retiring");
        assert!(simulation.has("HelmRelease", V1), "the class stays until its time is over");
        simulation.wait(RETIREMENT_DELAY);
        settle_with_budget(simulation);
        for kind in ["ClusterStackRelease", "HelmRelease", "GitRepository", "HelmChart"] {
            // The charts that both releases have stay at the first one's source.
            assert_eq!(simulation.has(kind, V1), kind == "GitRepository", "{kind}");
        }
        simulation.expect_ready_at("one", V2);
        assert_eq!(simulation.generations(), before, "no cluster changes");
        let uninstalled = simulation.uninstalled();
        assert!(uninstalled.contains(&V1) && uninstalled.iter().all(|name| name.starts_with(V1)));
    });
}

#[test]
fn failed_deletion_delays_no_other() {
    run("two", |simulation| {
        simulation.publish(2);
        simulation.offer(&["v1", "v2", "v3"], &json!({}));
        simulation.create_cluster("one", V2);
        settle(simulation);
        let two = deletions([V1, WITHOUT_MONITORING]);
        let allowed = json!({"metadata": {"annotations": {"clusterstack.x-k8s.io/prune": two}}});
        simulation.merge("ClusterStack", STACK, &allowed);
        simulation.offer(&["v2"], &json!({"revisionHistoryLimit": 0}));
        settle(simulation);
        // A process that crashes after the status counted the deletions leaves both.
        simulation.calm_down();
        simulation.refuse(Some(|server, call| {
            let stacks = server.list(number("ClusterStack"));
            let is_counted = stacks.iter().any(|stack| stack["status"]["pruned"]["count"] == 2);
            let (kind, _, name) = ApiServer::place_of(call);
            is_counted && call.method == "GET" && kind == number("ClusterStackRelease") && name == V1
        }));
        simulation.wait(RETIREMENT_DELAY);
        settle(simulation);
        let left = [V1, WITHOUT_MONITORING].map(|name| simulation.has("ClusterStackRelease", name));
        assert_eq!(left, [true, false]);
        simulation.refuse(None);
        settle_with_budget(simulation);
        assert!(!simulation.has("ClusterStackRelease", V1));
        simulation.expect_ready_at("one", V2);
    });
}

#[test]
fn release_used_again_before_its_time_stays() {
    run("kept", |simulation| {
        simulation.deliver_first_of_two();
        simulation.offer(&["v1"], &json!({"revisionHistoryLimit": 0}));
        settle(simulation);
        simulation.expect("ClusterStackRelease", V2, "InUse", "False Retiring");
        simulation.wait(Duration::from_mins(9));
        simulation.upgrade("one", V2);
        settle(simulation);
        simulation.wait(RETIREMENT_DELAY);
        settle(simulation);
        simulation.expect("ClusterStackRelease", V2, "InUse", "True Used");
        simulation.expect_ready_at("one", V2);
        assert!(simulation.uninstalled().is_empty());
    });
}

/// The Cluster may come before the deletion, which then does not happen, while it is carried out, and the release is kept for
/// the Cluster, or after it, and the release is created again.
#[test]
fn release_used_again_at_its_time_is_usable() {
    run("again", |simulation| {
        simulation.deliver_first_of_two();
        simulation.offer(&["v1"], &json!({"revisionHistoryLimit": 0}));
        settle(simulation);
        simulation.wait(RETIREMENT_DELAY);
        simulation.at_any_time(|simulation| simulation.upgrade("one", V2));
        settle(simulation);
        simulation.wait(RETIREMENT_DELAY);
        settle(simulation);
        assert!(simulation.condition("ClusterStackRelease", V2, "InUse").starts_with("True "));
        simulation.expect_ready_at("one", V2);
        assert!(simulation.uninstalled().iter().all(|name| name.starts_with(V2)), "nothing of the Cluster");
        simulation.upgrade("one", V1);
        settle(simulation);
        simulation.wait(RETIREMENT_DELAY);
        settle_with_budget(simulation);
        assert!(!simulation.has("ClusterStackRelease", V2));
    });
}

#[test]
fn release_of_a_cluster_that_no_watch_reports_stays() {
    run("used-unseen", |simulation| {
        simulation.retire_second();
        simulation.delay("Cluster");
        simulation.create_cluster("two", V2);
        settle(simulation);
        simulation.expect("ClusterStackRelease", V2, "InUse", "True Used");
        simulation.expect_ready_at("two", V2);
        assert!(simulation.uninstalled().is_empty());
    });
}

/// The Cluster comes after the deletion of its release, and before the release deletes its class.
#[test]
fn class_of_a_cluster_that_no_watch_reports_is_kept() {
    run("class-unseen", |simulation| {
        simulation.retire_second();
        simulation.just_when(
            "a release that is deleted and has its class",
            |simulation| {
                simulation.field("ClusterStackRelease", V2, "/metadata/deletionTimestamp").is_string()
                    && simulation.field("HelmRelease", V2, "/metadata/deletionTimestamp").is_null()
            },
            |simulation| {
                simulation.delay("Cluster");
                simulation.create_starting_cluster("two", V2);
            },
        );
        settle_with_budget(simulation);
        assert!(simulation.uninstalled().is_empty(), "{:?}", simulation.uninstalled());
    });
}

#[test]
fn release_used_again_during_deletion_is_recreated() {
    run("recreated-release", |simulation| {
        simulation.deliver_first_of_two();
        let uid = |simulation: &Simulation| simulation.field("ClusterStackRelease", V2, "/metadata/uid");
        let before = uid(simulation);
        let mut finalizers = simulation.field("ClusterStackRelease", V2, "/metadata/finalizers");
        finalizers.as_array_mut().unwrap().push(json!("example.org/slow"));
        let hold = |finalizers: &Value| json!({"metadata": {"finalizers": finalizers}});
        simulation.merge("ClusterStackRelease", V2, &hold(&finalizers));
        simulation.offer(&["v1"], &json!({"revisionHistoryLimit": 0}));
        settle(simulation);
        simulation.wait(RETIREMENT_DELAY);
        settle_with_budget(simulation);
        assert!(simulation.field("ClusterStackRelease", V2, "/metadata/deletionTimestamp").is_string());
        assert!(simulation.uninstalled().contains(&V2) && uid(simulation) == before);
        simulation.reaches("a Cluster of a release that is being deleted", |state| {
            state.field("ClusterStackRelease", V2, "/metadata/deletionTimestamp").is_string()
                && state.field("Cluster", "one", "/spec/topology/classRef/name") == V2
        });
        simulation.at_any_time(|simulation| simulation.upgrade("one", V2));
        let release = hold(&json!([]));
        simulation.at_any_time(move |simulation| simulation.merge("ClusterStackRelease", V2, &release));
        settle(simulation);
        assert_ne!(uid(simulation), before);
        simulation.expect("ClusterStackRelease", V2, "InUse", "True Used");
        simulation.expect_ready_at("one", V2);
        assert!(simulation.uninstalled().iter().all(|name| name.starts_with(V2)), "nothing of the Cluster");
    });
}

#[test]
fn invalid_and_changed_releases_affect_no_other() {
    run("invalid", |simulation| {
        simulation.deliver_first_of_two();
        let before = simulation.generations();
        simulation.publish(3);
        simulation.offer(&["v1", "v2", "v5", "v9"], &json!({}));
        settle(simulation);
        simulation.expect("ClusterStack", STACK, "ReleasesSynced", "False Several");
        simulation.expect("ClusterStackRelease", BROKEN, "ReleaseValid", "False UnknownAction");
        assert!(simulation.field("ClusterStackRelease", BROKEN, "/spec/source").is_null(), "not pinned");
        simulation.expect("ClusterStackRelease", V2, "ReleaseValid", "True ReleaseMutated");
        for release in [V1, V2] {
            simulation.expect("ClusterStackRelease", release, "Ready", "True Usable");
        }
        simulation.expect_ready_at("one", V1);
        assert_eq!(simulation.generations(), before);
    });
}

/// The content of a release changes, and the operator starts without a list of releases.
#[test]
fn pin_of_a_release_that_a_list_lacks_stays() {
    run("pin-unseen", |simulation| {
        simulation.deliver_first_of_two();
        let pin = simulation.field("ClusterStackRelease", V2, "/spec/source");
        simulation.always("the pin stays", move |state| {
            state.field("ClusterStackRelease", V2, "/spec/source") == pin
        });
        simulation.publish(3);
        simulation.restart_blind("ClusterStackRelease");
        settle(simulation);
        simulation.merge("ClusterStackRelease", V2, &json!({"metadata": {"labels": {"changed": "true"}}}));
        settle(simulation);
        simulation.expect("ClusterStackRelease", V2, "ReleaseValid", "True ReleaseMutated");
    });
}

#[test]
fn missing_class_deletes_nothing() {
    run("missing", |simulation| {
        simulation.deliver();
        let before = simulation.generations();
        for (class, reason) in
            [("docker-demo-1-34-v99", "ReleaseNotFound"), ("another-class", "ClassUnknown")]
        {
            simulation.upgrade("one", class);
            settle(simulation);
            simulation.expect("ClusterAddon", ADDON, "ReleaseReady", &format!("False {reason}"));
            assert!(simulation.message("ClusterAddon", ADDON, "Ready").contains(class));
            assert_eq!(simulation.generations(), before);
        }
        simulation.upgrade("one", V1);
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert_eq!(simulation.generations(), before);
    });
}

#[test]
fn addon_dropped_by_release_is_uninstalled() {
    run("dropped", |simulation| {
        simulation.publish(2);
        simulation.offer(&["v2", "v3"], &json!({}));
        simulation.create_cluster("one", V2);
        settle(simulation);
        simulation.upgrade("one", WITHOUT_MONITORING);
        settle_with_budget(simulation);
        simulation.expect_ready_at("one", WITHOUT_MONITORING);
        assert_eq!(simulation.uninstalled(), ["one.monitoring"]);
        assert_eq!(simulation.field("ClusterAddon", ADDON, "/status/pruned/count"), 1);
    });
}

#[test]
fn dropped_addon_suspended_by_a_user_stays() {
    run("keeps", |simulation| {
        simulation.publish(2);
        simulation.offer(&["v2", "v3"], &json!({}));
        simulation.create_cluster("one", V2);
        settle(simulation);
        simulation.merge("HelmRelease", "one.monitoring", &json!({"spec": {"suspend": true}}));
        simulation.upgrade("one", WITHOUT_MONITORING);
        settle(simulation);
        assert!(simulation.has("HelmRelease", "one.monitoring"));
        assert!(simulation.uninstalled().is_empty());
        assert_ne!(simulation.condition("ClusterAddon", ADDON, "Ready"), "True Applied");
        simulation.merge("HelmRelease", "one.monitoring", &json!({"spec": {"suspend": null}}));
        settle_with_budget(simulation);
        assert_eq!(simulation.uninstalled(), ["one.monitoring"]);
        simulation.expect_ready_at("one", WITHOUT_MONITORING);
    });
}

#[test]
fn addon_in_another_form_is_uninstalled_first() {
    run("form", |simulation| {
        simulation.publish(2);
        simulation.offer(&["v2", "v4"], &json!({}));
        simulation.create_cluster("one", V2);
        settle(simulation);
        simulation.always("monitoring is installed in one form", |state| {
            let is_monitoring = |place: &&Place| place.2 == OBJECTS[2].1;
            state.flux.installed.keys().filter(is_monitoring).count() <= 1
        });
        simulation.upgrade("one", MONITORING_AS_MANIFESTS);
        settle_with_budget(simulation);
        simulation.expect_ready_at("one", MONITORING_AS_MANIFESTS);
        assert_eq!(simulation.uninstalled(), ["one.monitoring"]);
        let form =
            [simulation.has("HelmRelease", OBJECTS[2].1), simulation.has("Kustomization", OBJECTS[2].1)];
        assert_eq!(form, [false, true]);
        assert_eq!(
            simulation.field("ClusterAddon", ADDON, "/status/pruned/count"),
            1,
            "it spends the budget"
        );
    });
}
