use super::*;

const STEADY: UpgradeFacts<'_> = UpgradeFacts {
    gate: Gate::Enforced,
    wanted: "v1.34.3",
    current: Current::Version("v1.34.3"),
    has_begun: false,
    is_awaited: false,
    is_done: false,
    forced: None,
};
const DUE: UpgradeFacts<'_> = UpgradeFacts { wanted: "v1.35.0", ..STEADY };

/// The table of the phases: all combinations of the facts.
#[test]
fn phase_is_a_function_of_the_facts() {
    for number in 0..32_u8 {
        let is = |bit: u8| number & (1 << bit) != 0;
        let facts = UpgradeFacts {
            has_begun: is(0),
            is_awaited: is(1),
            is_done: is(2),
            forced: is(3).then_some("v1.35.0"),
            ..if is(4) { DUE } else { STEADY }
        };
        let expected = match (is(4), facts) {
            (true, UpgradeFacts { forced: Some(_), .. }) => (Phase::Open, HookAction::Remove),
            (true, UpgradeFacts { has_begun: true, .. }) => (Phase::Upgrading, HookAction::Keep),
            (true, UpgradeFacts { is_done: true, .. }) => (Phase::Open, HookAction::Remove),
            (true, UpgradeFacts { is_awaited: true, .. }) => (Phase::Waiting, HookAction::Set),
            (true, _) => (Phase::Requested, HookAction::Set),
            (false, UpgradeFacts { has_begun: true, .. }) => (Phase::Upgrading, HookAction::Set),
            (false, _) => (Phase::Steady, HookAction::Set),
        };
        assert_eq!((phase(&facts), hook(&facts)), expected, "{facts:?}");
    }
}

#[test]
fn gate_that_does_not_wait_holds_nothing() {
    for facts in [
        STEADY,
        DUE,
        UpgradeFacts { is_awaited: true, ..DUE },
        UpgradeFacts { has_begun: true, ..DUE },
        UpgradeFacts { is_done: true, ..DUE },
    ] {
        for gate in [Gate::Off, Gate::NotOurs] {
            let facts = UpgradeFacts { gate, ..facts };
            assert_eq!((phase(&facts), hook(&facts)), (Phase::Steady, HookAction::Remove), "{facts:?}");
        }
        let unknown = UpgradeFacts { gate: Gate::Unknown, ..facts };
        assert_eq!((phase(&unknown), hook(&unknown)), (phase(&facts), HookAction::Keep), "{unknown:?}");
        let forced = UpgradeFacts { forced: Some("v1.35.0"), ..unknown };
        let expected = if facts.is_due() { HookAction::Remove } else { HookAction::Keep };
        assert_eq!(hook(&forced), expected, "{forced:?}");
    }
}

#[test]
fn versions_are_compared_as_texts() {
    let of = |wanted, current| phase(&UpgradeFacts { wanted, current, ..STEADY });
    assert_eq!(of("v1.35.0", Current::Version("v1.35.0")), Phase::Steady);
    assert_eq!(of("v1.35.0", Current::Version("1.35.0")), Phase::Requested);
    assert_eq!(of("v1.35.0+k3s1", Current::Version("v1.35.0")), Phase::Requested);
    assert_eq!(of("v1.35.0", Current::None), Phase::Steady, "there is no control plane yet");
    assert_eq!(of("v1.35.0", Current::Unknown), Phase::Requested, "nothing moves");
}

#[test]
fn forced_opening_counts_for_its_version_only() {
    for (forced, due, expected) in [
        (Some("v1.35.0"), DUE, Phase::Open),
        (Some("v1.35.0"), UpgradeFacts { has_begun: true, ..DUE }, Phase::Open),
        (Some("v1.35"), DUE, Phase::Requested),
        (Some("v1.34.3"), DUE, Phase::Requested),
        (Some(""), DUE, Phase::Requested),
        (Some("v1.34.3"), STEADY, Phase::Steady),
        (Some("v1.35.0"), STEADY, Phase::Steady),
    ] {
        let facts = UpgradeFacts { forced, ..due };
        assert_eq!(phase(&facts), expected, "{facts:?}");
        assert_eq!(hook(&facts) == HookAction::Remove, expected == Phase::Open);
    }
}

#[test]
fn only_what_belongs_before_the_upgrade_moves() {
    use Hook::{AfterClusterUpgrade, AfterControlPlaneInitialized, BeforeClusterUpgrade};
    for (hooks, expected) in [
        (&[AfterControlPlaneInitialized, BeforeClusterUpgrade][..], [true, false, true, true, true]),
        (&[BeforeClusterUpgrade, AfterClusterUpgrade], [true, false, true, true, true]),
        (&[AfterControlPlaneInitialized], [true, false, false, false, false]),
        (&[AfterClusterUpgrade], [true, false, false, false, false]),
        (&[], [true, false, true, true, true]),
    ] {
        let phases = [Phase::Steady, Phase::Requested, Phase::Waiting, Phase::Open, Phase::Upgrading];
        assert_eq!(phases.map(|phase| phase.lets_move(hooks)), expected, "{hooks:?}");
    }
}
