use serde_json::{Value, json};

use super::*;

fn cluster(more: &Value) -> Cluster {
    let mut object = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "one", "namespace": "team"},
    });
    for (name, value) in more.as_object().unwrap() {
        match object[name].as_object_mut() {
            Some(fields) => fields.extend(value.as_object().unwrap().clone()),
            None => object[name] = value.clone(),
        }
    }
    Cluster::new(object).unwrap()
}

fn topology(status: &str, message: &str) -> Value {
    json!([
        {"type": "Available", "status": "True", "message": format!("* TopologyReconciled: {message}")},
        {"type": "TopologyReconciled", "status": status, "reason": "ClusterUpgrading", "message": message},
    ])
}

#[test]
fn upgrade_has_begun_while_its_last_hook_is_pending() {
    for (hooks, expected) in [
        (None, false),
        (Some(""), false),
        (Some("AfterControlPlaneInitialized"), false),
        (Some("AfterClusterUpgrade"), true),
        (Some("AfterClusterUpgrade,AfterControlPlaneUpgrade,AfterWorkersUpgrade,BeforeWorkersUpgrade"), true),
        (Some("AfterWorkersUpgrade, AfterClusterUpgrade"), true),
        (Some("AfterClusterUpgradeOfAnother"), false),
    ] {
        let annotations = json!({"runtime.cluster.x-k8s.io/pending-hooks": hooks});
        let cluster = cluster(&json!({"metadata": {"annotations": annotations}}));
        assert_eq!(cluster.is_upgrading(), expected, "{hooks:?}");
    }
    assert!(!cluster(&json!({})).is_upgrading());
}

/// The messages of the releases of Cluster API, around the list of what waits.
#[test]
fn cluster_api_waits_when_it_names_the_annotation() {
    for (hook, expected, why) in [
        (format!("annotation [{UPGRADE_HOOK}] is set"), true, "Cluster API 1.10 and 1.11"),
        (format!("annotations [a.b/c, {UPGRADE_HOOK}] are set"), true, "1.10 and 1.11, beside another"),
        (format!("annotation {UPGRADE_HOOK} is set"), true, "Cluster API 1.12"),
        (format!("annotations {UPGRADE_HOOK}, x.y/z are set"), true, "1.12, beside another"),
        (format!("annotation {UPGRADE_HOOK}-of-another is set"), false, "a longer name"),
        (format!("annotation my-{UPGRADE_HOOK} is set"), false, "another prefix"),
        ("waiting 30".to_owned(), false, "a Runtime Extension"),
    ] {
        let message = format!(
            "Cluster is upgrading to v1.35.0\n  * Following hooks are blocking upgrade: BeforeClusterUpgrade: {hook}\n  * \
             KubeadmControlPlane pending upgrade to version v1.35.0"
        );
        let [current, of_v1beta1, reconciled] = [
            json!({"status": {"conditions": topology("False", &message)}}),
            json!({"status": {"v1beta2": {"conditions": topology("False", &message)}}}),
            json!({"status": {"conditions": topology("True", &message)}}),
        ]
        .map(|more| cluster(&more));
        assert_eq!(current.awaits_removal_of(UPGRADE_HOOK), expected, "{why}");
        assert_eq!(of_v1beta1.awaits_removal_of(UPGRADE_HOOK), expected, "{why}");
        assert!(!reconciled.awaits_removal_of(UPGRADE_HOOK), "{why}: it is reconciled");
        assert_eq!(of_v1beta1.topology_message(), Some(message.as_str()));
        assert_eq!(reconciled.topology_message(), None);
    }
}

#[test]
fn recorded_clusters_wait() {
    for (version, recorded, steps) in [
        ("1.10", include_str!("../../../../tests/recorded/cluster-api-1.10-waits.yaml"), vec![]),
        ("1.11", include_str!("../../../../tests/recorded/cluster-api-1.11-waits.yaml"), vec![]),
        ("1.13", include_str!("../../../../tests/recorded/cluster-api-1.13-waits.yaml"), vec!["v1.35.0"]),
    ] {
        let recorded = Cluster::new(serde_yaml::from_str(recorded).unwrap()).unwrap();
        assert!(recorded.awaits_removal_of(UPGRADE_HOOK) && !recorded.is_upgrading(), "{version}");
        assert_eq!((recorded.upgrade_steps(), recorded.topology_version()), (steps, "v1.35.0"), "{version}");
        assert_eq!(recorded.annotation(UPGRADE_HOOK), Some("v1.34.0"), "{version}");
        assert!(!recorded.is_topology_reconciled() && !recorded.is_made_without_hooks(), "{version}");
        assert!(recorded.topology_message().is_some_and(|says| says.contains(UPGRADE_HOOK)), "{version}");
    }
}

#[test]
fn steps_are_those_of_the_control_plane() {
    let steps = |message: &str| -> Vec<String> {
        let control_plane =
            json!({"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "c"});
        let conditions = json!({"conditions": topology("False", message)});
        let cluster = cluster(&json!({"spec": {"controlPlaneRef": control_plane}, "status": conditions}));
        cluster.upgrade_steps().into_iter().map(str::to_owned).collect()
    };
    let none: [&str; 0] = [];
    let pending = "Cluster is upgrading to v1.35.0\n  * Following hooks are blocking upgrade: BeforeClusterUpgrade: x\n  * \
                   KubeadmControlPlane pending upgrade to version v1.34.1, v1.35.0\n  * MachineDeployment md pending upgrade \
                   to version v1.35.0";
    assert_eq!(steps(pending), ["v1.34.1", "v1.35.0"]);
    let one = "Cluster is upgrading to v1.35.0\n  * KubeadmControlPlane pending upgrade to version v1.35.0";
    assert_eq!(steps(one), ["v1.35.0"]);
    let workers =
        "Cluster is upgrading to v1.35.0\n  * MachineDeployment md pending upgrade to version v1.35.0";
    assert_eq!(steps(workers), none);
    assert_eq!(steps(""), none);
}

#[test]
fn version_is_a_text() {
    let of = |topology: Value| cluster(&json!({"spec": {"topology": topology}}));
    assert_eq!(of(json!({"version": "v1.35.0+k3s1"})).topology_version(), "v1.35.0+k3s1");
    assert_eq!(of(json!({})).topology_version(), "");
}

#[test]
fn other_manager_of_the_annotation_is_found() {
    let fields = |manager: &str, annotation: &str| json!({"manager": manager, "fieldsV1": {"f:metadata": {"f:annotations": {format!("f:{annotation}"): {}}}}});
    let found = |entries: &[Value]| {
        let object = json!({"metadata": {"managedFields": entries}});
        other_manager(&object, UPGRADE_HOOK, "stackflux").map(str::to_owned)
    };
    let (ours, theirs) = (fields("stackflux", UPGRADE_HOOK), fields("kustomize-controller", UPGRADE_HOOK));
    assert_eq!(found(&[]), None);
    assert_eq!(found(&[ours.clone(), fields("kubectl", "note")]), None);
    assert_eq!(found(&[ours, theirs]).as_deref(), Some("kustomize-controller"));
    assert_eq!(other_manager(&json!({}), UPGRADE_HOOK, "stackflux"), None);
}
