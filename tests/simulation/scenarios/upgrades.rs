//! Upgrades of Clusters to another Kubernetes version: addons that belong before it move first, and the rest after it.

use serde_json::{Value, json};
use stackflux::foreign::capi::upgrade::UPGRADE_HOOK;

use super::fixture::{ADDON, STACK, orphan};
use crate::driver::Simulation;
use crate::flux::number;
use crate::invariants::State;
use crate::properties::{run, settle};
use crate::repository::{PATCHED, V2};

/// The version of the first releases.
pub(super) const OLD: &str = "v1.34.0";
/// The version of [`PATCHED`].
pub(super) const NEW: &str = "v1.34.1";
/// The request to repeat the upgrade of an addon after that of the Cluster.
const REPEATED: &str = "docker-demo-1-34-v6/v1.34.1";
/// The annotation that makes Cluster API accept another version while an upgrade waits.
const UNSAFE: &str = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check";

pub(super) fn topology(class: &str, version: &str) -> Value {
    json!({"spec": {"topology": {"classRef": {"name": class}, "version": version}}})
}

pub(super) fn annotated(annotation: &str, value: &Value) -> Value {
    json!({"metadata": {"annotations": {annotation: value}}})
}

pub(super) fn has_hook(cluster: &Value) -> bool {
    !cluster["metadata"]["annotations"][UPGRADE_HOOK].is_null()
}

/// The version of the control plane of Cluster `one`, and that of its nodes.
fn versions(state: &State) -> [Value; 2] {
    ["/spec/version", "/status/version"].map(|field| state.field("KubeadmControlPlane", "one", field))
}

/// Whether the last content of an addon of Cluster `one` is installed, and no other is wanted.
fn is_installed(state: &State, addon: &str, release: &str) -> bool {
    let name = format!("one.{addon}");
    let object = state.get("HelmRelease", &name).unwrap_or_default();
    let ready = &object["status"]["conditions"][0];
    object["metadata"]["labels"]["clusterstack.x-k8s.io/release"] == release
        && object["status"]["observedGeneration"] == object["metadata"]["generation"]
        && ready["status"] == "True"
}

impl Simulation {
    /// Creates a Cluster that is up, with a control plane.
    pub(super) fn create_cluster_with_control_plane(&self, name: &str, class: &str) {
        self.apply(&json!({
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
            "metadata": {"name": name, "namespace": self.namespace}, "spec": {"version": OLD},
        }));
        self.merge_status("KubeadmControlPlane", name, &json!({"version": OLD}));
        self.create_starting_cluster(name, class);
        let control_plane =
            json!({"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": name});
        self.merge("Cluster", name, &json!({"spec": {"controlPlaneRef": control_plane}}));
        self.set_up(name);
    }

    /// Delivers a release to Cluster `one`, which is to be upgraded, with more in the spec of the `ClusterStack`.
    pub(super) fn deliver_before_upgrade(&mut self, more: &Value) {
        let more = more.clone();
        self.begin_with(move |simulation| {
            simulation.publish(4);
            simulation.offer(&["v2", "v6"], &more);
            simulation.create_cluster_with_control_plane("one", V2);
            settle(simulation);
            simulation.expect_ready_at("one", V2);
        });
        self.begin_golden("a Cluster has the addons of docker-demo-1-34-v2 and Kubernetes v1.34.0");
    }

    /// States what holds during an upgrade that nobody forces.
    pub(super) fn expect_order(&mut self) {
        self.always("the control plane follows the addons that belong before it", |state| {
            versions(state)[0] == OLD || is_installed(state, "cni", PATCHED)
        });
        self.always("the gate opens after the addons that belong before the upgrade", |state| {
            let cluster = state.get("Cluster", "one").unwrap_or_default();
            let is_due = versions(state)[0] != cluster["spec"]["topology"]["version"];
            !is_due || has_hook(&cluster) || is_installed(state, "cni", PATCHED)
        });
        self.always("the upgrade of an addon is repeated after that of the Cluster", |state| {
            let place = "/metadata/annotations/reconcile.fluxcd.io~1forceAt";
            let request = state.field("HelmRelease", "one.cni", place);
            versions(state)[1] == NEW || !request.as_str().unwrap_or_default().starts_with(REPEATED)
        });
        let before = self.field("HelmRelease", "one.monitoring", "/metadata/generation");
        self.always("an addon that belongs after the upgrade is not touched before", move |state| {
            let is_upgraded = versions(state)[1] == NEW;
            is_upgraded || state.field("HelmRelease", "one.monitoring", "/metadata/generation") == before
        });
    }

    /// Sets class and version of Cluster `one` to those of the next release.
    pub(super) fn upgrade_both(&mut self) {
        self.merge("Cluster", "one", &topology(PATCHED, NEW));
    }

    /// Fails unless Cluster `one` has been upgraded with all its addons.
    #[track_caller]
    pub(super) fn expect_upgraded(&self) {
        assert_eq!(self.field("KubeadmControlPlane", "one", "/status/version"), NEW);
        self.expect_ready_at("one", PATCHED);
        let handled = self.field("HelmRelease", "one.cni", "/status/lastHandledForceAt");
        assert!(handled.as_str().unwrap_or_default().starts_with(REPEATED), "{handled}");
        let note = "/metadata/annotations/clusterstack.x-k8s.io~1repeat-after";
        assert_eq!(self.field("HelmRelease", "one.cni", note), Value::Null);
        assert_eq!(self.field("HelmRelease", "one.ccm", "/status/lastHandledForceAt"), Value::Null);
        self.expect("ClusterAddon", ADDON, "UpgradeGate", "True NotUpgrading");
        assert!(has_hook(&self.get("Cluster", "one").unwrap()));
        assert_eq!(self.field("ClusterAddon", ADDON, "/status/upgrade"), Value::Null);
        assert_eq!(self.field("ClusterAddon", ADDON, "/status/hook"), Value::Null);
    }

    /// Makes failed content ready from now on.
    pub(super) fn mend_flux(&mut self) {
        let wire = self.wire.clone();
        self.flux.mend(&wire.cluster().server);
    }

    pub(super) fn control_plane_version(&self) -> Value {
        self.field("KubeadmControlPlane", "one", "/spec/version")
    }
}

#[test]
fn control_plane_follows_the_addons_before_it() {
    run("upgrade", |simulation| {
        simulation.deliver_before_upgrade(&json!({}));
        simulation.expect_order();
        simulation.reaches("an open gate", |state| {
            let cluster = state.get("Cluster", "one").unwrap_or_default();
            cluster["spec"]["topology"]["version"] == NEW && !has_hook(&cluster)
        });
        simulation.upgrade_both();
        settle(simulation);
        simulation.expect_upgraded();
    });
}

/// Upgrades Cluster `one` by two edits: nothing moves between them.
fn upgrade_in_two_edits(simulation: &mut Simulation, [first, second]: [Value; 2]) {
    simulation.deliver_before_upgrade(&json!({}));
    simulation.expect_order();
    let before = simulation.generations();
    simulation.merge("Cluster", "one", &first);
    settle(simulation);
    assert_eq!(simulation.control_plane_version(), OLD);
    assert_eq!(simulation.generations(), before);
    simulation.expect("ClusterAddon", ADDON, "Ready", "False KubernetesVersionMismatch");
    simulation.merge("Cluster", "one", &second);
    settle(simulation);
    simulation.expect_upgraded();
}

fn edits() -> [Value; 2] {
    [
        json!({"spec": {"topology": {"classRef": {"name": PATCHED}}}}),
        json!({"spec": {"topology": {"version": NEW}}}),
    ]
}

#[test]
fn class_edited_before_the_version_moves_nothing() {
    run("upgrade-class", |simulation| upgrade_in_two_edits(simulation, edits()));
}

#[test]
fn version_edited_before_the_class_moves_nothing() {
    run("upgrade-version", |simulation| {
        let [class, version] = edits();
        upgrade_in_two_edits(simulation, [version, class]);
    });
}

#[test]
fn failing_addon_keeps_the_gate_closed() {
    run("upgrade-failing", |simulation| {
        simulation.deliver_before_upgrade(&json!({}));
        simulation.expect_order();
        simulation.flux.failing.insert("one.cni".to_owned());
        simulation.upgrade_both();
        settle(simulation);
        simulation.expect("ClusterAddon", ADDON, "UpgradeGate", "False WaitingForAddons");
        let message = simulation.message("ClusterAddon", ADDON, "UpgradeGate");
        assert!(message.starts_with("cni: "), "{message}");
        assert_eq!(simulation.field("ClusterAddon", ADDON, "/status/upgrade/phase"), "Waiting");
        assert_eq!(simulation.field("ClusterAddon", ADDON, "/status/hook"), "BeforeClusterUpgrade");
        assert_eq!(simulation.control_plane_version(), OLD);
        simulation.mend_flux();
        settle(simulation);
        simulation.expect_upgraded();
    });
}

#[test]
fn user_opens_the_gate_for_one_version() {
    run("upgrade-forced", |simulation| {
        simulation.deliver_before_upgrade(&json!({}));
        simulation.flux.failing.insert("one.cni".to_owned());
        simulation.merge(
            "Cluster",
            "one",
            &annotated("clusterstack.x-k8s.io/open-upgrade-gate", &json!("v1.34.9")),
        );
        simulation.upgrade_both();
        settle(simulation);
        simulation.expect("ClusterAddon", ADDON, "UpgradeGate", "False WaitingForAddons");
        simulation.merge(
            "Cluster",
            "one",
            &annotated("clusterstack.x-k8s.io/open-upgrade-gate", &json!(NEW)),
        );
        settle(simulation);
        assert_eq!(simulation.control_plane_version(), NEW, "the addon still fails");
        assert!(has_hook(&simulation.get("Cluster", "one").unwrap()), "for the next upgrade");
        simulation.mend_flux();
        settle(simulation);
        simulation.expect_upgraded();
    });
}

#[test]
fn annotation_that_a_user_removes_comes_back() {
    run("upgrade-removed", |simulation| {
        simulation.deliver_before_upgrade(&json!({}));
        simulation.at_any_time(|simulation| {
            simulation.merge("Cluster", "one", &annotated(UPGRADE_HOOK, &Value::Null));
        });
        settle(simulation);
        assert!(has_hook(&simulation.get("Cluster", "one").unwrap()));
        simulation.expect_order();
        simulation.upgrade_both();
        settle(simulation);
        simulation.expect_upgraded();
    });
}

#[test]
fn gate_that_is_off_delays_nothing() {
    run("upgrade-off", |simulation| {
        simulation.deliver_before_upgrade(&json!({}));
        simulation.offer(&["v2", "v6"], &json!({"upgradeGate": "Off"}));
        settle(simulation);
        simulation.expect("ClusterAddon", ADDON, "UpgradeGate", "True Off");
        simulation.always("there is no annotation", |state| {
            !has_hook(&state.get("Cluster", "one").unwrap_or_default())
        });
        simulation.flux.failing.insert("one.cni".to_owned());
        simulation.upgrade_both();
        settle(simulation);
        assert_eq!(simulation.control_plane_version(), NEW);
        simulation.mend_flux();
        settle(simulation);
        simulation.expect_ready_at("one", PATCHED);
    });
}

#[test]
fn nothing_moves_before_cluster_api_waits() {
    run("upgrade-unhealthy", |simulation| {
        simulation.deliver_before_upgrade(&json!({}));
        simulation.expect_order();
        let before = simulation.generations();
        simulation.cluster_api.is_healthy = false;
        simulation.upgrade_both();
        settle(simulation);
        assert_eq!(simulation.generations(), before);
        simulation.expect("ClusterAddon", ADDON, "UpgradeGate", "False WaitingForClusterAPI");
        let message = simulation.message("ClusterAddon", ADDON, "UpgradeGate");
        assert!(message.contains("KubeadmControlPlane one is not healthy"), "{message}");
        simulation.cluster_api.is_healthy = true;
        simulation.cluster_api.look_again();
        settle(simulation);
        simulation.expect_upgraded();
    });
}

#[test]
fn cluster_api_without_hooks_is_reported() {
    run("upgrade-unhooked", |simulation| {
        simulation.deliver_before_upgrade(&json!({}));
        simulation.cluster_api.has_hooks = false;
        simulation.upgrade_both();
        settle(simulation);
        assert_eq!(simulation.control_plane_version(), NEW);
        simulation.expect_ready_at("one", PATCHED);
        simulation.expect("ClusterAddon", ADDON, "UpgradeGate", "Unknown NotEnforced");
    });
}

#[test]
fn waiting_cluster_goes_back() {
    run("upgrade-back", |simulation| {
        simulation.deliver_before_upgrade(&json!({}));
        simulation.always("the control plane stays", |state| versions(state)[0] == OLD);
        simulation.flux.failing.insert("one.cni".to_owned());
        simulation.upgrade_both();
        settle(simulation);
        let mut back = topology(V2, OLD);
        back["metadata"]["annotations"][UNSAFE] = json!("");
        simulation.merge("Cluster", "one", &back);
        simulation.mend_flux();
        settle(simulation);
        simulation.expect_ready_at("one", V2);
        simulation.expect("ClusterAddon", ADDON, "UpgradeGate", "True NotUpgrading");
        assert!(has_hook(&simulation.get("Cluster", "one").unwrap()));
    });
}

#[test]
fn waiting_cluster_is_let_go() {
    run("upgrade-deleted", |simulation| {
        simulation.deliver_before_upgrade(&json!({}));
        simulation.flux.failing.insert("one.cni".to_owned());
        simulation.upgrade_both();
        simulation.at_any_time(|simulation| simulation.delete("Cluster", "one"));
        settle(simulation);
        assert!(!simulation.has("ClusterAddon", ADDON));
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn orphaned_cluster_waits_for_nothing() {
    run("upgrade-orphan", |simulation| {
        simulation.deliver_before_upgrade(&json!({}));
        simulation.flux.failing.insert("one.cni".to_owned());
        simulation.upgrade_both();
        settle(simulation);
        simulation.merge("ClusterStack", STACK, &orphan());
        simulation.delete("ClusterStack", STACK);
        settle(simulation);
        assert!(!simulation.has("ClusterStack", STACK));
        assert!(!has_hook(&simulation.get("Cluster", "one").unwrap()));
        assert_eq!(simulation.control_plane_version(), NEW);
        assert!(simulation.uninstalled().is_empty());
    });
}

/// The annotation of a Cluster is written when something changes, and not again.
#[test]
fn annotation_is_written_once_for_each_change() {
    run("upgrade-writes", |simulation| {
        simulation.deliver_before_upgrade(&json!({}));
        let cluster = simulation.place("Cluster", "one");
        let count = |simulation: &Simulation| {
            let cluster_state = simulation.wire.cluster();
            let entries = cluster_state.server.log.iter().filter(|entry| entry.place == cluster);
            let hooks: Vec<bool> = entries.map(|entry| has_hook(&entry.object)).collect();
            hooks.windows(2).filter(|pair| pair[0] != pair[1]).count()
        };
        let before = count(simulation);
        simulation.upgrade_both();
        settle(simulation);
        simulation.expect_upgraded();
        assert_eq!(count(simulation) - before, 2, "it is removed and set again");
        assert_eq!(cluster.0, number("Cluster"));
    });
}

/// A user suspends the addon when the status says that it is applied, and the watch of the operator is late.
#[test]
fn gate_stays_closed_for_an_addon_that_changes_at_the_end() {
    run("upgrade-suspended", |simulation| {
        simulation.deliver_before_upgrade(&json!({}));
        let is_applied = |simulation: &Simulation| {
            let status = simulation.field("ClusterAddon", ADDON, "/status");
            let is_cni = |addon: &&Value| addon["name"] == "cni" && addon["phase"] == "Applied";
            let is_new =
                simulation.field("HelmRelease", "one.cni", "/metadata/labels/clusterstack.x-k8s.io~1release");
            is_new == PATCHED
                && status["upgrade"]["phase"] == "Waiting"
                && status["addons"].as_array().into_iter().flatten().any(|addon| is_cni(&addon))
                && has_hook(&simulation.get("Cluster", "one").unwrap())
        };
        simulation.just_when("an applied addon at a closed gate", is_applied, |simulation| {
            simulation.delay("HelmRelease");
            simulation.merge("HelmRelease", "one.cni", &json!({"spec": {"suspend": true}}));
        });
        simulation.always("the gate is closed while the addon is suspended", |state| {
            let cluster = state.get("Cluster", "one").unwrap_or_default();
            let is_suspended = state.field("HelmRelease", "one.cni", "/spec/suspend") == true;
            !is_suspended || versions(state)[0] == NEW || has_hook(&cluster)
        });
        simulation.upgrade_both();
        settle(simulation);
        if simulation.field("HelmRelease", "one.cni", "/spec/suspend") == true {
            simulation.expect("ClusterAddon", ADDON, "UpgradeGate", "False WaitingForAddons");
            assert_eq!(simulation.control_plane_version(), OLD);
        }
        simulation.merge("HelmRelease", "one.cni", &json!({"spec": {"suspend": null}}));
        settle(simulation);
        simulation.expect_upgraded();
    });
}
