//! The status of a Cluster for random facts.

use proptest::prelude::*;

use super::*;
use crate::rollup::status_of;

fn any_hold() -> impl Strategy<Value = Option<Hold>> {
    let reasons = [
        Reason::WaitingForField,
        Reason::ValuesInvalid,
        Reason::DeliveryFailed,
        Reason::FileEdited,
        Reason::Terminating,
        Reason::Suspended,
        Reason::AddonRemoved,
        Reason::FileRemoved,
        Reason::PruneBudgetExceeded,
    ];
    let hold = |reason| Hold { reason, message: "why".into() };
    proptest::option::weighted(0.3, proptest::sample::select(reasons.to_vec()).prop_map(hold))
}

fn any_verdict() -> impl Strategy<Value = Option<Verdict>> {
    let failed =
        Verdict::Failed { class: Class::Transient, reason: "InstallFailed".into(), message: "no".into() };
    let foreign = Verdict::Foreign { manager: None, wait: None };
    let drifted = Verdict::Drifted { message: "changed".into() };
    let all = vec![APPLIED, APPLIED, APPLIED, Verdict::Pending, Verdict::Suspended, foreign, failed, drifted];
    proptest::option::weighted(0.9, proptest::sample::select(all))
}

fn any_whole_hold() -> impl Strategy<Value = Option<Hold>> {
    let reasons = [
        Reason::KubernetesVersionMismatch,
        Reason::ControlPlaneNotInitialized,
        Reason::Unreachable,
        Reason::Paused,
    ];
    let hold = |reason| Hold { reason, message: "why".into() };
    proptest::option::weighted(0.2, proptest::sample::select(reasons.to_vec()).prop_map(hold))
}

proptest! {
    #[test]
    fn cluster_is_never_better_than_its_worst_addon(
        addons in proptest::collection::vec((any_hold(), any_verdict()), 0..6),
        hold in any_whole_hold(),
        release in proptest::sample::select(vec![
            (ConditionStatus::True, "Applied"), (ConditionStatus::Unknown, "NotYetReported"),
            (ConditionStatus::False, "ReleaseNotFound"), (ConditionStatus::False, "InstallFailed"),
        ]),
        flags in any::<[bool; 3]>(),
    ) {
        let [of_desired, delivered, is_rendered] = flags;
        let named = addons.into_iter().zip(["a", "b", "c", "d", "e", "f"]);
        let addons: Vec<_> = named
            .map(|((hold, verdict), name)| AddonFacts { hold, ..addon(name, verdict) })
            .collect();
        let release = Report::new(release.0, release.1, "");
        let inputs = is_rendered.then(RenderedInputs::default);
        let facts = ClusterFacts { hold, release, of_desired, delivered, inputs, ..facts(addons) };
        let state = |addon: &AddonFacts| match (&addon.hold, &addon.verdict) {
            (Some(hold), _) => status_of(hold.reason),
            (None, Some(verdict)) => verdict.report().status,
            (None, None) => ConditionStatus::Unknown,
        };
        let worst_wanted = wanted(&facts).map(state).min().unwrap_or(ConditionStatus::True);
        let worst = facts.addons.iter().map(state)
            .chain(facts.hold.iter().map(|hold| status_of(hold.reason)))
            .chain([facts.release.status])
            .chain([if facts.delivered { ConditionStatus::True } else { ConditionStatus::Unknown }])
            .min().unwrap();
        let status = cluster_addon(facts, &ClusterAddonStatus::default(), at(NOW));
        let reported = |kind: ConditionType| {
            crate::rollup::mirror(&status.conditions, 0, kind.as_str()).status
        };
        prop_assert!(reported(ConditionType::Ready) <= worst, "{status:?}");
        prop_assert!(reported(ConditionType::AddonsReady) <= worst_wanted, "{status:?}");
        prop_assert_eq!(status.ready, reported(ConditionType::Ready) == ConditionStatus::True);
    }
}
