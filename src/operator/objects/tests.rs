use serde_json::json;

use super::*;

/// A `ClusterStack` finds the Clusters of its releases by its line. With channel `custom`, it finds releases with any
/// suffix.
#[test]
fn line_of_a_stack_is_one_of_its_releases() {
    let of = |channel: &str| {
        let spec =
            json!({"provider": "docker", "name": "scs", "kubernetesVersion": "1.30", "channel": channel});
        index::line("stacks", &serde_json::from_value(spec).unwrap())
    };
    for (release, channels) in [
        ("docker-scs-1-30-v1", &["stable"][..]),
        ("docker-scs-1-30-v0-sha-rwvgrna", &["custom", "sha"]),
        ("docker-scs-1-30-v0-custom-1", &["custom"]),
    ] {
        let lines: Vec<String> = index::lines_of("stacks", &release.parse().unwrap()).collect();
        assert_eq!(lines, channels.iter().map(|channel| of(channel)).collect::<Vec<_>>(), "{release}");
    }
}

#[test]
fn versions_of_a_control_plane_are_all_that_is_kept() {
    let whole = json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
        "kind": "KubeadmControlPlane",
        "metadata": {"name": "one", "namespace": "team", "managedFields": []},
        "spec": {"version": "v1.34.0", "replicas": 3, "kubeadmConfigSpec": {}},
        "status": {"version": "v1.33.4", "conditions": []},
    });
    let kept: RelatedObject = serde_json::from_value(whole.clone()).unwrap();
    assert_eq!(kept.clone().versions().value["spec"], json!({"version": "v1.34.0"}));
    assert_eq!(kept.versions().value["status"], json!({"version": "v1.33.4"}));
    let bare = json!({"apiVersion": "v1", "kind": "Other", "metadata": {"name": "one"}});
    let without: RelatedObject = serde_json::from_value(bare.clone()).unwrap();
    assert_eq!(without.versions().value, bare, "nothing is added");
}
