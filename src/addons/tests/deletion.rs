//! Tests of the suspension and deletion of a Cluster's objects.

use serde_json::{Value, json};

use super::*;
use crate::names::Key;

fn live(cluster: Option<&Cluster>) -> LiveOwners<'_> {
    LiveOwners { cluster, is_namespace_terminating: false, is_addon_deleted: false, is_heir_unseen: false }
}

#[test]
fn deletion_is_confirmed_by_one_of_its_causes() {
    let addon = cluster_addon(&json!({}));
    let of_go_operator =
        cluster_addon(&json!({"metadata": {"ownerReferences": null}, "spec": {"clusterRef": {"uid": null}}}));
    let (there, going) = (cluster(&json!({})), cluster(&deleted()));
    let another = cluster(&json!({"metadata": {"uid": "d"}}));
    let since = format!("the Cluster is being deleted since {NOW}");
    let recreated = "the Cluster was deleted, and another Cluster has its name";
    let namespace = LiveOwners { is_namespace_terminating: true, ..live(Some(&there)) };
    let addon_deleted = LiveOwners { is_addon_deleted: true, ..live(Some(&there)) };
    for (addon, live, expected) in [
        (&addon, live(Some(&there)), None),
        (&addon, live(None), Some("the Cluster is gone")),
        (&addon, live(Some(&going)), Some(since.as_str())),
        (&addon, live(Some(&another)), Some(recreated)),
        (&of_go_operator, live(Some(&another)), None),
        (&addon, namespace, Some("namespace work is being deleted")),
        (&addon, addon_deleted, Some("the ClusterAddon is being deleted")),
        (&addon, LiveOwners { is_heir_unseen: true, ..addon_deleted }, None),
        // The first cause is reported.
        (&addon, LiveOwners { cluster: None, ..namespace }, Some("the Cluster is gone")),
        (&addon, LiveOwners { is_addon_deleted: true, ..namespace }, Some("namespace work is being deleted")),
    ] {
        let expected = expected.map(|what| {
            format!("{what}: its Flux objects are suspended and deleted, and nothing is uninstalled")
        });
        let found = deletion_cause(addon, &live);
        assert_eq!(found.map(|hold| (hold.reason, hold.message)), expected.map(|it| (Reason::Deleting, it)));
    }
}

#[test]
fn deletion_of_cluster_addon_confirms_its_teardown() {
    let another = json!({"metadata": {"uid": "another"}});
    for (cached, live, expected, why) in [
        (json!({}), Some(deleted()), false, "the cache does not have the deletion"),
        (json!({}), None, false, "the cache has one that is gone"),
        (deleted(), Some(deleted()), true, "both say it"),
        (deleted(), None, true, "it is gone"),
        (deleted(), Some(another), true, "another one has its name"),
        (deleted(), Some(json!({})), false, "the cache lies"),
    ] {
        let live = live.map(|changes: Value| cluster_addon(&changes));
        assert_eq!(is_addon_deleted(&cluster_addon(&cached), live.as_ref()), expected, "{why}");
    }
}

#[test]
fn left_objects_are_deleted_with_their_cluster() {
    assert!(is_cluster_deleted(None));
    assert!(is_cluster_deleted(Some(&cluster(&deleted()))));
    assert!(!is_cluster_deleted(Some(&cluster(&json!({})))), "the next ClusterAddon takes them over");
}

#[test]
fn cluster_addon_is_deleted_if_its_cluster_is_gone() {
    for (present, addon, deletes_addon, is_recreated, why) in [
        (None, json!({}), true, false, "garbage collection may not run"),
        (None, deleted(), false, false, "it is deleted already"),
        (Some(json!({})), json!({}), true, true, "another Cluster has the name"),
        (Some(json!({})), deleted(), false, true, "the next one follows"),
        (Some(deleted()), json!({}), false, false, "it goes with its Cluster"),
    ] {
        let present = present.map(|changes: Value| cluster(&changes));
        let found = suppression(present.as_ref(), &cluster_addon(&addon), &[]);
        assert_eq!((found.deletes_addon, found.is_recreated), (deletes_addon, is_recreated), "{why}");
    }
}

fn cause() -> Hold {
    Hold { reason: Reason::Deleting, message: String::new() }
}

/// Decides about the objects of a Cluster that is deleted, or that another one replaced.
fn decided(
    cluster: Option<&Cluster>,
    addon: &ClusterAddon,
    objects: &[Arc<FluxObject>],
    files: &CommittedFiles,
) -> SuppressionDecision {
    decide_suppression(&SuppressionFacts {
        cluster,
        addon,
        cause: Some(&cause()),
        objects,
        files,
        is_namespace_terminating: false,
    })
}

fn suppression(cluster: Option<&Cluster>, addon: &ClusterAddon, objects: &[Arc<FluxObject>]) -> Suppression {
    match decided(cluster, addon, objects, &CommittedFiles::Nowhere) {
        SuppressionDecision::Suppress(suppression) => suppression,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_is_deleted_without_a_cause_or_before_its_files() {
    let addon = cluster_addon(&json!({}));
    let stack = Key::new("stacks", "demo");
    let nowhere = CommittedFiles::Nowhere;
    let unconfirmed = SuppressionFacts {
        cluster: None,
        addon: &addon,
        cause: None,
        objects: &[],
        files: &nowhere,
        is_namespace_terminating: true,
    };
    assert_eq!(decide_suppression(&unconfirmed), SuppressionDecision::Unconfirmed);
    let elsewhere = decided(None, &addon, &[], &CommittedFiles::InAnotherShard);
    assert_eq!(elsewhere, SuppressionDecision::ByAnotherShard);
    let unknown = decided(None, &addon, &[], &CommittedFiles::Unknown { stack: stack.clone() });
    assert_eq!(unknown, SuppressionDecision::UnknownFiles(stack));
}

#[test]
fn files_are_removed_before_the_objects() {
    let (addon, stack) = (cluster_addon(&json!({})), Key::new("stacks", "demo"));
    let files = CommittedFiles::InRepository { stack: stack.clone(), is_suspended: false };
    for (files, is_namespace_terminating, expected, why) in [
        (&CommittedFiles::Nowhere, false, None, "the operator applies the objects"),
        (&files, false, Some(true), "the next ClusterAddon would resume the objects"),
        (&files, true, Some(false), "no other ClusterAddon follows"),
    ] {
        let cause = Some(&cause());
        let facts = SuppressionFacts {
            cluster: None,
            addon: &addon,
            cause,
            objects: &[],
            files,
            is_namespace_terminating,
        };
        let SuppressionDecision::Suppress(found) = decide_suppression(&facts) else { panic!("{why}") };
        let awaits_prune =
            |awaits_prune| FileRemoval { stack: stack.clone(), is_suspended: false, awaits_prune };
        assert_eq!(found.files, expected.map(awaits_prune), "{why}");
    }
}

#[test]
fn objects_that_the_cache_lacks_are_confirmed() {
    let object = |name: &str| json!({"kind": "HelmRelease", "name": format!("c1.{name}")});
    let addon = |name: &str| json!({"name": name, "object": object(name)});
    let addon = cluster_addon(&json!({"status": {"addons": [addon("cni"), addon("old")]}}));
    let cached = [flux_object("HelmRelease", "cni", &json!({}))];
    for (objects, expected) in [(&cached[..], &["c1.old"][..]), (&[], &["c1.cni", "c1.old"])] {
        let found = suppression(None, &addon, objects).to_confirm;
        let names: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, expected, "{} are cached", objects.len());
    }
    let without_status = cluster_addon(&json!({}));
    let lists = [&addon, &without_status].map(|addon| suppression(None, addon, &[]).lists_owned);
    assert_eq!(lists, [false, true], "a status that names no object is no list of them");
}

#[test]
fn deletion_of_object_is_counted_if_it_is_ours() {
    let by_flux = json!({"metadata": {"labels": {labels::APPLIED_BY_NAME: "fleet"}}});
    for (changes, deletes, is_counted, why) in [
        (json!({}), true, true, "the operator deletes it"),
        (suspended(), true, true, "the operator deletes it"),
        (by_flux, true, false, "the operator removes its file, and Flux deletes it"),
        (deleted(), false, false, "it is being deleted"),
    ] {
        let found = suppressed(&[flux_object("HelmRelease", "cni", &changes)]);
        assert_eq!((found[0].deletes, found[0].is_counted), (deletes, is_counted), "{why}");
    }
}

#[test]
fn cause_is_reported_once() {
    let status = |reason: &str| {
        let condition = json!({
            "type": "ClusterAvailable", "status": "False", "reason": reason, "message": "",
            "lastTransitionTime": NOW,
        });
        cluster_addon(&json!({"status": {"conditions": [condition]}})).status.unwrap()
    };
    assert!(is_reported(&status("Deleting"), &cause()));
    assert!(!is_reported(&status("Paused"), &cause()));
    assert!(!is_reported(&ClusterAddonStatus::default(), &cause()));
}

#[test]
fn addon_is_kept_until_flux_has_deleted_its_objects() {
    let fleet = Key::new("flux-system", "fleet");
    let of_fleet = json!({"metadata": {"ownerReferences": null, "labels": {
        labels::APPLIED_BY_NAMESPACE: "flux-system", labels::APPLIED_BY_NAME: "fleet",
    }}});
    let applied = flux_object("HelmRelease", "cni", &of_fleet);
    let ours = flux_object("HelmRelease", "cni", &json!({}));
    let mut disabled = of_fleet.clone();
    disabled["metadata"]["annotations"] = json!({"kustomize.toolkit.fluxcd.io/prune": "disabled"});
    let disabled = flux_object("HelmRelease", "cni", &disabled);
    let namespace = applied.object.namespace.clone().unwrap();
    let entry = |name: &str| json!({"id": format!("{namespace}_{name}_helm.toolkit.fluxcd.io_HelmRelease"), "v": "v2"});
    let hold = |object: &Arc<FluxObject>, changes: Option<Value>| {
        let pruners = changes.map(|changes| {
            let mut kustomization = json!({
                "spec": {"prune": true},
                "status": {"lastAppliedRevision": "main@sha1:1", "inventory": {"entries": [entry("c1.cni")]}},
            });
            merge(&mut kustomization, &changes);
            (fleet.clone(), Pruner::of(&kustomization))
        });
        let hold = prune_hold(std::slice::from_ref(object), &pruners.into_iter().collect())?;
        assert_eq!(hold.reason, Reason::CommitNotApplied);
        Some(hold.message)
    };
    let waits = |state: &str| {
        Some(format!(
            "the files are removed: waits until Kustomization flux-system/fleet, which {state} main@sha1:1, deletes \
             HelmRelease c1.cni"
        ))
    };
    assert_eq!(hold(&applied, Some(json!({}))), waits("has applied"));
    assert_eq!(hold(&applied, Some(deleted())), waits("has applied"), "its deletion deletes the objects");
    assert_eq!(
        hold(&applied, Some(suspended())),
        waits("is suspended at"),
        "it deletes them when it is resumed"
    );
    assert_eq!(prune_hold(&[], &BTreeMap::new()), None, "Flux has deleted them");
    assert_eq!(hold(&ours, Some(json!({}))), None, "Flux does not apply it");
    assert_eq!(hold(&disabled, Some(json!({}))), None, "Flux leaves it");
    for (changes, why) in [
        (Some(json!({"spec": {"prune": false}})), "it does not prune"),
        (Some(json!({"status": {"inventory": {"entries": [entry("c2.cni")]}}})), "it applied another one"),
        (Some(json!({"status": null})), "it applied nothing"),
        (None, "it does not exist"),
    ] {
        assert_eq!(hold(&applied, changes), None, "{why}");
    }
}
