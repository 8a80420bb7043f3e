use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Rollback;
use crate::api::ClusterStack;
use crate::foreign::capi::Cluster;
use crate::inputs::ClusterInputs;
use crate::names::ReleaseName;
use crate::promote::compare::Target;
use crate::promote::follow::StageTarget;
use crate::promote::stages::{FILE, Stages};

fn release(version: u8) -> ReleaseName {
    format!("openstack-scs-1-32-v{version}").parse().unwrap()
}

fn stack(name: &str, more: &Value) -> ClusterStack {
    let mut spec = json!({"provider": "openstack", "name": "scs", "kubernetesVersion": "1.32", "noProvider": true,
        "source": {"git": {"url": "https://h/r", "ref": {"branch": "main"}}}});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(json!({"apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
        "metadata": {"name": name, "namespace": "prod"}, "spec": spec}))
    .unwrap()
}

fn cluster(name: &str, class: &str) -> ClusterInputs {
    let object = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": name, "namespace": "prod"}, "spec": {"topology": {"classRef": {"name": class}}}});
    ClusterInputs::new(Cluster::new(object).unwrap(), |_| None)
}

/// Rolls back version 2. The releases are for Kubernetes v1.32.<version>, or all for v1.32.0.
fn rollback(present: &[u8], kubernetes_moves: bool) -> Rollback {
    let stages = Stages::parse(FILE, b"stages: [{name: prod}]", None).unwrap();
    let releases: BTreeSet<ReleaseName> = present.iter().map(|version| release(*version)).collect();
    let stacks = [
        stack("auto", &json!({"autoSubscribe": true})),
        stack("listed", &json!({"versions": ["v2"], "autoSubscribe": true})),
        stack("other", &json!({"versions": ["v1"]})),
    ];
    let clusters = [cluster("one", "openstack-scs-1-32-v2"), cluster("two", "openstack-scs-1-32-v1")];
    let target = Target {
        place: StageTarget {
            stage: stages.stage("prod").unwrap(),
            branch: "main",
            repository: "https://h/r",
        },
        releases: &releases,
        stacks: &stacks,
        clusters: &clusters,
        objects: &[],
    };
    Rollback::new(&target, &release(2), ("0123456789abcdef", true, "it leaks"), |name| {
        let patch =
            if kubernetes_moves { name.version().to_string().replace('v', "") } else { "0".to_owned() };
        format!("v1.32.{patch}").parse().ok()
    })
}

#[test]
fn rollback_reports_what_each_stack_offers_next() {
    let text = rollback(&[1, 2], false).document().to_plain();
    for expected in [
        "ClusterStack prod/auto offers openstack-scs-1-32-v1 again\n",
        "ClusterStack prod/listed continues to offer it: its versions have it, and it is pinned. Take v2 out of them\n",
        "ClusterStack prod/other does not offer it: nothing changes\n",
        "prod/one: nothing changes; class, charts and pins stay",
        "Each moves back when its class is set to openstack-scs-1-32-v1's\n",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
    assert!(!text.contains("prod/two"), "{text}");
}

#[test]
fn rollback_reports_empty_and_later_offers() {
    let alone = rollback(&[2], false).document().to_plain();
    assert!(alone.contains("prod/auto has no release left to offer"), "{alone}");
    assert!(alone.contains("when its class is set to another release's"), "{alone}");
    let later = rollback(&[1, 2, 3], false).document().to_plain();
    assert!(later.contains("prod/auto continues to offer openstack-scs-1-32-v3"), "{later}");
}

#[test]
fn rollback_refused_by_cluster_api_is_reported() {
    let text = rollback(&[1, 2], true).document().to_plain();
    let expected = "class is set to openstack-scs-1-32-v1's, and its version from v1.32.2 to v1.32.1. Cluster API refuses";
    assert!(text.contains(expected), "{text}");
}
