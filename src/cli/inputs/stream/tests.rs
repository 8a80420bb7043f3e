//! Tests of the export from a cluster with more than one ClusterStack.

use super::*;

fn stack(name: &str) -> (Key, ClusterStack) {
    let object = json!({
        "apiVersion": version(), "kind": "ClusterStack",
        "metadata": {"name": name, "namespace": "demo", "uid": name, "managedFields": [{"manager": "kubectl"}]},
        "spec": {"provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "noProvider": true},
    });
    (Key::new("demo", name), serde_json::from_value(object).unwrap())
}

fn release(name: &str, owner: &str) -> (Key, ClusterStackRelease) {
    let owner = json!({"apiVersion": "x", "kind": "ClusterStack", "name": owner, "uid": owner});
    let object = json!({
        "apiVersion": version(), "kind": "ClusterStackRelease",
        "metadata": {"name": name, "namespace": "demo", "ownerReferences": [owner]},
        "spec": {"source": {"revision": "0".repeat(40), "digest": "sha256:0", "path": "releases"}},
    });
    (Key::new("demo", name), serde_json::from_value(object).unwrap())
}

fn cluster(name: &str, class: &str) -> ClusterInputs {
    let infrastructure = json!({"kind": "DockerCluster", "apiVersion": "x/v1", "metadata": {"name": name, "namespace": "demo"}});
    let requested = json!({
        "metadata": {"name": name, "namespace": "demo"}, "spec": {"addons": {"cni": {"enabled": false}, "csi": {}}},
        "status": {"addons": [{"name": "cni", "inEffect": ["enabled"], "accepted": true}, {"name": "csi"}]},
    });
    let object = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": name, "namespace": "demo", "annotations": {LAST_APPLIED: "{}", "mine": "stays"}},
        "spec": {
            "topology": {"classRef": {"name": class}, "version": "v1.34.2"},
            "infrastructureRef": {"apiGroup": "x", "kind": "DockerCluster", "name": name},
        },
    });
    let inputs =
        ClusterInputs::new(crate::foreign::capi::Cluster::new(object).unwrap(), |_| Some(&infrastructure));
    inputs.with_requested(Some(std::sync::Arc::new(serde_json::from_value(requested).unwrap())))
}

fn addon(name: &str) -> (Key, ClusterAddon) {
    let object = json!({
        "apiVersion": version(), "kind": "ClusterAddon",
        "metadata": {"name": format!("cluster-addon-{name}"), "namespace": "demo"},
        "spec": {"clusterRef": {"kind": "Cluster", "name": name}, "suspend": true},
    });
    (Key::new("demo", name), serde_json::from_value(object).unwrap())
}

fn source(kind: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": kind,
        "metadata": {"name": "one", "namespace": namespace},
        "status": {"artifact": {"revision": "main@sha1:0"}, "conditions": []},
    })
}

fn present() -> Present {
    Present {
        stacks: [stack("mine"), stack("other")].into(),
        releases: [release("docker-demo-1-34-v1", "mine"), release("docker-demo-1-34-v2", "other")].into(),
        addons: [addon("one"), addon("two")].into(),
        clusters: vec![cluster("one", "docker-demo-1-34-v1"), cluster("two", "docker-demo-1-34-v2")],
        flux: vec![
            source("GitRepository", "demo"),
            source("HelmChart", "demo"),
            source("HelmRelease", "demo"),
            source("HelmChart", "elsewhere"),
        ],
    }
}

#[test]
fn export_contains_the_inputs_of_one_stack_only() {
    let mut present = present();
    let default = json!({"git": {"url": "https://git.example.org/stacks.git"}});
    let defaults = Defaults {
        source: Some(serde_json::from_value(default).unwrap()),
        service_account: Some("deployer".parse().unwrap()),
        ..Defaults::default()
    };
    restrict_to(&mut present, &Key::new("demo", "mine"), &defaults);
    let text = write(&present).unwrap();
    let kinds: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    let expected = [
        "ClusterStack",
        "ClusterStackRelease",
        "ClusterAddon",
        "GitRepository",
        "HelmChart",
        "Cluster",
        "Cluster",
        "DockerCluster",
        "ClusterAddonOverride",
    ];
    assert_eq!(kinds, expected, "{text}");
    for expected in
        ["serviceAccountName: deployer", "git.example.org", "revision: main@sha1:0", "mine: stays"]
    {
        assert!(text.contains(expected), "no {expected:?} in\n{text}");
    }
    for unexpected in ["managedFields", "last-applied", "conditions", "elsewhere"] {
        assert!(!text.contains(unexpected), "{unexpected:?} in\n{text}");
    }
}

#[test]
fn stream_round_trips() {
    let mut present = present();
    restrict_to(&mut present, &Key::new("demo", "mine"), &Defaults::default());
    let text = write(&present).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &text).unwrap();
    let again = read(file.path()).unwrap();
    assert_eq!(write(&again).unwrap(), text);
    assert!(again.addons[&Key::new("demo", "one")].spec.suspend);
    let requested = again.clusters[0].requested().unwrap();
    assert_eq!(requested.spec.addons["cni"].enabled, Some(false));
    assert_eq!(
        (requested.in_effect("cni"), requested.in_effect("csi")),
        (&["enabled".to_owned()][..], &[][..])
    );
    assert!(again.clusters[1].requested().is_none());
    assert!(again.clusters[0].data().get("InfraCluster").is_some());
    assert!(again.clusters[1].data().get("InfraCluster").is_none());
}
