//! Upgrades of Clusters that a real Cluster API makes: addons that belong before them move first.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stackflux_testbed::Options;

use super::scenario::{Alone, Scenario, TIMEOUT, condition, eventually};
use crate::support::stackflux;
use crate::text;

const OLD: (&str, &str) = ("docker-demo-1-34-v1", "v1.34.0");
const NEW: (&str, &str) = ("docker-demo-1-35-v1", "v1.35.0");
const HOOK: &str = "before-upgrade.hook.cluster.cluster.x-k8s.io/stackflux";
const PENDING: &str = "runtime.cluster.x-k8s.io/pending-hooks";

/// The infrastructure of a class: its machines exist in the memory of the provider.
const IN_MEMORY: &str = include_str!("../../../examples/demo/infrastructure.yaml");

/// One Cluster upgrades by itself. Another waits for an addon that a user has suspended, is explained, and is forced.
#[test]
fn addons_move_before_the_control_plane_of_cluster_api() {
    let options = Options { workloads: &["one", "two"], cluster_api: true, ..Options::default() };
    let alone = Alone::start_with(&options);
    let scenario = Scenario::on(&alone.testbed, "upgrades");
    // The first release of the example is renamed: its own name is published last.
    for (release, version) in [NEW, OLD] {
        publish_in_memory(&scenario, release, version);
    }
    let _operator = scenario.operator();
    for minor in ["1.34", "1.35"] {
        apply_stack(&scenario, minor);
    }
    for cluster in ["one", "two"] {
        create_cluster(&scenario, cluster);
    }
    for cluster in ["one", "two"] {
        scenario.wait_at(cluster, OLD.0);
        let found = scenario.get("cluster", cluster).unwrap();
        assert_eq!(annotation(&found, HOOK), OLD.1, "{cluster} is gated before there is an upgrade");
    }

    scenario.patch("helmrelease", "two.cni", &json!({"spec": {"suspend": true}}));
    for cluster in ["one", "two"] {
        move_to(&scenario, cluster, NEW);
    }
    watch_upgrade(&scenario, "one");
    let ready = scenario.wait_at("one", NEW.0);
    assert_eq!(condition(&ready, "UpgradeGate").1, "NotUpgrading", "{ready:#}");
    assert_eq!(annotation(&scenario.get("cluster", "one").unwrap(), HOOK), NEW.1, "for the next upgrade");

    waits_for_its_addon(&scenario);
    let kubeconfig = scenario.management().kubeconfig().to_str().unwrap();
    let open = ["gate", "open", "two", "--namespace", &scenario.namespace, "--kubeconfig", kubeconfig];
    let opened = stackflux(&open);
    assert_eq!(opened.code, 0, "{}", opened.stderr);
    assert!(
        opened.stderr.contains("cni") && opened.stderr.contains("is open for v1.35.0"),
        "{}",
        opened.stderr
    );
    eventually("the control plane of two is upgraded", || control_plane(&scenario, "two") == NEW.1);
    eventually("a forced opening is told", || {
        scenario
            .events("cluster-addon-two")
            .iter()
            .any(|it| it.contains("a user opened the gate for v1.35.0"))
    });
    scenario.patch("helmrelease", "two.cni", &json!({"spec": {"suspend": null}}));
    scenario.wait_at("two", NEW.0);
    for workload in ["one", "two"] {
        scenario.assert_nothing_uninstalled(workload);
    }
}

/// Asserts what is said about a Cluster whose upgrade waits for `cni`, and that nothing of it moves.
fn waits_for_its_addon(scenario: &Scenario<'_>) {
    let is_waiting = |addon: &Value| condition(addon, "UpgradeGate").1 == "WaitingForAddons";
    let waiting = scenario.wait("clusteraddon", "cluster-addon-two", "waiting for addons", is_waiting);
    let (status, _, message) = condition(&waiting, "UpgradeGate");
    assert_eq!(status, "False");
    assert!(
        message.starts_with("cni: ") && message.contains("from v1.34.0 to v1.35.0 waits since"),
        "{message}"
    );
    assert_eq!(text(&waiting, "/status/upgrade/phase"), "Waiting");
    assert_eq!(text(&waiting, "/status/hook"), "BeforeClusterUpgrade");
    let kubeconfig = scenario.management().kubeconfig().to_str().unwrap();
    let why = ["why", "two", "--namespace", &scenario.namespace, "--kubeconfig", kubeconfig];
    let why = stackflux(&why);
    assert!(why.stdout.contains("UpgradeGate v1.34.0 to v1.35.0: WaitingForAddons"), "{}", why.stdout);
    thread::sleep(Duration::from_secs(5));
    assert_eq!(control_plane(scenario, "two"), OLD.1);
    let monitoring = scenario.get("helmrelease", "two.monitoring").unwrap();
    assert_eq!(release_of(&monitoring), OLD.0, "it belongs after the upgrade");
}

/// Looks at a Cluster until its upgrade has ended: the addons that belong before it are applied before the control plane moves,
/// and the others move when all nodes have the version.
fn watch_upgrade(scenario: &Scenario<'_>, cluster: &str) {
    let object = |addon: &str| scenario.get("helmrelease", &format!("{cluster}.{addon}")).unwrap();
    let begun = Instant::now();
    let mut has_waited = false;
    loop {
        // What is read first is not newer than what is read later.
        let version = control_plane(scenario, cluster);
        let before = object("cni");
        if version == NEW.1 {
            assert_eq!(release_of(&before), NEW.0, "the control plane has moved");
            assert_eq!(condition(&before, "Ready").0, "True", "{before:#}");
        }
        has_waited |= version == OLD.1;
        let after = object("monitoring");
        let found = scenario.get("cluster", cluster).unwrap();
        if release_of(&after) == NEW.0 {
            assert_eq!(version, NEW.1, "an addon that belongs after the upgrade has moved");
            assert!(!annotation(&found, PENDING).contains("AfterClusterUpgrade"), "{found:#}");
            assert!(has_waited);
            return;
        }
        assert!(begun.elapsed() < TIMEOUT, "not upgraded: {found:#}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Publishes the first release of the example for a version of Kubernetes, with other images than that of another version.
fn publish_in_memory(scenario: &Scenario<'_>, release: &str, version: &str) {
    scenario.publish_as(release, version);
    let templates = format!("releases/{release}/cluster-class/templates");
    fs::write(scenario.path(&format!("{templates}/infrastructure.yaml")), IN_MEMORY).unwrap();
    for kind in ["ClusterTemplate", "MachineTemplate"] {
        let class = format!("{templates}/cluster-class.yaml");
        scenario.edit(&class, &format!("kind: Docker{kind}"), &format!("kind: Dev{kind}"));
    }
    if version == NEW.1 {
        let values = |addon: &str| format!("releases/{release}/cluster-addon/{addon}/values.yaml");
        scenario.edit(&values("cni"), "busybox:1.37.0", "busybox:1.37.1");
        scenario.edit(&values("monitoring"), "busybox:1.36.1", "busybox:1.36.2");
    }
    scenario.push(&format!("machines in memory for {release}"));
}

/// Applies the ClusterStack of a minor version. Cluster API has kubeconfigs of its own.
fn apply_stack(scenario: &Scenario<'_>, minor: &str) {
    let name = format!("docker-demo-{}", minor.replace('.', "-"));
    let stack = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1",
        "kind": "ClusterStack",
        "metadata": {"name": name, "namespace": scenario.namespace, "labels": {"test": scenario.namespace}},
        "spec": {
            "provider": "docker", "name": "demo", "kubernetesVersion": minor, "noProvider": true, "versions": ["v1"],
            "source": {"git": {"url": scenario.url(), "ref": {"branch": "main"}, "interval": "2s"}},
            "flux": {"kubeConfig": {"secretName": "{cluster}-workload"}},
        },
    });
    scenario.management().apply(&stack.to_string()).unwrap();
}

/// Creates a Cluster whose addons are installed in the workload cluster of its name.
fn create_cluster(scenario: &Scenario<'_>, name: &str) {
    let kubeconfig = fs::read_to_string(scenario.testbed.workload(name).unwrap().kubeconfig()).unwrap();
    let metadata = |name: &str| json!({"name": name, "namespace": scenario.namespace});
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": metadata(&format!("{name}-workload")),
        "stringData": {"value": kubeconfig},
    });
    let workers =
        json!({"machineDeployments": [{"class": "default-worker", "name": "workers", "replicas": 1}]});
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": metadata(name),
        "spec": {
            "clusterNetwork": {
                "pods": {"cidrBlocks": ["192.168.0.0/16"]},
                "serviceDomain": "cluster.local",
                "services": {"cidrBlocks": ["10.128.0.0/12"]},
            },
            "topology": {
                "classRef": {"name": OLD.0}, "version": OLD.1, "controlPlane": {"replicas": 1}, "workers": workers,
            },
        },
    });
    scenario.management().apply(&secret.to_string()).unwrap();
    // Cluster API's webhook refuses a Cluster before its class is reconciled.
    eventually("the Cluster is admitted", || scenario.management().apply(&cluster.to_string()).is_ok());
}

fn move_to(scenario: &Scenario<'_>, cluster: &str, (class, version): (&str, &str)) {
    let topology = json!({"spec": {"topology": {"classRef": {"name": class}, "version": version}}});
    scenario.patch("cluster", cluster, &topology);
}

/// The version of the control plane of a Cluster.
fn control_plane(scenario: &Scenario<'_>, cluster: &str) -> String {
    let found = scenario.get("cluster", cluster).unwrap();
    let name = text(&found, "/spec/controlPlaneRef/name").to_owned();
    let control_plane = scenario.get("kubeadmcontrolplane", &name).unwrap();
    text(&control_plane, "/spec/version").to_owned()
}

/// The value of an annotation; empty if there is none.
fn annotation<'v>(object: &'v Value, name: &str) -> &'v str {
    object["metadata"]["annotations"][name].as_str().unwrap_or_default()
}

fn release_of(object: &Value) -> &str {
    object["metadata"]["labels"]["clusterstack.x-k8s.io/release"].as_str().unwrap_or_default()
}
