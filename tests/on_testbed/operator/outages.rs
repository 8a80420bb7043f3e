//! Parts of the management cluster that are away for half a minute: nothing is said to have failed, and all of it goes on
//! where it stopped.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stackflux_testbed::Operator;

use super::diary::Diary;
use super::scenario::{Alone, STACK, Scenario, V1, V2, condition, eventually, leads};
use super::state;

/// How long each is away.
const AWAY: Duration = Duration::from_secs(30);
/// How long a kubelet waits before it starts a container again that has ended for the first time.
const RESTART: Duration = Duration::from_secs(10);

#[test]
fn nothing_fails_while_a_part_of_the_management_cluster_is_away() {
    let alone = Alone::start(&["one"]);
    let scenario = Scenario::on(&alone.testbed, "outages");
    scenario.publish(&[V1, V2]);
    // With the election and its times as they are shipped.
    let operator = scenario.candidate(alone.testbed.operator_kubeconfig(), &[]);
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    scenario.create_cluster("a", V1, "one");
    all_ready(&scenario, V1);
    let uids = state::uids(&scenario);

    let diary = Diary::of(&scenario);
    let helm = alone.testbed.component("helm-controller");
    helm.process().unwrap().kill().unwrap();
    move_endpoint(&scenario, "no-helm.example.org");
    thread::sleep(AWAY);
    helm.start_again().unwrap();
    endpoint_is_ready(&scenario, "no-helm.example.org");
    diary.assert_nothing_failed("without helm-controller");

    // The operator is started anew, too: what it knew of the releases is gone, and it cannot read them.
    let source = alone.testbed.component("source-controller");
    source.process().unwrap().kill().unwrap();
    operator.process().unwrap().kill().unwrap();
    operator.start_again().unwrap();
    move_endpoint(&scenario, "no-source.example.org");
    scenario.clusters.upgrade(&scenario.namespace, "a", V2, "v1.34.0").unwrap();
    thread::sleep(AWAY);
    source.start_again().unwrap();
    endpoint_is_ready(&scenario, "no-source.example.org");
    all_ready(&scenario, V2);
    diary.assert_nothing_failed("without source-controller");

    let api_server = alone.testbed.component("management-kube-apiserver");
    eventually("it leads", || leads(&operator));
    api_server.process().unwrap().kill().unwrap();
    let restarts = as_a_kubelet_does(&operator, AWAY);
    assert!(restarts > 0, "a leader that cannot renew its Lease for longer than the renew deadline ends");
    let log = std::fs::read_to_string(operator.log()).unwrap();
    assert!(
        log.contains("was not renewed"),
        "the log does not say why it ended: {}",
        operator.log().display()
    );
    api_server.start_again().unwrap();
    move_endpoint(&scenario, "no-api-server.example.org");
    endpoint_is_ready(&scenario, "no-api-server.example.org");
    all_ready(&scenario, V2);
    diary.assert_nothing_failed("without the API server");
    assert_eq!(uids, state::uids(&scenario), "nothing was deleted or made anew");
}

/// Starts the operator again where it has ended, for a time. Returns how often.
fn as_a_kubelet_does(operator: &Operator, time: Duration) -> usize {
    let (begun, mut restarts) = (Instant::now(), 0);
    while begun.elapsed() < time {
        thread::sleep(Duration::from_millis(200));
        if !operator.process().unwrap().is_running() {
            thread::sleep(RESTART);
            operator.start_again().unwrap();
            restarts += 1;
        }
    }
    restarts
}

fn move_endpoint(scenario: &Scenario, host: &str) {
    let change = json!({"spec": {"controlPlaneEndpoint": {"host": host}}});
    scenario.clusters.patch(&scenario.namespace, "a", &change).unwrap();
}

/// The addon that reads the endpoint was upgraded to it.
fn endpoint_is_ready(scenario: &Scenario, host: &str) {
    let has = |release: &Value| release["spec"]["values"].to_string().contains(host);
    scenario.wait("helmrelease", "a.ccm", host, has);
    scenario.wait("helmrelease", "a.ccm", "ready with it", |release| {
        release["status"]["observedGeneration"] == release["metadata"]["generation"]
            && condition(release, "Ready").0 == "True"
    });
    scenario.wait_addons("a");
}

fn all_ready(scenario: &Scenario, class: &str) {
    let is_at = |addon: &Value| {
        addon["status"]["release"]["applied"] == class && condition(addon, "Ready").0 == "True"
    };
    scenario.wait("clusteraddon", "cluster-addon-a", class, is_at);
    for release in [V1, V2] {
        scenario.wait_ready("clusterstackrelease", release);
    }
    scenario.wait_ready("clusterstack", STACK);
}
