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

/// The metadata of the object of addon `cni` of a Cluster, without an owner.
fn of_addon(namespace: &str, cluster: &str, more: &Value) -> Value {
    let mut labels =
        json!({labels::MANAGED_BY: "stackflux", labels::CLUSTER_NAME: cluster, labels::ADDON: "cni"});
    labels.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    json!({"namespace": namespace, "name": format!("{cluster}.cni"), "labels": labels})
}

fn named(name: &str, mut metadata: Value) -> Value {
    metadata["name"] = json!(name);
    metadata
}

#[test]
fn addon_owns_by_uid_or_by_labels_of_applied_objects() {
    let applied = json!({labels::APPLIED_BY_NAME: "clusters"});
    let of_release = json!({labels::RELEASE: "cluster-addon-one", labels::APPLIED_BY_NAME: "clusters"});
    let mut earlier = of_addon("demo", "one", &json!({}));
    earlier["ownerReferences"] = owned_by("ClusterAddon", "earlier")["ownerReferences"].clone();
    let mut kept = of_addon("demo", "one", &json!({}));
    kept["ownerReferences"] = owned_by("Namespace", "n")["ownerReferences"].clone();
    let mut without_addon = of_addon("demo", "one", &json!({}));
    without_addon["labels"].as_object_mut().unwrap().remove(labels::ADDON);
    let table = [
        ("owner of its UID", owned_by("ClusterAddon", "u"), true),
        ("owner of its name alone: an earlier ClusterAddon", owned_by("ClusterAddon", "earlier"), false),
        ("an earlier owner and the Cluster's label", earlier, false),
        ("owner without a UID", owned_by("ClusterAddon", ""), false),
        ("no owner and no labels", labelled("demo", &json!({})), false),
        ("its owner reference was removed", of_addon("demo", "one", &json!({})), true),
        ("its Namespace is left", kept, true),
        ("a user's copy", named("one.mine", of_addon("demo", "one", &json!({}))), false),
        ("a user's copy for another addon", named("one.ccm", of_addon("demo", "one", &json!({}))), false),
        ("managed by others", of_addon("demo", "one", &json!({labels::MANAGED_BY: "Helm"})), false),
        ("no addon", without_addon, false),
        ("of another Cluster", of_addon("demo", "two", &json!({})), false),
        ("elsewhere", of_addon("other", "one", &json!({})), false),
        ("applied by Flux for the Cluster", of_addon("demo", "one", &applied), true),
        ("a user's copy, applied by Flux", named("mine", of_addon("demo", "one", &applied)), false),
        ("applied by Flux for a Cluster of that name elsewhere", of_addon("other", "one", &applied), false),
        ("applied by Flux for another Cluster", of_addon("demo", "two", &applied), false),
        ("applied by Flux for a release", labelled("demo", &of_release), false),
        ("applied by Flux for others", labelled("demo", &applied), false),
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
    let applied = of_addon("demo", "one", &json!({labels::APPLIED_BY_NAME: "clusters"}));
    assert!(is_owner(&addon(Some("u")), &object(&owned_by("Other", "u"))));
    assert!(!is_owner(&addon(Some("u")), &object(&applied)));
    assert!(!is_owner(&addon(None), &object(&owned_by("ClusterAddon", ""))));
}

#[test]
fn labels_name_owner_of_stripped_or_applied_object() {
    let of_one = of_addon("demo", "one", &json!({}));
    let applied = of_addon("demo", "one", &json!({labels::APPLIED_BY_NAME: "clusters"}));
    let of_release = |name: &str| {
        named(name, labelled("demo", &json!({labels::MANAGED_BY: "stackflux", labels::RELEASE: "r"})))
    };
    let with_owner = |kind: &str, metadata: &Value| {
        let mut metadata = metadata.clone();
        metadata["ownerReferences"] = owned_by(kind, "u")["ownerReferences"].clone();
        metadata
    };
    let one = Some(("ClusterAddon", Key::new("demo", "cluster-addon-one")));
    let release = Some(("ClusterStackRelease", Key::new("demo", "r")));
    for (what, kind, metadata, expected) in [
        ("it has no owner", FluxKind::HelmRelease, of_one.clone(), one.clone()),
        ("a user copied it", FluxKind::HelmRelease, named("one.mine", of_one.clone()), None),
        ("nor has the class of a release", FluxKind::HelmRelease, of_release("r"), release.clone()),
        ("nor have its images", FluxKind::Kustomization, of_release("r-node-images"), release),
        ("a user copied the class", FluxKind::HelmRelease, of_release("mine"), None),
        ("Flux uninstalls nothing", FluxKind::GitRepository, of_one.clone(), None),
        ("its Namespace is left", FluxKind::Kustomization, with_owner("Namespace", &of_one), one.clone()),
        ("it has an owner", FluxKind::HelmRelease, with_owner("ClusterAddon", &of_one), None),
        ("it has an owner of others", FluxKind::HelmRelease, with_owner("Other", &of_one), None),
        ("it has no labels", FluxKind::HelmRelease, labelled("demo", &json!({})), None),
        ("Flux applied it", FluxKind::GitRepository, applied.clone(), one.clone()),
        ("Flux applied it with an owner", FluxKind::HelmRelease, with_owner("Other", &applied), one),
    ] {
        assert_eq!(labelled_owner(kind, &object(&metadata)), expected, "{what}");
    }
}

#[test]
fn handed_over_object_with_an_owner_is_not_taken_over() {
    let mut metadata = of_addon("demo", "one", &json!({}));
    metadata["annotations"] = json!({labels::HANDED_OVER: "one"});
    assert_eq!(handed_over_to(&object(&metadata)), Some(Key::new("demo", "one")));
    assert_eq!(handed_over_to(&object(&named("mine", metadata.clone()))), None, "a user's copy");
    metadata["ownerReferences"] = owned_by("ClusterAddon", "u")["ownerReferences"].clone();
    assert_eq!(handed_over_to(&object(&metadata)), None);
}
