//! `stackflux doctor` against an API server in memory: exit codes and formats. `tests/on_testbed/operator/doctor.rs` has each check
//! with a real one.

use serde_json::{Value, json};
use stackflux::api;

use crate::api_server::{ApiServer, object};

/// A Deployment with a Pod that is ready.
fn deployment(namespace: &str, name: &str, image: &str, arguments: &[&str]) -> Value {
    let labels = json!({"app.kubernetes.io/name": name});
    let pod = json!({
        "serviceAccountName": name, "containers": [{"name": "manager", "image": image, "args": arguments}],
    });
    let spec = json!({"replicas": 1, "template": {"metadata": {"labels": labels}, "spec": pod}});
    let mut deployment = object("apps/v1", "Deployment", namespace, name, &spec);
    deployment["metadata"]["labels"]["app.kubernetes.io/version"] = json!("v2.9.1");
    deployment["status"] = json!({"readyReplicas": 1});
    deployment
}

/// What a cluster has before the installation.
fn before() -> Vec<Value> {
    let gates = "--feature-gates=ClusterTopology=true,RuntimeSDK=true";
    let field = json!({"type": "string"});
    let upgrade = json!({"type": "object", "properties": {"chartNameChangeStrategy": field}});
    let spec = json!({"type": "object", "properties": {"upgrade": upgrade}});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    let spec = json!({
        "group": "helm.toolkit.fluxcd.io", "scope": "Namespaced",
        "names": {"kind": "HelmRelease", "plural": "helmreleases"},
        "versions": [{"name": "v2", "served": true, "storage": true, "schema": schema}],
    });
    let name = "helmreleases.helm.toolkit.fluxcd.io";
    vec![
        object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name, &spec),
        deployment("capi-system", "capi-controller-manager", "capi:v1.13.3", &[gates]),
        deployment("flux-system", "source-controller", "source:v1", &[]),
        deployment("flux-system", "kustomize-controller", "kustomize:v1", &[]),
        deployment("flux-system", "helm-controller", "helm:v1", &[]),
    ]
}

/// What it has after the installation.
fn installed() -> Vec<Value> {
    let definitions = api::custom_resource_definitions();
    let mut all = before();
    all.extend(definitions.iter().map(|definition| {
        let mut definition = serde_json::to_value(definition).unwrap();
        definition["kind"] = json!("CustomResourceDefinition");
        definition
    }));
    let image = format!("registry.example.org/stackflux:{}", env!("CARGO_PKG_VERSION"));
    all.push(deployment("flux-system", "stackflux", &image, &["operator"]));
    let now = jiff::Timestamp::now().to_string();
    let spec = json!({
        "holderIdentity": "stackflux-a_1", "leaseDurationSeconds": 15, "acquireTime": now, "renewTime": now,
    });
    let name = "stackflux-leader-election";
    all.push(object("coordination.k8s.io/v1", "Lease", "flux-system", name, &spec));
    all
}

/// Runs the command, and returns its exit code and JSON.
fn doctor(server: &ApiServer, more: &[&str]) -> (i32, Value) {
    let run = server.run(&[&["doctor", "-o", "json"], more].concat());
    let json = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}{}", run.stdout, run.stderr));
    (run.code, json)
}

/// The subjects of the checks with an outcome.
fn with<'a>(diagnosis: &'a Value, outcome: &str) -> Vec<&'a str> {
    let checks = diagnosis["checks"].as_array().unwrap().iter().filter(|check| check["outcome"] == outcome);
    checks.map(|check| check["check"].as_str().unwrap()).collect()
}

#[test]
fn healthy_installation_exits_with_0() {
    let server = ApiServer::start("doctor-healthy", installed());
    let (code, found) = doctor(&server, &[]);
    assert_eq!((code, &found["problems"], &found["notChecked"]), (0, &json!(0), &json!(0)), "{found:#}");
    assert_eq!(with(&found, "ok").len(), 16, "{found:#}");
    let asked = server.writes();
    assert!(
        asked.iter().all(|write| write.ends_with("/subjectaccessreviews")),
        "it writes nothing: {asked:?}"
    );
    let run = server.run(&["doctor"]);
    assert!(
        run.code == 0 && run.stdout.ends_with("\n0 problems, 0 warnings, 0 not checked\n"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("✔ Kubernetes: v1.34.2\n"), "{}", run.stdout);
}

#[test]
fn before_installation_no_operator_is_needed() {
    let server = ApiServer::start("doctor-before", before());
    let (code, found) = doctor(&server, &["--before-install"]);
    assert_eq!((code, &found["problems"], &found["notChecked"]), (0, &json!(0), &json!(0)), "{found:#}");
    assert_eq!(server.writes(), Vec::<String>::new());
    let (code, found) = doctor(&server, &[]);
    assert_eq!(code, 1, "{found:#}");
    assert_eq!(with(&found, "problem"), ["Definitions", "Leader"], "{found:#}");
}

#[test]
fn problem_exits_with_1_and_says_what_to_run() {
    let server = ApiServer::start_with("doctor-old", installed(), "v1.29.3", &[]);
    for arguments in [&[][..], &["--before-install"]] {
        let (code, found) = doctor(&server, arguments);
        assert_eq!((code, with(&found, "problem")), (1, vec!["Kubernetes"]), "{found:#}");
    }
    let run = server.run(&["doctor"]);
    let lines: Vec<_> = run.stdout.lines().take(2).collect();
    assert!(lines[0].starts_with("✗ Kubernetes: v1.29.3 is older than 1.30"), "{}", run.stdout);
    assert!(lines[1].starts_with("  kubectl version"), "{}", run.stdout);
    assert!(
        run.code == 1 && run.stdout.ends_with("\n1 problem, 0 warnings, 0 not checked\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn missing_right_is_neither_well_nor_a_problem() {
    let server =
        ApiServer::start_with("doctor-forbidden", installed(), "v1.34.2", &["/deployments", "reviews"]);
    let (code, found) = doctor(&server, &[]);
    assert_eq!((code, &found["problems"]), (1, &json!(0)), "{found:#}");
    for subject in ["ClusterAPI", "RuntimeSDK", "Flux", "HelmWorkers", "OperatorRights", "OldOperator"] {
        assert!(with(&found, "notChecked").contains(&subject), "{subject}: {found:#}");
    }
    let check = found["checks"].as_array().unwrap().iter().find(|check| check["check"] == "Flux").unwrap();
    assert_eq!(check["missingRight"], "list deployments.apps", "{check:#}");
    assert_eq!(check["run"], "kubectl auth can-i list deployments.apps -A", "{check:#}");
    // The account is known, and only the questions are forbidden.
    let server = ApiServer::start_with("doctor-reviews", installed(), "v1.34.2", &["reviews"]);
    let (code, found) = doctor(&server, &[]);
    assert_eq!(
        (code, with(&found, "notChecked")),
        (1, vec!["OperatorRights", "InfrastructureRights"]),
        "{found:#}"
    );
}

#[test]
fn unread_cluster_is_an_error() {
    let server = ApiServer::start("doctor-timeout", installed());
    let run = server.run(&["doctor", "--timeout=0s"]);
    assert!(run.code == 2 && run.stderr.contains("timed out after 0 s"), "{}{}", run.code, run.stderr);
}
