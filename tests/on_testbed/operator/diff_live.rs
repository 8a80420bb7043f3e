//! `diff --live` prints what the operator would do, and nothing after the operator has done it.

use serde_json::json;

use super::scenario::{Scenario, V1, V2};
use crate::support::{Run, stackflux};

fn diff(scenario: &Scenario) -> Run {
    let kubeconfig = scenario.management().kubeconfig();
    let repository = scenario.path("");
    stackflux(&[
        "diff",
        "--live",
        repository.to_str().unwrap(),
        "--kubeconfig",
        kubeconfig.to_str().unwrap(),
        "--namespace",
        &scenario.namespace,
    ])
}

#[test]
fn diff_live_shows_what_the_operator_does_next() {
    let scenario = Scenario::shared("difflive");
    scenario.publish(&[V1, V2]);
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    let operator = scenario.operator();
    scenario.wait_ready("clusterstackrelease", V2);
    scenario.create_cluster("a", V1, "one");
    scenario.wait_addons("a");
    let nothing = diff(&scenario);
    assert_eq!(nothing.code, 0, "{}{}", nothing.stdout, nothing.stderr);
    operator.process().unwrap().kill().unwrap();

    scenario.upgrade("a", V2);
    scenario.patch(
        "helmrelease",
        &scenario.object("a", "ccm"),
        &json!({"spec": {"values": {"foreign": true}}}),
    );
    let some = diff(&scenario);
    assert_eq!(some.code, 1, "{}{}", some.stdout, some.stderr);
    for line in [
        // What moves first is not as planned, and the rest waits for it.
        &format!("addon {}: WaitingForStage", scenario.addon("monitoring")),
        &format!("{}: Helm upgrades it with other values", scenario.object("a", "ccm")),
        "-    foreign: true",
        &format!("Not written: {}", scenario.addon("cni")),
    ] {
        assert!(some.stdout.contains(line), "no {line:?} in\n{}", some.stdout);
    }

    operator.start_again().unwrap();
    scenario.wait_at("a", V2);
    let nothing = diff(&scenario);
    assert_eq!(nothing.code, 0, "{}{}", nothing.stdout, nothing.stderr);
}
