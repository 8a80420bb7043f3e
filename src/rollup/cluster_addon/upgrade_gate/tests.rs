use super::*;

const NOW: &str = "2026-11-26T10:00:00Z";
const LATER: &str = "2026-11-26T11:00:00Z";

fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

fn gate(phase: Phase) -> GateFacts {
    let current = if phase == Phase::Steady { "v1.35.0" } else { "v1.34.0" };
    GateFacts {
        gate: Gate::Enforced,
        phase,
        versions: Some((current.to_owned(), "v1.35.0".to_owned())),
        is_forced: false,
        // Cluster API does not begin before the annotation is removed.
        hook: (phase != Phase::Upgrading).then(|| current.to_owned()),
        held: None,
        behind: Vec::new(),
        steps: vec!["v1.35.0".to_owned()],
        offered: None,
        topology_message: None,
        foreign: None,
        refusal: None,
        unreadable: None,
        is_without_hooks: false,
    }
}

fn held(reason: Reason) -> Report {
    Report::new(ConditionStatus::False, reason.as_str(), "because")
}

fn behind() -> Vec<(AddonName, String)> {
    vec![("cni".parse().unwrap(), "timed out".to_owned())]
}

/// Returns the status of a Cluster on its way to v1.35.0.
fn before(phase: Phase) -> ClusterAddonStatus {
    let upgrade = UpgradeStatus {
        from: "v1.34.0".to_owned(),
        to: "v1.35.0".to_owned(),
        phase: phase.as_str().to_owned(),
        since: Time(at(NOW)),
    };
    ClusterAddonStatus { upgrade: Some(upgrade), ..ClusterAddonStatus::default() }
}

/// All rows of the table of reasons.
#[test]
fn gate_reports_why_it_is_closed_or_open() {
    use Phase::{Open, Requested, Steady, Upgrading, Waiting};
    let said = || Some("KubeadmControlPlane is not healthy".to_owned());
    let rows = [
        (gate(Steady), "True NotUpgrading", "has v1.35.0"),
        (GateFacts { versions: None, ..gate(Steady) }, "True NotUpgrading", "no control plane yet"),
        (GateFacts { gate: Gate::Off, ..gate(Steady) }, "True Off", "upgradeGate: Off"),
        (GateFacts { gate: Gate::Unknown, ..gate(Steady) }, "Unknown NotYetReported", ""),
        (
            GateFacts { gate: Gate::NotOurs, held: Some(held(Reason::ClassUnknown)), ..gate(Steady) },
            "Unknown ClassUnknown",
            "because",
        ),
        (
            GateFacts { unreadable: Some("no right".to_owned()), ..gate(Steady) },
            "Unknown ControlPlaneUnreadable",
            "no right",
        ),
        (
            GateFacts { gate: Gate::Unknown, held: Some(held(Reason::ClassUnknown)), ..gate(Waiting) },
            "Unknown ClassUnknown",
            "because; the annotation that delays upgrades stays, and the upgrade from v1.34.0 to v1.35.0 waits",
        ),
        (
            GateFacts { unreadable: Some("no right".to_owned()), behind: behind(), ..gate(Waiting) },
            "False WaitingForAddons",
            "have no effect before it; no right",
        ),
        (
            GateFacts { is_without_hooks: true, ..gate(Steady) },
            "Unknown NotEnforced",
            "until the next upgrade",
        ),
        (
            GateFacts { is_without_hooks: true, foreign: Some("clusterctl".to_owned()), ..gate(Steady) },
            "True NotUpgrading",
            "has v1.35.0",
        ),
        (gate(Requested), "False WaitingForClusterAPI", "has not come so far"),
        (
            GateFacts { topology_message: said(), ..gate(Requested) },
            "False WaitingForClusterAPI",
            "Cluster API says: KubeadmControlPlane is not healthy",
        ),
        (
            GateFacts { held: Some(held(Reason::KubernetesVersionMismatch)), ..gate(Requested) },
            "False KubernetesVersionMismatch",
            "disable-update-version-check; or run: stackflux gate open",
        ),
        (
            GateFacts {
                held: Some(held(Reason::KubernetesVersionMismatch)),
                offered: Some("docker-demo-1-35-v3".parse().unwrap()),
                ..gate(Requested)
            },
            "False KubernetesVersionMismatch",
            "set the class to docker-demo-1-35-v3, the newest release for v1.35.0; or",
        ),
        (
            GateFacts { steps: vec!["v1.34.1".to_owned(), "v1.35.0".to_owned()], ..gate(Waiting) },
            "False WaitingForAddons",
            "the upgrade from v1.34.0 to v1.35.0 through v1.34.1, v1.35.0 waits",
        ),
        (
            GateFacts { held: Some(held(Reason::ReleaseNotFound)), ..gate(Waiting) },
            "False ReleaseNotFound",
            "because",
        ),
        (GateFacts { held: Some(held(Reason::Suspended)), ..gate(Waiting) }, "False Suspended", "because"),
        (
            GateFacts { behind: behind(), ..gate(Waiting) },
            "False WaitingForAddons",
            "cni: timed out; the upgrade from v1.34.0 to v1.35.0 waits since 2026-11-26T11:00:00Z",
        ),
        (gate(Open), "True Opened", "from v1.34.0 to v1.35.0 are applied"),
        (GateFacts { topology_message: said(), ..gate(Open) }, "True Opened", "is not healthy"),
        (
            GateFacts { is_forced: true, behind: behind(), ..gate(Open) },
            "True Forced",
            "not applied: cni: timed out",
        ),
        (
            GateFacts { foreign: Some("kustomize-controller".to_owned()), ..gate(Open) },
            "False ForeignAnnotation",
            "kustomize-controller sets",
        ),
        (gate(Upgrading), "True Upgrading", "to v1.35.0"),
        (GateFacts { behind: behind(), ..gate(Upgrading) }, "Unknown Bypassed", "cni: timed out"),
        (
            GateFacts { refusal: Some("forbidden".to_owned()), ..gate(Waiting) },
            "Unknown GateNotWritable",
            "forbidden",
        ),
    ];
    for (facts, expected, message) in rows {
        let found = upgrade_gate(&facts, &ClusterAddonStatus::default(), at(LATER));
        assert_eq!(format!("{} {}", found.status.as_str(), found.reason), expected, "{facts:?}");
        assert!(found.message.contains(message), "{}", found.message);
    }
}

/// The annotation has the version at which it was added.
#[test]
fn upgrade_in_spite_of_the_annotation_is_reported() {
    use Phase::{Open, Steady, Upgrading, Waiting};
    let hook = |hook: &str, phase| GateFacts { hook: Some(hook.to_owned()), ..gate(phase) };
    let foreign = Some("kustomize-controller".to_owned());
    for (facts, expected, why) in [
        (hook("v1.34.0", Steady), true, "it is from before the upgrade"),
        (hook("v1.34.0", Upgrading), true, "Cluster API has begun in spite of it"),
        (hook("v1.35.0", Steady), false, "it was removed, and added again"),
        (hook("", Steady), false, "another client added it"),
        (GateFacts { foreign, ..hook("v1.34.0", Steady) }, false, "another client applies it"),
        (GateFacts { hook: None, ..gate(Upgrading) }, false, "it was removed"),
        (hook("v1.34.0", Waiting), false, "Cluster API waits"),
        (hook("v1.34.0", Open), false, "it is about to be removed"),
    ] {
        let found = upgrade_gate(&facts, &ClusterAddonStatus::default(), at(NOW));
        assert_eq!(found.reason == "NotEnforced", expected, "{why}");
        let condition = found.condition(ConditionType::UpgradeGate, 1, &[], at(NOW));
        let next = ClusterAddonStatus { conditions: vec![condition], ..ClusterAddonStatus::default() };
        let again = upgrade_gate(&gate(Steady), &next, at(LATER));
        assert_eq!(again.reason == "NotEnforced", expected, "it stays until an upgrade waited: {why}");
    }
}

#[test]
fn state_of_the_upgrade_stays_until_all_has_moved() {
    let since = |old: &ClusterAddonStatus, phase| {
        upgrade_status(&gate(phase), old, false, at(LATER))
            .map(|found| (found.from, found.to, found.phase, found.since.0.to_string()))
    };
    let of = |from: &str, phase: &str, since: &str| {
        Some((from.to_owned(), "v1.35.0".to_owned(), phase.to_owned(), since.to_owned()))
    };
    let none = ClusterAddonStatus::default();
    assert_eq!(since(&none, Phase::Steady), None);
    assert_eq!(since(&none, Phase::Requested), of("v1.34.0", "Requested", LATER));
    assert_eq!(since(&before(Phase::Waiting), Phase::Waiting), of("v1.34.0", "Waiting", NOW));
    assert_eq!(since(&before(Phase::Waiting), Phase::Open), of("v1.34.0", "Open", LATER));
    assert_eq!(since(&before(Phase::Upgrading), Phase::Steady), of("v1.34.0", "Steady", LATER));
    let delivered = upgrade_status(&gate(Phase::Steady), &before(Phase::Upgrading), true, at(LATER));
    assert_eq!(delivered, None, "all has moved");
}
