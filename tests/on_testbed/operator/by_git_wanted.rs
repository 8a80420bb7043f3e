//! Only the current plan is committed, by the one ClusterStack that owns the Cluster.

use serde_json::{Value, json};

use super::fleet::{Fleet, PATH};
use super::scenario::{STACK, Scenario, V1, condition};

/// The same stack for the next version of Kubernetes, and its release.
const NEXT: (&str, &str) = ("docker-demo-1-35", "docker-demo-1-35-v1");

/// Names a Secret for the pushes that does not exist.
fn without_secret(scenario: &Scenario<'_>, secret: &str) {
    let change = json!({"spec": {"delivery": {"git": {"secretRef": {"name": secret}}}}});
    scenario.patch("clusterstack", STACK, &change);
}

/// Creates that Secret. The Git server admits any user.
fn with_secret(scenario: &Scenario<'_>, secret: &str) {
    let object = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": {"username": "any", "password": "any"},
        "metadata": {"name": secret, "namespace": scenario.namespace},
    });
    scenario.management().apply(&object.to_string()).unwrap();
}

fn wait_held(scenario: &Scenario<'_>, cluster: &str) {
    let is_held = |addon: &Value| condition(addon, "Delivered").1 == "SecretInvalid";
    scenario.wait("clusteraddon", &format!("cluster-addon-{cluster}"), "held", is_held);
}

#[test]
fn paused_cluster_discards_held_plan() {
    let scenario = Scenario::shared("gitwanted");
    let fleet = Fleet::followed(&scenario);
    scenario.publish(&[V1]);
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1"], &fleet.delivery());
    scenario.wait_ready("clusterstack", STACK);

    without_secret(&scenario, "push");
    scenario.create_cluster("a", V1, "one");
    scenario.create_cluster("b", V1, "two");
    wait_held(&scenario, "a");
    wait_held(&scenario, "b");
    scenario.patch("cluster", "b", &json!({"spec": {"paused": true}}));
    with_secret(&scenario, "push");
    let addon = scenario.wait_addons("a");
    assert_eq!(addon["status"]["committedBy"], format!("{}/{STACK}", scenario.namespace), "{addon:#}");
    let clusters = fleet.clone("paused").join(PATH).join("clusters").join(&scenario.namespace);
    assert!(clusters.join("a").exists() && !clusters.join("b").exists(), "the paused one was written");
    scenario.patch("cluster", "b", &json!({"spec": {"paused": false}}));
    scenario.wait_addons("b");

    // Another owner's stack of the same line has no influence, and the status says what a deletion waits for.
    let other = format!("{}-other", scenario.namespace);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}});
    scenario.management().apply(&namespace.to_string()).unwrap();
    let mut stack = scenario.get("clusterstack", STACK).unwrap();
    stack["metadata"] = json!({"name": STACK, "namespace": other});
    stack["spec"]["delivery"]["git"]["secretRef"]["name"] = json!("nobody-has-it");
    stack.as_object_mut().unwrap().remove("status");
    scenario.management().apply(&stack.to_string()).unwrap();
    scenario.clusters.delete(&scenario.namespace, &["a".to_owned()]).unwrap();
    scenario.wait_gone("clusteraddon", "cluster-addon-a");
    without_secret(&scenario, "later");
    scenario.clusters.delete(&scenario.namespace, &["b".to_owned()]).unwrap();
    wait_held(&scenario, "b");
    with_secret(&scenario, "later");
    scenario.wait_gone("clusteraddon", "cluster-addon-b");
    assert!(!fleet.clone("gone").join(PATH).join("clusters").exists());
    scenario.management().kubectl(&["delete", "namespace", &other, "--wait=false"]).unwrap();
}

/// Publishes the release of the next version of Kubernetes.
fn publish_next(scenario: &Scenario<'_>) {
    let (line, release) = NEXT;
    scenario.derive(V1, release);
    scenario.edit(&format!("releases/{release}/metadata.yaml"), "v1.34.0", "v1.35.0");
    scenario.edit(&format!("releases/{release}/cluster-class/Chart.yaml"), STACK, line);
    scenario.push("the next version of Kubernetes");
}

#[test]
fn upgrade_to_next_stack_requires_same_git_path() {
    let scenario = Scenario::shared("gitline");
    let fleet = Fleet::followed(&scenario);
    scenario.publish(&[V1]);
    publish_next(&scenario);
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1"], &fleet.delivery());
    scenario.wait_ready("clusterstack", STACK);
    let mut next = scenario.get("clusterstack", STACK).unwrap();
    next["metadata"] =
        json!({"name": NEXT.0, "namespace": scenario.namespace, "labels": {"test": scenario.namespace}});
    next["spec"]["kubernetesVersion"] = json!("1.35");
    next["spec"]["delivery"]["git"]["path"] = json!("elsewhere");
    next.as_object_mut().unwrap().remove("status");
    scenario.management().apply(&next.to_string()).unwrap();
    let elsewhere = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "elsewhere", "namespace": scenario.namespace},
        "spec": {
            "sourceRef": {"kind": "GitRepository", "name": "fleet"}, "path": "elsewhere", "prune": false,
            "interval": "10s", "retryInterval": "2s",
        },
    });
    scenario.management().apply(&elsewhere.to_string()).unwrap();
    scenario.create_cluster("a", V1, "one");
    scenario.wait_addons("a");

    scenario.wait("clusterstackrelease", NEXT.1, "pinned", |release| release["spec"]["source"].is_object());
    scenario.clusters.upgrade(&scenario.namespace, "a", NEXT.1, "v1.35.0").unwrap();
    let is_elsewhere = |addon: &Value| condition(addon, "Delivered").1 == "DeliveredElsewhere";
    let addon = scenario.wait("clusteraddon", "cluster-addon-a", "told", is_elsewhere);
    let message = condition(&addon, "Delivered").2;
    assert!(message.contains(STACK) && message.contains("give both the same"), "{message}");
    assert!(!fleet.clone("elsewhere").join("elsewhere/clusters").exists());

    let namespace = format!("--namespace={}", scenario.namespace);
    scenario.management().kubectl(&["delete", "kustomization", "elsewhere", &namespace]).unwrap();
    let change = json!({"spec": {"delivery": {"git": {"path": PATH}}}});
    scenario.patch("clusterstack", NEXT.0, &change);
    scenario.wait_at("a", NEXT.1);
    let addon = scenario.wait_addons("a");
    assert_eq!(addon["status"]["committedBy"], format!("{}/{}", scenario.namespace, NEXT.0), "{addon:#}");
    let workload = scenario.testbed.workload("one").unwrap();
    workload.assert_no_helm_uninstall("kube-system", &scenario.addon("cni")).unwrap();
}
