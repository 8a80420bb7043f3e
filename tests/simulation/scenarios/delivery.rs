//! Delivery: the first one, a new release, failures, and changes of settings and fields.

use serde_json::json;

use super::fixture::{ADDON, STACK};
use crate::properties::{run, settle};
use crate::repository::{V1, V2};

#[test]
fn first_delivery_installs_each_addon_once() {
    run("first", |simulation| {
        simulation.deliver_v1();
        simulation.expect_ready_at("one", V1);
        simulation.expect("ClusterStack", STACK, "Ready", "True Usable");
        simulation.expect("ClusterStack", STACK, "ClustersReady", "True Applied");
        assert_eq!(simulation.revisions(), [1, 1, 1]);
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn cluster_without_control_plane_waits_for_it() {
    run("waits", |simulation| {
        simulation.always("nothing is delivered before the control plane is initialized", |state| {
            let initialized = "/status/initialization/controlPlaneInitialized";
            state.get("HelmRelease", "one.cni").is_none()
                || state.field("Cluster", "one", initialized) == true
        });
        simulation.offer(&["v1"], &json!({}));
        simulation.create_starting_cluster("one", V1);
        settle(simulation);
        simulation.expect("ClusterAddon", ADDON, "Ready", "Unknown ControlPlaneNotInitialized");
        assert!(!simulation.has("HelmRelease", "one.cni"), "nothing is delivered to it yet");
        simulation.set_up("one");
        settle(simulation);
        simulation.expect_ready_at("one", V1);
    });
}

#[test]
fn new_release_upgrades_only_changed_addons() {
    run("release", |simulation| {
        simulation.deliver();
        simulation.publish(1);
        simulation.offer(&["v1", "v2"], &json!({}));
        settle(simulation);
        simulation.upgrade("one", V2);
        settle(simulation);
        simulation.expect_ready_at("one", V2);
        assert_eq!(simulation.revisions(), [1, 1, 2], "only monitoring differs");
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn failed_installation_is_reported_until_it_succeeds() {
    run("failed", |simulation| {
        simulation.flux.failing.insert("one.monitoring".to_owned());
        simulation.offer(&["v1"], &json!({}));
        simulation.create_cluster("one", V1);
        settle(simulation);
        simulation.expect("ClusterAddon", ADDON, "Ready", "False Retrying");
        assert!(simulation.message("ClusterAddon", ADDON, "Ready").contains("monitoring"));
        simulation.expect("ClusterStack", STACK, "Ready", "True Usable");
        simulation.flux.mend(&simulation.wire.cluster().server);
        settle(simulation);
        simulation.expect_ready_at("one", V1);
    });
}

#[test]
fn failed_upgrade_is_rolled_back_and_mended() {
    run("rollback", |simulation| {
        simulation.deliver_first_of_two();
        simulation.flux.failing.insert("one.monitoring".to_owned());
        simulation.upgrade("one", V2);
        settle(simulation);
        simulation.expect("ClusterAddon", ADDON, "Ready", "False RolledBack");
        simulation.flux.mend(&simulation.wire.cluster().server);
        settle(simulation);
        simulation.expect_ready_at("one", V2);
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn unhealthy_manifests_are_reported() {
    run("unhealthy", |simulation| {
        simulation.flux.failing.insert("one.policies".to_owned());
        simulation.offer(&["v1"], &json!({}));
        simulation.create_cluster("one", V1);
        settle(simulation);
        simulation.expect("ClusterAddon", ADDON, "Ready", "False HealthCheckFailed");
        simulation.flux.mend(&simulation.wire.cluster().server);
        settle(simulation);
        simulation.expect_ready_at("one", V1);
    });
}

#[test]
fn class_changed_back_and_forth_ends_at_the_last() {
    run("class", |simulation| {
        simulation.deliver_first_of_two();
        simulation.reaches("another class while an addon is upgraded", |state| {
            let applied = state.field(
                "HelmRelease",
                "one.monitoring",
                "/metadata/labels/clusterstack.x-k8s.io~1release",
            );
            let class = state.field("Cluster", "one", "/spec/topology/classRef/name");
            let is_running = "/status/conditions/0/reason";
            applied != class && state.field("HelmRelease", "one.monitoring", is_running) == "Progressing"
        });
        for class in [V2, V1, V2, V1, V2] {
            simulation.at_any_time(move |simulation| simulation.upgrade("one", class));
        }
        settle(simulation);
        simulation.expect_ready_at("one", V2);
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn changed_settings_are_in_every_object() {
    run("settings", |simulation| {
        simulation.deliver();
        let monitoring = json!({"timeout": "7m", "driftDetection": "warn", "preset": "stateless"});
        simulation.offer(&["v1"], &json!({"flux": {"interval": "3m", "addons": {"monitoring": monitoring}}}));
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        let of = |name: &str, field: &str| simulation.field("HelmRelease", name, field);
        assert_eq!(of("one.monitoring", "/spec/timeout"), "7m");
        assert_eq!(of("one.monitoring", "/spec/driftDetection/mode"), "warn");
        assert_eq!(of("one.monitoring", "/spec/install/remediation/retries"), 2);
        assert_eq!([of("one.cni", "/spec/interval"), of("one.ccm", "/spec/interval")], ["3m", "3m"]);
        assert_eq!(of("one.cni", "/spec/driftDetection/mode"), "enabled");
        assert_eq!(simulation.revisions(), [1, 1, 1], "no value changed");
    });
}

#[test]
fn changed_field_of_a_cluster_reaches_its_values() {
    run("field", |simulation| {
        simulation.deliver();
        for host in ["a.example.org", "b.example.org"] {
            let endpoint = json!({"spec": {"controlPlaneEndpoint": {"host": host}}});
            simulation.at_any_time(move |simulation| simulation.merge("Cluster", "one", &endpoint));
        }
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        let endpoint = simulation.field("HelmRelease", "one.ccm", "/spec/values/cluster/endpoint");
        assert_eq!(endpoint, "https://b.example.org:6443");
        let [ccm, cni, monitoring] = simulation.revisions().try_into().unwrap();
        // A new leader whose list of Clusters is late may bring the first host back for a while.
        assert!((2..=5).contains(&ccm.as_u64().unwrap()), "upgraded once or twice: {ccm}");
        assert_eq!([cni, monitoring], [1, 1], "nothing else reads it");
    });
}

/// The watch of releases lists nothing, and everything again: the release is the same, so that its reconcile finds nothing new.
#[test]
fn change_while_no_list_has_the_release_is_delivered() {
    run("field-lost", |simulation| {
        simulation.deliver();
        simulation.lose("ClusterStackRelease");
        let endpoint = json!({"spec": {"controlPlaneEndpoint": {"host": "a.example.org"}}});
        simulation.merge("Cluster", "one", &endpoint);
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        let endpoint = simulation.field("HelmRelease", "one.ccm", "/spec/values/cluster/endpoint");
        assert_eq!(endpoint, "https://a.example.org:6443");
    });
}
