//! An operator that is killed repeatedly reaches the same end state, and changes nothing needlessly on the way. Crashes
//! between any two requests are simulated (`tests/simulation`).

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use serde_json::json;
use stackflux_testbed::{Operator, Write};

use super::random::Random;
use super::scenario::{Scenario, TIMEOUT, V1, V2};
use super::state;

/// Number of kills.
const KILLS: usize = 8;
/// The seed of the random pauses.
const SEED: u64 = 0x5eed;
/// The last endpoint of the first cluster.
const LAST_ENDPOINT: &str = "moved-4.example.org";

#[test]
fn operator_killed_repeatedly_reaches_the_same_state() {
    let killed = Scenario::shared("killed");
    let commit = killed.publish(&[V1, V2]);
    let begun = killed.testbed.audit().mark().unwrap();
    let operator = kill_at_random(&killed);
    settled(&killed);
    let end = state::settled(&killed, &commit);
    assert_history(&killed);
    let writes = killed.operator_writes_since(begun);
    assert!(writes.iter().all(|write| !write.verb.starts_with("delete")), "{writes:#?}");

    // Once more, without changes.
    operator.process().unwrap().kill().unwrap();
    let restarted = killed.testbed.audit().mark().unwrap();
    operator.start_again().unwrap();
    operator.wait_ready(TIMEOUT).unwrap();
    // Flux reads the stack repository meanwhile.
    thread::sleep(Duration::from_secs(7));
    assert_eq!(killed.operator_writes_since(restarted), [], "nothing was to do");
    operator.process().unwrap().kill().unwrap();
    killed.suspend_all();

    let lives = Scenario::shared_with_addons_of("lives", &killed);
    let its_commit = lives.publish(&[V1, V2]);
    let _operator = lives.operator();
    lives.apply_stack(&["v1", "v2"], &json!({}));
    let mut moved = lives.new_cluster("a", V2);
    LAST_ENDPOINT.clone_into(&mut moved.endpoint);
    lives.testbed.add_kubeconfig_secret(&lives.namespace, "a", "one").unwrap();
    lives.clusters.create(&[moved]).unwrap();
    lives.create_cluster("b", V1, "two");
    settled(&lives);
    state::wait_for(&end, &lives, &its_commit);
}

/// Kills the operator while a stack and two clusters are created, while the endpoint of one changes and while it is
/// moved from one release to the other and back. The last operator lives.
fn kill_at_random(scenario: &Scenario) -> Operator {
    let mut random = Random(SEED);
    let operator = scenario.operator();
    for kill in 0..KILLS {
        let begun = scenario.testbed.audit().mark().unwrap();
        thread::sleep(random.pause(300));
        change(scenario, kill);
        thread::sleep(random.pause(1500));
        operator.process().unwrap().kill().unwrap();
        assert_no_repeats(&scenario.operator_writes_since(begun), kill);
        operator.start_again().unwrap();
    }
    operator
}

/// The user's change before a kill.
fn change(scenario: &Scenario, kill: usize) {
    match kill {
        0 => scenario.apply_stack(&["v1", "v2"], &json!({})),
        1 => scenario.create_cluster("a", V1, "one"),
        2 => scenario.create_cluster("b", V1, "two"),
        3 | 4 => {
            scenario.set_endpoint("a", &format!("moved-{kill}.example.org"));
        }
        _ => {
            scenario.upgrade("a", if kill % 2 == 1 { V2 } else { V1 });
        }
    }
}

/// During the life of one process no object is written more than twice: once because the result of the last process's
/// write is unknown (its answer was lost with that process; applying it again changes nothing), and once for the change.
/// An object that two releases share gets an owner from each, which may cost one more.
///
/// A write that ends with a conflict or a timeout does not count: a conflict changes nothing (source-controller writes
/// the same objects), and a timeout (504) is what it records of a request whose process was killed, or that it was too
/// busy for. An error ends the reconcile of a release before the status records the sources and charts that were applied
/// before, so that each may cost one more write of these.
fn assert_no_repeats(writes: &[Write], life: usize) {
    let mut of_objects: BTreeMap<String, Vec<&Write>> = BTreeMap::new();
    let is_object = |write: &&Write| write.subresource.is_empty() && write.resource != "events";
    let (failed, done): (Vec<_>, Vec<_>) =
        writes.iter().filter(is_object).partition(|write| matches!(write.code, 409 | 504));
    for write in done {
        let object = format!("{} {} {}", write.verb, write.resource, write.name);
        of_objects.entry(object).or_default().push(write);
    }
    let is_shared = |name: &str| name.contains(" gitrepositories ") || name.contains(" helmcharts ");
    let most = |name: &str| if is_shared(name) { 3 + failed.len() } else { 2 };
    of_objects.retain(|name, writes| writes.len() > most(name));
    assert!(
        of_objects.is_empty(),
        "process {life} (seed {SEED:#x}) wrote these too often: {of_objects:#?}, failed: {failed:#?}"
    );
}

/// Waits until the first cluster is at the second release, and all is ready.
fn settled(scenario: &Scenario) {
    scenario.wait_settled(&[("a", V2), ("b", V1)]);
}

/// No spec was changed except by the user's changes, and no chart was installed twice.
fn assert_history(scenario: &Scenario) {
    let [ccm, monitoring] =
        ["ccm", "monitoring"].map(|addon| format!("HelmRelease {}", scenario.object("a", addon)));
    for (name, generation) in state::generations(scenario) {
        // Two endpoints, and three moves between the releases, of which a process may have missed some.
        let most = match &name {
            name if *name == ccm => 3,
            name if *name == monitoring => 4,
            _ => 1,
        };
        assert!((1..=most).contains(&generation), "{name} is at generation {generation}");
    }
    for workload in ["one", "two"] {
        let workload = scenario.testbed.workload(workload).unwrap();
        for (release, most) in [("cni", 1), ("ccm", 3), ("monitoring", 4)] {
            let release = &scenario.addon(release);
            let revisions = workload.helm_revisions("kube-system", release).unwrap();
            let last = revisions.last().unwrap();
            assert!(last.revision <= most && last.status == "deployed", "{release}: {revisions:?}");
            workload.assert_no_helm_uninstall("kube-system", release).unwrap();
        }
    }
}
