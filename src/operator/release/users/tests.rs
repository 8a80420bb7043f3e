use serde_json::{Value, json};

use super::*;
use crate::runtime::cache::Cache;

fn addons(progress: &Value) -> Cache<ClusterAddon> {
    let addon = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddon",
        "metadata": {"name": "cluster-addon-a", "namespace": "tenant", "resourceVersion": "1"},
        "spec": {"clusterRef": {"name": "a"}},
        "status": {"release": progress},
    });
    let cache = Cache::default();
    cache.written(serde_json::from_value(addon).unwrap());
    cache
}

#[test]
fn listed_cluster_uses_release_unless_it_has_another_class() {
    let release: ReleaseName = "docker-demo-1-34-v1".parse().unwrap();
    let cluster = |name: &str, class: &Value| {
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": {"name": name, "namespace": "tenant"}, "spec": {"topology": {"classRef": class}},
        })
    };
    for (name, class, expected) in [
        ("one", json!({"name": "docker-demo-1-34-v1", "namespace": "stacks"}), true),
        ("one", json!({"name": "docker-demo-1-34-v2", "namespace": "stacks"}), false),
        ("one", json!({"name": "docker-demo-1-34-v1"}), false),
        ("one", json!({"name": "docker-demo-1-34-v1", "namespace": "other"}), false),
        // It cannot be read.
        ("No Name", json!({"name": "docker-demo-1-34-v1"}), true),
        ("No Name", json!({"name": "docker-demo-1-34-v2"}), false),
    ] {
        assert_eq!(may_use(cluster(name, &class), "stacks", &release), expected, "{name} {class}");
    }
}

#[test]
fn release_is_remembered_in_its_own_namespace_only() {
    let (v1, v2) = ("docker-demo-1-34-v1", "docker-demo-1-34-v2");
    let moved = json!({
        "desired": v2, "desiredNamespace": "new", "applied": v1, "appliedNamespace": "old",
    });
    let without_class = json!({"desired": "", "applied": v1, "appliedNamespace": "old"});
    // An earlier version wrote this status: keeping the release is safe in every namespace.
    let earlier = json!({"desired": v1, "applied": v1});
    for (progress, namespace, release, expected) in [
        (&moved, "old", v1, true),
        (&moved, "new", v2, true),
        (&moved, "old", v2, false),
        (&moved, "new", v1, false),
        (&moved, "tenant", v1, false),
        (&without_class, "old", v1, true),
        (&without_class, "new", v1, false),
        (&without_class, "tenant", v1, false),
        (&earlier, "old", v1, true),
        (&earlier, "new", v1, true),
        (&earlier, "new", v2, false),
    ] {
        let found = is_remembered(&addons(progress), namespace, &release.parse().unwrap());
        assert_eq!(found, expected, "{release} in {namespace}: {progress}");
    }
}
