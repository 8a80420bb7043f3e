//! Tests of the desired `ClusterAddon` of a Cluster.

use serde_json::json;

use super::*;

#[test]
fn desired_cluster_addon_is_as_desired() {
    let cluster = cluster(&json!({}));
    let desired: ClusterAddon = serde_json::from_value(desired_addon(&cluster)).unwrap();
    assert!(is_as_desired(&desired, &cluster) && is_made_for(&desired, &cluster));
    assert_eq!(desired.metadata.name.as_deref(), Some("cluster-addon-c1"));
}

#[test]
fn changed_cluster_addon_is_written_again() {
    let cluster = cluster(&json!({}));
    for (changes, expected, why) in [
        (json!({}), true, "nothing is missing"),
        (json!({"metadata": {"finalizers": ["another"]}}), false, "it would be deleted before its objects"),
        (
            json!({"metadata": {"ownerReferences": null}, "spec": {"clusterRef": {"uid": null}}}),
            false,
            "no UID",
        ),
        (json!({"spec": {"clusterRef": {"name": null}}}), false, "it names no Cluster"),
        (json!({"spec": {"clusterRef": {"name": "c2"}}}), false, "it names another Cluster"),
        (json!({"spec": {"clusterRef": {"uid": "c2"}}}), false, "it has the UID of another Cluster"),
        (json!({"metadata": {"annotations": {"a": "b"}}}), true, "that is not ours"),
    ] {
        assert_eq!(is_as_desired(&cluster_addon(&changes), &cluster), expected, "{why}");
    }
}

#[test]
fn cluster_addon_is_made_for_the_cluster_of_its_uid() {
    let earlier = cluster(&json!({"metadata": {"uid": "earlier"}}));
    let by_reference = cluster_addon(&json!({"metadata": {"ownerReferences": null}}));
    assert!(is_made_for(&by_reference, &cluster(&json!({}))));
    assert!(!is_made_for(&by_reference, &earlier));
    assert!(!is_made_for(&cluster_addon(&json!({})), &earlier));
}

#[test]
fn preparation_follows_the_release_of_the_class() {
    let left = [flux_object("HelmRelease", "old", &json!({}))];
    let (paused, missing) =
        (|is_reported| ClassState::Paused { is_reported }, |is_certain| ClassState::Missing { is_certain });
    let pause = |is_reported| Preparation::Pause { is_reported };
    let as_desired = || Some(json!({"spec": {"clusterRef": {"namespace": "work"}}}));
    let without_finalizer = || Some(json!({"metadata": {"finalizers": null}}));
    let with_status = || Some(json!({"status": {"ready": false}}));
    for (class, addon, expected, why) in [
        (ClassState::Present, None, Preparation::WriteAddon, "there is none"),
        (ClassState::Present, as_desired(), Preparation::Adopt(left.to_vec()), "an earlier one left objects"),
        (
            ClassState::Present,
            without_finalizer(),
            Preparation::WriteAddon,
            "garbage collection would not wait",
        ),
        (missing(true), None, Preparation::WriteAddon, "it reports that there is no release"),
        (missing(false), None, Preparation::Nothing, "the release may follow"),
        (missing(true), as_desired(), Preparation::Prepared, "its addons stay as they are"),
        (missing(false), without_finalizer(), Preparation::Prepared, "its addons stay as they are"),
        (ClassState::Unknown, None, Preparation::Wait, "the release is not known yet"),
        (ClassState::Unknown, as_desired(), Preparation::Wait, "the release is not known yet"),
        (paused(true), None, pause(false), "there is nothing to report"),
        (paused(true), as_desired(), pause(false), "nothing was reported before"),
        (paused(true), with_status(), pause(true), "the pause is reported"),
        (paused(false), with_status(), pause(false), "another shard reports it"),
    ] {
        let addon = addon.map(|changes| cluster_addon(&changes));
        assert_eq!(decide_prepare(&cluster(&json!({})), addon.as_ref(), class, &left), expected, "{why}");
    }
    let addon = cluster_addon(&json!({"spec": {"clusterRef": {"namespace": "work"}}}));
    let prepared = decide_prepare(&cluster(&json!({})), Some(&addon), ClassState::Present, &[]);
    assert_eq!(prepared, Preparation::Prepared, "all objects are its own");
}
