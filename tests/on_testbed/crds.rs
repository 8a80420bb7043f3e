//! The custom resource definitions on a real API server: accepted, enforced, printed.

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};
use stackflux::api::read::ReadError;
use stackflux::api::{ClusterStack, custom_resource_definitions};
use stackflux::plan::canonical::to_yaml;
use stackflux_testbed::{Cluster, Object, Testbed};

use crate::cluster_stack_cases::{Refused, cases, cluster_stack};

/// The management cluster with our definitions established.
fn management() -> &'static Cluster {
    static ESTABLISHED: OnceLock<&'static Cluster> = OnceLock::new();
    ESTABLISHED.get_or_init(|| {
        let cluster = Testbed::shared().management();
        for definition in custom_resource_definitions() {
            cluster.apply(&to_yaml(&serde_json::to_value(&definition).unwrap())).unwrap();
            let name = definition.metadata.name.unwrap();
            let object = Object { kind: "crd", namespace: "", name: &name };
            let conditions = ["NamesAccepted", "Established"];
            let wanted = |found: &Value| conditions.iter().all(|condition| is_true(found, condition));
            let found = cluster.wait(object, "Established", Duration::from_mins(1), wanted).unwrap();
            assert!(!is_true(&found, "NonStructuralSchema"), "{found:#}");
        }
        cluster
    })
}

fn is_true(object: &Value, condition: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|found| found["type"] == condition && found["status"] == "True")
}

fn apply(object: &Value) -> Result<(), String> {
    management().apply(&to_yaml(object)).map_err(|error| error.to_string())
}

fn get(kind: &str, namespace: &str, name: &str) -> Value {
    management().get(Object { kind, namespace, name }).unwrap().unwrap()
}

#[test]
fn api_server_and_offline_rules_agree() {
    management();
    let namespace = Testbed::shared().namespace("rules").unwrap();
    for (number, case) in cases().into_iter().enumerate() {
        let stack = cluster_stack(&format!("case-{number}"), &namespace, &case.change);
        let offline = ClusterStack::from_yaml(&to_yaml(&stack));
        let server = apply(&stack);
        match (&case.refused, &offline, &server) {
            (Refused::Not, Ok(_), Ok(())) | (Refused::Schema, Err(_), Err(_)) => {}
            (Refused::Rule(field, message), Err(ReadError::Refused(problems)), Err(refusal)) => {
                let offline =
                    problems.iter().map(|problem| (problem.field.as_str(), problem.message.as_str()));
                for (field, message) in offline.chain([(*field, *message)]) {
                    let both =
                        refusal.contains(&format!("{field}: Invalid value")) && refusal.contains(message);
                    assert!(both, "{}:\noffline: {field}: {message}\nserver:  {refusal}", case.change);
                }
            }
            _ => panic!("{}:\noffline: {offline:?}\nserver:  {server:?}", case.change),
        }
    }
}

#[test]
fn immutable_fields_cannot_be_changed() {
    management();
    let namespace = Testbed::shared().namespace("immutable").unwrap();
    let none = json!({"versions": []});
    apply(&cluster_stack("stack", &namespace, &none)).unwrap();
    for (field, value) in
        [("provider", "docker"), ("name", "scs3"), ("kubernetesVersion", "1.35"), ("channel", "beta")]
    {
        let change = json!({"versions": [], field: value});
        let refusal = apply(&cluster_stack("stack", &namespace, &change)).unwrap_err();
        assert!(refusal.contains(&format!("spec.{field}: Invalid value")), "{refusal}");
        assert!(refusal.contains(&format!("{field} cannot be changed")), "{refusal}");
    }
    let change =
        json!({"versions": ["v7"], "autoSubscribe": false, "source": null, "flux": {"interval": "3m"}});
    apply(&cluster_stack("stack", &namespace, &change)).unwrap();
    assert_eq!(get("csk", &namespace, "stack")["spec"]["flux"]["interval"], "3m");
}

/// Manifests for the cluster-stack-operator, with each field of its kinds' specs.
fn manifests_for_the_go_operator(namespace: &str) -> [Value; 4] {
    let version = "clusterstack.x-k8s.io/v1alpha1";
    let reference = json!({
        "apiVersion": "infrastructure.clusterstack.x-k8s.io/v1alpha1",
        "kind": "DockerClusterStackReleaseTemplate",
        "name": "node-images",
        "namespace": namespace,
    });
    [
        json!({
            "apiVersion": version,
            "kind": "ClusterStack",
            "metadata": {"name": "without-provider", "namespace": namespace},
            "spec": {
                "provider": "docker",
                "name": "ferrol",
                "kubernetesVersion": "1.27",
                "channel": "stable",
                "autoSubscribe": false,
                "noProvider": true,
                "versions": ["v2"],
            },
        }),
        json!({
            "apiVersion": version,
            "kind": "ClusterStack",
            "metadata": {"name": "with-provider", "namespace": namespace},
            "spec": {
                "provider": "docker",
                "name": "ferrol",
                "kubernetesVersion": "1.27",
                "channel": "custom",
                "autoSubscribe": true,
                "versions": ["v0-sha.rwvgrna"],
                "providerRef": reference,
            },
        }),
        json!({
            "apiVersion": version,
            "kind": "ClusterStackRelease",
            "metadata": {"name": "docker-ferrol-1-27-v2", "namespace": namespace},
            "spec": {"providerRef": reference},
        }),
        json!({
            "apiVersion": version,
            "kind": "ClusterAddon",
            "metadata": {"name": "cluster-addon-prod", "namespace": namespace},
            "spec": {
                "clusterStack": "docker-ferrol-1-27-v2",
                "version": "v2",
                "hook": "AfterControlPlaneInitialized",
                "clusterRef": {
                    "apiVersion": "cluster.x-k8s.io/v1beta1",
                    "kind": "Cluster",
                    "name": "prod",
                    "namespace": namespace,
                    "uid": "6dd0bd2f-6be0-4d42-b0cc-c6e4a1d0ab3f",
                },
            },
        }),
    ]
}

#[test]
fn manifests_of_go_operator_are_admitted_unchanged() {
    management();
    let namespace = Testbed::shared().namespace("go").unwrap();
    for manifest in manifests_for_the_go_operator(&namespace) {
        apply(&manifest).unwrap();
        let kind = manifest["kind"].as_str().unwrap();
        let stored = get(kind, &namespace, manifest["metadata"]["name"].as_str().unwrap());
        for (field, value) in manifest["spec"].as_object().unwrap() {
            assert_eq!(&stored["spec"][field], value, "{kind} {field}");
        }
    }
    let stored = get("clusterstack", &namespace, "with-provider");
    assert_eq!(stored["spec"]["noProvider"], false);
    assert_eq!(stored["spec"]["revisionHistoryLimit"], 2);
    assert_eq!(
        stored["spec"].get("flux"),
        None,
        "a default that nobody asked for is not written into objects"
    );
}

fn condition(kind: &str, status: &str, message: &str) -> Value {
    json!({
        "type": kind,
        "status": status,
        "reason": "WaitingForField",
        "message": message,
        "observedGeneration": 1,
        "lastTransitionTime": "2026-11-20T20:00:00Z",
    })
}

fn patch_status(kind: &str, namespace: &str, name: &str, status: &Value) -> Result<String, String> {
    let patch = json!({"status": status}).to_string();
    let arguments =
        ["patch", kind, name, "-n", namespace, "--subresource=status", "--type=merge", "-p", &patch];
    management().kubectl(&arguments).map_err(|error| error.to_string())
}

/// The words of a table's header and of its only row, without the words of the row that depend on the time.
fn table(kind: &str, namespace: &str, name: &str) -> String {
    let text = management().kubectl(&["get", kind, name, "-n", namespace]).unwrap();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let is_age = |word: &str| word.strip_suffix('s').is_some_and(|seconds| seconds.parse::<u32>().is_ok());
    let lines =
        text.lines().map(|line| words(line).into_iter().filter(|word| !is_age(word)).collect::<Vec<_>>());
    lines.map(|words| words.join(" ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn printed_columns_show_state() {
    management();
    let namespace = Testbed::shared().namespace("columns").unwrap();
    for manifest in manifests_for_the_go_operator(&namespace) {
        apply(&manifest).unwrap();
    }
    let ready = condition("Ready", "False", "waits for .InfraCluster.status.network.id");
    let clusters = condition("ClustersReady", "Unknown", "");
    let status = json!({"latestRelease": "v3", "usableVersions": "v1,v2", "conditions": [ready, clusters]});
    patch_status("csk", &namespace, "without-provider", &status).unwrap();
    assert_eq!(
        table("csk", &namespace, "without-provider"),
        "NAME PROVIDER CLUSTERSTACK K8S CHANNEL AUTOSUBSCRIBE USABLE LATEST AGE READY CLUSTERSREADY REASON MESSAGE\n\
         without-provider docker ferrol 1.27 stable false v1,v2 v3 False Unknown WaitingForField \
         waits for .InfraCluster.status.network.id"
    );
    let status = json!({"kubernetesVersion": "v1.27.7", "ready": true, "conditions": [ready]});
    patch_status("cskr", &namespace, "docker-ferrol-1-27-v2", &status).unwrap();
    assert_eq!(
        table("cskr", &namespace, "docker-ferrol-1-27-v2"),
        "NAME K8S VERSION AGE READY REASON MESSAGE\n\
         docker-ferrol-1-27-v2 v1.27.7 False WaitingForField waits for .InfraCluster.status.network.id"
    );
    let release = json!({"desired": "docker-ferrol-1-27-v3", "applied": "docker-ferrol-1-27-v2"});
    let status = json!({"release": release, "conditions": [ready]});
    patch_status("caddon", &namespace, "cluster-addon-prod", &status).unwrap();
    assert_eq!(
        table("caddon", &namespace, "cluster-addon-prod"),
        "NAME CLUSTER RELEASE AGE READY REASON MESSAGE\n\
         cluster-addon-prod prod docker-ferrol-1-27-v2 False WaitingForField \
         waits for .InfraCluster.status.network.id"
    );
    for category in ["stackflux", "all"] {
        let names = management().kubectl(&["get", category, "-n", &namespace, "-o", "name"]).unwrap();
        let ours = names.lines().filter(|name| name.contains("clusterstack.x-k8s.io/")).count();
        assert_eq!(ours, 4, "{names}");
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "kubectl takes a file")]
fn conditions_are_kept_by_type_and_checked() {
    management();
    let namespace = Testbed::shared().namespace("conditions").unwrap();
    let [stack, ..] = manifests_for_the_go_operator(&namespace);
    apply(&stack).unwrap();
    let set = |manager: &str, kind: &str| {
        let mut object = stack.clone();
        object["status"] = json!({"conditions": [condition(kind, "True", "")]});
        let file = format!("{}/{namespace}-{manager}.yaml", env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(&file, to_yaml(&object)).unwrap();
        let by = format!("--field-manager={manager}");
        let arguments = ["apply", "--server-side", "--subresource=status", &by, "-f", &file];
        management().kubectl(&arguments).unwrap();
    };
    set("one", "SourceReady");
    set("two", "ReleasesSynced");
    let stored = get("csk", &namespace, "without-provider");
    let kinds: Vec<_> =
        stored["status"]["conditions"].as_array().unwrap().iter().map(|found| &found["type"]).collect();
    assert_eq!(kinds, ["SourceReady", "ReleasesSynced"], "two managers, two entries of one list");
    for (field, value) in [("status", "Yes"), ("reason", "no words"), ("reason", ""), ("type", "a b")] {
        let mut bad = condition("Ready", "True", "");
        bad[field] = json!(value);
        let refusal =
            patch_status("csk", &namespace, "without-provider", &json!({"conditions": [bad]})).unwrap_err();
        assert!(refusal.contains(&format!("status.conditions[0].{field}")), "{refusal}");
    }
}
