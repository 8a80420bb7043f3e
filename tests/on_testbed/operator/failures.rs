//! Charts that do not work in one of two clusters: each failure is told apart, in Helm's words, and nothing else suffers.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scenario::{Scenario, V1, V2, addon_status, condition};

const V3: &str = "docker-demo-1-34-v3";
/// What the API server says of a container without an image.
const NO_IMAGE: &str = "image: Required value";

/// Makes the values of a chart of a release: other ones in the cluster `bad`.
fn values(scenario: &Scenario, release: &str, chart: &str, bad: &str, good: &str) {
    let file = scenario.path(&format!("releases/{release}/cluster-addon/{chart}/overwrite.yaml"));
    let template = format!(
        "values: |\n  {{{{ if eq .Cluster.metadata.name \"bad\" }}}}{bad}{{{{ else }}}}{good}{{{{ end }}}}\n"
    );
    fs::write(file, template).unwrap();
}

/// Three releases. Of the first one chart cannot be installed and one hangs; of the second one cannot be upgraded.
fn releases(scenario: &Scenario) {
    scenario.publish(&[V1, V2]);
    for release in [V1, V2] {
        scenario.rename_charts(release, "fail");
    }
    scenario.derive(V2, V3);
    values(scenario, V1, "fail-monitoring", "image: \"\"", "image: busybox:1.36.1");
    let file = format!("releases/{V1}/cluster-addon/fail-ccm/templates/deployment.yaml");
    let place = "hostNetwork: true\n      nodeSelector: {{ .Values.place | toJson }}";
    scenario.edit(&file, "hostNetwork: true", place);
    values(scenario, V1, "fail-ccm", "place: {at: nowhere}", "place: {}");
    values(scenario, V2, "fail-cni", "image: \"\"", "image: busybox:1.37.0");
    scenario.push("three releases");
}

/// Waits until Flux knows of a failure, and then for the `ClusterAddon`, which has to follow.
fn told(scenario: &Scenario, addon: &str, flux: (&str, &str), phase: &str) -> Value {
    let (kind, status) = flux;
    let knows = |release: &Value| condition(release, kind).0 == status;
    scenario.wait("helmrelease", &format!("bad.{addon}"), &format!("{kind}={status}"), knows);
    let begun = Instant::now();
    let found = scenario.wait_addon("bad", addon, phase, |addon| addon["phase"] == phase);
    assert!(begun.elapsed() < Duration::from_secs(10), "much too long: {:?}", begun.elapsed());
    found
}

fn has(addon: &Value, words: &str) {
    let message = crate::text(addon, "/message");
    assert!(message.contains(words), "{words:?} is not in {message:?}");
}

#[test]
fn failures_are_told_apart_in_helms_words_and_nothing_else_suffers() {
    let scenario = Scenario::shared("failures");
    releases(&scenario);
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1", "v2", "v3"], &json!({}));
    scenario.create_cluster("bad", V1, "one");
    scenario.create_cluster("good", V1, "two");

    let hangs = |addon: &Value| addon["phase"] == "Progressing";
    has(&scenario.wait_addon("bad", "fail-ccm", "Progressing", hangs), "Running 'install' action");
    let broken = told(&scenario, "fail-monitoring", ("Released", "False"), "Retrying");
    has(&broken, NO_IMAGE);
    let good = scenario.wait_addons("good");
    let hung = told(&scenario, "fail-ccm", ("Released", "False"), "Retrying");
    has(&hung, "Deployment/kube-system/fail-ccm status: 'InProgress'");
    let both = |addon: &Value| {
        let (status, reason, message) = condition(addon, "Ready");
        (status, reason) == ("False", "Retrying")
            && message.contains("fail-monitoring: ")
            && message.contains("fail-ccm: ")
    };
    let addon = scenario.wait("clusteraddon", "cluster-addon-bad", "Ready=False with both", both);
    for healthy in ["fail-cni", "policies"] {
        assert_eq!(addon_status(&addon, healthy).unwrap()["phase"], "Applied", "{addon:#}");
    }
    // Flux gives an installation up that failed twice, and is made to try again.
    let is_reset = |release: &Value| release["status"]["lastHandledResetAt"].is_string();
    scenario.wait("helmrelease", "bad.fail-monitoring", "tried again", is_reset);
    // Its manifests are not looked at: other tests of the shared testbed apply the same ones.
    let now = scenario.get("clusteraddon", "cluster-addon-good").unwrap();
    for chart in ["fail-cni", "fail-ccm", "fail-monitoring"] {
        assert_eq!(addon_status(&now, chart), addon_status(&good, chart));
    }

    an_upgrade_is_rolled_back(&scenario);
}

/// The second release mends both and breaks another one, which Flux rolls back; the third mends that.
fn an_upgrade_is_rolled_back(scenario: &Scenario) {
    for cluster in ["bad", "good"] {
        scenario.clusters.upgrade(&scenario.namespace, cluster, V2, "v1.34.0").unwrap();
    }
    let back = told(scenario, "fail-cni", ("Remediated", "True"), "RolledBack");
    has(&back, NO_IMAGE);
    for mended in ["fail-monitoring", "fail-ccm"] {
        scenario.wait_addon("bad", mended, "Applied", |addon| addon["phase"] == "Applied");
    }
    let workload = scenario.testbed.workload("one").unwrap();
    workload.assert_no_helm_uninstall("kube-system", "fail-cni").unwrap();
    let is_at =
        |addon: &Value| addon["status"]["release"]["applied"] == V2 && condition(addon, "Ready").0 == "True";
    scenario.wait("clusteraddon", "cluster-addon-good", "at the second release", is_at);

    scenario.clusters.upgrade(&scenario.namespace, "bad", V3, "v1.34.0").unwrap();
    let addon = scenario.wait_addons("bad");
    assert_eq!(addon["status"]["release"]["lastKnownGood"], V3, "{addon:#}");
}
