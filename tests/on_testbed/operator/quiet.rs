//! An idle operator does nothing: it writes only its Lease, as long as nothing changes and also after a restart.

use std::thread;
use std::time::Duration;

use serde_json::json;
use stackflux_testbed::{Audit, Mark, Operator, Testbed};

use super::scenario::{Scenario, TIMEOUT, V1, V2, eventually, leads};

/// Time during which nothing may be written.
const IDLE: Duration = Duration::from_mins(1);
/// Time for which a new leader is watched: its first pass over everything takes a second.
const AFTER_START: Duration = Duration::from_secs(15);

/// A part of the test in `process.rs`: this operator is the only writer there.
pub(super) fn nothing_is_written_when_nothing_changes(testbed: &Testbed) {
    let (scenario, audit) = (Scenario::beside_others(testbed, "quiet"), testbed.audit());
    scenario.publish(&[V1, V2]);
    // With leader election and its times as shipped.
    let operator = scenario.candidate(testbed.operator_kubeconfig(), &[]);
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    scenario.create_cluster("a", V1, "one");
    scenario.create_cluster("b", V2, "two");
    scenario.wait_settled(&[("a", V1), ("b", V2)]);
    // The last status may be written a moment after its content can be read.
    eventually("all is said", || {
        let mark = audit.mark().unwrap();
        thread::sleep(Duration::from_secs(5));
        audit.operator_writes_since(mark).unwrap().is_empty()
    });

    let idle = audit.mark().unwrap();
    thread::sleep(IDLE);
    assert_only_the_lease(&audit, idle, "idle");

    let killed = audit.mark().unwrap();
    operator.process().unwrap().kill().unwrap();
    start_again(&operator);
    assert_only_the_lease(&audit, killed, "killed and started again");

    let terminated = audit.mark().unwrap();
    operator.process().unwrap().terminate().unwrap();
    start_again(&operator);
    assert_only_the_lease(&audit, terminated, "ended and started again");
}

fn start_again(operator: &Operator) {
    operator.start_again().unwrap();
    operator.wait_ready(TIMEOUT).unwrap();
    eventually("it leads", || leads(operator));
    thread::sleep(AFTER_START);
}

fn assert_only_the_lease(audit: &Audit, since: Mark, when: &str) {
    assert_eq!(audit.operator_writes_since(since).unwrap(), [], "{when}");
    let writes = audit.writes_since(since).unwrap();
    let renewed = writes.iter().any(|write| write.user == "stackflux" && write.resource == "leases");
    assert!(renewed, "{when}: not even the Lease was renewed: was it running?");
}
