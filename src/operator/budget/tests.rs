use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;
use crate::subscription::{known, left, spent};

/// The recorded deletions, by `ClusterAddon`.
type Statuses = BTreeMap<Key, Pruned>;

fn at(time: &str) -> Timestamp {
    format!("2026-11-20T{time}:00Z").parse().unwrap()
}

/// Requests to delete one object of a `ClusterAddon` of the `ClusterStack` `demo`.
fn ask<'b>(
    budgets: &'b Budgets,
    statuses: &Statuses,
    of: &str,
    now: &str,
) -> (bool, Option<Reservation<'b>>) {
    ask_stack(budgets, statuses, ("demo", of), now)
}

/// Requests to delete one object. There are 19 objects, so the limit is one per hour.
fn ask_stack<'b>(
    budgets: &'b Budgets,
    statuses: &Statuses,
    (stack, of): (&str, &str),
    now: &str,
) -> (bool, Option<Reservation<'b>>) {
    let (stack, of) = (Key::new("demo", stack), Key::new("demo", of));
    budgets.decide((&stack, &of), at(now), |reserved| {
        let keys: std::collections::BTreeSet<&Key> = statuses.keys().chain(reserved.keys()).collect();
        let gone = keys.iter().filter_map(|key| known(statuses.get(key), reserved.get(key)));
        let may_go = left(gone, 19, at(now)) > 0;
        (may_go, may_go.then(|| spent(known(statuses.get(&of), reserved.get(&of)), at(now))))
    })
}

#[test]
fn concurrent_decisions_spend_one_budget() {
    let (budgets, mut statuses) = (Budgets::default(), Statuses::new());
    // The first has decided, and awaits its status write.
    let (may_go, first) = ask(&budgets, &statuses, "a", "10:00");
    assert!(may_go);
    assert!(!ask(&budgets, &statuses, "b", "10:00").0, "the first has spent it");
    // The status records the deletion before the reconcile ends.
    statuses.insert(Key::new("demo", "a"), Pruned { since: Time(at("10:00")), count: 1 });
    assert!(!ask(&budgets, &statuses, "b", "10:00").0, "it does not count twice, and it counts");
    drop(first);
    assert!(!ask(&budgets, &statuses, "b", "10:00").0, "the status counts");
}

#[test]
fn dropped_reservation_spends_no_budget() {
    let (budgets, statuses) = (Budgets::default(), Statuses::new());
    let (may_go, first) = ask(&budgets, &statuses, "a", "10:00");
    assert!(may_go);
    // The status write failed.
    drop(first);
    assert!(ask(&budgets, &statuses, "b", "10:00").0);
}

#[test]
fn kept_reservation_counts_without_status_for_an_hour() {
    let (budgets, statuses) = (Budgets::default(), Statuses::new());
    ask(&budgets, &statuses, "a", "10:00").1.unwrap().keep();
    // A list without ClusterAddons hides the status.
    assert!(!ask(&budgets, &statuses, "b", "10:59").0);
    assert!(ask(&budgets, &statuses, "b", "11:00").0);
}

#[test]
fn dropped_reservation_restores_the_kept_one() {
    let (budgets, statuses) = (Budgets::default(), Statuses::new());
    let demo = Key::new("demo", "demo");
    let (a, b) = (Key::new("demo", "a"), Key::new("demo", "b"));
    ask(&budgets, &statuses, "a", "10:00").1.unwrap().keep();
    // A user allows another deletion, whose status write fails.
    let two = Pruned { since: Time(at("10:00")), count: 2 };
    drop(budgets.decide((&demo, &a), at("10:10"), |_| ((), Some(two))));
    let counts = budgets.decide((&demo, &b), at("10:20"), |reserved| (reserved[&a].count, None)).0;
    assert_eq!(counts, 1);
}

#[test]
fn reservation_of_another_stack_spends_no_budget() {
    let (budgets, statuses) = (Budgets::default(), Statuses::new());
    ask_stack(&budgets, &statuses, ("demo", "a"), "10:00").1.unwrap().keep();
    assert!(ask_stack(&budgets, &statuses, ("other", "b"), "10:00").0);
}
