//! Three clusters with the real `OpenStack` addons, and four workers of helm-controller: nodes take nothing ordinary
//! before the cloud controller runs, so what waits for them must not keep it from being installed.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stackflux_testbed::{Cluster, Object, Operator, Options, Testbed};

use crate::definitions::apply_definitions;
use crate::stack::{STACK, condition, create_clusters, is_ready, publish};
use crate::support::scratch;

const WORKLOADS: [&str; 3] = ["one", "two", "three"];
/// How many releases helm-controller works on at the same time.
const WORKERS: u32 = 4;
/// The addons that tolerate no tainted node: six releases in three clusters, more than there are workers.
const WAITING: [&str; 2] = ["csi", "metrics-server"];
const TAINT: &str = "node.cloudprovider.kubernetes.io/uninitialized";
/// Each addon that waits for a node gives its worker back after two minutes.
const TIMEOUT: Duration = Duration::from_mins(12);

/// The ClusterStack, with the cloud controller held back or not.
fn apply_stack(testbed: &Testbed, namespace: &str, held_back: bool) {
    let stack = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1",
        "kind": "ClusterStack",
        "metadata": {"name": STACK, "namespace": namespace},
        "spec": {
            "provider": "openstack", "name": "scs", "kubernetesVersion": "1.32", "noProvider": true,
            "versions": ["v1"],
            "source": {"git": {"url": testbed.git().url(namespace), "ref": {"branch": "main"}}},
            "flux": {"addons": {"ccm": {"suspend": held_back}}},
        },
    });
    testbed.management().apply(&stack.to_string()).unwrap();
}

/// Waits until every worker has an installation in hand that waits for a node.
fn wait_until_workers_are_held(testbed: &Testbed, namespace: &str) {
    let is_held = |release: &Value| {
        let name = release["metadata"]["name"].as_str().unwrap();
        WAITING.iter().any(|addon| name.ends_with(&format!(".{addon}")))
            && release["status"]["lastAttemptedGeneration"] == release["metadata"]["generation"]
            && condition(release, "Reconciling") == ("True", "Progressing")
    };
    let begun = Instant::now();
    loop {
        let namespace = format!("--namespace={namespace}");
        let list =
            testbed.management().kubectl(&["get", "helmreleases", &namespace, "--output=json"]).unwrap();
        let list: Value = serde_json::from_str(&list).unwrap();
        let releases = list["items"].as_array().unwrap();
        if releases.iter().filter(|release| is_held(release)).count() >= WORKERS as usize {
            return;
        }
        assert!(begun.elapsed() < TIMEOUT, "a worker is free: {list:#}");
        thread::sleep(Duration::from_millis(500));
    }
}

/// What a cloud controller does once it runs: the nodes become usable.
fn play_cloud_controller(workload: &Cluster) {
    let get = |kind, name| Object { kind, namespace: "kube-system", name };
    let runs = |found: &Value| found["status"]["numberReady"].as_u64().is_some_and(|ready| ready > 0);
    let controller = get("daemonset", "openstack-cloud-controller-manager");
    workload.wait(controller, "a ready pod", TIMEOUT, runs).unwrap();
    let metrics = workload.get(get("deployment", "metrics-server")).unwrap().unwrap_or_default();
    assert_eq!(
        metrics["status"]["availableReplicas"],
        Value::Null,
        "the taint keeps nothing away: {metrics:#}"
    );
    workload.kubectl(&["taint", "nodes", "--all", &format!("{TAINT}-")]).unwrap();
}

#[test]
fn waiting_addons_leave_room_for_cloud_controllers() {
    let options = Options { workloads: &WORKLOADS, helm_concurrent: WORKERS, ..Options::default() };
    let testbed = Testbed::start_own(&options).unwrap();
    for workload in testbed.workloads() {
        let taint = format!("{TAINT}=true:NoSchedule");
        workload.kubectl(&["taint", "nodes", "--all", &taint]).unwrap();
    }
    let namespace = testbed.namespace("workers").unwrap();
    publish(&scratch("workers"), &testbed.git().url(&namespace));
    apply_definitions(testbed.management());
    apply_stack(&testbed, &namespace, true);
    create_clusters(&testbed, &namespace, &WORKLOADS);
    let binary = Path::new(env!("CARGO_BIN_EXE_stackflux"));
    let _operator = Operator::start(&testbed, binary, testbed.operator_kubeconfig(), &[]).unwrap();

    // The worst order: the cloud controllers come when no worker is free.
    wait_until_workers_are_held(&testbed, &namespace);
    apply_stack(&testbed, &namespace, false);
    thread::scope(|scope| {
        for workload in testbed.workloads() {
            scope.spawn(|| play_cloud_controller(workload));
        }
        for name in WORKLOADS {
            let name = format!("cluster-addon-{name}");
            let object = Object { kind: "clusteraddon", namespace: &namespace, name: &name };
            let addon = testbed.management().wait(object, "Ready=True", TIMEOUT, is_ready).unwrap();
            assert_eq!(addon["status"]["addons"].as_array().unwrap().len(), 4, "{addon:#}");
        }
    });
}
