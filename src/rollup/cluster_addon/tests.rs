mod properties;

use super::*;
use crate::error::Class;
use crate::plan::repair::Wait;

const NOW: &str = "2026-11-21T10:00:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn addon(name: &str, verdict: Option<Verdict>) -> AddonFacts {
    AddonFacts {
        name: name.parse().unwrap(),
        chart: Some(KnownAs { name: name.to_owned(), version: "v1".to_owned(), app_version: None }),
        source: None,
        hold: None,
        object: Some(AddonObject { kind: "HelmRelease".into(), name: format!("c1.{name}") }),
        expected: Some(AddonState { spec_digest: Some("d1".into()), version: Some("1.0.0".into()) }),
        observed: None,
        verdict,
        revision_before: None,
        values_digest: None,
        note: None,
    }
}

fn facts(addons: Vec<AddonFacts>) -> ClusterFacts {
    ClusterFacts {
        generation: 3,
        requested_at: None,
        hold: None,
        desired: "openstack-scs-1-32-v2".into(),
        namespace: Some("stacks".into()),
        release: Report::new(ConditionStatus::True, "Applied", ""),
        addons,
        of_desired: true,
        delivered: true,
        stages: None,
        pruned: None,
        upgrade: None,
        committed_by: None,
        inputs: Some(RenderedInputs::default()),
    }
}

const APPLIED: Verdict = Verdict::Applied;

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
    assert_eq!(status.observed_generation, Some(3));
}

#[test]
fn applied_namespace_is_kept_until_next_delivery() {
    let first = cluster_addon(facts(vec![]), &ClusterAddonStatus::default(), at(NOW));
    let moved = ClusterFacts { namespace: None, desired: String::new(), delivered: false, ..facts(vec![]) };
    let release = cluster_addon(moved, &first, at(NOW)).release.unwrap();
    assert_eq!(release.applied_namespace.as_deref(), Some("stacks"));
    assert_eq!((release.desired, release.desired_namespace), (None, None));
    let next = ClusterFacts { namespace: Some("others".into()), ..facts(vec![]) };
    let release = cluster_addon(next, &first, at(NOW)).release.unwrap();
    assert_eq!(release.applied_namespace.as_deref(), Some("others"));
}

#[test]
fn same_facts_later_give_the_same_status() {
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
fn delivery_that_keeps_failing_is_an_issue() {
    let refused = || {
        let hold = Hold { reason: Reason::DeliveryFailed, message: "refused".into() };
        facts(vec![AddonFacts { hold: Some(hold), ..addon("cni", Some(APPLIED)) }])
    };
    let first = cluster_addon(refused(), &ClusterAddonStatus::default(), at(NOW));
    let early = cluster_addon(refused(), &first, at("2026-11-21T10:04:59Z"));
    let late = cluster_addon(refused(), &early, at("2026-11-21T10:05:00Z"));
    for (status, expected) in [(&first, "Unknown"), (&early, "Unknown"), (&late, "False")] {
        for kind in [ConditionType::Delivered, ConditionType::Ready] {
            assert_eq!(condition(status, kind).0, expected, "{kind}");
        }
    }
}

#[test]
fn cause_of_a_late_addon_stays() {
    let late = |reason: &str, message: &str| {
        let (reason, message) = (reason.into(), message.into());
        facts(vec![addon("cni", Some(Verdict::Failed { class: Class::Transient, reason, message }))])
    };
    let failed = late("ReconciliationFailed", "not ready after 20m: dry-run failed");
    let before = cluster_addon(failed, &ClusterAddonStatus::default(), at(NOW));
    let again = late("DeadlineExceeded", "not ready after 20m: Reconciliation in progress");
    assert_eq!(cluster_addon(again, &before, at(NOW)), before, "Flux tries again");
}

#[test]
fn failure_is_reported_and_known_good_release_kept() {
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
        (
            "False".into(),
            "InstallFailed".into(),
            "1 of 2 addons of openstack-scs-1-32-v3; cni: no space".into()
        )
    );
    let release = status.release.unwrap();
    assert_eq!(release.applied.as_deref(), Some("openstack-scs-1-32-v3"));
    assert_eq!(release.last_known_good.as_deref(), Some("openstack-scs-1-32-v2"));
    assert!(!status.ready);
}

#[test]
fn missing_field_is_reported_by_name() {
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
        "and nothing else is reported"
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
        (
            "Unknown".into(),
            "ControlPlaneNotInitialized".into(),
            "not checked while ClusterAvailable is Unknown (ControlPlaneNotInitialized)".into()
        )
    );
}

#[test]
fn deadline_restarts_after_write_or_settled_phase() {
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
fn removed_addon_does_not_affect_addons_ready() {
    for reason in [Reason::AddonRemoved, Reason::FileRemoved, Reason::PruneBudgetExceeded] {
        let mut dropped = addon("old", Some(Verdict::Terminating));
        dropped.hold = Some(Hold { reason, message: "why".into() });
        let mut facts = facts(vec![addon("cni", Some(APPLIED)), dropped]);
        facts.delivered = false;
        let status = cluster_addon(facts, &ClusterAddonStatus::default(), at(NOW));
        assert_eq!(condition(&status, ConditionType::AddonsReady).0, "True");
        assert_eq!(condition(&status, ConditionType::ValuesRendered).0, "True");
        let reported = ("Unknown".into(), reason.to_string(), "old: why".into());
        assert_eq!(condition(&status, ConditionType::Delivered), reported);
        assert_eq!(status.addons[1].phase.as_deref(), Some("Terminating"));
        assert!(!status.ready);
        let reconciling = ConditionType::Reconciling;
        let reported = status.conditions.iter().find(|condition| condition.type_ == reconciling.as_str());
        let waits = (reason == Reason::PruneBudgetExceeded).then_some("why");
        assert_eq!(reported.map(|reported| reported.message.as_str()), waits);
    }
}

#[test]
fn held_addon_is_reported_in_delivered_only() {
    for (reason, expected, message) in [
        (Reason::DeliveryFailed, "Unknown", "apply HelmRelease: no"),
        (Reason::AlreadyExists, "False", "HelmRelease demo/one.ccm exists already"),
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
        let reported = (expected.into(), reason.to_string(), format!("ccm: {message}"));
        assert_eq!(condition(&status, ConditionType::Delivered), reported);
        let ready = condition(&status, ConditionType::Ready);
        assert_eq!(ready.2, format!("Delivered: ccm: {message}"), "and nothing else is reported");
    }
}

#[test]
fn foreign_spec_report_gives_reason_it_stays() {
    let hold = |reason, message: &str| Some(Hold { reason, message: message.to_owned() });
    let unreachable = || hold(Reason::Unreachable, "no connection");
    for (of_addon, of_cluster, of_desired, expected) in [
        (None, None, true, "restores it"),
        (None, unreachable(), true, "restores it"),
        (
            hold(Reason::DeliveryFailed, "denied by policy"),
            unreachable(),
            true,
            "could not restore it and tries again: denied by policy",
        ),
        (
            hold(Reason::Suspended, "is suspended"),
            None,
            true,
            "restores it when reconciling resumes: is suspended",
        ),
        (
            None,
            hold(Reason::KubernetesVersionMismatch, "v1.33"),
            false,
            "does not restore it while this holds: v1.33",
        ),
        (None, unreachable(), false, "does not restore it: the release is missing"),
    ] {
        let manager = Some("kubectl-edit".to_owned());
        let foreign =
            AddonFacts { hold: of_addon, ..addon("cni", Some(Verdict::Foreign { manager, wait: None })) };
        let release = Report::new(ConditionStatus::False, "ReleaseNotFound", "the release is missing");
        let facts =
            ClusterFacts { hold: of_cluster, of_desired, delivered: false, release, ..facts(vec![foreign]) };
        let status = cluster_addon(facts, &ClusterAddonStatus::default(), at(NOW));
        let message = format!("cni: its spec was changed by kubectl-edit; the operator {expected}");
        let reported = ("False".to_owned(), "Foreign".to_owned(), message);
        assert_eq!(condition(&status, ConditionType::Delivered), reported);
    }
}

#[test]
fn waiting_repair_is_reported_with_its_time() {
    let wait = Wait { manager: Some("argocd".to_owned()), count: 3, until: at(NOW) };
    let applied = addon("cni", Some(APPLIED.waiting_for(Some(&wait))));
    let facts = ClusterFacts { delivered: false, ..facts(vec![applied]) };
    let status = cluster_addon(facts, &ClusterAddonStatus::default(), at(NOW));
    let (state, reason, message) = condition(&status, ConditionType::Delivered);
    assert_eq!((state.as_str(), reason.as_str()), ("False", "Foreign"));
    assert_eq!(message, format!("cni: {wait}"));
    assert_eq!(condition(&status, ConditionType::Ready).1, "Foreign");
}

#[test]
fn foreign_spec_of_committed_object_is_left_to_flux() {
    let foreign = Some(Verdict::Foreign { manager: None, wait: None });
    let hold = Some(Hold { reason: Reason::KubernetesVersionMismatch, message: "v1.33".to_owned() });
    for hold in [None, hold] {
        let committed_by = Some("demo/stack".to_owned());
        let facts = ClusterFacts { hold, committed_by, ..facts(vec![addon("cni", foreign.clone())]) };
        let status = cluster_addon(facts, &ClusterAddonStatus::default(), at(NOW));
        let expected = "cni: its spec was changed by another field manager; Flux restores it from the repository at its \
                        next reconciliation";
        assert_eq!(condition(&status, ConditionType::Delivered).2, expected);
    }
}

#[test]
fn numbers_name_their_release() {
    let good = facts(vec![addon("cni", Some(APPLIED)), addon("ccm", Some(APPLIED))]);
    let first = cluster_addon(good.clone(), &ClusterAddonStatus::default(), at(NOW));
    let of_v2 = "2 of 2 addons of openstack-scs-1-32-v2";
    assert_eq!(condition(&first, ConditionType::AddonsReady).2, of_v2);
    assert_eq!(condition(&first, ConditionType::Ready).2, of_v2);

    let mismatch =
        Hold { reason: Reason::KubernetesVersionMismatch, message: "spec.topology.version".into() };
    let held = ClusterFacts {
        hold: Some(mismatch),
        desired: "openstack-scs-1-32-v3".into(),
        of_desired: false,
        delivered: false,
        stages: None,
        inputs: None,
        ..good
    };
    let status = cluster_addon(held, &first, at(NOW));
    let reported = |kind| condition(&status, kind);
    let message = format!("{of_v2}; openstack-scs-1-32-v3 is not delivered");
    assert_eq!(reported(ConditionType::AddonsReady), ("True".into(), "Applied".into(), message));
    let cause = "not checked while ClusterAvailable is False (KubernetesVersionMismatch)";
    for kind in [ConditionType::ValuesRendered, ConditionType::Delivered] {
        assert_eq!(reported(kind), ("Unknown".into(), "KubernetesVersionMismatch".into(), cause.into()));
    }
    let ready = reported(ConditionType::Ready);
    assert_eq!((ready.0.as_str(), ready.2.as_str()), ("False", "ClusterAvailable: spec.topology.version"));
}

#[test]
fn held_addon_reports_its_reason_everywhere() {
    let mut held = addon("ccm", None);
    held.hold = Some(Hold { reason: Reason::WaitingForField, message: "there is no .a".into() });
    let mut facts = facts(vec![addon("cni", Some(APPLIED)), held]);
    facts.delivered = false;
    let status = cluster_addon(facts, &ClusterAddonStatus::default(), at(NOW));
    let reported = condition(&status, ConditionType::AddonsReady);
    assert_eq!(reported.2, "1 of 2 addons of openstack-scs-1-32-v2; ccm: held (WaitingForField)");
    assert_eq!(status.addons[1].reason.as_deref(), Some("WaitingForField"));
}

/// The content that was delivered before may be ready, but it is not the planned content.
#[test]
fn held_addon_is_not_ready_despite_old_content() {
    let mut held = addon("ccm", Some(APPLIED));
    held.hold = Some(Hold { reason: Reason::ValuesInvalid, message: "line 3".into() });
    let status = cluster_addon(facts(vec![held]), &ClusterAddonStatus::default(), at(NOW));
    let [held] = status.addons.as_slice() else { panic!("{:?}", status.addons) };
    let reported = [&held.phase, &held.reason, &held.message].map(|text| text.as_deref().unwrap_or_default());
    assert_eq!(reported, ["Held", "ValuesInvalid", "line 3"]);
}

#[test]
fn removed_addon_is_not_counted_in_the_release() {
    let mut dropped = addon("old", Some(APPLIED));
    dropped.hold = Some(Hold { reason: Reason::PruneBudgetExceeded, message: "waits".into() });
    let mut facts = facts(vec![addon("cni", Some(APPLIED)), dropped]);
    facts.delivered = false;
    let status = cluster_addon(facts, &ClusterAddonStatus::default(), at(NOW));
    assert_eq!(condition(&status, ConditionType::AddonsReady).2, "1 of 1 addons of openstack-scs-1-32-v2");
    let dropped = &status.addons[1];
    let seen = (dropped.phase.as_deref(), dropped.reason.as_deref());
    assert_eq!(seen, (Some("Held"), Some("PruneBudgetExceeded")));
}

#[test]
fn paused_cluster_reports_only_paused() {
    let good = facts(vec![addon("cni", Some(APPLIED))]);
    let first = cluster_addon(good.clone(), &ClusterAddonStatus::default(), at(NOW));
    let paused = |reason: &str| Report::new(ConditionStatus::Unknown, reason, "the Cluster is paused");
    let facts = ClusterFacts {
        hold: Some(Hold { reason: Reason::Paused, message: "the Cluster is paused".into() }),
        release: paused("Paused"),
        addons: vec![addon("cni", None)],
        of_desired: false,
        delivered: false,
        stages: None,
        inputs: None,
        ..good
    };
    let status = cluster_addon(facts.clone(), &first, at(NOW));
    for reported in &status.conditions {
        let seen = (reported.status.as_str(), reported.reason.as_str());
        assert_eq!(seen, ("Unknown", "Paused"), "{reported:?}");
    }
    assert_eq!(condition(&status, ConditionType::Ready).2, "ClusterAvailable: the Cluster is paused");
    assert_eq!(status.addons[0].phase.as_deref(), Some("Held"));
    assert_eq!(status.release, first.release);
    assert_eq!(cluster_addon(facts, &status, at("2026-11-21T12:00:00Z")), status, "and that only once");
}

#[test]
fn cluster_without_class_desires_no_release() {
    let mut facts = facts(Vec::new());
    (facts.desired, facts.of_desired, facts.delivered, facts.inputs) = (String::new(), false, false, None);
    facts.release = Report::new(ConditionStatus::False, "ClassUnknown", "the Cluster has no class");
    let status = cluster_addon(facts, &ClusterAddonStatus::default(), at(NOW));
    assert_eq!(status.release.unwrap().desired, None);
}

#[test]
fn deleting_cluster_reports_only_deleting() {
    let all = vec![addon("cni", Some(APPLIED)), addon("ccm", Some(Verdict::Pending))];
    let before = cluster_addon(facts(all), &ClusterAddonStatus::default(), at(NOW));
    let why = Hold { reason: Reason::Deleting, message: "the Cluster is being deleted".into() };
    let reported = |status: &str| (status.to_owned(), "Deleting".to_owned(), why.message.clone());
    let status = deleted_cluster_addon(&why, None, &before, 4, at(NOW));
    assert!(!status.ready);
    for kind in [ConditionType::Ready, ConditionType::ClusterAvailable] {
        assert_eq!(condition(&status, kind), reported("False"), "{kind}");
    }
    let unknown = [ConditionType::ReleaseReady, ConditionType::ValuesRendered, ConditionType::AddonsReady];
    for kind in unknown.into_iter().chain([ConditionType::Delivered]) {
        assert_eq!(condition(&status, kind), reported("Unknown"), "{kind}");
    }
    let temporary = [ConditionType::Reconciling, ConditionType::Stalled].map(|kind| kind.to_string());
    assert!(status.conditions.iter().all(|condition| !temporary.contains(&condition.type_)));
    assert!(status.addons.iter().all(|addon| addon.reason.as_deref() == Some("Deleting")));
    assert_eq!(status.release, before.release, "what the cluster has is remembered");
    assert_eq!(deleted_cluster_addon(&why, None, &status, 4, at("2026-11-21T10:05:00Z")), status);

    let waits = Hold { reason: Reason::Committing, message: "it waits for the next commit".into() };
    let status = deleted_cluster_addon(&why, Some(&waits), &before, 4, at(NOW));
    assert_eq!(condition(&status, ConditionType::Delivered).1, "Committing");
    assert_eq!(condition(&status, ConditionType::Ready), reported("False"));
}
