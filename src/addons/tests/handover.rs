//! Tests of the handover of a deleted `ClusterAddon`'s objects.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::{Value, json};

use super::*;
use crate::addons::cluster_addon::possibly_owned;
use crate::addons::handover::{decide_disown, unaccounted};

#[test]
fn disown_suspends_orphaned_or_deleted_object() {
    let next = Heir::Next("c1");
    let disown = |suspend, remove_owner, handed_over| Disown { suspend, remove_owner, handed_over };
    for (changes, heir, expected, why) in [
        (json!({}), next, disown(false, true, Some("c1")), "it goes on working"),
        (deleted(), next, disown(true, false, None), "Flux would uninstall it"),
        (json!({}), Heir::Orphaned, disown(true, true, None), "nothing changes it from now on"),
        (deleted(), Heir::Orphaned, disown(true, true, None), "Flux would uninstall it"),
        (suspended(), Heir::Orphaned, disown(false, true, None), "it is suspended"),
        (suspended(), next, disown(false, true, Some("c1")), "a person wants it suspended"),
    ] {
        assert_eq!(decide_disown(&flux_object("HelmRelease", "cni", &changes), heir), expected, "{why}");
    }
}

#[test]
fn objects_of_cache_and_of_status_may_be_owned() {
    let addons = json!([
        {"name": "cni", "object": {"kind": "HelmRelease", "name": "c1.cni"}},
        {"name": "csi", "object": {"kind": "Kustomization", "name": "c1.csi"}},
        {"name": "new", "object": {"kind": "Other", "name": "c1.new"}},
        {"name": "held"},
    ]);
    let addon = cluster_addon(&json!({"status": {"addons": addons}}));
    let owned =
        [flux_object("HelmRelease", "cni", &json!({})), flux_object("HelmRelease", "old", &json!({}))];
    let found: Vec<_> =
        possibly_owned(&addon, &owned).into_iter().map(|(kind, name)| format!("{kind} {name}")).collect();
    assert_eq!(found, ["HelmRelease c1.cni", "HelmRelease c1.old", "Kustomization c1.csi"]);
}

#[test]
fn let_go_ends_a_cluster_addon_after_its_objects() {
    let addon = cluster_addon(&json!({"status": {"addons": [
        {"name": "csi", "object": {"kind": "Kustomization", "name": "c1.csi"}},
    ]}}));
    let owned =
        [flux_object("HelmRelease", "cni", &json!({})), flux_object("HelmRelease", "old", &deleted())];
    for (heir, expected, deletes_addon) in [
        (Heir::Next("c1"), "hand over to c1, suspend", false),
        (Heir::Orphaned, "suspend and remove owner, suspend and remove owner", true),
    ] {
        let facts = LetGoFacts { addon: &addon, heir, is_confirmed: true, owned: &owned };
        let unconfirmed = decide_let_go(&LetGoFacts { is_confirmed: false, ..facts });
        assert_eq!(unconfirmed, None, "the cache may be wrong: {heir:?}");
        let let_go = decide_let_go(&facts).unwrap();
        let writes = let_go.objects.iter().map(|(_, disown)| match disown {
            Disown { suspend: false, remove_owner: true, handed_over: Some(to) } => {
                format!("hand over to {to}")
            }
            Disown { suspend: true, remove_owner: true, handed_over: None } => {
                "suspend and remove owner".to_owned()
            }
            Disown { suspend: true, remove_owner: false, handed_over: None } => "suspend".to_owned(),
            other => format!("{other:?}"),
        });
        assert_eq!(writes.collect::<Vec<_>>().join(", "), expected);
        assert_eq!((let_go.to_confirm.len(), let_go.deletes_addon), (3, deletes_addon));
    }
}

#[test]
fn object_is_owned_until_the_api_server_denies_it() {
    let addon = cluster_addon(&json!({}));
    let is_owned = |changes| is_still_owned(&flux_object("HelmRelease", "cni", &changes), &addon);
    assert!(is_owned(json!({})));
    assert!(!is_owned(json!({"metadata": {"ownerReferences": null}})), "it lost its owner");
    assert!(!is_owned(deleted()), "it is suspended, and deleted");
}

#[test]
fn handover_needs_deleted_addon_and_existing_cluster() {
    let addon = cluster_addon(&deleted());
    let both = |addon: Value, cluster: Value| (Some(addon), Some(cluster));
    for (live, expected, why) in [
        (both(deleted(), json!({})), true, "the Cluster stays"),
        ((None, Some(json!({}))), true, "the ClusterAddon is gone already"),
        (both(json!({}), json!({})), false, "the ClusterAddon is not deleted"),
        (both(deleted(), deleted()), false, "the Cluster is being deleted"),
        (both(deleted(), json!({"metadata": {"uid": "d"}})), false, "another Cluster has the name"),
        ((Some(deleted()), None), false, "the Cluster is gone"),
    ] {
        let live = (live.0.map(|it| cluster_addon(&it)), live.1.map(|it| cluster(&it)));
        assert_eq!(is_handover_confirmed(&addon, (live.0.as_ref(), live.1.as_ref())), expected, "{why}");
    }
}

#[test]
fn only_a_deleted_object_with_the_annotation_orphans() {
    let orphan = json!({"annotations": {labels::ON_DELETE: labels::ORPHAN}});
    for (changes, is_deleted, expected) in [
        (orphan.clone(), true, true),
        (orphan, false, false),
        (json!({"annotations": {labels::ON_DELETE: "Delete"}}), true, false),
        (json!({}), true, false),
    ] {
        let mut object = json!({"name": "demo"});
        merge(&mut object, &changes);
        if is_deleted {
            object["deletionTimestamp"] = json!(NOW);
        }
        let object: ObjectMeta = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(is_orphaning(&object), expected, "{object:?}");
    }
}

#[test]
fn adoption_adds_owner_to_the_read_state() {
    let left = json!({"metadata": {
        "resourceVersion": "7", "annotations": {labels::HANDED_OVER: "c1"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": "work", "uid": "n"}],
    }});
    let owner = OwnerReference { uid: "addon".to_owned(), ..OwnerReference::default() };
    let patch = adoption(&flux_object("HelmRelease", "cni", &left), &owner);
    assert_eq!(patch[0], json!({"op": "test", "path": "/metadata/resourceVersion", "value": "7"}));
    assert_eq!((&patch[1]["value"][0]["uid"], &patch[1]["value"][1]["uid"]), (&json!("addon"), &json!("n")));
    let annotation = labels::HANDED_OVER.replace('/', "~1");
    assert_eq!(patch[2], json!({"op": "remove", "path": format!("/metadata/annotations/{annotation}")}));
    let adopted = adopted(Arc::unwrap_or_clone(flux_object("HelmRelease", "cni", &left)), &owner);
    let uids: Vec<_> = adopted.object.owner_references.iter().flatten().map(|owner| &owner.uid).collect();
    assert_eq!(uids, ["addon", "n"]);
    assert!(adopted.object.annotations.as_ref().unwrap().is_empty());
}

#[test]
fn object_that_only_the_status_names_is_unaccounted() {
    let object =
        |name: &str| json!({"name": name, "object": {"kind": "HelmRelease", "name": format!("c1.{name}")}});
    let addons = json!([object("planned"), object("cached"), object("dropped"), {"name": "held"}]);
    let addon = cluster_addon(&json!({"status": {"addons": addons}}));
    let cached = [flux_object("HelmRelease", "cached", &json!({}))];
    let is_planned = |_, name: &str| name == "c1.planned";
    assert_eq!(
        unaccounted(&addon, &cached, is_planned),
        [(FluxKind::HelmRelease, "c1.dropped".to_owned())].into()
    );
}
