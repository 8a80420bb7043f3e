//! Three clusters with the real `OpenStack` addons, and four workers of helm-controller: nodes take nothing ordinary
//! before the cloud controller runs, so what waits for them must not keep it from being installed.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use stackflux::api::custom_resource_definitions;
use stackflux_testbed::{
    Cluster, ClusterApi, Infrastructure, NewCluster, Object, Operator, Options, Testbed,
};

use crate::git::{commit_and_push, git};
use crate::shared;
use crate::support::{copy, scratch};

const RELEASE: &str = "openstack-scs-1-32-v1";
const WORKLOADS: [&str; 3] = ["one", "two", "three"];
const TAINT: &str = "node.cloudprovider.kubernetes.io/uninitialized";
/// Each addon that waits for a node gives its worker back after two minutes.
const PATIENCE: Duration = Duration::from_mins(12);

/// What a cloud controller does once it runs: the nodes become usable.
fn play_cloud_controller(workload: &Cluster) {
    let get = |kind, name| Object { kind, namespace: "kube-system", name };
    let runs = |found: &Value| found["status"]["numberReady"].as_u64().is_some_and(|ready| ready > 0);
    let controller = get("daemonset", "openstack-cloud-controller-manager");
    workload.wait(controller, "a ready pod", PATIENCE, runs).unwrap();
    let metrics = workload.get(get("deployment", "metrics-server")).unwrap().unwrap_or_default();
    assert_eq!(
        metrics["status"]["availableReplicas"],
        Value::Null,
        "the taint keeps nothing away: {metrics:#}"
    );
    workload.kubectl(&["taint", "nodes", "--all", &format!("{TAINT}-")]).unwrap();
}

/// The stack repository, the ClusterStack and the clusters in a new namespace, which comes back.
fn create(testbed: &Testbed) -> String {
    let (namespace, stack) = (testbed.namespace("workers").unwrap(), scratch("workers"));
    let url = testbed.git().url(&namespace);
    fs::create_dir_all(stack.join("releases")).unwrap();
    git(&stack, &["init", "--quiet", "--initial-branch=main"]);
    copy(&shared("stacks").join(RELEASE), &stack.join("releases"));
    commit_and_push(&stack, &url, RELEASE);
    let management = testbed.management();
    for definition in custom_resource_definitions() {
        management.apply(&serde_json::to_string(&definition).unwrap()).unwrap();
    }
    let object = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1",
        "kind": "ClusterStack",
        "metadata": {"name": "openstack-scs-1-32", "namespace": namespace},
        "spec": {
            "provider": "openstack", "name": "scs", "kubernetesVersion": "1.32", "noProvider": true,
            "versions": ["v1"],
            "source": {"git": {"url": url, "ref": {"branch": "main"}}},
        },
    });
    management.apply(&object.to_string()).unwrap();
    let clusters = WORKLOADS.map(|name| NewCluster {
        namespace: namespace.clone(),
        name: name.to_owned(),
        class: RELEASE.to_owned(),
        version: "v1.32.5".to_owned(),
        endpoint: format!("{name}.example.org"),
        infrastructure: Infrastructure::OpenStack,
        initialized: true,
    });
    for name in WORKLOADS {
        testbed.add_kubeconfig_secret(&namespace, name, name).unwrap();
    }
    ClusterApi::new(management).unwrap().create(&clusters).unwrap();
    namespace
}

#[test]
fn addons_that_wait_for_nodes_leave_room_for_the_one_that_makes_them_usable() {
    let options = Options { workloads: &WORKLOADS, helm_concurrent: 4, ..Options::default() };
    let testbed = Testbed::start_own(&options).unwrap();
    for workload in testbed.workloads() {
        let taint = format!("{TAINT}=true:NoSchedule");
        workload.kubectl(&["taint", "nodes", "--all", &taint]).unwrap();
    }
    let namespace = create(&testbed);
    let binary = Path::new(env!("CARGO_BIN_EXE_stackflux"));
    let _operator = Operator::start(&testbed, binary, testbed.operator_kubeconfig(), &[]).unwrap();
    let is_ready = |addon: &Value| addon["status"]["ready"] == true;
    thread::scope(|scope| {
        for workload in testbed.workloads() {
            scope.spawn(|| play_cloud_controller(workload));
        }
        for name in WORKLOADS {
            let name = format!("cluster-addon-{name}");
            let object = Object { kind: "clusteraddon", namespace: &namespace, name: &name };
            let addon = testbed.management().wait(object, "ready", PATIENCE, is_ready).unwrap();
            assert_eq!(addon["status"]["addons"].as_array().unwrap().len(), 4, "{addon:#}");
        }
    });
}
