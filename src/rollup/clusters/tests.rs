//! The readiness of a Cluster, and the report about all of them.

use proptest::prelude::*;

use super::*;

fn report(status: ConditionStatus, reason: &str) -> Report {
    Report::new(status, reason, "attempt 3 failed")
}

fn failed(reason: &str) -> Report {
    report(ConditionStatus::False, reason)
}

fn unknown(reason: &str) -> Report {
    report(ConditionStatus::Unknown, reason)
}

fn state(name: &str) -> ClusterState<'_> {
    ClusterState {
        namespace: "demo",
        name,
        deleting: false,
        paused: false,
        suspended: false,
        initialized: true,
        without_release: None,
        unoffered: false,
        ready: Some(report(ConditionStatus::True, "Applied")),
    }
}

fn reported(clusters: &[ClusterState]) -> String {
    let (report, _) = clusters_ready(clusters);
    format!("{} {}: {}", report.status.as_str(), report.reason, report.message)
}

#[test]
fn first_matching_readiness_counts() {
    let all = ClusterState {
        deleting: true,
        paused: true,
        suspended: true,
        initialized: false,
        without_release: Some(failed("ReleaseNotFound")),
        ready: None,
        ..state("one")
    };
    let (paused, suspended) = (
        ClusterState { deleting: false, ..all.clone() },
        ClusterState { deleting: false, paused: false, ..all.clone() },
    );
    let missing = ClusterState { suspended: false, ..suspended.clone() };
    let unoffered = ClusterState { unoffered: true, ..missing.clone() };
    let unread =
        ClusterState { without_release: Some(unknown("NotYetReported")), unoffered: true, ..missing.clone() };
    let young = ClusterState { without_release: None, unoffered: true, ..missing.clone() };
    let silent = ClusterState { initialized: true, ..young.clone() };
    for (state, expected) in [
        (all, ClusterReadiness::Deleting),
        (paused, ClusterReadiness::Paused),
        (suspended, ClusterReadiness::Suspended),
        (missing, ClusterReadiness::ReleaseNotFound),
        (unoffered, ClusterReadiness::ReleaseNotOffered),
        (unread, ClusterReadiness::ReleaseUnknown),
        (young, ClusterReadiness::NotInitialized),
        (silent, ClusterReadiness::NotReported),
        (ClusterState { ready: Some(failed("Failed")), ..state("a") }, ClusterReadiness::NotReady),
        (ClusterState { ready: Some(unknown("Pending")), ..state("a") }, ClusterReadiness::Unknown),
        (state("a"), ClusterReadiness::Ready),
    ] {
        assert_eq!(ClusterReadiness::of(&state), expected);
        let (_, counts) = clusters_ready(&[state]);
        let counts = serde_json::to_value(counts).unwrap();
        assert_eq!((&counts["total"], &counts[expected.field()]), (&1.into(), &1.into()), "{expected:?}");
    }
}

#[test]
fn message_has_numbers_reasons_and_names() {
    let mismatch = |name| ClusterState { ready: Some(failed("KubernetesVersionMismatch")), ..state(name) };
    let (deleting, young) = (
        ClusterState { deleting: true, ready: Some(failed("Deleting")), ..state("gone") },
        ClusterState {
            initialized: false,
            ready: Some(unknown("ControlPlaneNotInitialized")),
            ..state("young")
        },
    );
    let aside = "1 deleting, 1 not initialized";
    for (clusters, expected) in [
        (vec![], "True Applied: no Cluster to count".to_owned()),
        (vec![deleting.clone(), young.clone()], format!("True Applied: no Cluster to count; {aside}")),
        (vec![state("one")], "True Applied: 1 of 1 Cluster is ready".to_owned()),
        (
            vec![state("b"), state("a"), young.clone()],
            "True Applied: 2 of 2 Clusters are ready; 1 not initialized".to_owned(),
        ),
        (
            vec![state("one"), deleting, mismatch("two"), young],
            format!(
                "False KubernetesVersionMismatch: 1 of 2 Clusters is not ready: 1 KubernetesVersionMismatch (demo/two); \
                 {aside}"
            ),
        ),
        (
            vec![
                ClusterState { ready: None, ..state("new") },
                ClusterState { without_release: Some(failed("ReleaseNotFound")), ..state("nine") },
                mismatch("five"),
                mismatch("four"),
            ],
            "False Several: 4 of 4 Clusters are not ready: 2 KubernetesVersionMismatch (demo/five, demo/four), \
             1 ReleaseNotFound (demo/nine), 1 NotYetReported (demo/new)"
                .to_owned(),
        ),
    ] {
        assert_eq!(reported(&clusters), expected);
        let reversed: Vec<_> = clusters.into_iter().rev().collect();
        assert_eq!(reported(&reversed), expected, "whatever the order");
    }
}

#[test]
fn unoffered_release_counts_apart_by_name() {
    let unoffered = |name| ClusterState {
        namespace: "tenant",
        without_release: Some(failed("ReleaseNotOffered")),
        unoffered: true,
        ready: None,
        ..state(name)
    };
    let own = ClusterState { without_release: Some(failed("ReleaseNotFound")), ..state("nine") };
    for (clusters, expected) in [
        (
            vec![unoffered("one")],
            "True Applied: no Cluster to count; 1 ReleaseNotOffered (tenant/one)".to_owned(),
        ),
        (
            vec![state("a"), unoffered("d"), unoffered("c"), unoffered("b"), unoffered("a")],
            "True Applied: 1 of 1 Cluster is ready; 4 ReleaseNotOffered (tenant/a, tenant/b, tenant/c and 1 others)"
                .to_owned(),
        ),
        (
            vec![state("a"), unoffered("b"), own],
            "False ReleaseNotFound: 1 of 2 Clusters is not ready: 1 ReleaseNotFound (demo/nine); 1 ReleaseNotOffered \
             (tenant/b)"
                .to_owned(),
        ),
    ] {
        assert_eq!(reported(&clusters), expected);
    }
}

#[test]
fn hundred_failed_clusters_have_a_short_message() {
    let names: Vec<String> = (0..100).map(|number| format!("cluster-{number:03}")).collect();
    let broken = |name| ClusterState { ready: Some(failed("InstallFailed")), ..state(name) };
    let clusters: Vec<_> = names.iter().map(|name| broken(name.as_str())).collect();
    assert_eq!(
        reported(&clusters),
        "False InstallFailed: 100 of 100 Clusters are not ready: 100 InstallFailed (demo/cluster-000, \
         demo/cluster-001, demo/cluster-002 and 97 others)"
    );
}

fn any_report() -> impl Strategy<Value = Option<Report>> {
    let status = prop_oneof![
        Just(ConditionStatus::False),
        Just(ConditionStatus::Unknown),
        Just(ConditionStatus::True)
    ];
    proptest::option::of((status, "[A-C]").prop_map(|(status, reason)| report(status, &reason)))
}

fn any_flags() -> impl Strategy<Value = [bool; 5]> {
    // Most Clusters count: otherwise the property would test little.
    let flag = |weight| proptest::bool::weighted(weight);
    let flags = (flag(0.1), flag(0.1), flag(0.1), flag(0.9), flag(0.2));
    flags.prop_map(|(a, b, c, d, e)| [a, b, c, d, e])
}

proptest! {
    #[test]
    fn sum_is_never_better_than_a_counted_cluster(
        facts in proptest::collection::vec((any_flags(), any_report(), any_report()), 0..8),
    ) {
        let names: Vec<String> = (0..facts.len()).map(|number| format!("c{number}")).collect();
        let states: Vec<ClusterState> = facts.iter().zip(&names).map(|((flags, without, ready), name)| {
            let [deleting, paused, suspended, initialized, unoffered] = *flags;
            let without_release = without.clone().filter(|report| report.status != ConditionStatus::True);
            let ready = ready.clone();
            ClusterState {
                deleting, paused, suspended, initialized, without_release, unoffered, ready, ..state(name)
            }
        }).collect();
        let (report, counts) = clusters_ready(&states);
        let worst = states.iter().filter_map(|state| ClusterReadiness::of(state).counts_as()).min();
        prop_assert_eq!(report.status, worst.unwrap_or(ConditionStatus::True));
        let counts = serde_json::to_value(counts).unwrap();
        let sum: u64 = counts.as_object().unwrap().iter()
            .filter(|(field, _)| *field != "total").map(|(_, number)| number.as_u64().unwrap()).sum();
        prop_assert_eq!((Some(sum), states.len() as u64), (counts["total"].as_u64(), sum));
    }
}
