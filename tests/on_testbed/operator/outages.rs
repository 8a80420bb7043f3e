//! Parts of the management cluster that are down: nothing is reported as failed, and all work continues where it stopped.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stackflux_testbed::Operator;

use super::alerts::series::{Course, Scrape};
use super::diary::Diary;
use super::letgo;
use super::old_flux;
use super::record::record;
use super::scenario::{Alone, Scenario, V1, V2, condition, eventually, leads, long};
use super::state;

/// Time for which an outage goes on after its effect could be seen, or without one.
const BRIEFLY: Duration = Duration::from_secs(5);
/// The same with time: the retries of half a minute.
const AWAY: Duration = Duration::from_secs(30);

#[test]
fn outage_of_management_component_fails_nothing() {
    let alone = Alone::start(&["one"]);
    let scenario = Scenario::on(&alone.testbed, "outages");
    scenario.publish(&[V1, V2]);
    // With leader election and its times as shipped.
    let operator = scenario.candidate(alone.testbed.operator_kubeconfig(), &[]);
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    scenario.create_cluster("a", V1, "one");
    scenario.wait_settled(&[("a", V1)]);
    let uids = state::uids(&scenario);

    let diary = Diary::of(&scenario);
    let helm = alone.testbed.component("helm-controller");
    eventually("helm-controller is up", || helm_controller_up(&operator) == Some(true));
    let before = Scrape::of(&[("a", &operator)]);
    helm.process().unwrap().kill().unwrap();
    scenario.set_endpoint("a", "no-helm.example.org");
    wait_until_helm_controller_is_named(&scenario, &operator);
    let bad = Scrape::of(&[("a", &operator)]);
    helm.start_again().unwrap();
    scenario.wait_endpoint_ready("a", "no-helm.example.org");
    eventually("helm-controller is up again", || helm_controller_up(&operator) == Some(true));
    let good = Scrape::of(&[("a", &operator)]);
    Course { before: &before, bad: &bad, good: &good }
        .assert_fires("flux", &["StackfluxClusterStuck", "StackfluxFluxControllerDown"]);
    diary.assert_nothing_failed("without helm-controller");

    // The operator is restarted, too: what it knew of the releases is lost, and it cannot read them.
    let source = alone.testbed.component("source-controller");
    source.process().unwrap().kill().unwrap();
    operator.process().unwrap().kill().unwrap();
    operator.start_again().unwrap();
    scenario.set_endpoint("a", "no-source.example.org");
    scenario.upgrade("a", V2);
    // The reports of the killed operator count as unknown.
    let is_unknown = |addon: &Value| {
        ["ReleaseReady", "Ready"].map(|kind| condition(addon, kind).0) == ["Unknown"; 2]
            && addon["status"]["release"]["desired"] == V2
    };
    scenario.wait("clusteraddon", "cluster-addon-a", "its release is not known", is_unknown);
    thread::sleep(long(AWAY, BRIEFLY));
    source.start_again().unwrap();
    scenario.wait_endpoint_ready("a", "no-source.example.org");
    scenario.wait_settled(&[("a", V2)]);
    diary.assert_nothing_failed("without source-controller");

    let api_server = alone.testbed.component("management-kube-apiserver");
    eventually("it leads", || leads(&operator));
    api_server.process().unwrap().kill().unwrap();
    eventually("a leader that cannot renew its Lease for longer than the renew deadline ends", || {
        !operator.process().unwrap().is_running()
    });
    as_a_kubelet_does(&operator, long(AWAY, BRIEFLY), || true);
    let log = std::fs::read_to_string(operator.log()).unwrap();
    assert!(
        log.contains("was not renewed"),
        "the log does not say why it ended: {}",
        operator.log().display()
    );
    api_server.start_again().unwrap();
    scenario.set_endpoint("a", "no-api-server.example.org");
    scenario.wait_endpoint_ready("a", "no-api-server.example.org");
    scenario.wait_settled(&[("a", V2)]);
    diary.assert_nothing_failed("without the API server");

    // etcd is back before a Lease passes. The time that the API server needs to find it decides whether the operator exits.
    eventually("it leads", || leads(&operator));
    let etcd = alone.testbed.component("management-etcd");
    etcd.process().unwrap().kill().unwrap();
    as_a_kubelet_does(&operator, BRIEFLY, || true);
    etcd.start_again().unwrap();
    as_a_kubelet_does(&operator, BRIEFLY, || {
        scenario.management().kubectl(&["get", "--raw=/readyz"]).is_ok() && leads(&operator)
    });
    scenario.set_endpoint("a", "etcd-restarted.example.org");
    scenario.wait_endpoint_ready("a", "etcd-restarted.example.org");
    diary.assert_nothing_failed("without etcd");
    assert_eq!(uids, state::uids(&scenario), "nothing was deleted or made anew");

    eventually("it leads", || leads(&operator));
    old_flux::renamed_chart_is_held(&scenario, &operator);
    letgo::dead_cluster_is_let_go(&scenario, &alone.testbed);
}

/// The condition, `why` and a metric name the component that has to act, the time since when, and the place to look.
fn wait_until_helm_controller_is_named(scenario: &Scenario, operator: &Operator) {
    let sentence = "helm-controller has not renewed its Lease helm-controller-leader-election since";
    eventually("helm-controller is named", || {
        let addon = scenario.get("clusteraddon", "cluster-addon-a").unwrap();
        let ready =
            addon["status"]["conditions"].as_array().unwrap().iter().find(|it| it["type"] == "AddonsReady");
        let ready = ready.unwrap();
        ready["status"] == "Unknown"
            && ready["reason"] == "ApplierUnavailable"
            && ready["message"].as_str().unwrap().contains(sentence)
    });
    assert_eq!(helm_controller_up(operator), Some(false));
    record("helm-controller", scenario);
    let kubeconfig = scenario.management().kubeconfig().to_str().unwrap();
    let arguments = ["why", "a", "--namespace", &scenario.namespace, "--kubeconfig", kubeconfig];
    let why = Command::new(env!("CARGO_BIN_EXE_stackflux")).args(arguments).output().unwrap();
    let text = String::from_utf8(why.stdout).unwrap();
    assert_eq!(why.status.code(), Some(1), "{text}");
    assert!(text.contains(sentence) && text.contains("the Deployment of the controller"), "{text}");
}

/// Whether the metric says that helm-controller is up; `None` without a sample.
fn helm_controller_up(operator: &Operator) -> Option<bool> {
    let metrics = operator.metrics().ok()?;
    metrics.get("stackflux_flux_controller_up{controller=\"helm-controller\"}").map(|up| *up > 0.5)
}

/// Restarts the operator whenever it has ended, for a time and until `is_over` holds.
fn as_a_kubelet_does(operator: &Operator, time: Duration, is_over: impl Fn() -> bool) {
    let begun = Instant::now();
    eventually("the outage is over", || {
        if !operator.process().unwrap().is_running() {
            operator.start_again().unwrap();
        }
        begun.elapsed() > time && is_over()
    });
}
