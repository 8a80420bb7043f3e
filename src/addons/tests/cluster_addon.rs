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
