use super::*;

#[test]
fn object_of_two_classes_is_told_in_words() {
    let ids =
        |ids: &[&str]| -> BTreeSet<Entry> { ids.iter().map(|id| Entry { id: (*id).to_owned() }).collect() };
    let other: ClusterStackRelease = serde_json::from_value(serde_json::json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
        "metadata": {"name": "docker-demo-1-34-v2", "namespace": "demo"}, "spec": {},
    }))
    .unwrap();
    let ours = ids(&["demo_shared__ConfigMap", "_cluster_example.org_Image"]);
    for (theirs, expected) in [
        (&[][..], None),
        (&["other_shared__ConfigMap"], None),
        (&["demo_shared__ConfigMap"], Some("ConfigMap demo/shared with docker-demo-1-34-v2")),
        (&["_cluster_example.org_Image"], Some("Image cluster with docker-demo-1-34-v2")),
    ] {
        assert_eq!(shared(&ours, &ids(theirs), &other).as_deref(), expected);
    }
}
