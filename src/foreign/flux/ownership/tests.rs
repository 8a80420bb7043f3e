use serde_json::{Value, json};

use super::*;

fn addon(uid: Option<&str>) -> ClusterAddon {
    serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddon",
        "metadata": {"name": "cluster-addon-one", "namespace": "demo", "uid": uid},
        "spec": {"clusterRef": {"kind": "Cluster", "name": "one"}},
    }))
    .unwrap()
}

fn object(metadata: &Value) -> ObjectMeta {
    serde_json::from_value(metadata.clone()).unwrap()
}

fn owned_by(kind: &str, uid: &str) -> Value {
    json!({"namespace": "demo", "name": "o",
        "ownerReferences": [{"apiVersion": "v1", "kind": kind, "name": "cluster-addon-one", "uid": uid}]})
}

fn labelled(namespace: &str, labels: &Value) -> Value {
    json!({"namespace": namespace, "name": "o", "labels": labels})
}

#[test]
fn addon_owns_by_uid_or_by_labels_of_applied_objects() {
    let of_one = json!({labels::CLUSTER_NAME: "one"});
    let applied = json!({labels::CLUSTER_NAME: "one", labels::APPLIED_BY_NAME: "clusters"});
    let of_two = json!({labels::CLUSTER_NAME: "two", labels::APPLIED_BY_NAME: "clusters"});
    let of_release = json!({labels::RELEASE: "cluster-addon-one", labels::APPLIED_BY_NAME: "clusters"});
    let foreign = json!({labels::APPLIED_BY_NAME: "clusters"});
    let mut earlier = owned_by("ClusterAddon", "earlier");
    earlier["labels"] = of_one.clone();
    let table = [
        ("owner of its UID", owned_by("ClusterAddon", "u"), true),
        ("owner of its name alone: an earlier ClusterAddon", owned_by("ClusterAddon", "earlier"), false),
        ("an earlier owner and the Cluster's label", earlier, false),
        ("owner without a UID", owned_by("ClusterAddon", ""), false),
        ("no owner and no labels", labelled("demo", &json!({})), false),
        ("the Cluster's label alone, which any user can write", labelled("demo", &of_one), false),
        ("applied by Flux for the Cluster", labelled("demo", &applied), true),
        ("applied by Flux for a Cluster of that name elsewhere", labelled("other", &applied), false),
        ("applied by Flux for another Cluster", labelled("demo", &of_two), false),
        ("applied by Flux for a release", labelled("demo", &of_release), false),
        ("applied by Flux for others", labelled("demo", &foreign), false),
    ];
    for (what, metadata, expected) in table {
        assert_eq!(is_owned(&object(&metadata), &addon(Some("u"))), expected, "{what}");
    }
    let without_uid = object(&owned_by("ClusterAddon", ""));
    assert!(!is_owned(&without_uid, &addon(None)), "no UID owns nothing");
}

#[test]
fn cluster_of_addon_is_in_its_name() {
    for (name, spec, expected, why) in [
        ("cluster-addon-one", json!({"name": "one"}), "one", "as the operator writes it"),
        ("cluster-addon-one", json!({"name": "two"}), "one", "another client changed the spec"),
        ("cluster-addon-one", json!({}), "one", "another client removed the name"),
        ("cluster-addon-cluster-addon-one", json!({}), "cluster-addon-one", "the Cluster has such a name"),
        ("theirs", json!({"name": "one"}), "one", "the operator does not give this name"),
        ("cluster-addon-", json!({"name": "one"}), "one", "no Cluster has this name"),
    ] {
        let changed: ClusterAddon = serde_json::from_value(json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddon",
            "metadata": {"name": name, "namespace": "demo"}, "spec": {"clusterRef": spec},
        }))
        .unwrap();
        assert_eq!(cluster_of(&changed), Key::new("demo", expected), "{why}");
    }
    assert_eq!(addon_key(&cluster_of(&addon(None))), Key::of(&addon(None)));
}

#[test]
fn garbage_collection_follows_uids_alone() {
    let applied =
        labelled("demo", &json!({labels::CLUSTER_NAME: "one", labels::APPLIED_BY_NAME: "clusters"}));
    assert!(is_owner(&addon(Some("u")), &object(&owned_by("Other", "u"))));
    assert!(!is_owner(&addon(Some("u")), &object(&applied)));
    assert!(!is_owner(&addon(None), &object(&owned_by("ClusterAddon", ""))));
}

#[test]
fn labels_name_owner_of_stripped_or_applied_object() {
    let of_one = json!({labels::CLUSTER_NAME: "one"});
    let of_release = json!({labels::RELEASE: "r"});
    let applied = json!({labels::CLUSTER_NAME: "one", labels::APPLIED_BY_NAME: "clusters"});
    let with_owner = |kind: &str, labels: &Value| {
        let mut metadata = owned_by(kind, "u");
        metadata["labels"] = labels.clone();
        metadata
    };
    let one = Some(("ClusterAddon", Key::new("demo", "cluster-addon-one")));
    let release = Some(("ClusterStackRelease", Key::new("demo", "r")));
    for (what, kind, metadata, expected) in [
        ("it has no owner", FluxKind::HelmRelease, labelled("demo", &of_one), one.clone()),
        ("nor has that of a release", FluxKind::Kustomization, labelled("demo", &of_release), release),
        ("Flux uninstalls nothing", FluxKind::GitRepository, labelled("demo", &of_one), None),
        ("its Namespace is left", FluxKind::Kustomization, with_owner("Namespace", &of_one), one.clone()),
        ("it has an owner", FluxKind::HelmRelease, with_owner("ClusterAddon", &of_one), None),
        ("it has an owner of others", FluxKind::HelmRelease, with_owner("Other", &of_one), None),
        ("it has no labels", FluxKind::HelmRelease, labelled("demo", &json!({})), None),
        ("Flux applied it", FluxKind::GitRepository, labelled("demo", &applied), one.clone()),
        ("Flux applied it with an owner", FluxKind::HelmRelease, with_owner("Other", &applied), one),
    ] {
        assert_eq!(labelled_owner(kind, &object(&metadata)), expected, "{what}");
    }
}

#[test]
fn handed_over_object_with_an_owner_is_not_taken_over() {
    let mut metadata = labelled("demo", &json!({}));
    metadata["annotations"] = json!({labels::HANDED_OVER: "one"});
    assert_eq!(handed_over_to(&object(&metadata)), Some(Key::new("demo", "one")));
    metadata["ownerReferences"] = owned_by("ClusterAddon", "u")["ownerReferences"].clone();
    assert_eq!(handed_over_to(&object(&metadata)), None);
}
