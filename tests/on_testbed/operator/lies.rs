//! Lists and watches that lie: nothing is deleted, whatever they say. Empty lists of each single kind are simulated
//! (`tests/simulation`).

use std::thread;
use std::time::Duration;

use serde_json::json;
use stackflux_testbed::{Audit, Lie, LyingProxy, Mark, Operator};

use super::scenario::{Alone, STACK, Scenario, TIMEOUT, V1, V2, eventually};
use super::state;

/// Duration of a lie. Long enough to list again after a failure, and to act on the list.
const A_WHILE: Duration = Duration::from_secs(4);
#[test]
fn falsified_lists_and_watches_delete_nothing() {
    let alone = Alone::start(&["one", "two"]);
    let (scenario, audit) = (Scenario::on(&alone.testbed, "lies"), alone.testbed.audit());
    let commit = scenario.publish(&[V1, V2]);
    let begun = audit.mark().unwrap();
    let proxy = LyingProxy::start(alone.testbed.operator_kubeconfig()).unwrap();
    let operator = scenario.operator_as(proxy.kubeconfig(), &[]);
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    scenario.create_cluster("a", V1, "one");
    scenario.create_cluster("b", V1, "two");
    scenario.wait_settled(&[("a", V1), ("b", V1)]);
    let (end, uids) = (state::of(&scenario, &commit), state::uids(&scenario));

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
        assert_none_deleted(&audit, begun, &format!("{lie:?}"));
    }
    for lie in [Lie::EmptyLists, Lie::StaleLists, Lie::Refused(500)] {
        proxy.set_lie(lie);
        restart(&operator);
        lied_to(&operator, &proxy, None, lie);
        truth_comes_back(&scenario, &operator, &proxy);
        assert_none_deleted(&audit, begun, &format!("{lie:?} since the start"));
    }
    // The lie says that one kind has no objects; all other kinds are answered truthfully.
    for kind in ["clusters", "clusteraddons"] {
        lied_to(&operator, &proxy, Some(kind), Lie::EmptyLists);
        restart(&operator);
        lied_to(&operator, &proxy, Some(kind), Lie::EmptyLists);
        truth_comes_back(&scenario, &operator, &proxy);
        assert_none_deleted(&audit, begun, &format!("no {kind}"));
    }
    scenario.wait_settled(&[("a", V1), ("b", V1)]);
    state::assert_same(&end, &state::of(&scenario, &commit));
    assert_eq!(uids, state::uids(&scenario), "nothing was deleted or made anew");
    stale_lists_change_nothing(&scenario, &alone, (&audit, begun));
    for workload in ["one", "two"] {
        scenario.assert_nothing_uninstalled(workload);
    }
}

/// A proxy that first sees the first release in use, and answers so after the cluster has moved to the second.
fn stale_lists_change_nothing(scenario: &Scenario, alone: &Alone, (audit, begun): (&Audit, Mark)) {
    let proxy = LyingProxy::start(alone.testbed.operator_kubeconfig()).unwrap();
    let operator = scenario.operator_as(proxy.kubeconfig(), &[]);
    scenario.upgrade("a", V2);
    scenario.create_cluster("c", V2, "one");
    scenario.wait_settled(&[("a", V2), ("b", V1), ("c", V2)]);
    proxy.set_lie(Lie::StaleLists);
    restart(&operator);
    lied_to(&operator, &proxy, None, Lie::StaleLists);
    truth_comes_back(scenario, &operator, &proxy);
    scenario.wait_settled(&[("a", V2), ("b", V1), ("c", V2)]);
    assert_none_deleted(audit, begun, "the past");
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
    thread::sleep(if kind.is_some() { A_WHILE / 2 } else { A_WHILE });
    assert!(operator.process().unwrap().is_running(), "{lie:?} of {kind:?} ended it");
}

fn truth_comes_back(scenario: &Scenario, operator: &Operator, proxy: &LyingProxy) {
    proxy.set_lie(Lie::None);
    operator.wait_ready(TIMEOUT).unwrap();
    scenario.wait_ready("clusterstack", STACK);
}

/// Asserts that nothing was deleted, neither by the operator nor by garbage collection, which deletes objects without an
/// owner.
fn assert_none_deleted(audit: &Audit, begun: Mark, when: &str) {
    let mut deleted = audit.writes_since(begun).unwrap();
    deleted.retain(|write| {
        write.verb.starts_with("delete") && !["leases", "pods", "events"].contains(&&*write.resource)
    });
    assert!(deleted.is_empty(), "{when}: {deleted:#?}");
}
