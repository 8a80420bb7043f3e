//! Charts that fail in one of two clusters: each failure is reported with its own cause, in Helm's words, and affects
//! nothing else.

use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::{Value, json};

use super::scenario::{STACK, Scenario, V1, V2, addon_status, condition, eventually};

const V3: &str = "docker-demo-1-34-v3";
/// Maximum time from Flux's status to the operator's; generous, because kubectl reads both on a busy machine.
const MAX_DELAY: Duration = Duration::from_secs(10);
/// The API server's message about a container without an image.
const NO_IMAGE: &str = "image: Required value";

/// Writes the values of a chart of a release: other ones in the cluster `bad`.
fn values(scenario: &Scenario, release: &str, chart: &str, bad: &str, good: &str) {
    let file = scenario.path(&format!("releases/{release}/cluster-addon/{chart}/overwrite.yaml"));
    let template = format!(
        "values: |\n  {{{{ if eq .Cluster.metadata.name \"bad\" }}}}{bad}{{{{ else }}}}{good}{{{{ end }}}}\n"
    );
    fs::write(file, template).unwrap();
}

/// Three releases. In the first, one chart cannot be installed and one hangs; in the second, one cannot be upgraded.
fn releases(scenario: &Scenario) {
    scenario.publish(&[V1, V2]);
    scenario.derive(V2, V3);
    let [cni, ccm, monitoring] = ["cni", "ccm", "monitoring"].map(|addon| scenario.addon(addon));
    values(scenario, V1, &monitoring, "image: \"\"", "image: busybox:1.36.1");
    let file = format!("releases/{V1}/cluster-addon/{ccm}/templates/deployment.yaml");
    let place = "hostNetwork: true\n      nodeSelector: {{ .Values.place | toJson }}";
    scenario.edit(&file, "hostNetwork: true", place);
    values(scenario, V1, &ccm, "place: {at: nowhere}", "place: {}");
    values(scenario, V2, &cni, "image: \"\"", "image: busybox:1.37.0");
    scenario.push("three releases");
}

/// Waits until Flux reports a failure, and then for the `ClusterAddon`, which has to follow: in this phase, and with
/// Flux's current message. Helm's message about a wait that timed out depends on the point at which it did.
fn wait_for_phase(scenario: &Scenario, addon: &str, (kind, status): (&str, &str), phase: &str) -> String {
    let (addon, object) = (scenario.addon(addon), scenario.object("bad", addon));
    let knows = |release: &Value| condition(release, kind).0 == status;
    scenario.wait("helmrelease", &object, &format!("{kind}={status}"), knows);
    let begun = Instant::now();
    loop {
        let release = scenario.get("helmrelease", &object).unwrap();
        let cluster = scenario.get("clusteraddon", "cluster-addon-bad").unwrap();
        let found = addon_status(&cluster, &addon).unwrap();
        let (reported, message) = (one_line(condition(&release, kind).2), found["message"].as_str());
        let has_cause = |message: &&str| !reported.is_empty() && message.contains(&reported);
        // On a slow machine several attempts have failed already.
        let is_phase =
            found["phase"] == phase || (phase == "Retrying" && found["phase"] == "RepeatedlyFailing");
        if let Some(message) = message.filter(has_cause).filter(|_| is_phase) {
            return message.to_owned();
        }
        assert!(begun.elapsed() < MAX_DELAY, "Flux: {kind}={status} {reported}\nwe, not {phase}: {found:#}");
    }
}

/// A message in the form of our conditions.
fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn failing_addons_report_helm_messages() {
    let scenario = Scenario::shared("failures");
    releases(&scenario);
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1", "v2", "v3"], &json!({}));
    scenario.create_cluster("bad", V1, "one");
    scenario.create_cluster("good", V1, "two");

    let hangs = |addon: &Value| addon["phase"] == "Progressing";
    scenario.wait_addon("bad", &scenario.addon("ccm"), "Progressing", hangs);
    wait_for_phase(&scenario, "ccm", ("Reconciling", "True"), "Progressing");
    let broken = wait_for_phase(&scenario, "monitoring", ("Released", "False"), "Retrying");
    assert!(broken.contains(NO_IMAGE), "{broken}");
    let good = scenario.wait_addons("good");
    let hung = wait_for_phase(&scenario, "ccm", ("Released", "False"), "Retrying");
    assert!(!hung.contains(NO_IMAGE), "{hung}");
    let [ccm, monitoring] = ["ccm", "monitoring"].map(|addon| format!("{}: ", scenario.addon(addon)));
    let both = |addon: &Value| {
        let (status, reason, message) = condition(addon, "Ready");
        let is_retried = ["Retrying", "RepeatedlyFailing", "Several"].contains(&reason);
        status == "False" && is_retried && message.contains(&ccm) && message.contains(&monitoring)
    };
    let addon = scenario.wait("clusteraddon", "cluster-addon-bad", "Ready=False with both", both);
    let stack = scenario.wait("clusterstack", STACK, "one of two is not ready", |stack| {
        condition(stack, "ClustersReady").2.starts_with("1 of 2 Clusters is not ready: 1 Retrying")
    });
    assert_eq!(condition(&stack, "ClustersReady").0, "False");
    assert_eq!(condition(&stack, "Ready").0, "True", "the stack itself is as it should be: {stack:#}");
    for healthy in ["cni", "policies"] {
        let healthy = addon_status(&addon, &scenario.addon(healthy)).unwrap();
        assert_eq!(healthy["phase"], "Applied", "{addon:#}");
    }
    // Flux gives up on an installation that failed twice, and the operator makes it retry.
    let is_reset = |release: &Value| release["status"]["lastHandledResetAt"].is_string();
    scenario.wait("helmrelease", &scenario.object("bad", "monitoring"), "tried again", is_reset);
    let now = scenario.get("clusteraddon", "cluster-addon-good").unwrap();
    assert_eq!(now["status"]["addons"], good["status"]["addons"]);

    an_upgrade_is_rolled_back(&scenario);
    a_retry_keeps_the_failure(&scenario);
}

/// The second release fixes both and breaks another one that moves before the rest, and that Flux rolls back: what moves later
/// keeps what it has, until the third release fixes that.
fn an_upgrade_is_rolled_back(scenario: &Scenario) {
    for cluster in ["bad", "good"] {
        scenario.upgrade(cluster, V2);
    }
    let back = wait_for_phase(scenario, "cni", ("Remediated", "True"), "RolledBack");
    assert!(back.contains(NO_IMAGE), "{back}");
    scenario.wait_addon("bad", &scenario.addon("ccm"), "Applied", |addon| addon["phase"] == "Applied");
    let addon = scenario.wait("clusteraddon", "cluster-addon-bad", "Ready with the cause", |addon| {
        condition(addon, "Ready").1 == "RolledBack"
    });
    let later = addon_status(&addon, &scenario.addon("monitoring")).unwrap();
    assert_eq!((&later["phase"], &later["reason"]), (&json!("Held"), &json!("WaitingForStage")), "{addon:#}");
    let workload = scenario.testbed.workload("one").unwrap();
    workload.assert_no_helm_uninstall("kube-system", &scenario.addon("cni")).unwrap();
    scenario.wait_at("good", V2);

    scenario.upgrade("bad", V3);
    let addon = scenario.wait_addons("bad");
    assert_eq!(addon["status"]["release"]["lastKnownGood"], V3, "{addon:#}");
}

/// Flux begins each attempt at manifests with `Ready=Unknown`, once a minute: the addon has failed with its cause since the first
/// one, and no attempt is an event.
fn a_retry_keeps_the_failure(scenario: &Scenario) {
    let kubeconfig = fs::read_to_string(scenario.testbed.workload("one").unwrap().kubeconfig()).unwrap();
    let server = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("server: ")).unwrap();
    let point_at = |server_now: &str| {
        let value = kubeconfig.replace(server, server_now);
        scenario.patch("secret", "bad-kubeconfig", &json!({"stringData": {"value": value}}));
    };
    let object = scenario.object("bad", "policies");
    let attempt = |request: &str| {
        let annotations = json!({"reconcile.fluxcd.io/requestedAt": request});
        scenario.patch("kustomization", &object, &json!({"metadata": {"annotations": annotations}}));
        let is_handled = |found: &Value| found["status"]["lastHandledReconcileAt"] == request;
        scenario.wait("kustomization", &object, request, is_handled);
    };
    point_at("https://127.0.0.1:9");
    attempt("first");
    let has_failed = |addon: &Value| {
        addon["phase"] == "Failed" && addon["message"].as_str().unwrap().contains("127.0.0.1:9")
    };
    scenario.wait_addon("bad", &scenario.addon("policies"), "Failed", has_failed);
    // The event of the failure comes after its status.
    eventually("the failure is an event", || {
        scenario.events("cluster-addon-bad").iter().any(|note| note.contains("127.0.0.1:9"))
    });
    let begun = scenario.testbed.audit().mark().unwrap();
    let before = scenario.get("clusteraddon", "cluster-addon-bad").unwrap();
    attempt("second");
    attempt("third");
    // The operator gathers changes for a tenth of a second.
    thread::sleep(Duration::from_secs(2));
    let after = scenario.get("clusteraddon", "cluster-addon-bad").unwrap();
    assert_eq!(after["status"]["conditions"], before["status"]["conditions"]);
    let mut writes = scenario.operator_writes_since(begun);
    writes.retain(|write| ["clusteraddons", "events"].contains(&write.resource.as_str()));
    assert_eq!(writes, [], "an attempt changes nothing");
    point_at(server);
}
