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
    budgets.decide((&stack, &of), None, at(now), |reserved, sum| {
        let keys: std::collections::BTreeSet<&Key> = statuses.keys().chain(reserved.keys()).collect();
        let gone = keys.iter().filter_map(|key| known(statuses.get(key), reserved.get(key)));
        let may_go = left(gone, 19, at(now)) > 0;
        let own = spent(known(statuses.get(&of), reserved.get(&of)), at(now));
        (may_go, may_go.then(|| (own, spent(sum, at(now)))))
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
fn sum_survives_cluster_addons_and_the_process() {
    let stack = Key::new("demo", "demo");
    let (budgets, statuses) = (Budgets::default(), Statuses::new());
    let sum = |budgets: &Budgets, recorded: Option<&Pruned>, now| {
        budgets.sum(&stack, recorded, [].iter(), at(now)).map(|sum| (sum.since.0, sum.count))
    };
    let (_, failed) = ask(&budgets, &statuses, "a", "10:00");
    assert_eq!(sum(&budgets, None, "10:00"), Some((at("10:00"), 1)));
    drop(failed);
    assert_eq!(sum(&budgets, None, "10:00"), None, "its status was not written");
    let (_, first) = ask(&budgets, &statuses, "a", "10:05");
    assert_eq!(first.unwrap().keep(), stack);
    let recorded = budgets.sum(&stack, None, [].iter(), at("10:05")).unwrap();
    // Another process knows no reservation, and ClusterAddon `a` is lost.
    let next = Budgets::default();
    assert_eq!(sum(&next, Some(&recorded), "10:30"), Some((at("10:05"), 1)));
    let key = Key::new("demo", "b");
    let (seen, second) = next.decide((&stack, &key), Some(&recorded), at("10:30"), |_, sum| {
        (sum.cloned(), Some((spent(None, at("10:30")), spent(sum, at("10:30")))))
    });
    assert_eq!(seen, Some(recorded.clone()));
    _ = second.unwrap().keep();
    assert_eq!(sum(&next, Some(&recorded), "11:04"), Some((at("10:05"), 2)));
    // It stays until the next deletion: nothing is written because an hour ends.
    assert_eq!(sum(&next, Some(&recorded), "11:05"), Some((at("10:05"), 2)));
}

#[test]
fn sum_has_what_a_process_did_not_write() {
    let (budgets, stack) = (Budgets::default(), Key::new("demo", "demo"));
    let gone = |since, count| Pruned { since: Time(at(since)), count };
    let statuses = [gone("10:00", 2), gone("10:30", 1)];
    let sum = |recorded: Option<&Pruned>, now| budgets.sum(&stack, recorded, statuses.iter(), at(now));
    for (recorded, now, expected) in [
        (None, "10:40", Some(gone("10:00", 3))),
        (Some(gone("10:00", 2)), "10:40", Some(gone("10:00", 3))),
        (Some(gone("10:00", 5)), "10:40", Some(gone("10:00", 5))),
        // Its hour began later than that of a ClusterAddon.
        (Some(gone("10:30", 1)), "10:40", Some(gone("10:30", 1))),
        (Some(gone("10:00", 3)), "11:10", Some(gone("10:00", 3))),
        (Some(gone("10:00", 3)), "11:40", Some(gone("10:00", 3))),
        (Some(gone("08:00", 5)), "10:40", Some(gone("10:00", 3))),
        (None, "11:40", None),
    ] {
        assert_eq!(sum(recorded.as_ref(), now), expected, "{recorded:?} {now}");
    }
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
    _ = ask(&budgets, &statuses, "a", "10:00").1.unwrap().keep();
    // A list without ClusterAddons hides the status.
    assert!(!ask(&budgets, &statuses, "b", "10:59").0);
    assert!(ask(&budgets, &statuses, "b", "11:00").0);
}

#[test]
fn dropped_reservation_restores_the_kept_one() {
    let (budgets, statuses) = (Budgets::default(), Statuses::new());
    let demo = Key::new("demo", "demo");
    let (a, b) = (Key::new("demo", "a"), Key::new("demo", "b"));
    _ = ask(&budgets, &statuses, "a", "10:00").1.unwrap().keep();
    // A user allows another deletion, whose status write fails.
    let two = Pruned { since: Time(at("10:00")), count: 2 };
    drop(budgets.decide((&demo, &a), None, at("10:10"), |_, _| ((), Some((two.clone(), two)))));
    let counts = budgets.decide((&demo, &b), None, at("10:20"), |reserved, _| (reserved[&a].count, None)).0;
    assert_eq!(counts, 1);
}

#[test]
fn reservation_of_another_stack_spends_no_budget() {
    let (budgets, statuses) = (Budgets::default(), Statuses::new());
    _ = ask_stack(&budgets, &statuses, ("demo", "a"), "10:00").1.unwrap().keep();
    assert!(ask_stack(&budgets, &statuses, ("other", "b"), "10:00").0);
}
