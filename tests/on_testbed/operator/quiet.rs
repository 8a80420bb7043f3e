//! An operator that has nothing to do does nothing: no write but of its Lease, for as long as nothing changes and also
//! after a new start.

use std::thread;
use std::time::Duration;

use serde_json::json;
use stackflux_testbed::{Audit, Mark, Operator, Testbed};

use super::scenario::{PATIENCE, Scenario, V1, V2, eventually, leads};

/// How long nothing may be written.
const IDLE: Duration = Duration::from_mins(1);
/// How long a process that has just begun to lead is watched: its first look at everything takes a second.
const AFTER_START: Duration = Duration::from_secs(15);

/// A part of the test in `process.rs`: whatever is written there is written by this operator.
pub(super) fn nothing_is_written_when_nothing_changes(testbed: &Testbed) {
    let (scenario, audit) = (Scenario::beside_others(testbed, "quiet"), testbed.audit());
    scenario.publish(&[V1, V2]);
    // With the election and its times as they are shipped.
    let operator = scenario.candidate(testbed.operator_kubeconfig(), &[]);
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    scenario.create_cluster("a", V1, "one");
    scenario.create_cluster("b", V2, "two");
    scenario.wait_settled(&[("a", V1), ("b", V2)]);
    // The last status may be written a moment after what it says can be read.
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
    operator.wait_ready(PATIENCE).unwrap();
    eventually("it leads", || leads(operator));
    thread::sleep(AFTER_START);
}

fn assert_only_the_lease(audit: &Audit, since: Mark, when: &str) {
    assert_eq!(audit.operator_writes_since(since).unwrap(), [], "{when}");
    let writes = audit.writes_since(since).unwrap();
    let renewed = writes.iter().any(|write| write.user == "stackflux" && write.resource == "leases");
    assert!(renewed, "{when}: not even the Lease was renewed: was it running?");
}
