//! Clusters in both served versions.

use serde_json::json;

use super::*;

fn v1beta2() -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "c1", "namespace": "demo"},
        "spec": {
            "topology": {"classRef": {"name": "openstack-scs-1-32-v1", "namespace": "stacks"}, "version": "v1.32.5"},
            "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "k"},
            "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackCluster", "name": "i"}
        },
        "status": {"initialization": {"controlPlaneInitialized": true, "infrastructureProvisioned": true}}
    })
}

fn v1beta1() -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster",
        "metadata": {"name": "c1", "namespace": "demo"},
        "spec": {
            "topology": {"class": "openstack-scs-1-32-v1", "version": "v1.32.5"},
            "infrastructureRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "OpenStackCluster",
                "name": "i", "namespace": "demo"}
        },
        "status": {"conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]}
    })
}

#[test]
fn facts_are_the_same_in_both_versions() {
    let (new, old) = (Cluster::new(v1beta2()).unwrap(), Cluster::new(v1beta1()).unwrap());
    assert_eq!(new.class().unwrap().namespace, "stacks");
    assert_eq!(old.class().unwrap().namespace, "demo");
    assert_eq!(new.class().unwrap().name, old.class().unwrap().name);
    assert_eq!(new.infrastructure_ref(), old.infrastructure_ref());
    assert!(new.control_plane_initialized() && old.control_plane_initialized());
    assert_eq!(new.kubernetes_version(), old.kubernetes_version());
    assert_eq!(old.control_plane_ref(), None);
}

#[test]
fn release_is_in_the_namespace_of_the_class() {
    let release = |cluster: Value| Cluster::new(cluster).unwrap().release();
    let expected = |namespace: &str| Some((namespace.to_owned(), "openstack-scs-1-32-v1".parse().unwrap()));
    assert_eq!((release(v1beta2()), release(v1beta1())), (expected("stacks"), expected("demo")));
    let (mut other, mut none) = (v1beta1(), v1beta1());
    other["spec"]["topology"]["class"] = json!("mine");
    none["spec"]["topology"] = json!(null);
    assert_eq!((release(other), release(none)), (None, None));
}

#[test]
fn templates_see_the_v1beta1_spellings() {
    let infrastructure = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1"});
    let seen = Cluster::new(v1beta2()).unwrap().for_templates(None, Some(&infrastructure));
    assert_eq!(text(&seen, &["spec", "topology", "class"]), "openstack-scs-1-32-v1");
    assert_eq!(text(&seen, &["spec", "topology", "classNamespace"]), "stacks");
    assert_eq!(
        text(&seen, &["spec", "infrastructureRef", "apiVersion"]),
        "infrastructure.cluster.x-k8s.io/v1beta1"
    );
    assert_eq!(text(&seen, &["spec", "infrastructureRef", "namespace"]), "demo");
    assert_eq!(field(&seen, &["spec", "controlPlaneRef", "apiVersion"]), None);
    assert_eq!(field(&seen, &["status", "infrastructureReady"]), Some(&json!(true)));
    assert_eq!(field(&seen, &["status", "controlPlaneReady"]), Some(&json!(true)));
    let old = Cluster::new(v1beta1()).unwrap();
    assert_eq!(old.for_templates(None, None), v1beta1());
}

#[test]
fn unexpected_shapes_are_refused_or_ignored() {
    assert!(Cluster::new(json!({"apiVersion": "v1", "kind": "Cluster"})).is_err());
    assert!(Cluster::new(json!([])).is_err());
    let odd = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "c"},
        "spec": {"topology": 7, "paused": "yes", "controlPlaneRef": []}, "status": {"conditions": {"type": 1}}
    });
    let cluster = Cluster::new(odd).unwrap();
    assert_eq!((cluster.class(), cluster.paused(), cluster.namespace().as_str()), (None, false, "default"));
    assert!(!cluster.control_plane_initialized());
    assert_eq!(text(&cluster.for_templates(None, None), &["kind"]), "Cluster");
}

#[test]
fn cluster_is_paused_by_field_or_annotation() {
    let annotated = json!({"cluster.x-k8s.io/paused": ""});
    for (paused, annotations, expected) in [
        (json!(false), json!({}), None),
        (json!(true), json!({}), Some("spec.paused")),
        (json!(false), annotated.clone(), Some("annotation cluster.x-k8s.io/paused")),
        (json!(true), annotated, Some("spec.paused and annotation cluster.x-k8s.io/paused")),
    ] {
        let mut object = v1beta2();
        object["spec"]["paused"] = paused;
        object["metadata"]["annotations"] = annotations;
        let cluster = Cluster::new(object).unwrap();
        assert_eq!((cluster.paused_by(), cluster.paused()), (expected, expected.is_some()));
    }
}
