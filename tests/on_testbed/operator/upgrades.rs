//! Upgrades of Clusters that a real Cluster API makes: addons that belong before them move first.
//!
//! The scenarios run side by side on one testbed, each with an operator, ClusterStacks and Clusters of its own.

mod charts;
mod drifted;
mod edits;
mod first;
mod gitops;
mod interruptions;
mod leaving;
mod mended;
mod moved;
mod order;
mod staged;
mod steps;
mod stuck;
mod tenant;
mod without_hooks;

use std::fs;

use serde_json::{Value, json};
use stackflux_testbed::{Operator, Options, Providers, Testbed};

use super::scenario::{Alone, INTERVAL, Scenario, at_once, condition, eventually, long};
use crate::text;

/// A release, and the version of Kubernetes that it is for.
type Release = (&'static str, &'static str);

const OLD: Release = ("docker-demo-1-34-v1", "v1.34.0");
const NEW: Release = ("docker-demo-1-35-v1", "v1.35.0");
const HOOK: &str = "before-upgrade.hook.cluster.cluster.x-k8s.io/stackflux";
const PENDING: &str = "runtime.cluster.x-k8s.io/pending-hooks";

/// The infrastructure of a class: its machines exist in the memory of the provider.
const IN_MEMORY: &str = include_str!("../../../examples/demo/infrastructure.yaml");

/// A part of the test, on the testbed of all parts.
type Part = fn(&Testbed);

/// Runs all parts.
pub(crate) fn addons_move_before_the_control_plane() {
    let options = Options {
        workloads: &["one", "two"],
        helm_concurrent: 20,
        cluster_api: Providers::WithHooks,
        ..Options::default()
    };
    let alone = Alone::start_with(&options);
    let parts: [Part; 7] = [
        staged::helper_dependencies_and_requests_move_through_the_gate,
        order::one_upgrades_and_another_is_forced,
        order::patch_level_waits_and_another_class_does_not,
        edits::edits_one_after_the_other_and_the_way_back,
        interruptions::operator_is_down_killed_and_disturbed,
        tenant::cluster_of_a_tenant_is_gated,
        charts::charts_with_hooks_and_definitions_move_through_the_gate,
    ];
    at_once(&parts, |part| part(&alone.testbed));
    let more: [Part; 11] = [
        mended::broken_release_is_mended_and_a_waiting_cluster_is_paused_or_deleted,
        gitops::clusters_come_from_git_and_one_with_the_annotation,
        gitops::addons_are_delivered_through_git,
        charts::names_of_helm_releases_stay,
        steps::several_minors_are_one_upgrade,
        first::clusters_begin_at_the_new_version_or_change_it_early,
        stuck::cluster_api_cannot_apply_the_class,
        moved::waiting_cluster_moves_to_another_management_cluster,
        gitops::addons_wait_for_their_pull_requests,
        leaving::annotation_follows_the_class,
        drifted::class_is_corrected_once_and_no_machine_is_replaced,
    ];
    at_once(long(&more, &[]), |part| part(&alone.testbed));
    drop(alone);
    if long(true, false) {
        without_hooks::cluster_api_waits_for_nothing_and_all_annotations_go();
    }
}

/// The releases and Clusters of one part.
struct Upgrades<'a> {
    scenario: Scenario<'a>,
}

impl<'a> Upgrades<'a> {
    /// Publishes these releases, each with other images. The first is that of the example.
    fn new(testbed: &'a Testbed, name: &str, releases: &[Release]) -> Self {
        let upgrades = Self { scenario: Scenario::beside_others(testbed, name) };
        // The first release of the example is renamed: its own name is published last.
        for (patch, (release, version)) in releases.iter().enumerate().rev() {
            upgrades.publish(release, version, patch);
        }
        upgrades
    }

    fn publish(&self, release: &str, version: &str, patch: usize) {
        let scenario = &self.scenario;
        scenario.publish_as(release, version);
        let templates = format!("releases/{release}/cluster-class/templates");
        fs::write(scenario.path(&format!("{templates}/infrastructure.yaml")), IN_MEMORY).unwrap();
        for kind in ["ClusterTemplate", "MachineTemplate"] {
            let class = format!("{templates}/cluster-class.yaml");
            scenario.edit(&class, &format!("kind: Docker{kind}"), &format!("kind: Dev{kind}"));
        }
        for (addon, image) in [("cni", "busybox:1.37"), ("monitoring", "busybox:1.36")] {
            let values = format!("releases/{release}/cluster-addon/{}/values.yaml", scenario.addon(addon));
            let old = if addon == "cni" { format!("{image}.0") } else { format!("{image}.1") };
            scenario.edit(&values, &old, &format!("{image}.{}", patch + 1));
        }
        scenario.push(&format!("machines in memory for {release}"));
    }

    /// Applies the ClusterStack of a minor version with these releases. Cluster API has kubeconfigs of its
    /// own.
    fn apply_stack(&self, minor: &str, versions: &[&str]) {
        self.apply_stack_with(minor, versions, &json!({}));
    }

    /// The same with more in its spec.
    fn apply_stack_with(&self, minor: &str, versions: &[&str], more: &Value) {
        let (scenario, name) = (&self.scenario, format!("docker-demo-{}", minor.replace('.', "-")));
        let mut stack = json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1",
            "kind": "ClusterStack",
            "metadata": {"name": name, "namespace": scenario.namespace, "labels": {"test": scenario.namespace}},
            "spec": {
                "provider": "docker", "name": "demo", "kubernetesVersion": minor, "noProvider": true,
                "versions": versions, "revisionHistoryLimit": 0,
                "source": {"git": {"url": scenario.url(), "ref": {"branch": "main"}, "interval": INTERVAL}},
                "flux": {"kubeConfig": {"secretName": "{cluster}-workload"}},
            },
        });
        for (field, value) in more.as_object().into_iter().flatten() {
            for (name, value) in value.as_object().into_iter().flatten() {
                stack["spec"][field][name] = value.clone();
            }
        }
        scenario.management().apply(&stack.to_string()).unwrap();
    }

    /// Starts the operator with the ClusterStacks of two minor versions, and creates Clusters of the first release with all their
    /// addons.
    fn start(&self, clusters: &[(&str, &str)]) -> Operator {
        let operator = self.scenario.operator();
        self.apply_stack("1.34", &["v1"]);
        self.apply_stack("1.35", &["v1"]);
        for (cluster, workload) in clusters {
            self.create_cluster(&self.scenario.namespace, cluster, workload, 0);
        }
        for (cluster, _) in clusters {
            self.scenario.wait_at(cluster, OLD.0);
            assert_eq!(self.hook(cluster), OLD.1, "{cluster} is gated before there is an upgrade");
        }
        operator
    }

    /// Creates a Cluster in a namespace, whose addons are installed in a workload cluster.
    fn create_cluster(&self, namespace: &str, name: &str, workload: &str, workers: u32) {
        self.add_kubeconfig(namespace, name, workload);
        self.admit(&self.new_cluster(namespace, name, workers));
    }

    /// Creates a Cluster as soon as Cluster API's webhook lets it, which refuses it before its class is reconciled.
    fn admit(&self, cluster: &Value) {
        let cluster = cluster.to_string();
        eventually("the Cluster is admitted", || self.scenario.management().apply(&cluster).is_ok());
    }

    /// Creates the Secret by which Flux reaches the workload cluster of a Cluster.
    fn add_kubeconfig(&self, namespace: &str, name: &str, workload: &str) {
        let scenario = &self.scenario;
        let kubeconfig =
            fs::read_to_string(scenario.testbed.workload(workload).unwrap().kubeconfig()).unwrap();
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": format!("{name}-workload"), "namespace": namespace},
            "stringData": {"value": kubeconfig},
        });
        scenario.management().apply(&secret.to_string()).unwrap();
    }

    /// Returns the definition of a Cluster of the first release.
    fn new_cluster(&self, namespace: &str, name: &str, workers: u32) -> Value {
        let mut cluster = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Cluster",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "clusterNetwork": {
                    "pods": {"cidrBlocks": ["192.168.0.0/16"]},
                    "serviceDomain": "cluster.local",
                    "services": {"cidrBlocks": ["10.128.0.0/12"]},
                },
                "topology": {
                    "classRef": {"name": OLD.0, "namespace": self.scenario.namespace}, "version": OLD.1,
                    "controlPlane": {"replicas": 1},
                },
            },
        });
        if workers > 0 {
            let deployment = json!({"class": "default-worker", "name": "workers", "replicas": workers});
            cluster["spec"]["topology"]["workers"] = json!({"machineDeployments": [deployment]});
        }
        cluster
    }

    fn patch(&self, cluster: &str, change: &Value) {
        self.scenario.patch("cluster", cluster, change);
    }

    /// Returns why Cluster API's webhook refuses a change of a Cluster.
    fn refused(&self, cluster: &str, change: &Value) -> String {
        let (namespace, change) = (format!("--namespace={}", self.scenario.namespace), change.to_string());
        let patch = ["patch", "cluster", cluster, &namespace, "--type=merge", "--patch", &change];
        self.scenario.management().kubectl(&patch).unwrap_err().to_string()
    }

    /// Sets class and version of a Cluster in one write.
    fn move_to(&self, cluster: &str, (class, version): Release) {
        self.patch(cluster, &topology(Some(class), Some(version)));
    }

    /// Suspends or resumes the addon `cni` of a Cluster, as a user.
    fn suspend_cni(&self, cluster: &str, suspend: Option<bool>) {
        let change = json!({"spec": {"suspend": suspend}});
        self.scenario.patch("helmrelease", &self.scenario.object(cluster, "cni"), &change);
    }

    /// Waits until the gate of a Cluster has a reason, and returns the `ClusterAddon`.
    fn wait_gate(&self, cluster: &str, reason: &str) -> Value {
        let has = |addon: &Value| condition(addon, "UpgradeGate").1 == reason;
        self.scenario.wait("clusteraddon", &format!("cluster-addon-{cluster}"), reason, has)
    }

    /// Waits until a Cluster has been upgraded with all its addons, and is gated for the next upgrade.
    fn wait_upgraded(&self, cluster: &str, (release, version): Release) {
        let ready = self.scenario.wait_at(cluster, release);
        assert_eq!(condition(&ready, "UpgradeGate").1, "NotUpgrading", "{ready:#}");
        assert_eq!(self.control_plane(cluster), version);
        assert_eq!(self.hook(cluster), version, "for the next upgrade");
    }

    fn cluster(&self, name: &str) -> Value {
        self.scenario.get("cluster", name).unwrap()
    }

    /// The value of the gate's annotation; empty if there is none.
    fn hook(&self, cluster: &str) -> String {
        annotation(&self.cluster(cluster), HOOK).to_owned()
    }

    /// The version of the control plane of a Cluster.
    fn control_plane(&self, cluster: &str) -> String {
        let cluster = self.cluster(cluster);
        let name = text(&cluster, "/spec/controlPlaneRef/name");
        text(&self.scenario.get("kubeadmcontrolplane", name).unwrap(), "/spec/version").to_owned()
    }

    /// The object of an addon of a Cluster.
    fn addon(&self, cluster: &str, addon: &str) -> Value {
        self.scenario.get("helmrelease", &self.scenario.object(cluster, addon)).unwrap()
    }
}

/// A change of the class and the version of a Cluster; what is `None` stays.
fn topology(class: Option<&str>, version: Option<&str>) -> Value {
    let mut topology = json!({});
    if let Some(class) = class {
        topology["classRef"] = json!({"name": class});
    }
    if let Some(version) = version {
        topology["version"] = json!(version);
    }
    json!({"spec": {"topology": topology}})
}

/// The value of an annotation; empty if there is none.
fn annotation<'v>(object: &'v Value, name: &str) -> &'v str {
    object["metadata"]["annotations"][name].as_str().unwrap_or_default()
}

fn release_of(object: &Value) -> &str {
    object["metadata"]["labels"]["clusterstack.x-k8s.io/release"].as_str().unwrap_or_default()
}
