//! The permissions of the accounts, according to the API server's own authorizer.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stackflux_testbed::{Object, Testbed};

use super::{NAMESPACE, TIMEOUT, installed};
use crate::support::scratch;

const OPERATOR: &str = "system:serviceaccount:flux-system:stackflux";
const READ: &[&str] = &["get", "list", "watch"];
const OWN: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];
const ALL: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
const CAPI: &str = "cluster.x-k8s.io";
const OURS: &str = "clusterstack.x-k8s.io";
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

/// A resource with its subresource, and all verbs of [`ALL`] that are allowed.
type Row = (&'static str, &'static str, &'static [&'static str]);

/// In any namespace.
const EVERYWHERE: &[Row] = &[
    // It delays upgrades of Clusters.
    (CAPI, "clusters", &["get", "list", "watch", "patch"]),
    // Kinds that it reads and never writes.
    (CAPI, "clusters/status", &[]),
    (INFRASTRUCTURE, "openstackclusters", READ),
    (INFRASTRUCTURE, "dockerclusters", READ),
    ("controlplane.cluster.x-k8s.io", "kubeadmcontrolplanes", READ),
    // Its own kinds.
    (OURS, "clusterstacks", &["get", "list", "watch", "patch"]),
    (OURS, "clusterstackreleases", OWN),
    (OURS, "clusteraddons", OWN),
    (OURS, "clusteraddonoverrides", READ),
    (OURS, "clusterstacks/status", &["patch"]),
    (OURS, "clusterstackreleases/status", &["patch"]),
    (OURS, "clusteraddons/status", &["patch"]),
    (OURS, "clusteraddonoverrides/status", &["patch"]),
    (OURS, "clusterstacks/finalizers", &["update"]),
    (OURS, "clusterstackreleases/finalizers", &["update"]),
    (OURS, "clusteraddons/finalizers", &["update"]),
    // The provider contract.
    ("infrastructure.clusterstack.x-k8s.io", "openstackclusterstackreleasetemplates", READ),
    ("infrastructure.clusterstack.x-k8s.io", "openstackclusterstackreleases", OWN),
    // Kinds that it creates for Flux.
    ("source.toolkit.fluxcd.io", "gitrepositories", OWN),
    ("source.toolkit.fluxcd.io", "helmcharts", OWN),
    ("helm.toolkit.fluxcd.io", "helmreleases", OWN),
    ("kustomize.toolkit.fluxcd.io", "kustomizations", OWN),
    ("helm.toolkit.fluxcd.io", "helmreleases/status", &[]),
    ("events.k8s.io", "events", &["create", "patch"]),
    ("", "namespaces", OWN),
    // Kinds that it must not touch.
    ("", "secrets", &[]),
    ("", "configmaps", &[]),
    ("", "pods", &[]),
    ("", "pods/exec", &[]),
    ("", "nodes", &[]),
    ("", "serviceaccounts", &[]),
    ("", "serviceaccounts/token", &[]),
    ("apps", "deployments", &[]),
    // The labels that name the versions for Cluster API's contract.
    ("apiextensions.k8s.io", "customresourcedefinitions", &["get"]),
    (RBAC, "clusterroles", &[]),
    (RBAC, "rolebindings", &[]),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", &[]),
    ("source.toolkit.fluxcd.io", "helmrepositories", &[]),
    (INFRASTRUCTURE, "openstackmachines", &[]),
];

fn review(user: &str, namespace: &str, (group, resource, _): &Row, verb: &str, name: &str) -> Value {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let groups: &[&str] = if user == OPERATOR {
        &["system:serviceaccounts", "system:authenticated"]
    } else {
        &["system:authenticated"]
    };
    json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": user,
            "groups": groups,
            "resourceAttributes": {
                "namespace": namespace, "name": name, "verb": verb,
                "group": group, "resource": resource, "subresource": subresource,
            },
        },
    })
}

/// The API server's answers to the reviews, in their order.
fn answers(name: &str, reviews: &[Value]) -> Vec<bool> {
    let file = scratch(name).join("reviews.json");
    let list = json!({"apiVersion": "v1", "kind": "List", "items": reviews});
    fs::write(&file, list.to_string()).unwrap();
    let text = installed().kubectl(&["create", "-f", file.to_str().unwrap(), "-o", "json"]).unwrap();
    let answers = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    answers.map(|answer| answer.unwrap()["status"]["allowed"] == true).collect()
}

/// Asserts that the account may do with each resource what its row says, and none of the other verbs. The authorizer
/// follows changed roles within moments.
fn assert_may(test: &str, user: &str, namespace: &str, name: &str, rows: &[Row]) {
    let cells: Vec<_> = rows.iter().flat_map(|row| ALL.iter().map(move |verb| (row, *verb))).collect();
    let reviews: Vec<_> = cells.iter().map(|(row, verb)| review(user, namespace, row, verb, name)).collect();
    let start = Instant::now();
    loop {
        let answers = answers(test, &reviews);
        assert_eq!(answers.len(), cells.len());
        let wrong: Vec<_> = cells
            .iter()
            .zip(answers)
            .filter(|((row, verb), allowed)| row.2.contains(verb) != *allowed)
            .map(|((row, verb), allowed)| format!("{verb} {}/{}: allowed={allowed}", row.0, row.1))
            .collect();
        if wrong.is_empty() {
            return;
        }
        assert!(start.elapsed() < TIMEOUT, "{user} in {namespace}: {wrong:#?}");
        thread::sleep(Duration::from_millis(200));
    }
}

fn wait_for_rule(cluster_role: &str, resource: &str) {
    let role = Object { kind: "clusterrole", namespace: "", name: cluster_role };
    let has = |role: &Value| role["rules"].to_string().contains(&format!("\"{resource}\""));
    installed().wait(role, "aggregated rules", TIMEOUT, has).unwrap();
}

#[test]
fn operator_has_exactly_the_required_permissions() {
    let namespace = Testbed::shared().namespace("account").unwrap();
    installed();
    wait_for_rule("stackflux-infrastructure", "openstackclusters");
    assert_may("account", OPERATOR, &namespace, "", EVERYWHERE);
}

#[test]
fn lease_permission_is_limited_to_own_lease() {
    let leases = |verbs: &'static [&'static str]| -> [Row; 1] { [("coordination.k8s.io", "leases", verbs)] };
    let namespace = Testbed::shared().namespace("leases").unwrap();
    assert_may("leases", OPERATOR, &namespace, "stackflux-leader-election", &leases(&[]));
    let (own, flux) = ("stackflux-leader-election", "helm-controller-leader-election");
    assert_may("leases", OPERATOR, NAMESPACE, own, &leases(&["get", "create", "update"]));
    assert_may("leases", OPERATOR, NAMESPACE, flux, &leases(&["get", "create"]));
    assert_may("leases", OPERATOR, NAMESPACE, "another", &leases(&["create"]));
    let secrets = [("", "secrets", &[][..])];
    assert_may("leases", OPERATOR, NAMESPACE, "", &secrets);
}

/// A provider brings a role for its kinds, which lets the operator read them; no user changes the operator's roles.
#[test]
fn provider_adds_its_kinds_to_the_role() {
    installed();
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": "stackflux-test-provider",
            "labels": {"clusterstack.x-k8s.io/aggregate-to-stackflux": "true"},
        },
        "rules": [{"apiGroups": [INFRASTRUCTURE], "resources": ["testclusters"], "verbs": READ}],
    });
    installed().apply(&role.to_string()).unwrap();
    wait_for_rule("stackflux-infrastructure", "testclusters");
    assert_may("provider", OPERATOR, "default", "", &[(INFRASTRUCTURE, "testclusters", READ)]);
}

#[test]
fn user_permissions_follow_the_default_roles() {
    let namespace = Testbed::shared().namespace("users").unwrap();
    installed();
    wait_for_rule("admin", "clusterstacks");
    for (role, stacks, addons) in [
        ("view", READ, READ),
        ("edit", ALL, &["get", "list", "watch", "update", "patch"][..]),
        ("admin", ALL, &["get", "list", "watch", "update", "patch"]),
    ] {
        wait_for_rule(role, "clusterstacks");
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": role, "namespace": namespace},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": role}],
        });
        installed().apply(&binding.to_string()).unwrap();
        let rows: [Row; 6] = [
            (OURS, "clusterstacks", stacks),
            (OURS, "clusteraddonoverrides", stacks),
            (OURS, "clusteraddonoverrides/status", &[]),
            (OURS, "clusterstackreleases", READ),
            (OURS, "clusteraddons", addons),
            (OURS, "clusteraddons/status", &[]),
        ];
        assert_may("users", role, &namespace, "", &rows);
    }
}
