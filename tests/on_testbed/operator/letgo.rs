//! Deleted clusters: nothing is uninstalled from them, and nothing hangs.

use serde_json::{Value, json};
use stackflux_testbed::{Object, OwnTestbed, Write};

use crate::support::stackflux;

use super::scenario::{CHARTS, STACK, Scenario, TIMEOUT, V1, condition, eventually};

fn uid(object: &Value) -> &str {
    crate::text(object, "/metadata/uid")
}

/// Waits until all objects of a cluster in the management cluster are deleted.
fn all_gone(scenario: &Scenario, cluster: &str) {
    for chart in CHARTS {
        scenario.wait_gone("helmrelease", &scenario.object(cluster, chart));
    }
    scenario.wait_gone("kustomization", &scenario.object(cluster, "policies"));
    scenario.wait_gone("clusteraddon", &format!("cluster-addon-{cluster}"));
}

#[test]
fn deleted_and_recreated_cluster_gets_own_addons() {
    let (scenario, _operator) = Scenario::shared("letgo").with_cluster();
    let first = uid(&scenario.wait_addons("a")).to_owned();

    // A user deletes the ClusterAddon of an existing cluster.
    scenario
        .management()
        .kubectl(&["delete", "clusteraddon", "cluster-addon-a", "--namespace", &scenario.namespace])
        .unwrap();
    scenario.wait("clusteraddon", "cluster-addon-a", "another one", |addon| uid(addon) != first);
    let second = uid(&scenario.wait_addons("a")).to_owned();
    scenario.assert_nothing_uninstalled("one");

    // The cluster is deleted and immediately created again under its name.
    scenario.clusters.delete(&scenario.namespace, &["a".to_owned()]).unwrap();
    // Garbage collection may have been faster.
    let namespace = format!("--namespace={}", scenario.namespace);
    let others = ["delete", "devcluster/a", "kubeadmcontrolplane/a", &namespace, "--ignore-not-found"];
    scenario.management().kubectl(&others).unwrap();
    scenario.clusters.create(&[scenario.new_cluster("a", V1)]).unwrap();
    scenario.wait("clusteraddon", "cluster-addon-a", "another one", |addon| uid(addon) != second);
    scenario.wait_addons("a");
    scenario.assert_nothing_uninstalled("one");

    // The cluster is deleted for good, which takes long.
    deletion_is_slow(&scenario);
    all_gone(&scenario, "a");
    scenario.assert_nothing_uninstalled("one");
    let workload = scenario.testbed.workload("one").unwrap();
    let workloads = workload.kubectl(&["get", "daemonsets,deployments", "--namespace=kube-system"]).unwrap();
    assert!(CHARTS.iter().all(|chart| workloads.contains(&scenario.addon(chart))), "{workloads}");
}

/// A deleted Cluster with another finalizer reports so, before anything is cleaned up.
fn deletion_is_slow(scenario: &Scenario) {
    let hold = |finalizers: Value| {
        let change = json!({"metadata": {"finalizers": finalizers}});
        scenario.clusters.patch(&scenario.namespace, "a", &change).unwrap();
    };
    hold(json!(["example.org/slow"]));
    let mark = scenario.testbed.audit().mark().unwrap();
    scenario.clusters.delete(&scenario.namespace, &["a".to_owned()]).unwrap();
    for chart in CHARTS {
        scenario.wait_gone("helmrelease", &scenario.object("a", chart));
    }
    let addon = scenario.get("clusteraddon", "cluster-addon-a").unwrap();
    for kind in ["Ready", "ClusterAvailable"] {
        let (status, reason, message) = condition(&addon, kind);
        assert_eq!((status, reason), ("False", "Deleting"), "{addon:#}");
        assert!(message.contains("is being deleted since 2"), "{message}");
    }
    for kind in ["ReleaseReady", "ValuesRendered", "Delivered", "AddonsReady"] {
        let (status, reason, _) = condition(&addon, kind);
        assert_eq!((status, reason), ("Unknown", "Deleting"), "{addon:#}");
    }
    let writes = scenario.operator_writes_since(mark);
    // What the ClusterStack summarizes is written at its own pace.
    let of_cluster = |write: &&Write| !["events", "clusterstacks"].contains(&write.resource.as_str());
    let first = writes.iter().find(of_cluster).unwrap();
    assert_eq!(
        (first.resource.as_str(), first.subresource.as_str()),
        ("clusteraddons", "status"),
        "{writes:#?}"
    );
    let kubeconfig = scenario.management().kubeconfig().to_str().unwrap().to_owned();
    let access = ["--kubeconfig", &kubeconfig, "--namespace", &scenario.namespace];
    for command in [&["why", "a"][..], &["tree"], &["status"]] {
        let run = stackflux(&[command, &access].concat());
        assert_eq!(run.code, 1, "{command:?}: {}{}", run.stdout, run.stderr);
        assert!(run.stdout.contains("the Cluster is being deleted since 2"), "{command:?}: {}", run.stdout);
        let good = |line: &&str| line.contains("Addon") && line.contains("True");
        assert_eq!(run.stdout.lines().find(good), None, "{command:?}");
    }
    hold(json!([]));
}

/// A cluster whose API server is dead is cleaned up as well. On a testbed of its own: that of the outages.
pub(super) fn dead_cluster_is_let_go(scenario: &Scenario, testbed: &OwnTestbed) {
    testbed.component("one-kube-apiserver").process().unwrap().kill().unwrap();
    scenario.clusters.delete(&scenario.namespace, &["a".to_owned()]).unwrap();
    all_gone(scenario, "a");
}

#[test]
fn orphaned_stack_leaves_releases_suspended() {
    let (scenario, _operator) = Scenario::shared("orphan").with_cluster();
    scenario.wait_ready("clusterstack", STACK);
    paused(&scenario);
    let workload = scenario.testbed.workload("one").unwrap();
    let installed =
        || CHARTS.map(|chart| workload.helm_revisions("kube-system", &scenario.addon(chart)).unwrap());
    let before = installed();

    scenario
        .management()
        .kubectl(&["delete", "clusterstack", STACK, "--namespace", &scenario.namespace, "--wait=false"])
        .unwrap();
    let held = |stack: &Value| condition(stack, "Ready").1 == "InUse";
    scenario.wait("clusterstack", STACK, "held", held);
    scenario.wait_addons("a");
    let orphan = json!({"metadata": {"annotations": {"clusterstack.x-k8s.io/on-delete": "Orphan"}}});
    scenario.patch("clusterstack", STACK, &orphan);
    scenario.wait_gone("clusterstack", STACK);
    for chart in CHARTS {
        let release = scenario.get("helmrelease", &scenario.object("a", chart)).unwrap();
        assert_eq!(release["spec"]["suspend"], true, "{release:#}");
        assert!(!release["metadata"]["ownerReferences"].to_string().contains("ClusterAddon"), "{release:#}");
    }
    scenario.assert_nothing_uninstalled("one");
    // The objects that the documents wait for before the operator is removed.
    let ours = ["clusterstacks", "clusterstackreleases", "clusteraddons"];
    eventually("nothing of ours is left", || ours.iter().all(|kind| scenario.list(kind).is_empty()));
    assert!(scenario.get("clusterclass", V1).is_some());
    // By now garbage collection has seen the deletion, and had nothing to delete.
    std::thread::sleep(std::time::Duration::from_secs(3));
    for chart in CHARTS {
        let release = scenario.get("helmrelease", &scenario.object("a", chart)).unwrap();
        assert!(release["metadata"]["deletionTimestamp"].is_null(), "{release:#}");
    }

    // The same ClusterStack takes over everything again, and nothing is installed again.
    scenario.apply_stack(&["v1"], &json!({}));
    let again = |addon: &Value| {
        condition(addon, "Ready").0 == "True"
            && addon["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
    };
    scenario.wait("clusteraddon", "cluster-addon-a", "taken over", again);
    for chart in CHARTS {
        let release = scenario.object("a", chart);
        scenario.wait("helmrelease", &release, "resumed", |release| release["spec"]["suspend"] != true);
        let release = Object { kind: "helmrelease", namespace: &scenario.namespace, name: &release };
        scenario.management().wait_ready(release, TIMEOUT).unwrap();
    }
    assert_eq!(installed(), before);
}

/// A paused Cluster's status reports the pause once, and then nothing at all is written for it.
fn paused(scenario: &Scenario) {
    let patch = |change: Value| scenario.clusters.patch(&scenario.namespace, "a", &change).unwrap();
    patch(json!({"spec": {"paused": true}}));
    let is_paused = |addon: &Value| {
        let conditions =
            ["Ready", "ClusterAvailable", "ReleaseReady", "ValuesRendered", "Delivered", "AddonsReady"];
        conditions
            .map(|kind| condition(addon, kind))
            .iter()
            .all(|state| (state.0, state.1) == ("Unknown", "Paused"))
    };
    scenario.wait("clusteraddon", "cluster-addon-a", "said to be paused", is_paused);
    let is_counted = |stack: &Value| stack["status"]["clusters"]["paused"] == 1;
    scenario.wait("clusterstack", STACK, "1 paused", is_counted);
    let mark = scenario.testbed.audit().mark().unwrap();
    scenario.set_endpoint("a", "elsewhere.example.org");
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(scenario.operator_writes_since(mark), []);
    patch(json!({"spec": {"paused": false}}));
    scenario.wait_endpoint("a", "elsewhere.example.org");
    scenario.wait_addons("a");
}

#[test]
fn deleted_namespace_keeps_addons_of_its_clusters() {
    let (scenario, operator) = Scenario::shared("namespace").with_cluster();
    let namespace = &scenario.namespace;
    scenario.management().kubectl(&["delete", "namespace", namespace, "--wait=false"]).unwrap();
    let object = Object { kind: "namespace", namespace: "", name: namespace };
    scenario.management().wait_gone(object, TIMEOUT).unwrap();
    // One cause, one line.
    let log = std::fs::read_to_string(operator.log()).unwrap();
    let warnings: Vec<&str> =
        log.lines().filter(|line| line.contains("terminat") && line.contains("WARN")).collect();
    assert_eq!(warnings, [] as [&str; 0]);
    assert_eq!(log.matches("the namespace is being deleted").count(), 1, "{log}");
    scenario.assert_nothing_uninstalled("one");
}
