//! The table of causes. The texts are those of Flux 2.9, Helm 4, `client-go`, libgit2, and stackflux's own Git layer.

mod addons;
mod operator;
mod sources;

use super::Cause;

const KUBECONFIG: &str = "clusterctl get kubeconfig {cluster} -n {cluster-ns} > {cluster}.kubeconfig";
const DESCRIBE: &str =
    "kubectl --kubeconfig {cluster}.kubeconfig -n {workload-ns} describe {workload-kind} {workload}";
const PODS: &str = "kubectl --kubeconfig {cluster}.kubeconfig get pods -A";
const WARNINGS: &str = "kubectl --kubeconfig {cluster}.kubeconfig events -A --types=Warning";
const CLUSTER: &str = "clusterctl describe cluster {cluster} -n {cluster-ns}";
const SECRET: &str = "kubectl get secret {secret} -n {secret-ns}";
const SOURCE: &str = "kubectl describe {kind} {name} -n {ns}";
const FETCH: &str = "flux reconcile source {source} {name} -n {ns}";
const LOGS: &str = "flux logs --kind={Kind} --name={name} -n {ns}";

/// Iterates over all causes. An earlier row wins.
pub fn causes() -> impl Iterator<Item = &'static Cause> {
    [sources::SOURCES, addons::ADDONS, operator::OPERATOR].into_iter().flatten()
}
