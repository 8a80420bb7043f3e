//! A ClusterStack of the example, an operator of its own that watches nothing else, and clusters.

mod alone;
mod at_once;
mod lease;
mod long;
mod policy;
mod releases;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stackflux_testbed::{
    Cluster, ClusterApi, Infrastructure, Mark, NewCluster, Object, Operator, Testbed, Write,
};

use crate::definitions::apply_definitions;
use crate::git::git;
use crate::support::scratch;

pub(crate) use alone::Alone;
pub(crate) use at_once::at_once;
use lease::Lease;
pub(crate) use long::long;

/// Maximum time for any step. Generous: other tests use the same two cores.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(10);
/// The interval at which Flux reads the stack repository. Each time costs two processes of Git.
pub(crate) const INTERVAL: &str = "5s";
/// The first release of the example, and so the class of its clusters.
pub(crate) const V1: &str = "docker-demo-1-34-v1";
/// The second one: its chart `monitoring` differs.
pub(crate) const V2: &str = "docker-demo-1-34-v2";
/// The name of the ClusterStack.
pub(crate) const STACK: &str = "docker-demo-1-34";

/// A Lease that passes soon, but not because the machine is busy.
pub(crate) const SHORT_LEASE: [&str; 3] = [
    "--leader-election-lease-duration=8s",
    "--leader-election-renew-deadline=6s",
    "--leader-election-retry-period=500ms",
];
/// The addons of the example that are charts.
pub(crate) const CHARTS: [&str; 3] = ["cni", "ccm", "monitoring"];
/// All addons of the example: the last one is plain manifests.
pub(crate) const ADDONS: [&str; 4] = ["cni", "ccm", "monitoring", "policies"];
/// A time long enough ago that an unused release is deleted.
const LONG_AGO: &str = "2026-01-01T00:00:00Z";

/// The example in a namespace of its own.
pub(crate) struct Scenario<'a> {
    pub(crate) testbed: &'a Testbed,
    pub(crate) namespace: String,
    pub(crate) clusters: ClusterApi,
    directory: PathBuf,
    /// The prefix of the addons' names.
    prefix: String,
    /// Exists as soon as an operator of the scenario elects a leader.
    lease: OnceLock<Lease>,
}

impl Scenario<'static> {
    /// On the testbed that tests share.
    pub(crate) fn shared(name: &str) -> Self {
        Self::beside_others(Testbed::shared(), name)
    }

    /// The same with the addons of another scenario, which [`Scenario::suspend_all`] must have ended: the end states of
    /// the two can be compared.
    pub(crate) fn shared_with_addons_of(name: &str, other: &Self) -> Self {
        let mut scenario = Self::on(Testbed::shared(), name);
        scenario.prefix.clone_from(&other.prefix);
        scenario
    }
}

impl<'a> Scenario<'a> {
    /// On a testbed that other scenarios use, too. The addons have names that no other scenario has, so that they do not
    /// collide in the workload clusters.
    pub(crate) fn beside_others(testbed: &'a Testbed, name: &str) -> Self {
        let mut scenario = Self::on(testbed, name);
        scenario.prefix = format!("{name}-");
        scenario
    }

    /// A namespace and an empty stack repository.
    pub(crate) fn on(testbed: &'a Testbed, name: &str) -> Self {
        apply_definitions(testbed.management());
        let (namespace, directory) = (testbed.namespace(name).unwrap(), scratch(name));
        fs::create_dir_all(directory.join("releases")).unwrap();
        git(&directory, &["init", "--quiet", "--initial-branch=main"]);
        let clusters = ClusterApi::new(testbed.management()).unwrap();
        Self { testbed, namespace, clusters, directory, prefix: String::new(), lease: OnceLock::new() }
    }

    /// Adds the first release, a cluster `a` of it in workload cluster `one`, and an operator that has made all of it
    /// ready.
    pub(crate) fn with_cluster(self) -> (Self, Operator) {
        self.publish(&[V1]);
        let operator = self.operator();
        self.apply_stack(&["v1"], &json!({}));
        self.wait_ready("clusterstack", STACK);
        self.create_cluster("a", V1, "one");
        self.wait_addons("a");
        (self, operator)
    }

    /// The name of an addon of the example in this scenario.
    pub(crate) fn addon(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The name of the object that delivers an addon of the example to a cluster.
    pub(crate) fn object(&self, cluster: &str, addon: &str) -> String {
        format!("{cluster}.{}", self.addon(addon))
    }

    pub(crate) fn management(&self) -> &Cluster {
        self.testbed.management()
    }

    /// Applies the ClusterStack, with more in its spec; a null field is left out.
    pub(crate) fn apply_stack(&self, versions: &[&str], more: &Value) {
        let mut stack = json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1",
            "kind": "ClusterStack",
            "metadata": {"name": STACK, "namespace": self.namespace, "labels": {"test": self.namespace}},
            "spec": {
                "provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "noProvider": true,
                "versions": versions,
                "source": {"git": {"url": self.url(), "ref": {"branch": "main"}, "interval": INTERVAL}},
            },
        });
        for (field, value) in more.as_object().into_iter().flatten() {
            match (value, stack["spec"].as_object_mut()) {
                (Value::Null, Some(spec)) => drop(spec.remove(field)),
                _ => stack["spec"][field] = value.clone(),
            }
        }
        self.management().apply(&stack.to_string()).unwrap();
    }

    /// Starts an operator that watches only this ClusterStack.
    pub(crate) fn operator(&self) -> Operator {
        self.operator_as(self.testbed.operator_kubeconfig(), &[])
    }

    /// The same with another kubeconfig and more flags.
    pub(crate) fn operator_as(&self, kubeconfig: &Path, more: &[&str]) -> Operator {
        let operator = self.start(kubeconfig, &[&["--enable-leader-election=false"], more].concat());
        operator.wait_ready(TIMEOUT).unwrap();
        operator
    }

    /// Starts an operator with leader election. Does not wait.
    pub(crate) fn candidate(&self, kubeconfig: &Path, more: &[&str]) -> Operator {
        self.lease.get_or_init(|| Lease::of(self.management(), &self.selector()));
        self.start(kubeconfig, more)
    }

    /// The labels of the objects that operators of the scenario watch.
    fn selector(&self) -> String {
        format!("test={}", self.namespace)
    }

    fn start(&self, kubeconfig: &Path, more: &[&str]) -> Operator {
        let binary = Path::new(env!("CARGO_BIN_EXE_stackflux"));
        let selector = format!("--watch-label-selector={}", self.selector());
        let flags = [&["--log-level=debug", &selector], more].concat();
        Operator::start(self.testbed, binary, kubeconfig, &flags).unwrap()
    }

    /// Creates a cluster whose addons are installed in one of the workload clusters.
    pub(crate) fn create_cluster(&self, name: &str, class: &str, workload: &str) {
        self.testbed.add_kubeconfig_secret(&self.namespace, name, workload).unwrap();
        self.clusters.create(&[self.new_cluster(name, class)]).unwrap();
    }

    /// The definition of such a cluster.
    pub(crate) fn new_cluster(&self, name: &str, class: &str) -> NewCluster {
        NewCluster {
            namespace: self.namespace.clone(),
            name: name.to_owned(),
            class: class.to_owned(),
            version: "v1.34.0".to_owned(),
            endpoint: format!("{name}.example.org"),
            infrastructure: Infrastructure::Dev,
            initialized: true,
        }
    }

    /// An object of the namespace.
    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<Value> {
        self.management().get(Object { kind, namespace: &self.namespace, name }).unwrap()
    }

    /// The objects of a kind in the namespace.
    pub(crate) fn list(&self, kind: &str) -> Vec<Value> {
        self.management().list(kind, &self.namespace).unwrap()
    }

    /// The names of the objects of a kind in the namespace.
    pub(crate) fn names(&self, kind: &str) -> Vec<String> {
        self.list(kind).iter().map(|object| crate::text(object, "/metadata/name").to_owned()).collect()
    }

    /// Waits until `is_so` holds for an object, and returns the object.
    pub(crate) fn wait(&self, kind: &str, name: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let object = Object { kind, namespace: &self.namespace, name };
        self.management().wait(object, what, TIMEOUT, is_so).unwrap()
    }

    /// Waits until an object of ours reports that it is ready.
    pub(crate) fn wait_ready(&self, kind: &str, name: &str) -> Value {
        self.wait(kind, name, "Ready=True", |object| condition(object, "Ready").0 == "True")
    }

    /// Moves a cluster to the class of another release.
    pub(crate) fn upgrade(&self, cluster: &str, release: &str) {
        self.clusters.upgrade(&self.namespace, cluster, release, "v1.34.0").unwrap();
    }

    /// Moves the API server of a cluster.
    pub(crate) fn set_endpoint(&self, cluster: &str, host: &str) {
        let change = json!({"spec": {"controlPlaneEndpoint": {"host": host}}});
        self.clusters.patch(&self.namespace, cluster, &change).unwrap();
    }

    /// Waits until the values of the addon that reads it have an endpoint, and returns the `HelmRelease`.
    pub(crate) fn wait_endpoint(&self, cluster: &str, host: &str) -> Value {
        let has = |release: &Value| release["spec"]["values"].to_string().contains(host);
        self.wait("helmrelease", &self.object(cluster, "ccm"), host, has)
    }

    /// Waits until Helm has upgraded that addon to it, and everything of the cluster is ready.
    pub(crate) fn wait_endpoint_ready(&self, cluster: &str, host: &str) {
        self.wait_endpoint(cluster, host);
        let release =
            Object { kind: "helmrelease", namespace: &self.namespace, name: &self.object(cluster, "ccm") };
        self.management().wait_ready(release, TIMEOUT).unwrap();
        self.wait_addons(cluster);
    }

    /// Waits until a release is retiring, and backdates that state.
    pub(crate) fn retire(&self, release: &str) {
        self.retire_since(release, LONG_AGO);
    }

    /// The same, since a time.
    pub(crate) fn retire_since(&self, release: &str, since: &str) {
        let key = "clusterstack.x-k8s.io/retiring-since";
        let retires = |found: &Value| found["metadata"]["annotations"].get(key).is_some();
        self.wait("clusterstackrelease", release, "on its way out", retires);
        self.patch("clusterstackrelease", release, &json!({"metadata": {"annotations": {key: since}}}));
    }

    /// Waits until the addons of a cluster are ready.
    pub(crate) fn wait_addons(&self, cluster: &str) -> Value {
        self.wait_ready("clusteraddon", &format!("cluster-addon-{cluster}"))
    }

    /// Waits until the addons of a cluster are those of a release, and ready.
    pub(crate) fn wait_at(&self, cluster: &str, release: &str) -> Value {
        let is_at = |addon: &Value| {
            addon["status"]["release"]["applied"] == release && condition(addon, "Ready").0 == "True"
        };
        self.wait("clusteraddon", &format!("cluster-addon-{cluster}"), &format!("ready at {release}"), is_at)
    }

    /// Waits until these clusters are at these releases, and everything is ready.
    pub(crate) fn wait_settled(&self, clusters: &[(&str, &str)]) {
        for (cluster, release) in clusters {
            self.wait_at(cluster, release);
        }
        for release in [V1, V2] {
            self.wait_ready("clusterstackrelease", release);
        }
        self.wait("clusterstack", STACK, "Ready and ClustersReady", |stack| {
            ["Ready", "ClustersReady"].map(|kind| condition(stack, kind).0) == ["True"; 2]
        });
    }

    /// Fails if Helm has uninstalled one of the charts from a workload cluster.
    pub(crate) fn assert_nothing_uninstalled(&self, workload: &str) {
        let workload = self.testbed.workload(workload).unwrap();
        for chart in CHARTS {
            workload.assert_no_helm_uninstall("kube-system", &self.addon(chart)).unwrap();
        }
    }

    /// Waits until an object is deleted.
    pub(crate) fn wait_gone(&self, kind: &str, name: &str) {
        self.management().wait_gone(Object { kind, namespace: &self.namespace, name }, TIMEOUT).unwrap();
    }

    /// Changes an object by a merge patch, as a user with kubectl would.
    pub(crate) fn patch(&self, kind: &str, name: &str, change: &Value) {
        let object = Object { kind, namespace: &self.namespace, name };
        self.management().merge(object, "somebody", change).unwrap();
    }

    /// Waits until `is_so` holds for the status of a cluster's addon, and returns it.
    pub(crate) fn wait_addon(
        &self,
        cluster: &str,
        addon: &str,
        what: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> Value {
        let name = format!("cluster-addon-{cluster}");
        let found = |object: &Value| addon_status(object, addon).cloned();
        let what = format!("{addon}: {what}");
        let object =
            self.wait("clusteraddon", &name, &what, |object| found(object).is_some_and(|it| is_so(&it)));
        found(&object).unwrap()
    }

    /// The notes of the events about an object.
    pub(crate) fn events(&self, name: &str) -> Vec<String> {
        let events = self.list("events");
        let about = events.iter().filter(|event| crate::text(event, "/involvedObject/name") == name);
        about.map(|event| crate::text(event, "/message").to_owned()).collect()
    }

    /// Suspends the Flux objects of this scenario, so that another one can use its workload clusters.
    pub(crate) fn suspend_all(&self) {
        self.management().suspend_flux(&self.namespace).unwrap();
    }

    /// The operators' writes since then in the namespace of this scenario, other than Leases.
    pub(crate) fn operator_writes_since(&self, mark: Mark) -> Vec<Write> {
        written_by("stackflux", self.writes_since(mark))
    }

    /// All writes since then in the namespace of this scenario. Other tests may write to the same API server.
    pub(crate) fn writes_since(&self, mark: Mark) -> Vec<Write> {
        let mut writes = self.testbed.audit().writes_since(mark).unwrap();
        writes.retain(|write| {
            write.namespace.starts_with(&self.namespace)
                || (write.resource == "namespaces" && write.name.starts_with(&self.namespace))
        });
        writes
    }

    /// A service account that may do everything: its name in the audit log and its kubeconfig.
    pub(crate) fn administrator(&self, name: &str) -> (String, PathBuf) {
        let (management, namespace) = (self.management(), format!("--namespace={}", self.namespace));
        management.kubectl(&["create", "serviceaccount", name, &namespace]).unwrap();
        let account = format!("--serviceaccount={}:{name}", self.namespace);
        let binding = format!("{}-{name}", self.namespace);
        let bind = ["create", "clusterrolebinding", &binding, "--clusterrole=cluster-admin", &account];
        management.kubectl(&bind).unwrap();
        let kubeconfig = management.kubeconfig_for_service_account(&self.namespace, name).unwrap();
        (format!("system:serviceaccount:{}:{name}", self.namespace), kubeconfig)
    }
}

impl Drop for Scenario<'_> {
    /// Suspends Flux for a scenario that succeeded, so that others can use the machine. A failed one stays as it is, for
    /// users to inspect.
    fn drop(&mut self) {
        if !thread::panicking() {
            // An object that cannot be suspended costs time, and fails no test.
            let suspended = self.management().suspend_flux(&self.namespace);
            suspended.unwrap_or_else(|error| eprintln!("cannot suspend {}: {error}", self.namespace));
        }
    }
}

/// Whether an operator runs and reports that it leads.
pub(crate) fn leads(operator: &Operator) -> bool {
    operator.metrics().is_ok_and(|metrics| metrics.get("stackflux_leader").is_some_and(|leads| *leads > 0.5))
}

/// The writes that a user sent, other than those of Leases.
pub(crate) fn written_by(user: &str, mut writes: Vec<Write>) -> Vec<Write> {
    writes.retain(|write| write.user == user && write.resource != "leases");
    writes
}

/// Status, reason and message of a condition; empty if it does not exist.
pub(crate) fn condition<'v>(object: &'v Value, kind: &str) -> (&'v str, &'v str, &'v str) {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == kind);
    let text = |name: &str| found.and_then(|found| found[name].as_str()).unwrap_or_default();
    (text("status"), text("reason"), text("message"))
}

/// The entry of one addon in the status of a `ClusterAddon`.
pub(crate) fn addon_status<'v>(object: &'v Value, addon: &str) -> Option<&'v Value> {
    let addons = object.pointer("/status/addons").and_then(Value::as_array);
    addons.into_iter().flatten().find(|found| found["name"] == addon)
}

/// Waits until `is_so` holds.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < TIMEOUT, "not after {TIMEOUT:?}: {what}");
        thread::sleep(Duration::from_millis(200));
    }
}
