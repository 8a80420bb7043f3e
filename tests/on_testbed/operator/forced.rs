//! A `ClusterAddon` that is deleted in ways that bypass the operator: in the foreground, and without its finalizer.
//! Garbage collection must not make Helm uninstall anything.

use serde_json::{Value, json};
use stackflux_testbed::Object;

use super::scenario::{Scenario, TIMEOUT, eventually};

const ADDON: &str = "cluster-addon-a";

fn uid(object: &Value) -> String {
    crate::text(object, "/metadata/uid").to_owned()
}

#[test]
fn garbage_collection_uninstalls_nothing() {
    let (scenario, operator) = Scenario::shared("forced").with_cluster();
    let namespace = format!("--namespace={}", scenario.namespace);
    let delete = |kind: &str, name: &str, cascade: &str| {
        scenario.management().kubectl(&["delete", kind, name, &namespace, "--wait=false", cascade]).unwrap();
    };

    let name = format!("sh.helm.release.v1.{}.v1", scenario.addon("cni"));
    let storage = Object { kind: "secret", namespace: "kube-system", name: &name };
    let installed =
        || scenario.testbed.workload("one").unwrap().get(storage).unwrap().map(|secret| uid(&secret));
    let once = installed();

    // Argo CD and `kubectl delete --cascade=foreground` make garbage collection delete owned objects first.
    let first = uid(&scenario.wait_addons("a"));
    delete("clusteraddon", ADDON, "--cascade=foreground");
    scenario.wait("clusteraddon", ADDON, "another one", |addon| uid(addon) != first);
    let second = uid(&scenario.wait_addons("a"));
    assert_eq!(installed(), once, "uninstalled");

    // Without an operator, a user removes the finalizer.
    operator.process().unwrap().kill().unwrap();
    scenario.patch("clusteraddon", ADDON, &json!({"metadata": {"finalizers": null}}));
    delete("clusteraddon", ADDON, "--cascade=background");
    scenario.wait_gone("clusteraddon", ADDON);
    let cni = scenario.object("a", "cni");
    let is_collected = || {
        let release = scenario.get("helmrelease", &cni);
        release.is_none_or(|release| !release["metadata"]["ownerReferences"].to_string().contains(&second))
    };
    eventually("garbage collection has looked at it", is_collected);
    assert_eq!(installed(), once, "uninstalled");
    operator.start_again().unwrap();
    operator.wait_ready(TIMEOUT).unwrap();
    scenario.wait_addons("a");
    assert_eq!(installed(), once, "uninstalled");

    // The Cluster is deleted, its owned objects first.
    delete("cluster", "a", "--cascade=foreground");
    scenario.wait_gone("clusteraddon", ADDON);
    scenario.wait_gone("helmrelease", &cni);
    assert_eq!(installed(), once, "uninstalled");
}
