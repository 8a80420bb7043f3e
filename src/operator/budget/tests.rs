use jiff::Timestamp;

use super::*;
use crate::subscription::{known, left, spent};

/// The recorded deletions, by `ClusterAddon`.
type Statuses = BTreeMap<Key, Pruned>;

/// Requests to delete one object of a `ClusterAddon`. There are 19 objects, so the limit is one per hour.
fn ask<'b>(budgets: &'b Budgets, statuses: &Statuses, of: &Key) -> (bool, Option<Reservation<'b>>) {
    let now: Timestamp = "2026-11-20T10:00:00Z".parse().unwrap();
    budgets.decide(of, |reserved| {
        let keys: std::collections::BTreeSet<&Key> = statuses.keys().chain(reserved.keys()).collect();
        let gone = keys.iter().filter_map(|key| known(statuses.get(key), reserved.get(key)));
        let may_go = left(gone, 19, now) > 0;
        (may_go, may_go.then(|| spent(known(statuses.get(of), reserved.get(of)), now)))
    })
}

#[test]
fn concurrent_decisions_spend_one_budget() {
    let (budgets, mut statuses) = (Budgets::default(), Statuses::new());
    let (a, b) = (Key::new("demo", "a"), Key::new("demo", "b"));
    // The first has decided, and awaits its status write.
    let (may_go, first) = ask(&budgets, &statuses, &a);
    assert!(may_go);
    assert!(!ask(&budgets, &statuses, &b).0, "the first has spent it");
    // The status records the deletion before the reconcile ends.
    statuses.insert(a.clone(), Pruned { since: "2026-11-20T10:00:00Z".parse().map(time).unwrap(), count: 1 });
    assert!(!ask(&budgets, &statuses, &b).0, "it does not count twice, and it counts");
    drop(first);
    assert!(!ask(&budgets, &statuses, &b).0, "the status counts");
}

#[test]
fn dropped_reservation_spends_no_budget() {
    let (budgets, statuses) = (Budgets::default(), Statuses::new());
    let (a, b) = (Key::new("demo", "a"), Key::new("demo", "b"));
    let (may_go, first) = ask(&budgets, &statuses, &a);
    assert!(may_go);
    // The status write failed.
    drop(first);
    assert!(ask(&budgets, &statuses, &b).0);
}

fn time(at: Timestamp) -> k8s_openapi::apimachinery::pkg::apis::meta::v1::Time {
    k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at)
}
