//! A ClusterStack in the provider's namespace, and Clusters in those of tenants, which see and change only their own
//! objects.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stackflux_testbed::{Cluster, Testbed};

use super::scenario::{STACK, Scenario, V1, V2, condition, eventually};
use crate::support::{Run, stackflux};

/// A tenant: a namespace, and an account with Kubernetes' role `edit` and the right to write Clusters and `GitRepository`s
/// there.
pub(super) struct Tenant {
    pub(super) scenario: Scenario<'static>,
    kubeconfig: PathBuf,
}

impl Tenant {
    pub(super) fn new(name: &str) -> Self {
        let scenario = Scenario::on(Testbed::shared(), name);
        let management = scenario.management();
        let roles = Path::new(env!("CARGO_MANIFEST_DIR")).join("flux/base/roles-of-users.yaml");
        management.kubectl(&["apply", "--server-side", "--filename", roles.to_str().unwrap()]).unwrap();
        let namespace = format!("--namespace={}", scenario.namespace);
        management.kubectl(&["create", "serviceaccount", name, &namespace]).unwrap();
        let clusters = ["--verb=*", "--resource=clusters.cluster.x-k8s.io"];
        management.kubectl(&[&["create", "role", "clusters", &namespace], &clusters[..]].concat()).unwrap();
        // The roles that Flux's own installation adds to those of Kubernetes.
        let flux =
            "--resource=helmreleases.helm.toolkit.fluxcd.io,kustomizations.kustomize.toolkit.fluxcd.io";
        let read = ["--verb=get,list,watch", flux];
        management.kubectl(&[&["create", "role", "flux", &namespace], &read[..]].concat()).unwrap();
        let account = format!("--serviceaccount={}:{name}", scenario.namespace);
        let sources = ["--verb=*", "--resource=gitrepositories.source.toolkit.fluxcd.io"];
        management.kubectl(&[&["create", "role", "sources", &namespace], &sources[..]].concat()).unwrap();
        for role in ["--clusterrole=edit", "--role=clusters", "--role=flux", "--role=sources"] {
            let binding = role.rsplit('=').next().unwrap();
            management.kubectl(&["create", "rolebinding", binding, &namespace, role, &account]).unwrap();
        }
        let kubeconfig = management.kubeconfig_for_service_account(&scenario.namespace, name).unwrap();
        Self { scenario, kubeconfig }
    }

    /// A cluster in workload cluster `one` with a class of another namespace.
    pub(super) fn create_cluster(&self, name: &str, provider: &str, class: &str) {
        self.scenario.create_cluster(name, class, "one");
        self.set_class(name, &json!({"classRef": {"name": class, "namespace": provider}}));
    }

    /// Changes `spec.topology` of a cluster, as the tenant.
    fn set_class(&self, cluster: &str, topology: &Value) {
        let patch = format!("--patch={}", json!({"spec": {"topology": topology}}));
        self.kubectl(&["patch", "cluster", cluster, "--type=merge", &patch]).unwrap();
    }

    /// Runs kubectl as the tenant. Returns its output, or the API server's refusal.
    pub(super) fn kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        let access = [
            format!("--kubeconfig={}", self.kubeconfig.display()),
            format!("--namespace={}", self.scenario.namespace),
        ];
        let access: Vec<&str> = access.iter().map(String::as_str).collect();
        let management: &Cluster = self.scenario.management();
        management.kubectl(&[&access[..], arguments].concat()).map_err(|error| error.to_string())
    }

    /// Runs stackflux as the tenant.
    pub(super) fn stackflux(&self, arguments: &[&str]) -> Run {
        let access =
            ["--kubeconfig", self.kubeconfig.to_str().unwrap(), "--namespace", &self.scenario.namespace];
        stackflux(&[arguments, &access].concat())
    }
}

/// The same ClusterStack in another namespace, which offers the first release only.
fn apply_other_stack(provider: &Scenario, other: &Scenario) {
    let stack = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
        "metadata": {"name": STACK, "namespace": other.namespace, "labels": {"test": provider.namespace}},
        "spec": {
            "provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "noProvider": true,
            "versions": ["v1"],
            "source": {"git": {"url": provider.url(), "ref": {"branch": "main"}, "interval": "2s"}},
        },
    });
    other.management().apply(&stack.to_string()).unwrap();
    other.wait_ready("clusterstack", STACK);
}

#[test]
fn clusters_of_tenants_use_the_providers_releases() {
    let provider = Scenario::shared("provider");
    provider.publish(&[V1, V2]);
    let _operator = provider.operator();
    provider.apply_stack(&["v1"], &json!({"revisionHistoryLimit": 0}));
    provider.wait_ready("clusterstack", STACK);
    let tenant = Tenant::new("tenant");
    tenant.create_cluster("a", &provider.namespace, V1);
    tenant.scenario.wait_at("a", V1);
    let release =
        tenant.scenario.get("clusteraddon", "cluster-addon-a").unwrap()["status"]["release"].clone();
    assert_eq!(release["appliedNamespace"], provider.namespace.as_str(), "{release}");
    assert!(provider.get("helmrelease", &provider.object("a", "cni")).is_none(), "it is the tenant's");

    sees_its_own_only(&tenant, &provider);
    moves_and_old_release_is_removed(&tenant, &provider);
    brings_nothing_into_other_namespaces(&tenant, &provider);
    is_deleted(&tenant, &provider);
}

fn sees_its_own_only(tenant: &Tenant, provider: &Scenario) {
    let of_provider = format!("--namespace={}", provider.namespace);
    for arguments in [
        &["get", "clusterstacks"][..],
        &["get", "clusteraddons"],
        &["annotate", "clusterstack", STACK, "a=b"],
        &["delete", "clusterstackrelease", V1],
    ] {
        let refusal = tenant.kubectl(&[arguments, &[&of_provider]].concat()).unwrap_err();
        assert!(refusal.contains("Forbidden"), "{arguments:?}: {refusal}");
    }
    // A tenant cannot write the remembered release of a status.
    let forged = json!({"status": {"release": {"applied": V2, "appliedNamespace": provider.namespace}}});
    let forged = format!("--patch={forged}");
    let patch = ["patch", "clusteraddon", "cluster-addon-a", "--type=merge", "--subresource=status", &forged];
    assert!(tenant.kubectl(&patch).unwrap_err().contains("Forbidden"));
    let addons = tenant.kubectl(&["get", "clusteraddons,helmreleases", "--output=name"]).unwrap();
    assert!(addons.contains("cluster-addon-a"), "{addons}");
    let status = tenant.stackflux(&["status"]);
    assert!(status.stdout.contains(V1), "{}{}", status.stdout, status.stderr);
    let why = tenant.stackflux(&["why", "a"]);
    assert_eq!(why.code, 0, "{}{}", why.stdout, why.stderr);
}

/// The first release is no longer offered: it stays for the tenant, and is deleted when no Cluster uses it.
fn moves_and_old_release_is_removed(tenant: &Tenant, provider: &Scenario) {
    provider.apply_stack(&["v2"], &json!({"revisionHistoryLimit": 0}));
    provider.wait_ready("clusterstackrelease", V2);
    let used = |release: &Value| {
        let retiring = &release["metadata"]["annotations"]["clusterstack.x-k8s.io/retiring-since"];
        condition(release, "InUse").0 == "True" && retiring.is_null()
    };
    provider.wait("clusterstackrelease", V1, "in use", used);
    tenant.set_class("a", &json!({"classRef": {"name": V2, "namespace": provider.namespace}}));
    tenant.scenario.wait_at("a", V2);
    provider.retire(V1);
    provider.wait_gone("clusterstackrelease", V1);
    tenant.scenario.wait_at("a", V2);
}

/// A Cluster without a class keeps its release, in that release's namespace; and no Cluster installs a release elsewhere.
fn brings_nothing_into_other_namespaces(tenant: &Tenant, provider: &Scenario) {
    let other = Scenario::on(Testbed::shared(), "bystander");
    apply_other_stack(provider, &other);
    provider.apply_stack(&[], &json!({"revisionHistoryLimit": 0}));
    tenant.set_class("a", &Value::Null);
    let reconciled = |of: &Scenario| {
        let namespace = format!("--namespace={}", of.namespace);
        let now = format!("reconcile.fluxcd.io/requestedAt={:?}", std::time::SystemTime::now());
        let ask = ["annotate", "clusterstack", STACK, &namespace, "--overwrite", &now];
        of.management().kubectl(&ask).unwrap();
        let value = now.split_once('=').unwrap().1;
        of.wait("clusterstack", STACK, "reconciled", |stack| {
            stack["status"]["lastHandledReconcileAt"] == value
        })
    };
    let untouched = |what: &str| {
        let stack = reconciled(&other);
        assert_eq!(condition(&stack, "Ready").0, "True", "{what}: {stack:#}");
        for kind in ["clusterstackrelease", "clusterclass"] {
            assert!(other.get(kind, V1).is_some(), "{what}");
            assert!(other.get(kind, V2).is_none(), "{what}: the tenant installed a {kind}");
        }
    };
    untouched("its Cluster has no class");
    let stack = reconciled(provider);
    let release = provider.get("clusterstackrelease", V2).unwrap();
    let annotations = &release["metadata"]["annotations"];
    assert!(annotations.get("clusterstack.x-k8s.io/retiring-since").is_none(), "{release:#} {stack:#}");

    tenant.set_class(
        "a",
        &json!({"classRef": {"name": V2, "namespace": other.namespace}, "version": "v1.34.0"}),
    );
    untouched("its Cluster has a class that is not offered");
    // The tenant cannot turn a condition of the other namespace.
    let stack = other
        .wait("clusterstack", STACK, "not counted", |stack| stack["status"]["clusters"]["notOffered"] == 1);
    let (status, _, message) = condition(&stack, "ClustersReady");
    let named = format!("no Cluster to count; 1 ReleaseNotOffered ({}/a)", tenant.scenario.namespace);
    assert_eq!((status, message), ("True", named.as_str()), "{stack:#}");
    let is_told = |addon: &Value| condition(addon, "ReleaseReady").1 == "ReleaseNotOffered";
    tenant.scenario.wait("clusteraddon", "cluster-addon-a", "told why", is_told);
    let why = tenant.stackflux(&["why", "a"]);
    assert!(why.stdout.contains("ask the owner of the ClusterStack"), "{}{}", why.stdout, why.stderr);
    tenant.set_class("a", &json!({"classRef": {"name": V2, "namespace": provider.namespace}}));
    tenant.scenario.wait_at("a", V2);
    let delete =
        ["delete", "clusterstack", STACK, "--wait=false", &format!("--namespace={}", other.namespace)];
    other.management().kubectl(&delete).unwrap();
    other.wait_gone("clusterstack", STACK);
}

/// The deletion of the ClusterStack waits for the tenant's Cluster, from which nothing is uninstalled.
fn is_deleted(tenant: &Tenant, provider: &Scenario) {
    let delete =
        ["delete", "clusterstack", STACK, "--wait=false", &format!("--namespace={}", provider.namespace)];
    provider.management().kubectl(&delete).unwrap();
    let held = |stack: &Value| condition(stack, "Ready").1 == "InUse";
    provider.wait("clusterstack", STACK, "held", held);
    tenant.scenario.wait_at("a", V2);
    tenant.kubectl(&["delete", "cluster", "a", "--wait=false"]).unwrap();
    tenant.scenario.wait_gone("clusteraddon", "cluster-addon-a");
    provider.wait_gone("clusterstack", STACK);
    eventually("its class is gone", || provider.get("clusterclass", V2).is_none());
    provider.assert_nothing_uninstalled("one");
}
