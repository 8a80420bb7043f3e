//! Two operators at once: one writes. It is killed and stopped during its work, and the other continues.

use std::thread;
use std::time::Duration;

use serde_json::json;
use stackflux_testbed::{Audit, Operator, Testbed, Write};

use super::scenario::{SHORT_LEASE, Scenario, TIMEOUT, V1, V2, eventually, leads, long, written_by};
use super::state;

/// An operator with a user of its own in the audit log.
struct Candidate {
    user: String,
    operator: Operator,
}

impl Candidate {
    fn start(scenario: &Scenario, name: &str) -> Self {
        let (user, kubeconfig) = scenario.administrator(name);
        let operator = scenario.candidate(&kubeconfig, &SHORT_LEASE);
        operator.wait_ready(TIMEOUT).unwrap();
        Self { user, operator }
    }

    fn is_running(&self) -> bool {
        self.operator.process().unwrap().is_running()
    }

    fn has_written(&self, writes: &[Write]) -> Vec<Write> {
        written_by(&self.user, writes.to_vec())
    }

    fn start_again(&self) {
        self.operator.start_again().unwrap();
        self.operator.wait_ready(TIMEOUT).unwrap();
    }
}

/// The one that leads, and the other.
fn by_role<'c>(one: &'c Candidate, other: &'c Candidate) -> (&'c Candidate, &'c Candidate) {
    eventually("one of two leads", || leads(&one.operator) != leads(&other.operator));
    if leads(&one.operator) { (one, other) } else { (other, one) }
}

#[test]
fn only_the_leader_of_two_operators_writes() {
    let (scenario, audit) = (Scenario::shared("leaders"), Testbed::shared().audit());
    let commit = scenario.publish(&[V1, V2]);
    let (first, second) = (Candidate::start(&scenario, "first"), Candidate::start(&scenario, "second"));
    let begun = audit.mark().unwrap();
    let (leader, other) = by_role(&first, &second);
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    scenario.create_cluster("a", V1, "one");
    scenario.create_cluster("b", V1, "two");
    scenario.wait_settled(&[("a", V1), ("b", V1)]);
    let writes = audit.writes_since(begun).unwrap();
    assert_ne!(leader.has_written(&writes), []);
    assert_eq!(other.has_written(&writes), [], "it only waits");
    let end = state::settled(&scenario, &commit);
    let uids = state::uids(&scenario);

    let mut late = 0;
    let delays: &[u64] = long(&[0, 30, 80, 150, 300], &[0, 80]);
    for (round, delay) in delays.iter().copied().enumerate() {
        let (leader, other) = by_role(&first, &second);
        late += leader_is_paused(&scenario, &audit, (leader, other), (round, Duration::from_millis(delay)));
    }
    let (leader, other) = by_role(&first, &second);
    scenario.set_endpoint("a", &endpoint(1));
    leader.operator.process().unwrap().kill().unwrap();
    eventually("the other leads", || leads(&other.operator));
    scenario.wait_endpoint("a", &endpoint(1));
    leader.start_again();
    scenario.set_endpoint("a", "a.example.org");
    scenario.wait_endpoint("a", "a.example.org");
    scenario.wait_settled(&[("a", V1), ("b", V1)]);
    state::wait_for(&end, &scenario, &commit);
    assert_eq!(uids, state::uids(&scenario), "nothing was deleted or made anew");
    let generations = state::generations(&scenario);
    // Two endpoints each time that the leader was stopped; one when it was killed; and the first again. A late request sets
    // an earlier one, which the next leader takes back.
    let ccm = format!("HelmRelease {}", scenario.object("a", "ccm"));
    let most_of_ccm = i64::try_from(1 + 2 * delays.len() + 1 + 1).unwrap();
    let most = |name: &String| if *name == ccm { most_of_ccm + 2 * late } else { 1 };
    assert!(generations.iter().all(|(name, generation)| *generation <= most(name)), "{generations:#?}");
}

/// The leader is stopped at work (`SIGSTOP`) and its Lease passes; the other does the work. When the first one is
/// resumed, there is a change that it could deliver: it decides nothing more, and exits. Returns the number of its requests
/// that were under way, and that the API server carried out.
fn leader_is_paused(
    scenario: &Scenario,
    audit: &Audit,
    (leader, other): (&Candidate, &Candidate),
    (round, delay): (usize, Duration),
) -> i64 {
    scenario.set_endpoint("a", &endpoint(10 * (round + 1)));
    thread::sleep(delay);
    let stopped = leader.operator.process().unwrap();
    stopped.pause().unwrap();
    let paused = audit.mark().unwrap();
    eventually("the other leads", || leads(&other.operator));
    let latest = endpoint(10 * (round + 1) + 1);
    scenario.set_endpoint("a", &latest);
    scenario.wait_endpoint("a", &latest);
    let resumed = audit.mark().unwrap();
    stopped.resume().unwrap();
    eventually("the one that lost its Lease ends", || !leader.is_running());
    let accepted = assert_harmless(
        &leader.user,
        &audit.writes_since(paused).unwrap(),
        &audit.writes_since(resumed).unwrap(),
    );
    scenario.wait_endpoint("a", &latest);
    let log = std::fs::read_to_string(leader.operator.log()).unwrap();
    let says_why = |line: &&str| line.contains("ERROR") && line.contains("leadership lost");
    assert!(
        log.lines().rev().take(20).any(|line| says_why(&line)),
        "{} does not say why",
        leader.operator.log().display()
    );
    leader.start_again();
    accepted
}

/// Fails unless the late requests of a process that lost its Lease are those that docs/decisions/0034 allows: at most one is
/// under way for each object, none changes the Lease, and none replaces a status that was written after its decision. The API
/// server can get such a request after the process was stopped: its connection may have been in the midst of sending it.
/// Returns the number of those that the API server carried out.
fn assert_harmless(user: &str, since_pause: &[Write], since_resume: &[Write]) -> i64 {
    let late: Vec<&Write> = since_resume.iter().filter(|write| write.user == user).collect();
    let object = |write: &Write| (write.resource.clone(), write.namespace.clone(), write.name.clone());
    let request = |write: &Write| (object(write), write.subresource.clone());
    for (at, write) in
        late.iter().enumerate().filter(|(_, write)| write.resource != "leases" && write.verb != "create")
    {
        let again = late.iter().take(at).any(|earlier| request(earlier) == request(write));
        assert!(!again, "it decided again: {late:#?}");
    }
    let accepted: Vec<&Write> = late.into_iter().filter(|write| write.code < 300).collect();
    for write in &accepted {
        assert_ne!(write.resource, "leases", "another process holds the Lease: {write:#?}");
        let is_newer =
            |other: &&Write| object(other) == object(write) && other.user != user && other.code < 300;
        let newer = since_pause.iter().find(is_newer).filter(|_| write.subresource == "status");
        assert_eq!(newer, None, "{write:#?} replaces what was written after its decision");
    }
    i64::try_from(accepted.len()).unwrap()
}

fn endpoint(number: usize) -> String {
    format!("moved-{number}.example.org")
}
