//! Changes by others: edits of generated objects, suspensions, lost labels and owners, and objects of others.

use std::time::Duration;

use serde_json::{Value, json};
use stackflux::api::labels::MANAGED_BY;

use super::fixture::{ADDON, OBJECTS, STACK, settle_with_budget};
use crate::driver::Simulation;
use crate::properties::{run, settle};
use crate::repository::{COMMITS, V1, V2, WITHOUT_MONITORING};

fn suspend(is_suspended: bool) -> Value {
    json!({"spec": {"suspend": is_suspended}})
}

#[test]
fn edited_object_is_restored() {
    run("edited", |simulation| {
        simulation.deliver();
        let spec = |name: &str| simulation.field("HelmRelease", name, "/spec");
        let before = [spec("one.ccm"), spec("one.cni")];
        let hole = json!({"spec": {"values": {"hole": {"in": "the wall"}}}});
        simulation.at_any_time(move |simulation| simulation.merge("HelmRelease", "one.ccm", &hole));
        let interval = json!({"spec": {"interval": "1s", "timeout": "2s"}});
        simulation.at_any_time(move |simulation| simulation.merge("HelmRelease", "one.cni", &interval));
        settle(simulation);
        let spec = |name: &str| simulation.field("HelmRelease", name, "/spec");
        assert_eq!([spec("one.ccm"), spec("one.cni")], before);
        simulation.expect_ready_at("one", V1);
    });
}

/// Another client changes a field back after each repair: the repairs become rare, the status says when the next one is, and
/// one event counts them.
#[test]
fn fight_with_another_client_is_damped() {
    run("fight", |simulation| {
        simulation.deliver();
        simulation.calm_down();
        let interval = |simulation: &Simulation| simulation.field("HelmRelease", "one.ccm", "/spec/interval");
        let planned = interval(simulation);
        for round in 1..=12 {
            let change = json!({"spec": {"interval": format!("{round}s")}});
            simulation.merge("HelmRelease", "one.ccm", &change);
            settle(simulation);
            if interval(simulation) != planned {
                break;
            }
        }
        simulation.expect("ClusterAddon", ADDON, "Delivered", "False Foreign");
        simulation.expect("ClusterAddon", ADDON, "Ready", "False Foreign");
        let message = simulation.message("ClusterAddon", ADDON, "Delivered");
        let words = [
            "ccm: was changed again by kubectl after the operator restored it",
            "times; the operator restores it at 20",
        ];
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
        let events = simulation.log_lines("event: Foreign: \"HelmRelease");
        assert_eq!(events.len(), 1, "{events:?}");
        assert!(simulation.log_lines("PATCH /apis/events.k8s.io/").len() > 4);
        simulation.wait(Duration::from_mins(10));
        settle(simulation);
        assert_eq!(interval(simulation), planned);
        simulation.expect_ready_at("one", V1);
    });
}

/// The annotation with the digest of the content stays as it was: it makes no edited source the pin.
#[test]
fn edited_source_and_chart_are_restored() {
    run("edited-source", |simulation| {
        simulation.deliver();
        let charts = simulation.names("HelmChart");
        let chart = charts.into_iter().find(|name| name.starts_with("ccm-")).unwrap();
        let content = |simulation: &crate::driver::Simulation| {
            let commit = simulation.field("GitRepository", V1, "/spec/ref/commit");
            [commit, simulation.field("HelmChart", &chart, "/spec/chart")]
        };
        let before = content(simulation);
        assert!(before.iter().all(serde_json::Value::is_string), "{before:?}");
        let commit = json!({"spec": {"ref": {"commit": COMMITS[1].id}}});
        simulation.at_any_time(move |simulation| simulation.merge("GitRepository", V1, &commit));
        let (name, path) =
            (chart.clone(), json!({"spec": {"chart": format!("./releases/{V1}/cluster-addon/cni")}}));
        simulation.at_any_time(move |simulation| simulation.merge("HelmChart", &name, &path));
        settle(simulation);
        assert_eq!(content(simulation), before);
        simulation.expect_ready_at("one", V1);
    });
}

#[test]
fn deleted_object_is_recreated() {
    run("removed", |simulation| {
        simulation.deliver();
        simulation.at_any_time(|simulation| simulation.delete("HelmRelease", "one.ccm"));
        simulation.at_any_time(|simulation| simulation.delete("Kustomization", "one.policies"));
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert_eq!(simulation.uninstalled(), ["one.ccm", "one.policies"], "a person did that");
    });
}

#[test]
fn object_without_owner_is_deleted_with_its_cluster() {
    run("owner", |simulation| {
        simulation.deliver();
        let owners = |simulation: &Simulation| {
            let of = |name| simulation.field("HelmRelease", name, "/metadata/ownerReferences");
            [of("one.cni"), of(V1)].map(|owners| owners.to_string())
        };
        let before = owners(simulation);
        for (name, none) in [("one.cni", json!([])), ("one.cni", json!(null)), (V1, json!([]))] {
            let change = json!({"metadata": {"ownerReferences": none}});
            simulation.at_any_time(move |simulation| simulation.merge("HelmRelease", name, &change));
        }
        settle(simulation);
        assert_eq!(owners(simulation), before, "the operator adds the owners at once");
        simulation.expect_ready_at("one", V1);
        simulation.delete("Cluster", "one");
        settle(simulation);
        assert!(!simulation.has("ClusterAddon", ADDON));
        assert!(OBJECTS.iter().all(|(kind, name)| !simulation.has(kind, name)));
        assert!(simulation.uninstalled().is_empty());
    });
}

/// A label of an addon that the release does not have, or of another Cluster, does not make the operator prune the object.
#[test]
fn changed_label_is_restored_without_uninstall() {
    run("relabelled", |simulation| {
        simulation.deliver();
        let labels = |simulation: &crate::driver::Simulation| {
            ["one.ccm", "one.cni"].map(|name| simulation.field("HelmRelease", name, "/metadata/labels"))
        };
        let before = labels(simulation);
        let label = |name: &str, value: Value| json!({"metadata": {"labels": {name: value}}});
        let (addon, cluster) = ("clusterstack.x-k8s.io/addon", "cluster.x-k8s.io/cluster-name");
        let other = label(addon, json!("zzz"));
        simulation.at_any_time(move |simulation| simulation.merge("HelmRelease", "one.cni", &other));
        let other = label(cluster, json!("zzz"));
        simulation.at_any_time(move |simulation| simulation.merge("HelmRelease", "one.cni", &other));
        let none = label(addon, json!(null));
        simulation.at_any_time(move |simulation| simulation.merge("HelmRelease", "one.ccm", &none));
        settle(simulation);
        assert_eq!(labels(simulation), before);
        assert!(simulation.uninstalled().is_empty());
        simulation.expect_ready_at("one", V1);
    });
}

#[test]
fn cluster_addon_reference_to_cluster_is_restored() {
    run("reference", |simulation| {
        simulation.deliver();
        let reference = |simulation: &crate::driver::Simulation| {
            simulation.field("ClusterAddon", ADDON, "/spec/clusterRef")
        };
        let before = reference(simulation);
        let other = json!({"spec": {"clusterRef": {"name": "two"}}});
        simulation.at_any_time(move |simulation| simulation.merge("ClusterAddon", ADDON, &other));
        settle(simulation);
        assert_eq!(reference(simulation), before);
        simulation.expect_ready_at("one", V1);
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn deleted_storage_namespace_is_recreated() {
    run("storage", |simulation| {
        simulation.deliver();
        let storage = |simulation: &crate::driver::Simulation| {
            let names = simulation.names("Namespace");
            names.into_iter().find(|name| name.ends_with("-helm"))
        };
        let name = storage(simulation).unwrap();
        let deleted = name.clone();
        simulation.at_any_time(move |simulation| simulation.delete_namespace_of_name(&deleted));
        settle(simulation);
        assert_eq!(storage(simulation), Some(name));
        simulation.expect_ready_at("one", V1);
    });
}

#[test]
fn suspension_by_a_user_is_respected_and_shown() {
    run("person", |simulation| {
        simulation.deliver();
        simulation.merge("HelmRelease", "one.ccm", &suspend(true));
        settle(simulation);
        simulation.expect("ClusterAddon", ADDON, "Ready", "Unknown Suspended");
        // New values are written nevertheless: they wait there until the object is resumed.
        let moved = json!({"spec": {"controlPlaneEndpoint": {"host": "moved.example.org"}}});
        simulation.merge("Cluster", "one", &moved);
        settle(simulation);
        let endpoint = simulation.field("HelmRelease", "one.ccm", "/spec/values/cluster/endpoint");
        assert_eq!(endpoint, "https://moved.example.org:6443");
        assert_eq!(simulation.field("HelmRelease", "one.ccm", "/spec/suspend"), true);
        assert_eq!(simulation.revisions(), [1, 1, 1]);
        simulation.merge("HelmRelease", "one.ccm", &suspend(false));
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        assert_eq!(simulation.revisions(), [2, 1, 1]);
    });
}

#[test]
fn settings_keep_the_suspension_by_a_user() {
    run("by-settings", |simulation| {
        simulation.deliver_first_of_two();
        simulation.merge("HelmRelease", "one.monitoring", &suspend(true));
        let settings = |is_suspended: bool| {
            let one = json!({"suspend": is_suspended});
            json!({"flux": {"addons": {"cni": one, "monitoring": one, "policies": one}}})
        };
        simulation.offer(&["v1", "v2"], &settings(true));
        settle(simulation);
        let suspended = |simulation: &Simulation| {
            OBJECTS.map(|(kind, name)| simulation.field(kind, name, "/spec/suspend") == true)
        };
        assert_eq!(suspended(simulation), [false, true, true, true]);
        simulation.upgrade("one", V2);
        simulation.offer(&["v1", "v2"], &settings(false));
        settle(simulation);
        assert_eq!(suspended(simulation), [false, false, true, false], "only the person resumes it");
        simulation.merge("HelmRelease", "one.monitoring", &suspend(false));
        settle(simulation);
        simulation.expect_ready_at("one", V2);
    });
}

/// A person's own `HelmRelease` for the same cluster, and one with our labels that no `ClusterAddon` owns.
#[test]
fn objects_of_others_are_never_written() {
    run("others", |simulation| {
        simulation.deliver_first_of_two();
        let spec = json!({"interval": "1h", "chartRef": {"kind": "OCIRepository", "name": "theirs"}});
        for (name, managed_by) in [("one.theirs", "Helm"), ("one.extra", "kustomize")] {
            let labels = json!({
                "cluster.x-k8s.io/cluster-name": "one", "clusterstack.x-k8s.io/addon": "theirs",
                "app.kubernetes.io/managed-by": managed_by,
            });
            simulation.apply_foreign(&json!({
                "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "spec": spec,
                "metadata": {"name": name, "namespace": simulation.namespace, "labels": labels},
            }));
        }
        simulation.upgrade("one", V2);
        settle(simulation);
        simulation.expect_ready_at("one", V2);
        simulation.delete("Cluster", "one");
        settle(simulation);
        assert!(simulation.has("HelmRelease", "one.theirs") && simulation.has("HelmRelease", "one.extra"));
    });
}

/// The labels are those of an addon's object, and the name is the user's.
#[test]
fn users_copy_of_an_object_is_left_alone() {
    run("copied", |simulation| {
        simulation.deliver();
        let labels = simulation.field("HelmRelease", "one.cni", "/metadata/labels");
        let mut copy = of_user(simulation, "one.mine");
        copy["metadata"]["labels"] = labels;
        simulation.apply_foreign(&copy);
        settle(simulation);
        simulation.expect_ready_at("one", V1);
        simulation.delete("Cluster", "one");
        settle(simulation);
        let left: Vec<String> = simulation.names("HelmRelease");
        assert_eq!(left, [V1, "one.mine"], "that of the class, and the user's");
        assert_ne!(simulation.field("HelmRelease", "one.mine", "/spec/suspend"), true);
    });
}

/// A `HelmRelease` that a user made by hand, under the name of a planned one.
fn of_user(simulation: &Simulation, name: &str) -> Value {
    json!({
        "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
        "metadata": {"name": name, "namespace": simulation.namespace},
        "spec": {"interval": "1h", "chartRef": {"kind": "OCIRepository", "name": "theirs"}},
    })
}

#[test]
fn users_object_of_a_planned_name_is_left_alone() {
    run("existing", |simulation| {
        simulation.publish(1);
        simulation.offer(&["v1", "v2"], &json!({}));
        simulation.apply_foreign(&of_user(simulation, "one.cni"));
        simulation.create_cluster("one", V1);
        let revision = |simulation: &Simulation, name| {
            simulation.field("HelmRelease", name, "/status/history/0/version")
        };
        for (release, expected) in [(V1, 1), (V2, 2)] {
            simulation.upgrade("one", release);
            settle(simulation);
            simulation.expect("ClusterAddon", ADDON, "Delivered", "False AlreadyExists");
            let message = simulation.message("ClusterAddon", ADDON, "Delivered");
            let object = format!("HelmRelease {}/one.cni exists already", simulation.namespace);
            assert!(message.contains(&object), "{message}");
            assert_eq!(revision(simulation, "one.monitoring"), expected, "the other addons go on");
        }
        simulation.delete("Cluster", "one");
        settle(simulation);
        assert!(!simulation.has("ClusterAddon", ADDON));
        let left = OBJECTS.into_iter().filter(|(kind, name)| simulation.has(kind, name));
        assert_eq!(left.collect::<Vec<_>>(), [("HelmRelease", "one.cni")]);
        assert!(simulation.uninstalled().is_empty());
    });
}

#[test]
fn addon_follows_when_the_users_object_is_gone() {
    run("existing-gone", |simulation| {
        simulation.at_any_time(|simulation| {
            if !simulation.has("HelmRelease", "one.cni") {
                simulation.apply_foreign(&of_user(simulation, "one.cni"));
            }
        });
        simulation.offer(&["v1"], &json!({}));
        simulation.create_cluster("one", V1);
        settle(simulation);
        let labels = simulation.field("HelmRelease", "one.cni", "/metadata/labels");
        if labels.is_null() {
            simulation.expect("ClusterAddon", ADDON, "Delivered", "False AlreadyExists");
            simulation.delete("HelmRelease", "one.cni");
            settle(simulation);
        }
        simulation.expect_ready_at("one", V1);
        assert_eq!(simulation.revisions(), [1, 1, 1]);
    });
}

#[test]
fn users_class_is_left_alone_with_its_release() {
    run("existing-class", |simulation| {
        simulation.apply_foreign(&of_user(simulation, V1));
        simulation.offer(&["v1"], &json!({}));
        settle(simulation);
        simulation.expect("ClusterStackRelease", V1, "ClusterClassReady", "False AlreadyExists");
        simulation.delete("ClusterStack", STACK);
        settle(simulation);
        assert!(!simulation.has("ClusterStackRelease", V1));
        assert!(simulation.has("HelmRelease", V1));
    });
}

/// Without the release's own source the addons would have the content of the user's repository.
#[test]
fn users_source_of_a_planned_name_holds_the_release() {
    run("existing-source", |simulation| {
        let spec =
            json!({"url": "https://git.example.org/theirs.git", "ref": {"branch": "main"}, "interval": "1h"});
        simulation.apply_foreign(&json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "spec": spec,
            "metadata": {"name": V1, "namespace": simulation.namespace},
        }));
        simulation.offer(&["v1"], &json!({}));
        simulation.create_cluster("one", V1);
        settle(simulation);
        simulation.expect("ClusterStackRelease", V1, "ClusterClassReady", "False AlreadyExists");
        simulation.expect("ClusterAddon", ADDON, "ReleaseReady", "False AlreadyExists");
        assert!(OBJECTS.iter().all(|(kind, name)| !simulation.has(kind, name)));
        simulation.delete("GitRepository", V1);
        settle(simulation);
        simulation.expect_ready_at("one", V1);
    });
}

/// Removes the label that the watches select by while nothing is written for the Cluster.
fn unlabel(simulation: &mut Simulation, name: &str) {
    simulation.merge("ClusterAddon", ADDON, &json!({"spec": {"suspend": true}}));
    settle(simulation);
    simulation.merge("HelmRelease", name, &json!({"metadata": {"labels": {MANAGED_BY: null}}}));
    settle(simulation);
}

#[test]
fn unlabelled_object_is_deleted_with_its_cluster() {
    run("unlabelled", |simulation| {
        simulation.deliver();
        unlabel(simulation, "one.cni");
        simulation.delete("Cluster", "one");
        settle(simulation);
        assert!(!simulation.has("ClusterAddon", ADDON) && !simulation.has("HelmRelease", "one.cni"));
        assert!(simulation.uninstalled().is_empty());
        simulation.create_cluster("one", V1);
        settle(simulation);
        simulation.expect_ready_at("one", V1);
    });
}

#[test]
fn unlabelled_object_of_a_dropped_addon_is_removed() {
    run("unlabelled-dropped", |simulation| {
        simulation.publish(2);
        simulation.offer(&["v2", "v3"], &json!({}));
        simulation.create_cluster("one", V2);
        settle(simulation);
        unlabel(simulation, "one.monitoring");
        simulation.upgrade("one", WITHOUT_MONITORING);
        settle(simulation);
        simulation.merge("ClusterAddon", ADDON, &json!({"spec": {"suspend": false}}));
        settle_with_budget(simulation);
        simulation.expect_ready_at("one", WITHOUT_MONITORING);
        assert_eq!(simulation.uninstalled(), ["one.monitoring"]);
    });
}
