//! The operator as the account that `flux/base` installs, with RBAC.

use std::path::Path;

use serde_json::{Value, json};
use stackflux_testbed::{Cluster, Operator, Testbed};

use super::scenario::{STACK, Scenario, TIMEOUT, V1, V2, eventually, leads};
use super::state::WRITTEN;

const NAMESPACE: &str = Operator::NAMESPACE;
const ACCOUNT: &str = "system:serviceaccount:flux-system:stackflux";

/// Runs kubectl as the operator's account. Returns the API server's refusal.
fn refusal(management: &Cluster, kubeconfig: &Path, arguments: &[&str]) -> String {
    let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
    management.kubectl(&[&[kubeconfig.as_str()], arguments].concat()).unwrap_err().to_string()
}

/// A part of the test in `process.rs`: no other ClusterStack may exist, because this operator would deliver it.
pub(super) fn the_installed_account_may_do_all_that_it_has_to(testbed: &Testbed) {
    let (management, audit) = (testbed.management(), testbed.audit());
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("flux/base");
    let apply = ["apply", "--server-side", "--force-conflicts", "--kustomize", base.to_str().unwrap()];
    management.kubectl(&apply).unwrap();
    wait_for_aggregation(management);
    let scenario = Scenario::beside_others(testbed, "account");
    let begun = audit.mark().unwrap();
    let kubeconfig = management.kubeconfig_for_service_account(NAMESPACE, "stackflux").unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_stackflux"));
    // As installed: all ClusterStacks, and the Lease that the role names.
    let operator = Operator::start(testbed, binary, &kubeconfig, &[]).unwrap();
    operator.wait_ready(TIMEOUT).unwrap();
    eventually("it leads", || leads(&operator));
    scenario_one(&scenario);
    operator.process().unwrap().terminate().unwrap();
    assert_eq!(audit.forbidden_since(begun).unwrap(), [], "the operator's role lacks these");
    let writes = audit.writes_since(begun).unwrap();
    let has_written =
        |resource: &str| writes.iter().any(|write| write.user == ACCOUNT && write.resource == resource);
    for resource in WRITTEN.into_iter().chain(["namespaces", "events", "leases"]) {
        assert!(
            has_written(resource),
            "{resource} were not written by {ACCOUNT}: nothing was proven of them"
        );
    }

    // The log has all refusals: the account may read no Secret, not even those of its Clusters.
    let secret = ["get", "secret", "a-kubeconfig", "--namespace", &scenario.namespace];
    for arguments in
        [&secret[..], &["get", "secrets", "--all-namespaces"], &["get", "secrets", "--namespace", NAMESPACE]]
    {
        let refusal = refusal(management, &kubeconfig, arguments);
        assert!(refusal.contains("Forbidden") && refusal.contains(ACCOUNT), "{arguments:?}: {refusal}");
    }
    let forbidden = audit.forbidden_since(begun).unwrap();
    assert_eq!(forbidden.len(), 3, "{forbidden:#?}");
    assert!(
        forbidden.iter().all(|request| request.user == ACCOUNT && request.resource == "secrets"),
        "{forbidden:#?}"
    );
}

/// A controller aggregates the role for infrastructure.
fn wait_for_aggregation(management: &Cluster) {
    let role =
        stackflux_testbed::Object { kind: "clusterrole", namespace: "", name: "stackflux-infrastructure" };
    let has_rules = |role: &Value| role["rules"].to_string().contains("devclusters");
    management.wait(role, "aggregated rules", TIMEOUT, has_rules).unwrap();
}

/// A stack, its class, a cluster with all addons, an upgrade, events; then the cluster is deleted.
fn scenario_one(scenario: &Scenario) {
    scenario.publish(&[V1, V2]);
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    scenario.wait_ready("clusterstackrelease", V1);
    assert!(scenario.get("clusterclass", V1).is_some(), "the class is there");
    scenario.create_cluster("a", V1, "one");
    scenario.wait_addons("a");
    scenario.wait_ready("clusterstack", STACK);
    scenario.upgrade("a", V2);
    scenario.wait_at("a", V2);
    eventually("an event about the cluster's addons", || {
        scenario.list("events.events.k8s.io").iter().any(|event| {
            event["reportingController"] == "stackflux" && event["regarding"]["kind"] == "ClusterAddon"
        })
    });
    scenario.clusters.delete(&scenario.namespace, &["a".to_owned()]).unwrap();
    scenario.wait_gone("clusteraddon", "cluster-addon-a");
}
