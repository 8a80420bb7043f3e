use super::*;
use crate::error::Class;

const NOW: &str = "2026-11-21T10:00:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn addon(name: &str, verdict: Option<Verdict>) -> AddonFacts {
    AddonFacts {
        name: name.parse().unwrap(),
        chart: Some((name.to_owned(), "v1".to_owned())),
        hold: None,
        object: Some(AddonObject { kind: "HelmRelease".into(), name: format!("c1.{name}") }),
        expected: Some(AddonState { spec_digest: Some("d1".into()), version: Some("1.0.0".into()) }),
        observed: None,
        verdict,
        values_digest: None,
    }
}

fn facts(addons: Vec<AddonFacts>) -> ClusterFacts {
    ClusterFacts {
        generation: 3,
        requested_at: None,
        hold: None,
        desired: "openstack-scs-1-32-v2".into(),
        release: Report::new(ConditionStatus::True, "Applied", ""),
        addons,
        delivered: true,
        pruned: None,
        committed_by: None,
        inputs: Some(RenderedInputs::default()),
    }
}

const APPLIED: Verdict = Verdict::Applied { drifted: false };

fn condition(status: &ClusterAddonStatus, kind: ConditionType) -> (String, String, String) {
    let found = status.conditions.iter().find(|condition| condition.type_ == kind.as_str()).unwrap();
    (found.status.clone(), found.reason.clone(), found.message.clone())
}

#[test]
fn all_applied_is_ready_and_known_good() {
    let status =
        cluster_addon(facts(vec![addon("cni", Some(APPLIED))]), &ClusterAddonStatus::default(), at(NOW));
    assert!(status.ready);
    let release = status.release.clone().unwrap();
    assert_eq!(release.last_known_good.as_deref(), Some("openstack-scs-1-32-v2"));
    assert_eq!(condition(&status, ConditionType::Ready).0, "True");
    assert_eq!(condition(&status, ConditionType::UpgradeGate).1, "NotImplemented");
    assert_eq!(status.observed_generation, Some(3));
}

#[test]
fn the_same_facts_later_give_the_same_status() {
    for verdict in [APPLIED, Verdict::Pending, Verdict::Suspended] {
        let first = cluster_addon(
            facts(vec![addon("cni", Some(verdict.clone()))]),
            &ClusterAddonStatus::default(),
            at(NOW),
        );
        let later =
            cluster_addon(facts(vec![addon("cni", Some(verdict))]), &first, at("2026-11-21T10:05:00Z"));
        assert_eq!(first, later);
    }
}

#[test]
fn a_failure_is_told_and_the_known_good_release_kept() {
    let good =
        cluster_addon(facts(vec![addon("cni", Some(APPLIED))]), &ClusterAddonStatus::default(), at(NOW));
    let failed = Verdict::Failed {
        class: Class::Transient,
        reason: "InstallFailed".into(),
        message: "no space".into(),
    };
    let mut next = facts(vec![addon("cni", Some(failed)), addon("ccm", Some(APPLIED))]);
    next.desired = "openstack-scs-1-32-v3".into();
    let status = cluster_addon(next, &good, at(NOW));
    assert_eq!(
        condition(&status, ConditionType::AddonsReady),
        ("False".into(), "InstallFailed".into(), "cni: no space".into())
    );
    let release = status.release.unwrap();
    assert_eq!(release.applied.as_deref(), Some("openstack-scs-1-32-v3"));
    assert_eq!(release.last_known_good.as_deref(), Some("openstack-scs-1-32-v2"));
    assert!(!status.ready);
}

#[test]
fn a_missing_field_is_waited_for_by_name() {
    let mut held = addon("ccm", None);
    held.hold =
        Some(Hold { reason: Reason::WaitingForField, message: "there is no .InfraCluster.status.id".into() });
    held.expected = None;
    let mut facts = facts(vec![addon("cni", Some(APPLIED)), held]);
    facts.delivered = false;
    let status = cluster_addon(facts, &ClusterAddonStatus::default(), at(NOW));
    let rendered = condition(&status, ConditionType::ValuesRendered);
    assert_eq!(
        rendered,
        ("Unknown".into(), "WaitingForField".into(), "ccm: there is no .InfraCluster.status.id".into())
    );
    let ready = condition(&status, ConditionType::Ready);
    assert_eq!(
        (ready.0.as_str(), ready.1.as_str(), ready.2.as_str()),
        ("Unknown", "WaitingForField", "ValuesRendered: ccm: there is no .InfraCluster.status.id"),
        "and nothing else is told"
    );
    assert_eq!(status.addons[1].phase.as_deref(), Some("Held"));
    assert_eq!(
        condition(&status, ConditionType::AddonsReady).0,
        "Unknown",
        "what was not written is not ready"
    );
}

#[test]
fn nothing_written_yet_is_never_ready() {
    let mut facts = facts(Vec::new());
    facts.hold = Some(Hold { reason: Reason::ControlPlaneNotInitialized, message: "not yet".into() });
    (facts.delivered, facts.inputs) = (false, None);
    let status = cluster_addon(facts, &ClusterAddonStatus::default(), at(NOW));
    assert!(!status.ready);
    assert_eq!(condition(&status, ConditionType::ClusterAvailable).1, "ControlPlaneNotInitialized");
    assert_eq!(
        condition(&status, ConditionType::AddonsReady),
        ("Unknown".into(), "NotYetReported".into(), "not yet reported".into())
    );
}

#[test]
fn deadlines_count_from_the_last_write_or_the_last_time_all_was_well() {
    let status = |phase: &str, since: &str| AddonStatus {
        phase: Some(phase.to_owned()),
        since: Some(Time(at(since))),
        expected: Some(AddonState { spec_digest: Some("d1".into()), version: None }),
        ..AddonStatus::default()
    };
    let earlier = "2026-11-21T09:00:00Z";
    assert_eq!(expected_since(Some(&status("Progressing", earlier)), "d1", at(NOW)), at(earlier));
    assert_eq!(expected_since(Some(&status("Progressing", earlier)), "d2", at(NOW)), at(NOW), "written anew");
    for settled in ["Applied", "Drifted", "Suspended"] {
        assert_eq!(expected_since(Some(&status(settled, earlier)), "d1", at(NOW)), at(NOW));
    }
    assert_eq!(expected_since(None, "d1", at(NOW)), at(NOW));
}

#[test]
fn what_the_release_drops_keeps_no_addon_from_being_ready() {
    for (reason, expected) in [(Reason::AddonRemoved, "Unknown"), (Reason::PruneBudgetExceeded, "False")] {
        let mut dropped = addon("old", Some(Verdict::Terminating));
        dropped.hold = Some(Hold { reason, message: "why".into() });
        let mut facts = facts(vec![addon("cni", Some(APPLIED)), dropped]);
        facts.delivered = false;
        let status = cluster_addon(facts, &ClusterAddonStatus::default(), at(NOW));
        assert_eq!(condition(&status, ConditionType::AddonsReady).0, "True");
        assert_eq!(condition(&status, ConditionType::ValuesRendered).0, "True");
        let told = (expected.into(), reason.to_string(), "old: why".into());
        assert_eq!(condition(&status, ConditionType::Delivered), told);
        assert_eq!(status.addons[1].phase.as_deref(), Some("Terminating"));
        assert!(!status.ready);
    }
}

#[test]
fn what_keeps_an_object_from_being_written_is_told_of_the_delivery_and_not_of_the_values() {
    for (reason, expected, message) in [
        (Reason::DeliveryFailed, "Unknown", "apply HelmRelease: no"),
        (Reason::Terminating, "False", "its old object goes"),
        (Reason::Suspended, "Unknown", "stays as it is"),
        (Reason::CommitNotApplied, "Unknown", "it is committed"),
        (Reason::FileEdited, "False", "the file was edited"),
    ] {
        let mut held = addon("ccm", Some(APPLIED));
        held.hold = Some(Hold { reason, message: message.into() });
        let mut facts = facts(vec![addon("cni", Some(APPLIED)), held]);
        facts.delivered = false;
        let status = cluster_addon(facts, &ClusterAddonStatus::default(), at(NOW));
        assert_eq!(condition(&status, ConditionType::ValuesRendered).0, "True");
        let told = (expected.into(), reason.to_string(), format!("ccm: {message}"));
        assert_eq!(condition(&status, ConditionType::Delivered), told);
        let ready = condition(&status, ConditionType::Ready);
        assert_eq!(ready.2, format!("Delivered: ccm: {message}"), "and nothing else is told");
    }
}
