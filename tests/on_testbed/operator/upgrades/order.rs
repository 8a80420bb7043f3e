//! The order of an upgrade: what belongs before it, the control plane, what belongs after it.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stackflux_testbed::{Testbed, Write};

use super::super::platform::Platform;
use super::super::record::record;
use super::super::scenario::{TIMEOUT, condition, eventually};
use super::{NEW, OLD, PENDING, Release, Upgrades, annotation, release_of};
use crate::support::stackflux;
use crate::text;

/// A release for the same version of Kubernetes.
const SAME: Release = ("docker-demo-1-34-v2", "v1.34.0");
/// A release for the next patch of Kubernetes.
const PATCHED: Release = ("docker-demo-1-34-v3", "v1.34.1");

/// One Cluster upgrades by itself. Another waits for an addon that a user has suspended, is explained, and is forced.
pub(super) fn one_upgrades_and_another_is_forced(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "forced-gate", &[OLD, NEW]);
    let (scenario, namespace) = (&upgrades.scenario, &upgrades.scenario.namespace);
    let platform = Platform::new(scenario);
    let _operator = scenario.operator();
    // A component that belongs before an upgrade, at another commit for each minor version.
    for minor in ["1.34", "1.35"] {
        let components = platform.exact(&platform.push(minor), &json!({"hook": "BeforeClusterUpgrade"}));
        upgrades.apply_stack_with(minor, &["v1"], &components);
    }
    for cluster in ["one", "two"] {
        upgrades.create_cluster(namespace, cluster, cluster, 1);
    }
    for cluster in ["one", "two"] {
        scenario.wait_at(cluster, OLD.0);
        assert_eq!(upgrades.hook(cluster), OLD.1, "{cluster} is gated before there is an upgrade");
    }
    upgrades.suspend_cni("two", Some(true));
    let component = upgrades.addon("one", "edge")["spec"]["chartRef"].clone();
    for cluster in ["one", "two"] {
        upgrades.move_to(cluster, NEW);
    }
    watch_upgrade(&upgrades, "one", &component);
    upgrades.wait_upgraded("one", NEW);

    waits_for_its_addon(&upgrades);
    let kubeconfig = scenario.management().kubeconfig().to_str().unwrap();
    let opened = stackflux(&["gate", "open", "two", "--namespace", namespace, "--kubeconfig", kubeconfig]);
    assert_eq!(opened.code, 0, "{}", opened.stderr);
    let told = opened.stderr.contains("cni") && opened.stderr.contains("is open for v1.35.0");
    assert!(told, "{}", opened.stderr);
    eventually("the control plane of two is upgraded", || upgrades.control_plane("two") == NEW.1);
    eventually("a forced opening is told", || {
        let told = |it: &String| it.contains("a user opened the gate for v1.35.0");
        scenario.events("cluster-addon-two").iter().any(told)
    });
    upgrades.suspend_cni("two", None);
    upgrades.wait_upgraded("two", NEW);
    for workload in ["one", "two"] {
        scenario.assert_nothing_uninstalled(workload);
    }
}

/// Asserts what is said about a Cluster whose upgrade waits for `cni`, and that nothing of it moves.
fn waits_for_its_addon(upgrades: &Upgrades<'_>) {
    let scenario = &upgrades.scenario;
    let waiting = upgrades.wait_gate("two", "WaitingForAddons");
    let (status, _, message) = condition(&waiting, "UpgradeGate");
    assert_eq!(status, "False");
    let begin = format!("{}: ", scenario.addon("cni"));
    assert!(
        message.starts_with(&begin) && message.contains("from v1.34.0 to v1.35.0 waits since"),
        "{message}"
    );
    assert_eq!(text(&waiting, "/status/upgrade/phase"), "Waiting");
    assert_eq!(text(&waiting, "/status/hook"), "BeforeClusterUpgrade");
    record("gate-suspended", scenario);
    let kubeconfig = scenario.management().kubeconfig().to_str().unwrap();
    let why = stackflux(&["why", "two", "--namespace", &scenario.namespace, "--kubeconfig", kubeconfig]);
    assert!(why.stdout.contains("UpgradeGate v1.34.0 to v1.35.0: WaitingForAddons"), "{}", why.stdout);
    thread::sleep(Duration::from_secs(5));
    assert_eq!(upgrades.control_plane("two"), OLD.1);
    assert_eq!(release_of(&upgrades.addon("two", "monitoring")), OLD.0, "it belongs after the upgrade");
}

/// Looks at a Cluster until its upgrade has ended: the addons that belong before it, one of which is a component with the chart
/// `old`, are applied before the control plane moves, and the others move when all nodes have the version.
fn watch_upgrade(upgrades: &Upgrades<'_>, cluster: &str, old: &Value) {
    let begun = Instant::now();
    let mut has_waited = false;
    loop {
        // What is read first is not newer than what is read later.
        let version = upgrades.control_plane(cluster);
        let [before, component] = ["cni", "edge"].map(|addon| upgrades.addon(cluster, addon));
        if version == NEW.1 {
            assert_eq!(release_of(&before), NEW.0, "the control plane has moved");
            assert_eq!(condition(&before, "Ready").0, "True", "{before:#}");
            assert_ne!(component["spec"]["chartRef"], *old, "the component has moved");
            assert_eq!(condition(&component, "Ready").0, "True", "{component:#}");
        }
        has_waited |= version == OLD.1;
        let after = upgrades.addon(cluster, "monitoring");
        let found = upgrades.cluster(cluster);
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

/// Another class for the same version moves all at once, and an upgrade to the next patch waits like one to the next minor. The
/// order of both is that of the writes in the API server's log.
pub(super) fn patch_level_waits_and_another_class_does_not(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "patched-gate", &[OLD, SAME, PATCHED]);
    let scenario = &upgrades.scenario;
    let twice = format!("releases/{}/clusteraddon.yaml", PATCHED.0);
    let cni = format!("    - name: {}\n      action: apply\n", scenario.addon("cni"));
    let both = format!("  AfterClusterUpgrade:\n{cni}  BeforeClusterUpgrade:\n");
    scenario.edit(&twice, "  BeforeClusterUpgrade:\n", &both);
    scenario.push("cni after the upgrade too");
    let _operator = scenario.operator();
    upgrades.apply_stack("1.34", &["v1", "v2", "v3"]);
    upgrades.create_cluster(&scenario.namespace, "one", "one", 0);
    scenario.wait_at("one", OLD.0);

    let begun = testbed.audit().mark().unwrap();
    upgrades.move_to("one", SAME);
    scenario.wait_at("one", SAME.0);
    let gated: Vec<Write> = scenario.operator_writes_since(begun).into_iter().filter(is_of_gate).collect();
    assert_eq!(gated, [], "another class for the same version calls no hook");
    let is_reconciled = |cluster: &Value| {
        let conditions = cluster["status"]["conditions"].as_array();
        let topology = conditions.and_then(|all| all.iter().find(|it| it["type"] == "TopologyReconciled"));
        topology.is_some_and(|it| {
            it["status"] == "True" && it["observedGeneration"] == cluster["metadata"]["generation"]
        })
    };
    scenario.wait("cluster", "one", "Cluster API has brought in the other class", is_reconciled);

    let begun = testbed.audit().mark().unwrap();
    upgrades.move_to("one", PATCHED);
    upgrades.wait_upgraded("one", PATCHED);
    in_order(&upgrades, &scenario.writes_since(begun));
    let repeated = format!("{}/{}", PATCHED.0, PATCHED.1);
    let cni = scenario.object("one", "cni");
    let is_repeated = |object: &Value| {
        annotation(object, "clusterstack.x-k8s.io/repeat-after").is_empty()
            && annotation(object, "reconcile.fluxcd.io/forceAt").starts_with(&repeated)
            && condition(object, "Ready").0 == "True"
    };
    let repeated_object = scenario.wait("helmrelease", &cni, "upgraded once more", is_repeated);
    let revisions = repeated_object["status"]["history"][0]["version"].clone();
    assert_eq!(revisions, json!(4), "installed, moved twice, and upgraded once more: {repeated_object:#}");
    let ccm = upgrades.addon("one", "ccm");
    assert!(ccm["status"]["lastHandledForceAt"].is_null(), "it belongs before alone: {ccm:#}");
}

/// Whether a write changes the annotation of a Cluster.
fn is_of_gate(write: &Write) -> bool {
    write.resource == "clusters" && write.subresource.is_empty() && write.user == "stackflux"
}

/// Asserts the order of an upgrade in the log of writes, and prints how long the gate stayed closed after the last report.
fn in_order(upgrades: &Upgrades<'_>, writes: &[Write]) {
    let find = |what: &str, is_it: &dyn Fn(&Write) -> bool| {
        writes.iter().position(is_it).unwrap_or_else(|| panic!("no write {what}: {writes:#?}"))
    };
    let object = |addon: &str| upgrades.scenario.object("one", addon);
    let of = |write: &Write, user: &str, resource: &str, name: &str| {
        (write.user.as_str(), write.resource.as_str(), write.name.as_str()) == (user, resource, name)
    };
    let (before, after) = (object("cni"), object("monitoring"));
    let moved = find("of cni", &|it| of(it, "stackflux", "helmreleases", &before));
    let opened = find("of the annotation", &is_of_gate);
    // The control plane's own controller writes to it at any time, and so does the garbage collector.
    let is_topology = |it: &Write| it.resource == "kubeadmcontrolplanes" && it.manager == "capi-topology";
    let begun = find("of the control plane", &is_topology);
    let followed = find("of monitoring", &|it| of(it, "stackflux", "helmreleases", &after));
    assert!(moved < opened && opened < begun && begun < followed, "{writes:#?}");
    let is_report =
        |it: &&Write| it.resource == "helmreleases" && it.subresource == "status" && it.code == 200;
    let last = writes.iter().take(opened).rfind(is_report).expect("Flux reported");
    eprintln!("the last report of Flux was at {}, and the gate opened at {}", last.time, writes[opened].time);
}
