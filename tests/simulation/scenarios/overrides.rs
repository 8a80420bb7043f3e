//! Requests of the owner of a Cluster for its addons, which come and go.

use serde_json::{Value, json};

use super::fixture::{ADDON, OBJECTS, STACK, settle_with_budget};
use crate::driver::Simulation;
use crate::properties::{run, settle};
use crate::repository::{V1, V2};

/// Settings that let the owners of Clusters request these things of all addons.
fn overridable(allowed: &Value) -> Value {
    let addon = json!({"overridable": allowed});
    json!({"flux": {"addons": {"cni": addon, "ccm": addon, "monitoring": addon, "policies": addon}}})
}

fn everything() -> Value {
    overridable(&json!({"enabled": true, "suspend": true, "values": ["*"]}))
}

impl Simulation {
    /// Delivers the first of two releases to a Cluster whose owner may request everything.
    pub(super) fn deliver_overridable(&mut self) {
        self.begin_with(|simulation| {
            simulation.publish(1);
            simulation.offer(&["v1", "v2"], &everything());
            simulation.create_cluster("one", V1);
            settle(simulation);
            simulation.expect("ClusterAddon", ADDON, "Ready", "True Applied");
        });
        self.begin_golden("a Cluster has docker-demo-1-34-v1, and its owner may request everything");
    }

    /// Requests these things of the addons of the first Cluster.
    pub(super) fn request(&self, addons: &Value) {
        self.apply(&json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddonOverride",
            "metadata": {"name": "one", "namespace": self.namespace}, "spec": {"addons": addons},
        }));
    }

    fn expect_accepted(&self, expected: &str) {
        self.expect("ClusterAddonOverride", "one", "Accepted", expected);
    }

    fn has_all(&self) -> bool {
        OBJECTS.iter().all(|(kind, name)| self.has(kind, name))
    }
}

#[test]
fn addon_is_switched_off_and_on() {
    run("override-off", |simulation| {
        simulation.deliver_overridable();
        simulation.request(&json!({"monitoring": {"enabled": false}}));
        settle_with_budget(simulation);
        simulation.expect_accepted("True Accepted");
        simulation.expect_ready_at("one", V1);
        assert_eq!(simulation.uninstalled(), ["one.monitoring"]);

        simulation.upgrade("one", V2);
        settle(simulation);
        simulation.expect_ready_at("one", V2);
        assert!(!simulation.has("HelmRelease", "one.monitoring"), "it stays off");

        simulation.delete("ClusterAddonOverride", "one");
        settle(simulation);
        simulation.expect_ready_at("one", V2);
        assert!(simulation.has_all());
        assert_eq!(simulation.uninstalled(), ["one.monitoring"], "once");
    });
}

#[test]
fn request_that_comes_and_goes_has_one_end() {
    run("override-regret", |simulation| {
        simulation.deliver_overridable();
        simulation.at_any_time(|simulation| {
            simulation.request(&json!({"monitoring": {"enabled": false}, "cni": {"values": {"a": 1}}}));
        });
        simulation.at_any_time(|simulation| {
            simulation.request(&json!({"monitoring": {"enabled": true}, "cni": {"suspend": true}}));
        });
        settle(simulation);
        simulation.request(&json!({}));
        settle_with_budget(simulation);
        simulation.expect_accepted("True Accepted");
        simulation.expect_ready_at("one", V1);
        assert!(simulation.has_all());
        assert_eq!(simulation.field("HelmRelease", "one.cni", "/spec/values/a"), Value::Null);
        let uninstalled = simulation.uninstalled();
        assert!(uninstalled.iter().all(|name| *name == "one.monitoring"), "{uninstalled:?}");
        // Whether Flux uninstalled it in between depends on the order.
        simulation.begin_golden("the Cluster is as it was before");
    });
}

#[test]
fn revoked_request_holds_the_addon() {
    run("override-revoked", |simulation| {
        simulation.deliver_overridable();
        simulation.request(&json!({"cni": {"values": {"a": 1}}, "monitoring": {"enabled": false}}));
        settle_with_budget(simulation);
        simulation.expect_ready_at("one", V1);
        assert_eq!(simulation.field("HelmRelease", "one.cni", "/spec/values/a"), 1);
        let before = simulation.field("HelmRelease", "one.cni", "/metadata/generation");

        simulation.offer(&["v1", "v2"], &overridable(&json!({"suspend": true})));
        simulation.at_any_time(|simulation| simulation.upgrade("one", V2));
        settle_with_budget(simulation);
        simulation.expect_accepted("False OverrideRefused");
        simulation.expect("ClusterAddon", ADDON, "Ready", "False OverrideRefused");
        assert_eq!(simulation.field("HelmRelease", "one.cni", "/metadata/generation"), before);
        assert!(!simulation.has("HelmRelease", "one.monitoring"), "it is not installed");
        assert_eq!(simulation.uninstalled(), ["one.monitoring"]);

        simulation.request(&json!({}));
        settle(simulation);
        simulation.expect_ready_at("one", V2);
        assert!(simulation.has_all());
        assert_eq!(simulation.field("HelmRelease", "one.cni", "/spec/values/a"), Value::Null);
    });
}

/// A list without the Cluster does not prove that there is none: what was in effect holds the addons afterwards, too.
#[test]
fn unlisted_cluster_keeps_its_requests() {
    run("override-unlisted", |simulation| {
        simulation.deliver_overridable();
        simulation.request(&json!({"cni": {"values": {"a": 1}}, "monitoring": {"enabled": false}}));
        settle_with_budget(simulation);
        simulation.offer(&["v1", "v2"], &overridable(&json!({"suspend": true})));
        settle(simulation);
        simulation.lose("Cluster");
        settle(simulation);
        simulation.expect_accepted("False OverrideRefused");
        simulation.expect("ClusterAddon", ADDON, "Ready", "False OverrideRefused");
        assert_eq!(simulation.field("HelmRelease", "one.cni", "/spec/values/a"), 1);
        assert!(!simulation.has("HelmRelease", "one.monitoring"), "it is not installed");
    });
}

/// A list without the requests does not prove that there are none: nothing is installed or changed without them.
#[test]
fn unlisted_requests_stay_in_effect() {
    run("override-lost", |simulation| {
        simulation.deliver_overridable();
        let requests =
            json!({"cni": {"values": {"a": 1}}, "ccm": {"suspend": true}, "monitoring": {"enabled": false}});
        simulation.request(&requests);
        settle_with_budget(simulation);
        let generations = |simulation: &Simulation| {
            ["one.ccm", "one.cni"].map(|name| simulation.field("HelmRelease", name, "/metadata/generation"))
        };
        let before = generations(simulation);
        assert_eq!(simulation.field("HelmRelease", "one.ccm", "/spec/suspend"), true);
        simulation.lose("ClusterAddonOverride");
        settle(simulation);
        assert_eq!(generations(simulation), before, "no addon is changed or resumed");
        assert!(!simulation.has("HelmRelease", "one.monitoring"), "it is not installed");
    });
}

#[test]
fn revoked_permission_uninstalls_nothing_afterwards() {
    run("override-race", |simulation| {
        simulation.deliver_overridable();
        simulation.at_any_time(|simulation| simulation.request(&json!({"monitoring": {"enabled": false}})));
        simulation.at_any_time(|simulation| simulation.offer(&["v1", "v2"], &json!({})));
        settle_with_budget(simulation);
        simulation.expect_accepted("False OverrideRefused");
        // If the request was accepted before, the addon is held, and otherwise it is as without the request.
        let before = simulation.field("ClusterAddonOverride", "one", "/status/addons/0/inEffect");
        if before.is_null() {
            simulation.expect_ready_at("one", V1);
            assert!(simulation.has_all() && simulation.uninstalled().is_empty());
        } else {
            simulation.expect("ClusterAddon", ADDON, "Ready", "False OverrideRefused");
            let is_there = simulation.has("HelmRelease", "one.monitoring");
            assert_eq!(simulation.uninstalled().is_empty(), is_there, "it is as when the permission went");
        }
        simulation.delete("ClusterAddonOverride", "one");
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        simulation.begin_golden("the Cluster has all addons again");
    });
}

#[test]
fn suspension_by_request_ends_with_it() {
    run("override-suspend", |simulation| {
        simulation.deliver_overridable();
        simulation.request(&json!({"cni": {"suspend": true}}));
        settle(simulation);
        assert_eq!(simulation.field("HelmRelease", "one.cni", "/spec/suspend"), true);
        simulation.expect("ClusterAddon", ADDON, "Ready", "Unknown Suspended");
        simulation.delete("ClusterAddonOverride", "one");
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert!(simulation.uninstalled().is_empty());
    });
}

/// A request that the platform does not allow keeps nothing back, neither before the first installation nor later.
#[test]
fn refused_request_keeps_no_addon_back() {
    run("override-never", |simulation| {
        simulation.publish(1);
        simulation.offer(&["v1", "v2"], &json!({}));
        simulation.request(&json!({
            "monitoring": {"enabled": false}, "cni": {"suspend": true}, "policies": {"values": {"a": 1}},
        }));
        simulation.create_cluster("one", V1);
        settle(simulation);
        simulation.expect_accepted("False OverrideRefused");
        simulation.expect_ready_at("one", V1);
        simulation.upgrade("one", V2);
        settle(simulation);
        simulation.expect_ready_at("one", V2);
        assert!(simulation.has_all() && simulation.uninstalled().is_empty());
    });
}

/// An addon that was suspended by request is resumed when it is switched off: Flux uninstalls nothing of a suspended one.
#[test]
fn suspended_addon_is_switched_off() {
    run("override-suspend-off", |simulation| {
        simulation.deliver_overridable();
        simulation.request(&json!({"monitoring": {"suspend": true}}));
        settle(simulation);
        simulation.at_any_time(|simulation| simulation.request(&json!({"monitoring": {"enabled": false}})));
        settle_with_budget(simulation);
        simulation.expect_accepted("True Accepted");
        simulation.expect_ready_at("one", V1);
        assert!(!simulation.has("HelmRelease", "one.monitoring"));
        assert_eq!(simulation.uninstalled(), ["one.monitoring"]);
    });
}

#[test]
fn override_may_exist_before_its_cluster() {
    run("override-first", |simulation| {
        simulation.offer(&["v1"], &everything());
        simulation.request(&json!({"monitoring": {"enabled": false}}));
        settle(simulation);
        simulation.expect_accepted("False ClusterNotFound");
        simulation.create_cluster("one", V1);
        settle(simulation);
        simulation.expect_accepted("True Accepted");
        simulation.expect_ready_at("one", V1);
        assert!(!simulation.has("HelmRelease", "one.monitoring"));
        assert!(simulation.uninstalled().is_empty());
        simulation.delete("Cluster", "one");
        settle(simulation);
        simulation.expect_accepted("False ClusterNotFound");
    });
}

#[test]
fn optional_component_is_switched_on_and_off() {
    run("override-catalog", |simulation| {
        let catalog = json!({"components": {"repositories": [{
            "name": "catalog", "oci": {"url": "oci://registry.example.org/metrics", "digest": format!("sha256:{}", "1".repeat(64))},
            "components": [{"name": "metrics", "chart": ".", "optional": true}],
        }]}});
        simulation.offer(&["v1"], &catalog);
        simulation.create_cluster("one", V1);
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert!(!simulation.has("HelmRelease", "one.metrics"));
        simulation.request(&json!({"metrics": {"enabled": true}}));
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert!(simulation.has("HelmRelease", "one.metrics"));
        simulation.request(&json!({}));
        settle_with_budget(simulation);
        simulation.expect_ready_at("one", V1);
        assert_eq!(simulation.uninstalled(), ["one.metrics"]);

        simulation.request(&json!({"metrics": {"enabled": true}}));
        settle(simulation);
        simulation.merge("ClusterStack", STACK, &json!({"spec": {"components": null}}));
        settle_with_budget(simulation);
        simulation.expect_accepted("False OverrideRefused");
        simulation.expect("ClusterAddon", ADDON, "Ready", "False OverrideRefused");
        assert!(simulation.has("HelmRelease", "one.metrics"), "it is not removed");
        simulation.delete("ClusterAddonOverride", "one");
        settle_with_budget(simulation);
        simulation.expect_ready_at("one", V1);
        assert!(!simulation.has("HelmRelease", "one.metrics"));
    });
}

#[test]
fn requests_are_committed() {
    run("override-git", |simulation| {
        super::git::deliver(simulation, &["v1"], V1);
        simulation.merge("ClusterStack", STACK, &json!({"spec": everything()}));
        settle(simulation);
        simulation.request(&json!({"monitoring": {"enabled": false}, "cni": {"values": {"a": 1}}}));
        settle_with_budget(simulation);
        simulation.expect_ready_at("one", V1);
        assert_eq!(simulation.uninstalled(), ["one.monitoring"]);
        assert_eq!(simulation.field("HelmRelease", "one.cni", "/spec/values/a"), 1);
        simulation.delete("ClusterAddonOverride", "one");
        settle_with_budget(simulation);
        simulation.expect_ready_at("one", V1);
        assert!(simulation.has_all());
        // Which statuses are written together depends on how long a commit takes.
        simulation.begin_golden("the requests are gone, and nothing is written any longer");
    });
}
