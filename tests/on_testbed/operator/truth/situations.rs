//! The table: how each situation is produced, and its expected reports.

use std::fs;

use serde_json::{Value, json};

use super::{ADDON, CLUSTER, add_app};
use crate::operator::scenario::{Scenario, V1, V2};

/// The Cluster before the situation is produced.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Start {
    /// Ready at the first release.
    Ready,
    /// Absent.
    Absent,
}

/// The expected reports about a situation.
#[derive(Clone, Copy)]
pub(super) struct Says {
    /// `Ready` of the `ClusterAddon`.
    pub(super) ready: &'static str,
    /// The reason of that `Ready`, which `why` and the metric report too.
    pub(super) reason: &'static str,
    /// The release whose content the workload cluster has, or [`NOTHING`].
    pub(super) content: &'static str,
    /// `Ready` of the `ClusterStack`.
    pub(super) stack_ready: &'static str,
    /// `ClustersReady` of the `ClusterStack`.
    pub(super) clusters_ready: &'static str,
    /// A part of the message of `ClustersReady`.
    pub(super) counted_as: &'static str,
    /// A part of the output of `why`, besides the reason.
    pub(super) why: &'static str,
}

/// A row of the table.
pub(super) struct Situation {
    /// The prefix of the namespace.
    pub(super) name: &'static str,
    /// The Cluster before the situation.
    pub(super) start: Start,
    /// The versions that the ClusterStack offers: each costs Flux and the API server half the work of a situation.
    pub(super) versions: &'static [&'static str],
    /// Changes the releases before they are published.
    pub(super) prepare: fn(&Scenario),
    /// More of the ClusterStack's spec.
    pub(super) spec: fn(&Scenario) -> Value,
    /// Produces the situation.
    pub(super) make: fn(&Scenario),
    /// The expected reports.
    pub(super) says: Says,
}

/// The Cluster counts, and is not ready.
const fn broken(reason: &'static str, content: &'static str) -> Says {
    let (ready, clusters_ready, counted_as) = ("False", "False", reason);
    Says { ready, reason, content, stack_ready: "True", clusters_ready, counted_as, why: "" }
}

/// The Cluster counts, and it is not known yet whether it is ready.
const fn waits(reason: &'static str, content: &'static str) -> Says {
    Says { ready: "Unknown", clusters_ready: "Unknown", ..broken(reason, content) }
}

/// The Cluster counts in a number of its own.
const fn apart(
    ready: &'static str,
    reason: &'static str,
    content: &'static str,
    number: &'static str,
) -> Says {
    Says { ready, clusters_ready: "True", counted_as: number, ..broken(reason, content) }
}

/// A Cluster that is ready at the first release, and then gets into the situation.
const fn from_ready(name: &'static str, make: fn(&Scenario), says: Says) -> Situation {
    let versions = &["v1"];
    Situation { name, start: Start::Ready, versions, prepare: as_it_is, spec: nothing_more, make, says }
}

/// A Cluster that is ready at the first release; the second release is offered, too.
const fn between_two(name: &'static str, make: fn(&Scenario), says: Says) -> Situation {
    Situation { versions: &["v1", "v2"], ..from_ready(name, make, says) }
}

/// A Cluster that is created in the situation.
const fn from_nothing(name: &'static str, make: fn(&Scenario), says: Says) -> Situation {
    Situation { start: Start::Absent, ..from_ready(name, make, says) }
}

/// The workload cluster has no content of any release.
const NOTHING: &str = "nothing";

pub(super) static SITUATIONS: &[Situation] = &[
    from_ready("well", as_it_is, apart("True", "Applied", "v1", "1 of 1 Cluster is ready")),
    between_two("mismatch", |of| of.clusters.upgrade(&of.namespace, CLUSTER, V2, "v1.33.0").unwrap(), {
        broken("KubernetesVersionMismatch", "v1")
    }),
    from_ready("field", without_endpoint, waits("WaitingForField", "v1")),
    from_ready("object", without_infrastructure, waits("WaitingForObject", "v1")),
    from_ready("absent", |of| of.upgrade(CLUSTER, "docker-demo-1-34-v99"), broken("ReleaseNotFound", "v1")),
    from_nothing("unborn", |of| of.create_cluster(CLUSTER, "docker-demo-1-34-v99", "one"), {
        broken("ReleaseNotFound", NOTHING)
    }),
    // A Cluster without a ClusterStack's class does not count.
    from_ready("classless", |of| of.upgrade(CLUSTER, "quick-start"), {
        apart("False", "ClassUnknown", "v1", "no Cluster to count")
    }),
    from_nothing(
        "young",
        uninitialized,
        apart("Unknown", "ControlPlaneNotInitialized", NOTHING, "not initialized"),
    ),
    between_two("paused", paused, apart("Unknown", "Paused", "v1", "paused")),
    between_two("suspended", suspended, apart("Unknown", "Suspended", "v1", "suspended")),
    from_ready("deleting", deleting, apart("False", "Deleting", "v1", "deleting")),
    from_ready("unreachable", unreachable, broken("Unreachable", "v1")),
    between_two("refused", refused, waits("DeliveryFailed", "v1")),
    Situation { spec: only_reporting, ..from_ready("drift", drifted, broken("Drifted", "other")) },
    from_nothing("secret", without_secret, waits("KubeConfigNotFound", NOTHING)),
    between_two("person", suspended_by_a_person, waits("Suspended", "v1")),
    Situation {
        prepare: failing,
        ..between_two("broken", to_v2, Says { why: "no retries are left", ..broken("RolledBack", "v1") })
    },
    Situation { prepare: unknown_kind, ..between_two("kind", to_v2, broken("KindNotInstalled", "v1")) },
    Situation { prepare: key_twice, ..between_two("yaml", to_v2, broken("ManifestInvalid", "v1")) },
    Situation { prepare: refusing, ..between_two("chart", to_v2, broken("RefusedByChart", "v1")) },
    // The values cannot name the content, Helm stores no revision, and Flux reports success.
    Situation {
        prepare: refusing_with_schema,
        ..between_two("schema", to_v2, broken("UpgradeFailed", "v1"))
    },
    Situation {
        prepare: without_value,
        ..between_two(
            "template",
            to_v2,
            Says { why: "explain TemplateFailed", ..broken("TemplateFailed", "v1") },
        )
    },
    Situation {
        prepare: never_ready,
        spec: impatient,
        ..between_two(
            "workload",
            to_v2,
            Says { why: "explain WorkloadsNotReady", ..broken("RolledBack", "v1") },
        )
    },
    Situation {
        prepare: immutable,
        ..between_two(
            "immutable",
            to_v2,
            Says { why: "explain FieldImmutable", ..broken("RolledBack", "v1") },
        )
    },
    from_nothing(
        "no-answer",
        without_server,
        Says { why: "explain ClusterUnreachable", ..waits("StateError", NOTHING) },
    ),
    Situation { prepare: no_mapping, ..between_two("values", to_v2, broken("ValuesInvalid", "v1")) },
    Situation {
        spec: waiting_for_nothing,
        ..from_nothing("dependency", created, broken("DependencyInvalid", NOTHING))
    },
    Situation { prepare: two_more, ..between_two("budget", to_v2, waits("PruneBudgetExceeded", "v2")) },
];

fn as_it_is(_: &Scenario) {}

fn nothing_more(_: &Scenario) -> Value {
    json!({})
}

fn created(of: &Scenario) {
    of.create_cluster(CLUSTER, V1, "one");
}

fn to_v2(of: &Scenario) {
    of.upgrade(CLUSTER, V2);
}

fn without_endpoint(of: &Scenario) {
    of.patch("devcluster", CLUSTER, &json!({"spec": {"controlPlaneEndpoint": null}}));
}

fn without_infrastructure(of: &Scenario) {
    let namespace = format!("--namespace={}", of.namespace);
    of.management().kubectl(&["delete", "devcluster", CLUSTER, &namespace]).unwrap();
}

fn uninitialized(of: &Scenario) {
    let cluster = of.new_cluster(CLUSTER, V1);
    of.clusters.create(&[stackflux_testbed::NewCluster { initialized: false, ..cluster }]).unwrap();
}

fn paused(of: &Scenario) {
    of.clusters.patch(&of.namespace, CLUSTER, &json!({"spec": {"paused": true}})).unwrap();
    to_v2(of);
}

fn suspended(of: &Scenario) {
    of.patch("clusteraddon", ADDON, &json!({"spec": {"suspend": true}}));
    to_v2(of);
}

/// Another controller's finalizer holds the Cluster.
fn deleting(of: &Scenario) {
    of.patch("cluster", CLUSTER, &json!({"metadata": {"finalizers": ["example.org/holds"]}}));
    of.clusters.delete(&of.namespace, &[CLUSTER.to_owned()]).unwrap();
}

fn unreachable(of: &Scenario) {
    let condition = json!({
        "type": "RemoteConnectionProbe", "status": "False", "reason": "ProbeFailed",
        "message": "the probe failed", "lastTransitionTime": "2026-11-21T11:00:00Z",
    });
    let status = json!({"status": {"conditions": [condition]}});
    of.clusters.patch_status(&of.namespace, CLUSTER, &status).unwrap();
}

/// Every write of a `HelmRelease` is refused, and the Cluster moves to another release.
fn refused(of: &Scenario) {
    of.refuse("helmreleases", &of.object(CLUSTER, "app"));
    to_v2(of);
}

/// Objects in the workload cluster are changed, and Flux is requested to reconcile.
fn drifted(of: &Scenario) {
    let edit = json!({"data": {"content": "other"}}).to_string();
    let edit = ["patch", "configmap", &of.addon("app"), "--namespace=kube-system", "--patch", &edit];
    of.testbed.workload("one").unwrap().kubectl(&edit).unwrap();
    let request = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}});
    of.patch("clusteraddon", ADDON, &request);
}

/// Flux only reports drift.
fn only_reporting(of: &Scenario) -> Value {
    json!({"flux": {"addons": {of.addon("app"): {"driftDetection": "warn"}}}})
}

/// The Secret with the Cluster's kubeconfig is missing.
fn without_secret(of: &Scenario) {
    of.clusters.create(&[of.new_cluster(CLUSTER, V1)]).unwrap();
}

fn suspended_by_a_person(of: &Scenario) {
    of.patch("helmrelease", &of.object(CLUSTER, "app"), &json!({"spec": {"suspend": true}}));
    to_v2(of);
}

/// The upgrade to the second release's chart fails.
fn failing(of: &Scenario) {
    let file = format!("releases/{V2}/cluster-addon/{}/templates/configmap.yaml", of.addon("app"));
    of.edit(&file, "content: v2", "content: {v2: is no text}");
}

/// The second release's chart has an object of an unknown kind.
fn unknown_kind(of: &Scenario) {
    add_template(of, "apiVersion: example.org/v1\nkind: Unknown\nmetadata: {name: unknown}\n");
}

/// The second release's chart has a mapping with a duplicate key.
fn key_twice(of: &Scenario) {
    add_template(of, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: twice\n  name: twice\n");
}

/// The second release's chart refuses its values.
fn refusing(of: &Scenario) {
    add_template(of, "{{ fail \"no host of that name\" }}\n");
}

/// The second release's chart refuses its values, and the schema of both accepts no key that it does not name.
fn refusing_with_schema(of: &Scenario) {
    let schema = json!({"additionalProperties": false, "properties": {"host": {"type": "string"}}});
    for release in [V1, V2] {
        let file = format!("releases/{release}/cluster-addon/{}/values.schema.json", of.addon("app"));
        fs::write(of.path(&file), schema.to_string()).unwrap();
    }
    refusing(of);
}

/// The second release's chart reads a value that is not set.
fn without_value(of: &Scenario) {
    add_template(of, "{{ .Values.region.name }}\n");
}

/// The second release has a workload that no node can run.
fn never_ready(of: &Scenario) {
    let pod = json!({
        "nodeSelector": {"at": "nowhere"}, "containers": [{"name": "app", "image": "busybox:1.37.0"}],
    });
    let labels = json!({"app": of.addon("app")});
    let workload = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": of.addon("agent"), "namespace": "kube-system"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
    });
    add_template(of, &workload.to_string());
}

/// Flux waits for workloads only for a moment.
fn impatient(_: &Scenario) -> Value {
    json!({"flux": {"timeout": "5s"}})
}

/// The object of the first release cannot be changed.
fn immutable(of: &Scenario) {
    let file = format!("releases/{V1}/cluster-addon/{}/templates/configmap.yaml", of.addon("app"));
    of.edit(&file, "data:\n", "immutable: true\ndata:\n");
}

/// No API server answers at the address in the kubeconfig.
fn without_server(of: &Scenario) {
    of.create_cluster(CLUSTER, V1, "one");
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:9"}}],
        "users": [{"name": "a", "user": {"token": "a"}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    });
    let secret = format!("{CLUSTER}-kubeconfig");
    of.patch("secret", &secret, &json!({"data": null, "stringData": {"value": kubeconfig.to_string()}}));
}

/// Adds a template to the chart of the second release.
fn add_template(of: &Scenario, template: &str) {
    let file = format!("releases/{V2}/cluster-addon/{}/templates/more.yaml", of.addon("app"));
    fs::write(of.path(&file), template).unwrap();
}

/// The second release's values are a list.
fn no_mapping(of: &Scenario) {
    let file = of.path(&format!("releases/{V2}/cluster-addon/{}/overwrite.yaml", of.addon("app")));
    fs::write(file, "values: |\n  - {{ .Cluster.metadata.name }}\n").unwrap();
}

/// The first release has two addons that the second one does not have.
fn two_more(of: &Scenario) {
    for addon in ["one", "two"] {
        add_app(of, V1, addon, "v1");
    }
}

fn waiting_for_nothing(of: &Scenario) -> Value {
    json!({"flux": {"addons": {of.addon("app"): {"dependsOn": ["nothing"]}}}})
}
