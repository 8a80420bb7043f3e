//! Users who change their mind, or who come just before something is deleted.

use std::time::Duration;

use serde_json::json;

use super::fixture::{ADDON, OBJECTS, STACK, orphan, settle_with_budget, stack};
use crate::driver::Simulation;
use crate::properties::{run, settle};
use crate::repository::{V1, V2, WITHOUT_MONITORING};

#[test]
fn addon_that_the_class_has_again_is_there() {
    run("regretted", |simulation| {
        simulation.publish(2);
        simulation.offer(&["v2", "v3"], &json!({}));
        simulation.create_cluster("one", V2);
        settle(simulation);
        simulation.at_any_time(|simulation| simulation.upgrade("one", WITHOUT_MONITORING));
        simulation.at_any_time(|simulation| simulation.upgrade("one", V2));
        settle_with_budget(simulation);
        simulation.expect_ready_at("one", V2);
        // Whether the addon was removed before is not seen at the end.
        simulation.upgrade("one", WITHOUT_MONITORING);
        settle_with_budget(simulation);
        simulation.upgrade("one", V2);
        settle(simulation);
        simulation.expect_ready_at("one", V2);
    });
}

#[test]
fn release_that_another_stack_keeps_at_last_is_not_orphaned() {
    run("kept-late", |simulation| {
        simulation.deliver();
        simulation.apply(&stack(simulation, "other", &["v1"], &json!({})));
        settle(simulation);
        let uid = |simulation: &Simulation| simulation.field("ClusterAddon", ADDON, "/metadata/uid");
        let before = uid(simulation);
        simulation.merge("ClusterStack", STACK, &orphan());
        simulation.at_any_time(Simulation::keep_by_other);
        simulation.at_any_time(|simulation| simulation.delete("ClusterStack", STACK));
        settle(simulation);
        assert!(!simulation.has("ClusterStack", STACK));
        simulation.expect_ready_at("one", V1);
        assert_eq!(uid(simulation), before, "its addons are not orphaned");
        assert!(OBJECTS.iter().all(|(kind, name)| simulation.field(kind, name, "/spec/suspend") != true));
    });
}

/// Another `ClusterStack` keeps the release at the moment at which the first is deleted, and no watch reports it.
#[test]
fn release_that_another_stack_keeps_unseen_is_not_orphaned() {
    run("kept-unseen", |simulation| {
        simulation.deliver();
        simulation.apply(&stack(simulation, "other", &["v1"], &json!({})));
        settle(simulation);
        let before = simulation.field("ClusterAddon", ADDON, "/metadata/uid");
        simulation.merge("ClusterStack", STACK, &orphan());
        simulation.just_when(
            "a ClusterStack that begins to orphan a release",
            |simulation| simulation.field("ClusterStack", STACK, "/metadata/deletionTimestamp").is_string(),
            |simulation| {
                simulation.delay("ClusterStackRelease");
                simulation.keep_by_other();
                simulation.touch_cluster();
            },
        );
        simulation.at_any_time(|simulation| simulation.delete("ClusterStack", STACK));
        settle(simulation);
        assert!(!simulation.has("ClusterStack", STACK));
        simulation.expect_ready_at("one", V1);
        let uid = simulation.field("ClusterAddon", ADDON, "/metadata/uid");
        assert_eq!(uid, before, "its addons are not orphaned");
    });
}

/// A Cluster of the release is created after the API server has confirmed that there is none, and the status has counted the
/// deletion.
#[test]
fn release_used_again_after_its_deletion_is_counted_stays() {
    run("used-late", |simulation| {
        simulation.retire_second();
        let uid = |simulation: &Simulation| simulation.field("ClusterStackRelease", V2, "/metadata/uid");
        let before = uid(simulation);
        simulation.just_when(
            "a release that is counted as deleted and exists",
            |simulation| simulation.field("ClusterStack", STACK, "/status/pruned/count") == 1,
            |simulation| {
                simulation.delay("Cluster");
                simulation.create_cluster("two", V2);
            },
        );
        settle(simulation);
        assert_eq!(uid(simulation), before, "it is not deleted");
        simulation.expect_ready_at("two", V2);
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn class_suspended_by_a_user_is_uninstalled_with_its_release() {
    run("retired-suspended", |simulation| {
        simulation.deliver_first_of_two();
        simulation.merge("HelmRelease", V2, &json!({"spec": {"suspend": true}}));
        simulation.offer(&["v1"], &json!({"revisionHistoryLimit": 0}));
        settle(simulation);
        simulation.wait(Duration::from_mins(10));
        settle_with_budget(simulation);
        assert!(!simulation.has("ClusterStackRelease", V2));
        assert!(simulation.uninstalled().contains(&V2), "{:?}", simulation.uninstalled());
    });
}
