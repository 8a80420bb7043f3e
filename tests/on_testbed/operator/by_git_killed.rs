//! An operator that is killed while it commits and pushes: nothing is lost, and nothing is committed twice.

use std::collections::BTreeSet;
use std::thread;

use serde_json::json;

use super::fleet::{Fleet, PATH};
use super::random::Random;
use super::scenario::{STACK, Scenario, V1, V2, condition};
use crate::git::git;

/// Number of kills.
const KILLS: usize = 10;
/// The seed of the random pauses.
const SEED: u64 = 0xc0117;

#[test]
fn operator_killed_during_commits_loses_nothing() {
    let scenario = Scenario::shared("gitkilled");
    let fleet = Fleet::followed(&scenario);
    scenario.publish(&[V1, V2]);
    let operator = scenario.operator();
    scenario.apply_stack(&["v1", "v2"], &fleet.delivery());
    scenario.wait_ready("clusterstackrelease", V1);
    scenario.create_cluster("a", V1, "one");
    scenario.wait_addons("a");
    let mut random = Random(SEED);
    for kill in 0..KILLS {
        scenario.set_endpoint("a", &format!("moved-{kill}.example.org"));
        // A pass begins 300 ms after a change is wanted, and takes about as long.
        thread::sleep(random.pause(900));
        operator.process().unwrap().kill().unwrap();
        operator.start_again().unwrap();
    }
    scenario.wait_endpoint_ready("a", &format!("moved-{}.example.org", KILLS - 1));
    let is_applied = |stack: &serde_json::Value| condition(stack, "Delivered").0 == "True";
    let stack = scenario.wait("clusterstack", STACK, "applied", is_applied);
    let clone = fleet.clone("killed");
    assert_eq!(stack["status"]["delivery"]["commit"], json!(git(&clone, &["rev-parse", "HEAD"])));
    git(&clone, &["fsck", "--strict"]);
    let trees = git(&clone, &["log", "--format=%T %P"]);
    let trees: Vec<&str> = trees.lines().collect();
    let contents: BTreeSet<&str> = trees.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(contents.len(), trees.len(), "no commit repeats another (seed {SEED:#x}): {trees:?}");
    assert!(trees.iter().all(|line| line.split(' ').count() <= 2), "no merges: {trees:?}");
    let addons = clone.join(PATH).join(format!("clusters/{}/a", scenario.namespace));
    let files = std::fs::read_dir(&addons).unwrap().count();
    assert_eq!(files, 6, "four addons, a list and an index");
    scenario.assert_nothing_uninstalled("one");
}
