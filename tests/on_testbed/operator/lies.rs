//! Lists and watches that lie: nothing is deleted, whatever they say. Empty lists of each single kind are simulated
//! (`tests/simulation`).

use std::thread;
use std::time::Duration;

use serde_json::json;
use stackflux_testbed::{Lie, LyingProxy, Mark, Operator};

use super::scenario::{STACK, Scenario, TIMEOUT, V1, V2, eventually, long};
use super::state;

/// Duration of a lie. Long enough to list again after a failure, and to act on the list.
const A_WHILE: Duration = Duration::from_secs(2);
/// The same with time: several lists.
const LONG_WHILE: Duration = Duration::from_secs(20);

#[test]
fn falsified_lists_and_watches_delete_nothing() {
    let scenario = Scenario::shared("lies");
    let commit = scenario.publish(&[V1, V2]);
    let begun = scenario.testbed.audit().mark().unwrap();
    let proxy = LyingProxy::start(scenario.testbed.operator_kubeconfig()).unwrap();
    let operator = scenario.operator_as(proxy.kubeconfig(), &[]);
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    scenario.create_cluster("a", V1, "one");
    scenario.create_cluster("b", V1, "two");
    scenario.wait_settled(&[("a", V1), ("b", V1)]);
    let (end, uids) = (state::settled(&scenario, &commit), state::uids(&scenario));

    // `StaleLists` answers with the first list, from when there were no objects.
    for lie in [
        Lie::Refused(401),
        Lie::Refused(410),
        Lie::Refused(500),
        Lie::ClosedWatches,
        Lie::EmptyLists,
        Lie::StaleLists,
    ] {
        lied_to(&operator, &proxy, None, lie);
        truth_comes_back(&scenario, &operator, &proxy);
        assert_none_deleted(&scenario, begun, &format!("{lie:?}"));
    }
    for lie in [Lie::EmptyLists, Lie::StaleLists, Lie::Refused(500)] {
        proxy.set_lie(lie);
        restart(&operator);
        lied_to(&operator, &proxy, None, lie);
        truth_comes_back(&scenario, &operator, &proxy);
        assert_none_deleted(&scenario, begun, &format!("{lie:?} since the start"));
    }
    // The lie says that one kind has no objects; all other kinds are answered truthfully.
    for kind in ["clusters", "clusteraddons"] {
        lied_to(&operator, &proxy, Some(kind), Lie::EmptyLists);
        restart(&operator);
        lied_to(&operator, &proxy, Some(kind), Lie::EmptyLists);
        truth_comes_back(&scenario, &operator, &proxy);
        assert_none_deleted(&scenario, begun, &format!("no {kind}"));
    }
    scenario.wait_settled(&[("a", V1), ("b", V1)]);
    state::wait_for(&end, &scenario, &commit);
    assert_eq!(uids, state::uids(&scenario), "nothing was deleted or made anew");
    stale_lists_change_nothing(&scenario, begun);
    for workload in ["one", "two"] {
        scenario.assert_nothing_uninstalled(workload);
    }
}

/// A proxy that first sees the first release in use, and answers so after the cluster has moved to the second.
fn stale_lists_change_nothing(scenario: &Scenario, begun: Mark) {
    let proxy = LyingProxy::start(scenario.testbed.operator_kubeconfig()).unwrap();
    let operator = scenario.operator_as(proxy.kubeconfig(), &[]);
    scenario.upgrade("a", V2);
    scenario.create_cluster("c", V2, "one");
    scenario.wait_settled(&[("a", V2), ("b", V1), ("c", V2)]);
    proxy.set_lie(Lie::StaleLists);
    restart(&operator);
    lied_to(&operator, &proxy, None, Lie::StaleLists);
    truth_comes_back(scenario, &operator, &proxy);
    scenario.wait_settled(&[("a", V2), ("b", V1), ("c", V2)]);
    assert_none_deleted(scenario, begun, "the past");
}

fn restart(operator: &Operator) {
    operator.process().unwrap().kill().unwrap();
    operator.start_again().unwrap();
}

/// Lies for a while, and asserts that the operator received lies.
fn lied_to(operator: &Operator, proxy: &LyingProxy, kind: Option<&'static str>, lie: Lie) {
    let before = proxy.lies_served();
    match kind {
        Some(kind) => proxy.set_lie_for(kind, lie),
        None => proxy.set_lie(lie),
    }
    eventually("it lists again", || proxy.lies_served() > before + 1);
    thread::sleep(long(LONG_WHILE, if kind.is_some() { A_WHILE / 2 } else { A_WHILE }));
    assert!(operator.process().unwrap().is_running(), "{lie:?} of {kind:?} ended it");
}

fn truth_comes_back(scenario: &Scenario, operator: &Operator, proxy: &LyingProxy) {
    proxy.set_lie(Lie::None);
    operator.wait_ready(TIMEOUT).unwrap();
    scenario.wait_ready("clusterstack", STACK);
}

/// Asserts that nothing was deleted, neither by the operator nor by garbage collection, which deletes objects without an
/// owner.
fn assert_none_deleted(scenario: &Scenario, begun: Mark, when: &str) {
    let mut deleted = scenario.writes_since(begun);
    deleted.retain(|write| {
        write.verb.starts_with("delete") && !["leases", "pods", "events"].contains(&&*write.resource)
    });
    assert!(deleted.is_empty(), "{when}: {deleted:#?}");
}
