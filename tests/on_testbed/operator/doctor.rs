//! `stackflux doctor`: each check fails once, by what a real API server has. The Deployments are objects without Pods, as
//! nothing runs Pods here; source-controller, the operator and its Lease are real.

use std::path::Path;

use serde_json::{Value, json};
use stackflux_testbed::{Cluster, NewCluster, Operator, Options};

use super::old_flux::{CRD as HELM_RELEASES, field};
use super::scenario::{Alone, STACK, Scenario, TIMEOUT, V1, eventually, leads};
use crate::support::stackflux;

const FLUX: &str = Operator::NAMESPACE;
/// The namespace of a Cluster whose class is in another one.
const TENANT: &str = "demo";
/// The number of `HelmRelease`s that are too many for one worker.
const MANY: usize = 101;

/// The outcome and the subject of each check that is not `ok`.
type NotWell = Vec<(String, String)>;

/// The answer of the command to a user.
struct Answer {
    code: i32,
    checks: Value,
}

impl Answer {
    fn not_well(&self) -> NotWell {
        let text = |check: &Value, name: &str| check[name].as_str().unwrap().to_owned();
        let checks = self.checks["checks"].as_array().unwrap().iter();
        let not_well = checks.filter(|check| check["outcome"] != "ok");
        not_well.map(|check| (text(check, "outcome"), text(check, "check"))).collect()
    }

    /// Asserts which checks are not `ok`, in their order, and the exit code that follows.
    #[track_caller]
    fn assert(&self, expected: &[(&str, &str)]) {
        let expected: NotWell =
            expected.iter().map(|(outcome, check)| ((*outcome).to_owned(), (*check).to_owned())).collect();
        assert_eq!(self.not_well(), expected, "{:#}", self.checks);
        let is_failed = expected.iter().any(|(outcome, _)| outcome == "problem");
        assert_eq!(self.code, i32::from(is_failed), "{:#}", self.checks);
    }

    /// Asserts that a message of a check has a text.
    #[track_caller]
    fn assert_says(&self, check: &str, part: &str) {
        let mut checks = self.checks["checks"].as_array().unwrap().iter();
        let is_it =
            |found: &Value| found["check"] == check && found["message"].as_str().unwrap().contains(part);
        assert!(checks.any(is_it), "{check} does not say {part:?}: {:#}", self.checks);
    }
}

fn doctor(kubeconfig: &Path, more: &[&str]) -> Answer {
    let kubeconfig = kubeconfig.to_str().unwrap();
    let run = stackflux(&[&["doctor", "-o", "json", "--kubeconfig", kubeconfig], more].concat());
    let checks = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}{}", run.stdout, run.stderr));
    Answer { code: run.code, checks }
}

/// Applies a Deployment with these arguments, whose Pods are ready.
fn deploy(cluster: &Cluster, namespace: &str, name: &str, version: &str, arguments: &[&str]) {
    let labels = json!({"control-plane": name});
    let image = format!("registry.example.org/{name}:{version}");
    let container = json!({"name": "manager", "image": image, "args": arguments});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/version": version}},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    });
    cluster.apply(&deployment.to_string()).unwrap();
    set_ready(cluster, namespace, name, 1);
}

fn set_ready(cluster: &Cluster, namespace: &str, name: &str, ready: u32) {
    let patch = format!("--patch={}", json!({"status": {"replicas": 2, "readyReplicas": ready}}));
    let namespace = format!("--namespace={namespace}");
    let status = ["--subresource=status", "--type=merge", &patch];
    cluster.kubectl(&[&["patch", "deployment", name, &namespace], &status[..]].concat()).unwrap();
}

fn patch_json(cluster: &Cluster, object: &[&str], changes: &Value) {
    let changes = format!("--patch={changes}");
    cluster.kubectl(&[&["patch"], object, &["--type=json", &changes]].concat()).unwrap();
}

#[test]
fn each_failing_check_is_produced_once() {
    let options =
        Options { workloads: &[], flux: &["source-controller"], audit: false, ..Options::default() };
    let alone = Alone::start_with(&options);
    let cluster = alone.testbed.management();
    cluster.kubectl(&["create", "namespace", "capi-system"]).unwrap();
    cluster.kubectl(&["create", "namespace", "cso-system"]).unwrap();
    before_the_installation(cluster);

    install(cluster);
    let scenario = Scenario::beside_others(&alone.testbed, "doctor");
    scenario.publish(&[V1]);
    let account = cluster.kubeconfig_for_service_account(FLUX, "stackflux").unwrap();
    let start = |flags: &[&str]| {
        let operator =
            Operator::start(&alone.testbed, Path::new(env!("CARGO_BIN_EXE_stackflux")), &account, flags)
                .unwrap();
        operator.wait_ready(TIMEOUT).unwrap();
        eventually("it leads", || leads(&operator));
        operator
    };
    let operator = start(&[]);
    scenario.apply_stack(&["v1"], &json!({}));
    scenario.wait("clusterstack", STACK, "its releases are read", |stack| {
        stack["status"]["latestRelease"].is_string()
    });
    create_cluster_elsewhere(&scenario);
    doctor(cluster.kubeconfig(), &[]).assert(&[]);
    reader_without_rights_learns_nothing(cluster);

    operator.process().unwrap().terminate().unwrap();
    let operator = start(&["--source-controller-addr=127.0.0.1:1"]);
    scenario.wait("clusterstack", STACK, "source-controller is not reached", |stack| {
        stack["status"]["conditions"].to_string().contains("ArtifactUnavailable")
    });
    all_is_wrong(cluster, &scenario);
    drop(operator);
    nothing_runs(cluster);
}

/// What Flux and Cluster API lack, and what the cluster-stack-operator leaves, before and after it is mended.
fn before_the_installation(cluster: &Cluster) {
    let check = || doctor(cluster.kubeconfig(), &["--before-install"]);
    let unknown = ["ClusterAPI", "Flux", "FluxFeatureGates"].map(|check| ("notChecked", check));
    check().assert(&unknown);

    deploy(cluster, "capi-system", "capi-controller-manager", "v1.13.3", &["--leader-elect"]);
    deploy(cluster, "cso-system", "cso-controller-manager", "v0.1.0", &[]);
    for name in ["source-controller", "kustomize-controller", "helm-controller"] {
        deploy(cluster, FLUX, name, "v2.8.1", &["--feature-gates=DetectDrift=false"]);
    }
    let service = json!({"name": "cso-webhook-service", "namespace": "cso-system"});
    let rule = json!({
        "apiGroups": ["clusterstack.x-k8s.io"], "apiVersions": ["v1alpha1"], "operations": ["CREATE"],
        "resources": ["clusterstacks"],
    });
    let webhook = json!({
        "name": "validation.clusterstack.clusterstack.x-k8s.io", "admissionReviewVersions": ["v1"],
        "sideEffects": "None", "clientConfig": {"service": &service}, "rules": [rule],
    });
    let (kind, webhooks) = ("ValidatingWebhookConfiguration", "cso-validating-webhook-configuration");
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": webhooks},
        "webhooks": [webhook],
    });
    cluster.apply(&configuration.to_string()).unwrap();
    let extension = json!({
        "apiVersion": "runtime.cluster.x-k8s.io/v1beta2", "kind": "ExtensionConfig", "metadata": {"name": "cso"},
        "spec": {"clientConfig": {"service": service}},
    });
    cluster.apply(&extension.to_string()).unwrap();
    let (path, schema) = field(cluster);
    patch_json(cluster, &["crd", HELM_RELEASES], &json!([{"op": "remove", "path": path}]));
    let found = check();
    found.assert(&[
        ("problem", "ClusterAPI"),
        ("warning", "RuntimeSDK"),
        ("problem", "Flux"),
        ("problem", "ChartNames"),
        ("warning", "FluxFeatureGates"),
        ("problem", "OldOperator"),
        ("problem", "OldOperator"),
        ("problem", "OldOperator"),
    ]);
    found.assert_says("ChartNames", "FluxTooOld");
    found.assert_says("OldOperator", "ExtensionConfig cso of the cluster-stack-operator");

    patch_json(cluster, &["crd", HELM_RELEASES], &json!([{"op": "add", "path": path, "value": schema}]));
    cluster.kubectl(&["delete", "validatingwebhookconfiguration", webhooks]).unwrap();
    cluster.kubectl(&["delete", "extensionconfig", "cso"]).unwrap();
    cluster.kubectl(&["delete", "deployment", "--all", "--namespace=cso-system"]).unwrap();
    let gates = "--feature-gates=ClusterTopology=true,RuntimeSDK=true";
    deploy(cluster, "capi-system", "capi-controller-manager", "v1.13.3", &[gates]);
    for name in ["source-controller", "kustomize-controller", "helm-controller"] {
        deploy(cluster, FLUX, name, "v2.9.2", &[]);
    }
    check().assert(&[]);
}

/// Installs what the program prints, and waits for the aggregated role.
fn install(cluster: &Cluster) {
    let run = stackflux(&["install", "--export", "--image", "registry.example.org/stackflux"]);
    cluster.apply_by_kubectl(&run.stdout).unwrap();
    cluster.wait_established(&["crd/clusterstacks.clusterstack.x-k8s.io"]).unwrap();
    wait_for_role(cluster, "devclusters", true);
    set_ready(cluster, FLUX, "stackflux", 2);
}

/// Waits until the operator may read a kind by the aggregated role, or may not.
fn wait_for_role(cluster: &Cluster, resource: &str, is_allowed: bool) {
    let account = "--as=system:serviceaccount:flux-system:stackflux";
    let resource = format!("{resource}.infrastructure.cluster.x-k8s.io");
    eventually("the role is aggregated", || {
        cluster.kubectl(&["auth", "can-i", "list", &resource, "-A", account]).is_ok() == is_allowed
    });
}

/// A Cluster of the ClusterStack in another namespace.
fn create_cluster_elsewhere(scenario: &Scenario) {
    let cluster = NewCluster { namespace: TENANT.to_owned(), ..scenario.new_cluster("a", V1) };
    scenario.clusters.create(&[cluster]).unwrap();
    let class = json!({"name": V1, "namespace": scenario.namespace});
    scenario.clusters.patch(TENANT, "a", &json!({"spec": {"topology": {"classRef": class}}})).unwrap();
}

/// A reader without rights sees what all may see, and learns of nothing else that it is well.
fn reader_without_rights_learns_nothing(cluster: &Cluster) {
    cluster.kubectl(&["create", "serviceaccount", "reader", "--namespace", TENANT]).unwrap();
    let kubeconfig = cluster.kubeconfig_for_service_account(TENANT, "reader").unwrap();
    let found = doctor(&kubeconfig, &[]);
    assert_eq!((found.code, &found.checks["problems"]), (1, &json!(0)), "{:#}", found.checks);
    let checks = found.checks["checks"].as_array().unwrap();
    let well: Vec<_> = checks.iter().filter(|check| check["outcome"] == "ok").collect();
    assert!(well.len() == 1 && well[0]["check"] == "Kubernetes", "{:#}", found.checks);
    assert!(checks.iter().all(|check| check["outcome"] == "ok" || check["missingRight"].is_string()));
}

/// Everything that can be wrong while an operator runs.
fn all_is_wrong(cluster: &Cluster, scenario: &Scenario) {
    let gates = "--feature-gates=ClusterTopology=true,RuntimeSDK=false";
    deploy(cluster, "capi-system", "capi-controller-manager", "v1.13.3", &[gates]);
    let flags = ["--no-cross-namespace-refs=true", "--default-service-account=tenant", "--concurrent=1"];
    deploy(cluster, FLUX, "helm-controller", "v2.9.2", &flags);
    let releases = (0..MANY).map(|number| {
        json!({
            "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
            "metadata": {"name": format!("many-{number}"), "namespace": TENANT},
            "spec": {"interval": "1h", "suspend": true, "chartRef": {"kind": "OCIRepository", "name": "none"}},
        })
    });
    let list = json!({"apiVersion": "v1", "kind": "List", "items": releases.collect::<Vec<_>>()});
    cluster.apply(&list.to_string()).unwrap();
    let gate = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/upgradeGate";
    let stacks = ["crd", "clusterstacks.clusterstack.x-k8s.io"];
    patch_json(cluster, &stacks, &json!([{"op": "remove", "path": gate}]));
    let namespace = format!("--namespace={FLUX}");
    let image = "manager=registry.example.org/stackflux:0.0.1";
    cluster.kubectl(&["set", "image", "deployment/stackflux", image, &namespace]).unwrap();
    patch_json(cluster, &["clusterrole", "stackflux"], &json!([{"op": "remove", "path": "/rules/0"}]));
    cluster.kubectl(&["delete", "clusterrole", "stackflux-known-infrastructure"]).unwrap();
    let missing = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "missing"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "missing"},
        "subjects": [{"kind": "ServiceAccount", "name": "stackflux", "namespace": FLUX}],
    });
    cluster.apply(&missing.to_string()).unwrap();
    wait_for_role(cluster, "devclusters", false);
    let addon = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddon",
        "metadata": {
            "name": "cluster-addon-old", "namespace": TENANT,
            "finalizers": ["clusteraddon.clusterstack.x-k8s.io"],
        },
        "spec": {"clusterRef": {"name": "old"}},
    });
    cluster.apply(&addon.to_string()).unwrap();

    let found = doctor(cluster.kubeconfig(), &[]);
    found.assert(&[
        ("problem", "RuntimeSDK"),
        ("problem", "CrossNamespaceRefs"),
        ("warning", "DefaultServiceAccount"),
        ("warning", "HelmWorkers"),
        ("problem", "Definitions"),
        ("warning", "OperatorVersion"),
        ("problem", "SourceController"),
        ("problem", "OperatorRights"),
        ("problem", "InfrastructureRights"),
        ("problem", "OldOperator"),
    ]);
    for (check, part) in [
        (
            "CrossNamespaceRefs",
            &format!("ClusterStack {}/{STACK} for Cluster {TENANT}/a", scenario.namespace)[..],
        ),
        ("Definitions", "is older than this program: it lacks v1alpha1.spec.upgradeGate"),
        ("OperatorRights", "list clusters.cluster.x-k8s.io"),
        ("OperatorRights", "\"missing\" not found"),
        ("InfrastructureRights", "kubeadmcontrolplanes.controlplane.cluster.x-k8s.io"),
    ] {
        found.assert_says(check, part);
    }
}

/// An operator that does not run, a newer definition, and a Flux that is not there.
fn nothing_runs(cluster: &Cluster) {
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let fields = json!([
        {"op": "add", "path": format!("{spec}/upgradeGate"), "value": {"type": "string"}},
        {"op": "add", "path": format!("{spec}/tint"), "value": {"type": "string"}},
    ]);
    patch_json(cluster, &["crd", "clusterstacks.clusterstack.x-k8s.io"], &fields);
    let namespace = format!("--namespace={FLUX}");
    let lease = ["lease", "stackflux-leader-election", &namespace];
    let passed =
        json!([{"op": "replace", "path": "/spec/renewTime", "value": "2026-01-01T00:00:00.000000Z"}]);
    patch_json(cluster, &lease, &passed);
    set_ready(cluster, FLUX, "source-controller", 0);
    let found = doctor(cluster.kubeconfig(), &[]);
    found.assert_says("Leader", "was last renewed");
    found.assert_says("Definitions", "is newer than this program: it has also v1alpha1.spec.tint");
    found.assert_says("Flux", "source-controller has no Pod that is ready");

    set_ready(cluster, FLUX, "stackflux", 0);
    let crds = cluster.kubectl(&["get", "crds", "--output=name"]).unwrap();
    let is_theirs =
        |name: &&str| name.ends_with(".kustomize.toolkit.fluxcd.io") || name.ends_with(".cluster.x-k8s.io");
    let theirs: Vec<_> = crds.lines().filter(is_theirs).collect();
    // Deletion lists the objects first. While the API server only begins to read a kind, that fails, and again minutes later.
    for kind in theirs.iter().filter_map(|name| name.rsplit('/').next()) {
        eventually("the API server has read the kind", || cluster.list(kind, "default").is_ok());
    }
    cluster.kubectl(&[&["delete", "--wait=false"], theirs.as_slice()].concat()).unwrap();
    let is_gone = |found: &Answer| {
        let text = found.checks.to_string();
        text.contains("does not serve Clusters") && text.contains("does not serve kustomize")
    };
    let mut found = doctor(cluster.kubeconfig(), &[]);
    eventually("the API server serves neither", || {
        found = doctor(cluster.kubeconfig(), &[]);
        is_gone(&found)
    });
    found.assert_says("Flux", "does not serve kustomize.toolkit.fluxcd.io/v1");
    found.assert_says("Leader", "has 0 of 2 Pods that are ready");
}
