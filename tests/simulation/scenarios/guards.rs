//! Proof that the simulations can fail: without one of the operator's guards, or without a promise of its surroundings, some
//! seed breaks a rule that it keeps with it. Each rule is broken by at least one test.

use std::rc::Rc;

use serde_json::{Value, json};

use super::fixture::ADDON;
use super::git;
use crate::driver::Simulation;
use crate::properties::{Rule, outcome, runtime, settle, simulate};
use crate::random::Random;
use crate::repository::{V1, V2, WITHOUT_MONITORING};
use crate::seam::Guard;

/// Maximum number of seeds until one fails.
const SEEDS: u64 = 300;

/// Fails unless some seed breaks a rule without the guard, and only without it. Returns what it breaks. The search begins at the
/// seed `first`, which was found before: it only saves time.
fn assert_noticed(guard: Guard, rule: Rule, first: u64, scenario: fn(&mut Simulation)) -> String {
    let runtime = runtime();
    let checkpoint = simulate(Random::calm(), None, runtime, scenario).checkpoint.map(Rc::new);
    let breaks = |seed: u64| {
        let mut simulation = Simulation::new(Random::new(seed), Some(guard), runtime);
        simulation.begin_from(checkpoint.clone());
        let broken = outcome(&mut simulation, scenario).broken;
        Some((seed, broken.into_iter().find(|broken| broken.rule == rule)?.what))
    };
    let found = (first..first + SEEDS).find_map(breaks);
    let (seed, what) = found.unwrap_or_else(|| panic!("no seed breaks {rule:?} without {guard:?}"));
    let mut guarded = Simulation::new(Random::new(seed), None, runtime);
    guarded.begin_from(checkpoint);
    let guarded = outcome(&mut guarded, scenario);
    let log = guarded.log.join("\n");
    assert!(guarded.broken.is_empty(), "{log}\nseed {seed} also fails with the guard: {:?}", guarded.broken);
    what
}

/// A `HelmRelease` of a user.
fn helm_release(simulation: &Simulation, name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": name, "namespace": simulation.namespace, "labels": labels},
        "spec": {"interval": "1h", "chartRef": {"kind": "HelmChart", "name": "own"}},
    })
}

/// Replaces a `HelmRelease`, if it exists, by one of a user.
fn replace_by_users(simulation: &mut Simulation, name: &str) {
    if simulation.has("HelmRelease", name) {
        simulation.merge("HelmRelease", name, &json!({"metadata": {"finalizers": null}}));
    }
    if simulation.has("HelmRelease", name) {
        simulation.delete("HelmRelease", name);
    }
    simulation.apply_foreign(&helm_release(simulation, name, &json!({})));
}

#[test]
fn deletion_without_its_uid_hits_another_object() {
    assert_noticed(Guard::DeletionUid, Rule::DeletionOfAnother, 10, |simulation| {
        simulation.deliver();
        simulation.delete("Cluster", "one");
        simulation.at_any_time(|simulation| {
            replace_by_users(simulation, "one.cni");
        });
        settle(simulation);
    });
}

#[test]
fn suspension_without_its_uid_hits_another_object() {
    assert_noticed(Guard::SuspensionUid, Rule::ForeignWrite, 0, |simulation| {
        simulation.deliver();
        simulation.delete("Cluster", "one");
        for _ in 0..10 {
            simulation.at_any_time(|simulation| {
                // The operator knows of the deletion, and the next object is the turn of the same reconcile.
                let is_begun = simulation.field("HelmRelease", "one.ccm", "/spec/suspend") == true;
                let (name, managed_by) = ("one.cni", "/metadata/labels/app.kubernetes.io~1managed-by");
                if is_begun && simulation.field("HelmRelease", name, managed_by) == "stackflux" {
                    replace_by_users(simulation, name);
                }
            });
        }
        settle(simulation);
    });
}

#[test]
fn apply_beyond_creation_hits_a_users_object() {
    assert_noticed(Guard::CreateOnly, Rule::ForeignWrite, 0, |simulation| {
        simulation.apply_foreign(&helm_release(simulation, "one.cni", &json!({})));
        simulation.offer(&["v1"], &json!({}));
        simulation.create_cluster("one", V1);
        settle(simulation);
    });
}

#[test]
fn apply_without_its_uid_hits_another_object() {
    assert_noticed(Guard::AppliedUid, Rule::ForeignWrite, 9, |simulation| {
        simulation.deliver_first_of_two();
        simulation.upgrade("one", V2);
        for _ in 0..10 {
            simulation.at_any_time(|simulation| {
                // The operator has decided to write it, and has not done so yet.
                let (name, release) = ("one.monitoring", "/metadata/labels/clusterstack.x-k8s.io~1release");
                let is_decided =
                    simulation.condition("ClusterAddon", ADDON, "Ready") == "Unknown Progressing";
                if is_decided && simulation.field("HelmRelease", name, release) == V1 {
                    replace_by_users(simulation, name);
                }
            });
        }
        settle(simulation);
    });
}

#[test]
fn deletion_without_asking_again_trusts_an_empty_list() {
    assert_noticed(Guard::CauseAskedAgain, Rule::DeletionWithoutCause, 23, |simulation| {
        simulation.deliver();
        for number in 0..10 {
            let label = json!({"metadata": {"labels": {"number": number.to_string()}}});
            simulation.at_any_time(move |simulation| simulation.merge("Cluster", "one", &label));
        }
        settle(simulation);
    });
}

#[test]
fn removal_without_present_requests_has_no_cause() {
    assert_noticed(Guard::RequestsAskedAgain, Rule::DeletionWithoutCause, 9, |simulation| {
        simulation.deliver_overridable();
        simulation.request(&json!({"monitoring": {"enabled": false}}));
        simulation.at_any_time(|simulation| {
            simulation.delay("ClusterAddonOverride");
            simulation.request(&json!({}));
        });
        settle(simulation);
    });
}

#[test]
fn deletion_without_listing_the_users_misses_a_new_cluster() {
    assert_noticed(Guard::UsersListed, Rule::DeletionWithoutCause, 1, |simulation| {
        simulation.retire_second();
        simulation.delay("Cluster");
        simulation.create_cluster("two", V2);
        settle(simulation);
    });
}

#[test]
fn deletion_before_its_status_is_not_counted() {
    assert_noticed(Guard::StatusBeforePrune, Rule::Uncounted, 0, |simulation| {
        simulation.deliver_first_of_two();
        simulation.publish(2);
        simulation.offer(&["v1", "v2", "v3"], &json!({}));
        simulation.upgrade("one", WITHOUT_MONITORING);
        settle(simulation);
    });
}

#[test]
fn removal_from_the_repository_before_its_status_is_not_counted() {
    let what = assert_noticed(Guard::StatusBeforePrune, Rule::Uncounted, 0, |simulation| {
        simulation.publish(2);
        git::deliver(simulation, &["v2", "v3"], V2);
        simulation.upgrade("one", WITHOUT_MONITORING);
        settle(simulation);
    });
    assert!(what.starts_with("a commit removes"), "{what}");
}

#[test]
fn content_before_its_status_is_a_lie() {
    let what = assert_noticed(Guard::StatusBeforeContent, Rule::Lie, 0, |simulation| {
        simulation.deliver_first_of_two();
        simulation.upgrade("one", V2);
        settle(simulation);
    });
    assert!(what.contains("another plan"), "{what}");
}

#[test]
fn process_without_a_fence_writes_beside_the_leader() {
    assert_noticed(Guard::Fence, Rule::NotLeader, 2, |simulation| {
        simulation.deliver_first_of_two();
        simulation.upgrade("one", V2);
        settle(simulation);
    });
}

#[test]
fn late_status_without_its_version_replaces_a_newer_one() {
    assert_noticed(Guard::StatusVersion, Rule::StatusReplaced, 56, |simulation| {
        simulation.deliver_first_of_two();
        simulation.upgrade("one", V2);
        settle(simulation);
    });
}

#[test]
fn deletion_without_owner_check_hits_user_object() {
    assert_noticed(Guard::Ownership, Rule::ForeignWrite, 0, |simulation| {
        let labels = json!({
            "app.kubernetes.io/managed-by": "stackflux",
            "cluster.x-k8s.io/cluster-name": "one",
            "clusterstack.x-k8s.io/addon": "own",
        });
        simulation.apply_foreign(&helm_release(simulation, "one.mine", &labels));
        simulation.offer(&["v1"], &json!({}));
        simulation.create_cluster("one", V1);
        settle(simulation);
        assert!(simulation.has("ClusterAddon", ADDON));
    });
}

/// The values of a Cluster change, and its `HelmRelease` looks installed before Flux installs it.
#[test]
fn outdated_status_of_flux_is_a_lie() {
    assert_noticed(Guard::ObservedGeneration, Rule::Lie, 0, |simulation| {
        simulation.deliver();
        let endpoint = json!({"spec": {"controlPlaneEndpoint": {"host": "moved.example.org"}}});
        simulation.merge("Cluster", "one", &endpoint);
        settle(simulation);
    });
}

#[test]
fn lost_status_is_late_when_all_is_done() {
    let what = assert_noticed(Guard::StatusStored, Rule::Late, 0, |simulation| {
        simulation.deliver_first_of_two();
        simulation.upgrade("one", V2);
        settle(simulation);
    });
    assert!(what.contains("to the end"), "{what}");
}

#[test]
fn lost_status_is_late_while_others_change() {
    let what = assert_noticed(Guard::StatusStored, Rule::Late, 0, |simulation| {
        simulation.deliver_first_of_two();
        simulation.upgrade("one", V2);
        for number in 0..700 {
            let label = json!({"metadata": {"labels": {"number": number.to_string()}}});
            simulation.at_any_time(move |simulation| simulation.merge("Cluster", "one", &label));
        }
        settle(simulation);
    });
    assert!(what.contains("steps"), "{what}");
}

#[test]
fn status_stored_in_other_words_is_written_again() {
    assert_noticed(Guard::StatusAsWritten, Rule::Unquiet, 2, Simulation::deliver);
}

#[test]
fn write_undone_after_each_write_does_not_end() {
    assert_noticed(Guard::SoleWriter, Rule::Endless, 2, Simulation::deliver);
}

#[test]
fn invariant_that_does_not_hold_is_reported() {
    let broken = simulate(Random::calm(), None, runtime(), |simulation| {
        simulation
            .always("the CNI is never delivered", |state| state.get("HelmRelease", "one.cni").is_none());
        simulation.deliver_v1();
    });
    let what: Vec<&str> = broken.broken.iter().map(|broken| broken.what.as_str()).collect();
    assert_eq!(what, ["it does not hold that the CNI is never delivered"]);
}

/// Someone takes away all that keeps garbage collection from an object.
#[test]
fn uninstall_without_a_cause_is_reported() {
    let runtime = runtime();
    let breaks = |seed: u64| {
        let outcome = simulate(Random::new(seed), None, runtime, |simulation| {
            simulation.deliver();
            let mut owners = simulation.field("HelmRelease", "one.cni", "/metadata/ownerReferences");
            owners.as_array_mut().unwrap().retain(|owner| owner["kind"] == "ClusterAddon");
            let one = json!({"metadata": {"ownerReferences": owners}});
            simulation.merge("HelmRelease", "one.cni", &one);
            simulation.merge("ClusterAddon", ADDON, &json!({"metadata": {"finalizers": null}}));
            simulation.delete("ClusterAddon", ADDON);
            settle(simulation);
        });
        outcome.broken.iter().any(|broken| broken.rule == Rule::Uninstall)
    };
    assert!((0..SEEDS).any(breaks));
}
