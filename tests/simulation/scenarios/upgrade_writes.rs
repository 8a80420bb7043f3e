//! Upgrades in which the operator cannot write the annotation, does not know whether it may, or does not write the addons
//! itself.

use std::time::Duration;

use serde_json::json;

use super::fixture::ADDON;
use super::git;
use super::upgrades::{NEW, OLD, annotated, has_hook, topology};
use crate::api_server::ApiServer;
use crate::flux::number;
use crate::properties::{run, settle};
use crate::repository::{PATCHED, V2};

/// Cluster API's webhook refuses each write of a Cluster because of something else in it. The addons do not wait for that.
#[test]
fn refused_annotation_is_reported_and_written_later() {
    run("upgrade-refused", |simulation| {
        simulation.deliver_before_upgrade(&json!({}));
        simulation.expect_order();
        simulation.refuse(Some(|_, call| {
            call.method == "PATCH" && ApiServer::place_of(call).0 == number("Cluster")
        }));
        simulation.upgrade_both();
        settle(simulation);
        simulation.expect("ClusterAddon", ADDON, "UpgradeGate", "Unknown GateNotWritable");
        assert_eq!(simulation.control_plane_version(), OLD);
        let moved =
            simulation.field("HelmRelease", "one.cni", "/metadata/labels/clusterstack.x-k8s.io~1release");
        assert_eq!(moved, PATCHED, "the addons move");
        simulation.refuse(None);
        simulation.wait(Duration::from_mins(10));
        settle(simulation);
        simulation.expect_upgraded();
    });
}

/// The operator commits the addons: the gate waits until Flux has applied the commit.
#[test]
fn gate_waits_for_commits() {
    run("upgrade-git", |simulation| {
        simulation.publish(4);
        simulation.create_cluster_with_control_plane("one", V2);
        git::deliver(simulation, &["v2", "v6"], V2);
        simulation.expect_order();
        simulation.upgrade_both();
        settle(simulation);
        simulation.expect_upgraded();
        assert!(simulation.uninstalled().is_empty());
    });
}

/// Which `ClusterStack` the class belongs to is not known: the annotation stays, the status says that the upgrade waits, and a user
/// opens the gate. The next class is that of a release again.
#[test]
fn unknown_class_waits_until_it_is_forced() {
    run("upgrade-unknown", |simulation| {
        simulation.deliver_before_upgrade(&json!({}));
        simulation.merge("Cluster", "one", &topology("docker-other-1-34-v1", NEW));
        settle(simulation);
        simulation.expect("ClusterAddon", ADDON, "UpgradeGate", "Unknown ClassUnknown");
        let upgrade = simulation.field("ClusterAddon", ADDON, "/status/upgrade/to");
        assert_eq!((upgrade, simulation.control_plane_version()), (json!(NEW), json!(OLD)));
        assert!(has_hook(&simulation.get("Cluster", "one").unwrap()));

        let open = annotated("clusterstack.x-k8s.io/open-upgrade-gate", &json!(NEW));
        simulation.merge("Cluster", "one", &open);
        settle(simulation);
        assert_eq!(simulation.control_plane_version(), NEW);
        assert!(simulation.uninstalled().is_empty());
        simulation.upgrade("one", PATCHED);
        settle(simulation);
        simulation.expect_ready_at("one", PATCHED);
        assert!(has_hook(&simulation.get("Cluster", "one").unwrap()), "for the next upgrade");
    });
}
