//! A kind that Clusters refer to is read in the version that Cluster API's contract names, not in the one that the API
//! server prefers.

use serde_json::{Value, json};

use super::scenario::{STACK, Scenario, V1};
use crate::support::{Run, stackflux};

const GROUP: &str = "infrastructure.cluster.x-k8s.io";

/// A kind that is served in three versions, of which the API server prefers `v1`.
fn definition(labels: &Value) -> Value {
    let versions: Vec<Value> = ["v1", "v1beta1", "v1alpha1"]
        .into_iter()
        .map(|name| {
            let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            let schema = json!({"openAPIV3Schema": schema});
            json!({"name": name, "served": true, "storage": name == "v1", "schema": schema})
        })
        .collect();
    let names =
        json!({"kind": "ContractCluster", "plural": "contractclusters", "singular": "contractcluster"});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("contractclusters.{GROUP}"), "labels": labels},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions},
    })
}

fn run(scenario: &Scenario, arguments: &[&str]) -> Run {
    let kubeconfig = scenario.management().kubeconfig().to_str().unwrap();
    let access = ["--kubeconfig", kubeconfig, "--namespace", &scenario.namespace];
    let run = stackflux(&[arguments, &access].concat());
    assert_ne!(run.code, 2, "{}", run.stderr);
    run
}

#[test]
fn infrastructure_is_read_in_the_contract_version() {
    let scenario = Scenario::shared("contract");
    let management = scenario.management();
    let labels = json!({"cluster.x-k8s.io/v1beta2": "v1alpha1_v1beta1", "cluster.x-k8s.io/v1beta1": "v1"});
    management.apply(&definition(&labels).to_string()).unwrap();
    let crd = format!("crd/contractclusters.{GROUP}");
    management.wait_established(&[&crd]).unwrap();
    scenario.publish(&[V1]);
    scenario.apply_stack(&["v1"], &json!({}));
    let operator = scenario.operator();
    scenario.wait_ready("clusterstackrelease", V1);
    let metadata = json!({"name": "a", "namespace": scenario.namespace});
    let object = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ContractCluster", "metadata": metadata,
        "spec": {"controlPlaneEndpoint": {"host": "a.example.org", "port": 6443}},
    });
    management.apply(&object.to_string()).unwrap();
    scenario.create_cluster("a", V1, "one");
    let reference = json!({"spec": {"infrastructureRef": {"kind": "ContractCluster"}}}).to_string();
    let namespace = format!("--namespace={}", scenario.namespace);
    management
        .kubectl(&[
            "patch",
            "clusters.cluster.x-k8s.io",
            "a",
            &namespace,
            "--type=merge",
            "--patch",
            &reference,
        ])
        .unwrap();
    scenario.wait_addons("a");
    let exported = run(&scenario, &["inputs", "export", STACK]).stdout;
    let version = |exported: &str| {
        let mut documents =
            exported.split("---\n").filter(|document| document.contains("\nkind: ContractCluster\n"));
        let object: Value = serde_yaml::from_str(documents.next().unwrap()).unwrap();
        object["apiVersion"].as_str().unwrap().to_owned()
    };
    assert_eq!(version(&exported), format!("{GROUP}/v1alpha1"), "the lowest that the label names");
    let log = std::fs::read_to_string(operator.log()).unwrap();
    assert!(!log.contains("cannot be read") && !log.contains("that names a served version"), "{log}");
    let why = run(&scenario, &["why", "a"]);
    assert!(!why.stderr.contains("ContractCluster"), "{}", why.stderr);

    management.kubectl(&["label", &crd, "cluster.x-k8s.io/v1beta1-", "cluster.x-k8s.io/v1beta2-"]).unwrap();
    assert_eq!(version(&run(&scenario, &["inputs", "export", STACK]).stdout), format!("{GROUP}/v1"));
    let why = run(&scenario, &["why", "a"]);
    let note =
        "has no label cluster.x-k8s.io/v1beta2 or cluster.x-k8s.io/v1beta1 that names a served version";
    assert!(why.stderr.contains(note) && why.stderr.contains("read in v1,"), "{}", why.stderr);
}
