//! Stages that delete addons: a helper of an upgrade, and an addon that is installed again.

use serde_json::{Value, json};

use super::fixture::{ADDON, settle_with_budget};
use super::git;
use super::upgrades::{NEW, OLD, topology};
use crate::driver::Simulation;
use crate::invariants::State;
use crate::properties::{run, settle};
use crate::repository::{AGAIN, HELPED, V2};

/// The release that an object of Cluster `one` is of.
fn release_of(state: &State, addon: &str) -> Value {
    let name = format!("one.{addon}");
    state.field("HelmRelease", &name, "/metadata/labels/clusterstack.x-k8s.io~1release")
}

/// Whether Flux has applied an object of Cluster `one` as it is.
fn is_applied(state: &State, addon: &str) -> bool {
    let object = state.get("HelmRelease", &format!("one.{addon}")).unwrap_or_default();
    object["status"]["observedGeneration"] == object["metadata"]["generation"]
}

impl Simulation {
    fn expect_no_stages(&self) {
        for field in ["/status/hook", "/status/stages"] {
            assert_eq!(self.field("ClusterAddon", ADDON, field), Value::Null, "{field}");
        }
    }

    /// Moves Cluster `one` to the release that deletes `monitoring` and installs it again.
    fn expect_again(&mut self) {
        self.always("what follows a deletion waits for it", |state| {
            let is_old = |addon: &str| release_of(state, addon) != AGAIN;
            is_old("monitoring") || state.flux.uninstalled.iter().any(|place| place.2 == "one.monitoring")
        });
        self.upgrade("one", AGAIN);
        settle_with_budget(self);
        self.expect_ready_at("one", AGAIN);
        assert_eq!(self.uninstalled(), ["one.monitoring"], "once");
        assert_eq!(self.revisions(), [1, 1, 1], "it is installed again");
        self.expect_no_stages();
    }
}

#[test]
fn helper_is_installed_before_an_upgrade_and_deleted() {
    run("stages-helper", |simulation| {
        simulation.begin_with(|simulation| {
            simulation.publish(7);
            simulation.offer(&["v2", "v10"], &json!({}));
            simulation.create_cluster_with_control_plane("one", V2);
            settle(simulation);
            simulation.expect_ready_at("one", V2);
        });
        simulation.begin_golden(
            "a Cluster has docker-demo-1-34-v2, and docker-demo-1-34-v10 has a helper of upgrades",
        );
        simulation.reaches("the helper is installed", |state| {
            state.get("HelmRelease", "one.helper").is_some() && is_applied(state, "helper")
        });
        simulation.always("the control plane moves after the helper is deleted", |state| {
            let version = state.field("KubeadmControlPlane", "one", "/spec/version");
            let helper = state.get("HelmRelease", "one.helper");
            version == OLD || (helper.is_none() && release_of(state, "cni") == HELPED)
        });
        simulation.always("the helper is deleted after what moves before it", |state| {
            let helper = state.get("HelmRelease", "one.helper").unwrap_or_default();
            let is_deleted = !helper["metadata"]["deletionTimestamp"].is_null();
            !is_deleted || (release_of(state, "cni") == HELPED && is_applied(state, "cni"))
        });
        simulation.merge("Cluster", "one", &topology(HELPED, NEW));
        settle_with_budget(simulation);
        simulation.expect_ready_at("one", HELPED);
        assert_eq!(simulation.field("KubeadmControlPlane", "one", "/status/version"), NEW);
        assert_eq!(simulation.uninstalled(), ["one.helper"], "once");
        simulation.expect_no_stages();
    });
}

#[test]
fn new_cluster_needs_no_helper_of_upgrades() {
    run("stages-new", |simulation| {
        simulation.publish(7);
        simulation.offer(&["v2", "v10", "v11"], &json!({}));
        simulation.create_cluster("one", AGAIN);
        settle(simulation);
        simulation.expect_ready_at("one", AGAIN);
        assert!(simulation.uninstalled().is_empty());
        simulation.expect_no_stages();
    });
}

#[test]
fn deleted_addon_is_installed_again() {
    run("stages-again", |simulation| {
        simulation.begin_with(|simulation| {
            simulation.publish(7);
            simulation.offer(&["v2", "v11"], &json!({}));
            simulation.create_cluster("one", V2);
            settle(simulation);
            simulation.expect_ready_at("one", V2);
        });
        simulation.begin_golden(
            "a Cluster has docker-demo-1-34-v2, and docker-demo-1-34-v11 installs monitoring again",
        );
        simulation.expect_again();
    });
}

#[test]
fn commits_follow_the_stages() {
    run("stages-git", |simulation| {
        simulation.publish(7);
        git::deliver(simulation, &["v2", "v11"], V2);
        simulation.expect_again();
    });
}

#[test]
fn suspended_addon_keeps_its_stage_from_ending() {
    run("stages-suspended", |simulation| {
        simulation.begin_with(|simulation| {
            simulation.publish(7);
            simulation.offer(&["v2", "v11"], &json!({}));
            simulation.create_cluster("one", V2);
            settle(simulation);
        });
        simulation.begin_golden(
            "a Cluster has docker-demo-1-34-v2, and docker-demo-1-34-v11 installs monitoring again",
        );
        simulation.merge("HelmRelease", "one.monitoring", &json!({"spec": {"suspend": true}}));
        simulation.upgrade("one", AGAIN);
        settle_with_budget(simulation);
        assert!(simulation.uninstalled().is_empty(), "a suspended object stays");
        let message = simulation.message("ClusterAddon", ADDON, "Delivered");
        assert!(message.contains("HelmRelease one.monitoring is suspended"), "{message}");
        assert_eq!(simulation.field("ClusterAddon", ADDON, "/status/stages/1/phase"), "applyingOrDeleting");
        simulation.merge("HelmRelease", "one.monitoring", &json!({"spec": {"suspend": null}}));
        settle_with_budget(simulation);
        simulation.expect_ready_at("one", AGAIN);
        assert_eq!(simulation.uninstalled(), ["one.monitoring"]);
    });
}
