//! A Flux and an operator that refuse references to other namespaces, and a Cluster in a namespace with neither the
//! ClusterStack nor its sources.

use serde_json::{Value, json};
use stackflux_testbed::{Object, Options};

use super::scenario::{Alone, STACK, Scenario, TIMEOUT, V1, condition, eventually};

#[test]
fn copied_sources_work_without_cross_namespace_refs() {
    let options = Options { no_cross_namespace_refs: true, ..Options::default() };
    let alone = Alone::start_with(&options);
    let testbed = &alone.testbed;
    let scenario = Scenario::on(testbed, "strict");
    scenario.publish(&[V1]);
    let _operator = scenario.operator_as(testbed.operator_kubeconfig(), &["--no-cross-namespace-refs"]);
    scenario.apply_stack(&["v1"], &json!({"flux": {"sources": "PerNamespace"}}));
    scenario.wait_ready("clusterstack", STACK);

    let tenant = testbed.namespace("strict-tenant").unwrap();
    testbed.add_kubeconfig_secret(&tenant, "a", "one").unwrap();
    let cluster =
        stackflux_testbed::NewCluster { namespace: tenant.clone(), ..scenario.new_cluster("a", V1) };
    scenario.clusters.create(&[cluster]).unwrap();
    let class = json!({"spec": {"topology": {"classRef": {"name": V1, "namespace": scenario.namespace}}}});
    scenario.clusters.patch(&tenant, "a", &class).unwrap();
    let addon = Object { kind: "clusteraddon", namespace: &tenant, name: "cluster-addon-a" };
    let is_ready = |addon: &Value| condition(addon, "Ready").0 == "True";
    scenario.management().wait(addon, "Ready=True", TIMEOUT, is_ready).unwrap();

    references_are_refused(&scenario, &tenant);

    // Nothing is uninstalled with the Cluster; the copies are deleted with the release.
    scenario.clusters.delete(&tenant, &["a".to_owned()]).unwrap();
    scenario.management().wait_gone(addon, TIMEOUT).unwrap();
    scenario.assert_nothing_uninstalled("one");
    let more = json!({"flux": {"sources": "PerNamespace"}, "revisionHistoryLimit": 0});
    scenario.apply_stack(&[], &more);
    scenario.retire(V1);
    scenario.wait_gone("clusterstackrelease", V1);
    let count = |kind| scenario.management().list(kind, &tenant).unwrap().len();
    eventually("the copies are gone", || count("gitrepositories") + count("helmcharts") == 0);
}

/// A ClusterStack of a tenant cannot read the stack repository of another namespace.
fn references_are_refused(scenario: &Scenario<'_>, tenant: &str) {
    let stack = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
        "metadata": {"name": "theirs", "namespace": tenant, "labels": {"test": scenario.namespace}},
        "spec": {
            "provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "noProvider": true, "versions": ["v1"],
            "source": {"gitRepositoryRef": {"name": format!("{STACK}-catalog"), "namespace": scenario.namespace}},
        },
    });
    scenario.management().apply(&stack.to_string()).unwrap();
    let stack = Object { kind: "clusterstack", namespace: tenant, name: "theirs" };
    let is_refused = |stack: &Value| condition(stack, "Ready").1 == "AccessDenied";
    scenario.management().wait(stack, "AccessDenied", TIMEOUT, is_refused).unwrap();
}
