//! Delivery through Git: the operator commits to a local repository, and Flux applies the commits.

use std::time::Duration;

use serde_json::{Value, json};

use super::fixture::{ADDON, OBJECTS, STACK, settle_with_budget};
use crate::driver::Simulation;
use crate::flux::fleet::{FLEET, Fleet, PATH};
use crate::properties::{run, settle};
use crate::repository::{V1, V2, WITHOUT_MONITORING};

/// The delay before the operator looks again at a change that is held.
const REQUEUE_HELD_AFTER: Duration = Duration::from_mins(1);

/// Offers these versions through a repository that Flux follows, and creates a Cluster.
pub(super) fn deliver(simulation: &mut Simulation, versions: &[&str], class: &str) {
    deliver_with(simulation, versions, class, &json!({}));
}

/// Like [`deliver`], with settings for Flux.
pub(super) fn deliver_with(simulation: &mut Simulation, versions: &[&str], class: &str, flux: &Value) {
    let fleet = Fleet::new(&simulation.namespace);
    let metadata = json!({"name": FLEET, "namespace": simulation.namespace});
    let follow = json!({"url": fleet.url(), "ref": {"branch": "main"}, "interval": "1m"});
    let apply = json!({
        "sourceRef": {"kind": "GitRepository", "name": FLEET}, "path": PATH, "prune": true, "interval": "10m",
    });
    let delivery = json!({
        "flux": flux,
        "delivery": {"mode": "Git", "git": {"url": fleet.url(), "path": PATH, "branch": "main"}},
    });
    simulation.flux.fleet = Some(fleet);
    for (group, kind, spec) in [
        ("source.toolkit.fluxcd.io", "GitRepository", follow),
        ("kustomize.toolkit.fluxcd.io", "Kustomization", apply),
    ] {
        let version = format!("{group}/v1");
        simulation.apply(&json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}));
    }
    simulation.offer(versions, &delivery);
    simulation.create_cluster("one", class);
    settle(simulation);
    simulation.expect_ready_at("one", class);
}

pub(super) fn fleet(simulation: &Simulation) -> &Fleet {
    simulation.flux.fleet.as_ref().unwrap()
}

/// The file of an object of the Cluster's addons.
fn file(simulation: &Simulation, object: &str) -> String {
    format!("clusters/{}/one/helmrelease-{object}.yaml", simulation.namespace)
}

fn endpoint(host: &str) -> Value {
    json!({"spec": {"controlPlaneEndpoint": {"host": host}}})
}

#[test]
fn committed_objects_are_applied_by_flux() {
    run("git", |simulation| {
        simulation.publish(1);
        simulation.always("a Cluster with files has a status that names their ClusterStack", |state| {
            let Some(fleet) = &state.flux.fleet else { return true };
            state.get("ClusterAddon", ADDON).is_none()
                || !is_committed(fleet, "one.cni")
                || state.field("ClusterAddon", ADDON, "/status/committedBy").is_string()
        });
        deliver(simulation, &["v1", "v2"], V1);
        simulation.expect("ClusterStack", STACK, "Delivered", "True Delivered");
        simulation.expect("ClusterStack", STACK, "Ready", "True Usable");
        let applier = "/metadata/labels/kustomize.toolkit.fluxcd.io~1name";
        assert!(OBJECTS.iter().all(|(kind, name)| simulation.field(kind, name, applier) == FLEET));
        simulation.upgrade("one", V2);
        settle(simulation);
        simulation.expect_ready_at("one", V2);
        assert!(fleet(simulation).files()[&file(simulation, "one.monitoring")].contains(V2));
        assert!(simulation.uninstalled().is_empty());
        simulation.delete("Cluster", "one");
        settle(simulation);
        assert!(!simulation.has("ClusterAddon", ADDON));
        assert!(OBJECTS.iter().all(|(kind, name)| !simulation.has(kind, name)));
        assert!(!fleet(simulation).files().contains_key(&file(simulation, "one.cni")));
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn paused_cluster_discards_held_plan() {
    run("git-held", |simulation| {
        deliver(simulation, &["v1"], V1);
        let edited = file(simulation, "one.cni");
        fleet(simulation).edit(&edited, |text| format!("# mine\n{text}"));
        simulation.merge("Cluster", "one", &endpoint("held.example.org"));
        settle(simulation);
        simulation.expect("ClusterAddon", ADDON, "Delivered", "False FileEdited");
        assert!(simulation.message("ClusterAddon", ADDON, "Delivered").contains(&edited));
        simulation.merge("Cluster", "one", &json!({"spec": {"paused": true}}));
        settle(simulation);
        let before = fleet(simulation).commits();
        fleet(simulation).edit(&edited, |text| text.trim_start_matches("# mine\n").to_owned());
        simulation.wait(REQUEUE_HELD_AFTER);
        settle(simulation);
        assert_eq!(fleet(simulation).commits(), before + 1, "the held plan is not committed");
        simulation.merge("Cluster", "one", &json!({"spec": {"paused": false}}));
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        let values = simulation.field("HelmRelease", "one.ccm", "/spec/values/cluster/endpoint");
        assert_eq!(values, "https://held.example.org:6443");
    });
}

#[test]
fn addon_dropped_by_release_is_removed_from_git() {
    run("git-dropped", |simulation| {
        simulation.publish(2);
        deliver(simulation, &["v2", "v3"], V2);
        simulation.upgrade("one", WITHOUT_MONITORING);
        settle_with_budget(simulation);
        simulation.expect_ready_at("one", WITHOUT_MONITORING);
        assert_eq!(simulation.uninstalled(), ["one.monitoring"]);
        assert!(!fleet(simulation).files().contains_key(&file(simulation, "one.monitoring")));
    });
}

#[test]
fn recreated_cluster_waits_until_flux_has_deleted_the_objects() {
    run("git-recreated", |simulation| {
        deliver(simulation, &["v1"], V1);
        simulation.delete("Cluster", "one");
        simulation.at_any_time(|simulation| simulation.create_cluster("one", V1));
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert!(simulation.uninstalled().is_empty(), "{:?}", simulation.uninstalled());
    });
}

/// Whether the repository has the file of an object of the Cluster's addons.
fn is_committed(fleet: &Fleet, object: &str) -> bool {
    fleet.files().keys().any(|file| file.contains(&format!("-{object}.")))
}

/// Flux is slow to apply the commit that removes the files, and the Cluster is created again meanwhile.
#[test]
fn objects_that_flux_is_to_delete_stay_suspended() {
    run("git-slow", |simulation| {
        deliver(simulation, &["v1"], V1);
        simulation.always("an object that Flux is to delete is suspended", |state| {
            let fleet = state.flux.fleet.as_ref().unwrap();
            let to_delete = OBJECTS.iter().filter(|(_, name)| !is_committed(fleet, name));
            let mut existing = to_delete.filter_map(|(kind, name)| state.get(kind, name));
            existing.all(|object| object["spec"]["suspend"] == true)
        });
        simulation.just_when(
            "an object whose file is removed",
            |simulation| {
                simulation.has("HelmRelease", "one.cni") && !is_committed(fleet(simulation), "one.cni")
            },
            |simulation| {
                simulation.flux.is_delayed = true;
                simulation.create_cluster("one", V1);
            },
        );
        simulation.delete("Cluster", "one");
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert!(simulation.uninstalled().is_empty(), "{:?}", simulation.uninstalled());
    });
}

#[test]
fn lost_branch_keeps_addons_of_a_paused_cluster() {
    run("git-lost", |simulation| {
        deliver(simulation, &["v1"], V1);
        simulation.merge("Cluster", "one", &json!({"spec": {"paused": true}}));
        settle(simulation);
        fleet(simulation).delete_branch();
        simulation.merge("ClusterStack", STACK, &json!({"spec": {"flux": {"interval": "7m"}}}));
        settle(simulation);
        simulation.expect("ClusterStack", STACK, "Delivered", "Unknown PushFailed");
        assert_eq!(fleet(simulation).head(), None);
        assert!(OBJECTS.iter().all(|(kind, name)| simulation.has(kind, name)));
        simulation.merge("Cluster", "one", &json!({"spec": {"paused": false}}));
        simulation.wait(REQUEUE_HELD_AFTER);
        settle(simulation);
        simulation.expect("ClusterStack", STACK, "Delivered", "True Delivered");
        simulation.expect_ready_at("one", V1);
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn commit_that_the_branch_lost_is_delivered_again() {
    run("git-rewritten", |simulation| {
        simulation.publish(1);
        deliver(simulation, &["v1", "v2"], V1);
        simulation.upgrade("one", V2);
        settle(simulation);
        fleet(simulation).drop_commit();
        // Without a wait: what Flux fetches is the only news.
        settle(simulation);
        assert!(fleet(simulation).files()[&file(simulation, "one.monitoring")].contains(V2));
        simulation.expect("ClusterStack", STACK, "Delivered", "True Delivered");
        simulation.expect_ready_at("one", V2);
        assert!(simulation.uninstalled().is_empty());
    });
}
