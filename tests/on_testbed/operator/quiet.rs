//! An idle operator does nothing: it writes only its Lease, as long as nothing changes and also after a restart.

use std::thread;
use std::time::Duration;

use serde_json::json;
use stackflux_testbed::{Mark, Operator};

use super::scenario::{Scenario, TIMEOUT, V1, V2, eventually, leads, long};

/// Time during which nothing may be written. It has all that happens by itself within seconds: Flux fetches the catalog
/// every two seconds, and the operator reads the Leases of Flux every ten.
const IDLE: Duration = Duration::from_secs(25);
/// The same with time.
const LONG_IDLE: Duration = Duration::from_mins(1);
/// Time for which a new leader is watched: its first pass over everything takes a second.
const AFTER_START: Duration = Duration::from_secs(8);

#[test]
fn nothing_is_written_when_nothing_changes() {
    let scenario = Scenario::shared("quiet");
    let audit = scenario.testbed.audit();
    scenario.publish(&[V1, V2]);
    // It renews its Lease as often as it does as shipped, and may be late: other scenarios use the same processors.
    let patient = ["--leader-election-lease-duration=30s", "--leader-election-renew-deadline=25s"];
    let operator = scenario.candidate(scenario.testbed.operator_kubeconfig(), &patient);
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    scenario.create_cluster("a", V1, "one");
    scenario.create_cluster("b", V2, "two");
    scenario.wait_settled(&[("a", V1), ("b", V2)]);
    // The last status may be written a moment after its content can be read.
    eventually("all is said", || {
        let mark = audit.mark().unwrap();
        thread::sleep(Duration::from_secs(3));
        scenario.operator_writes_since(mark).is_empty()
    });

    let idle = audit.mark().unwrap();
    thread::sleep(long(LONG_IDLE, IDLE));
    assert_only_the_lease(&scenario, idle, "idle");

    let killed = audit.mark().unwrap();
    operator.process().unwrap().kill().unwrap();
    start_again(&operator);
    assert_only_the_lease(&scenario, killed, "killed and started again");

    let terminated = audit.mark().unwrap();
    operator.process().unwrap().terminate().unwrap();
    start_again(&operator);
    assert_only_the_lease(&scenario, terminated, "ended and started again");
}

fn start_again(operator: &Operator) {
    operator.start_again().unwrap();
    operator.wait_ready(TIMEOUT).unwrap();
    eventually("it leads", || leads(operator));
    thread::sleep(AFTER_START);
}

/// Fails if the operator has written anything but its Lease. No other operator of this user elects a leader on the shared
/// testbed.
fn assert_only_the_lease(scenario: &Scenario, since: Mark, when: &str) {
    assert_eq!(scenario.operator_writes_since(since), [], "{when}");
    let writes = scenario.testbed.audit().writes_since(since).unwrap();
    let renewed = writes.iter().any(|write| write.user == "stackflux" && write.resource == "leases");
    assert!(renewed, "{when}: not even the Lease was renewed: was it running?");
}
