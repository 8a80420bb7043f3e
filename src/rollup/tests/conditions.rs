//! The conditions derived from verdicts.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::*;
use crate::api::conditions::{ConditionType, Reason};
use crate::error::Class::{Terminal, Transient};
use crate::plan::repair::Wait;

fn report(status: ConditionStatus, reason: &str, message: &str) -> Report {
    Report { status, reason: reason.to_owned(), message: message.to_owned() }
}

fn addons(verdicts: Vec<(&str, Option<Verdict>)>) -> Report {
    let named: Vec<_> =
        verdicts.into_iter().map(|(name, verdict)| (name, verdict.as_ref().map(Verdict::report))).collect();
    addons_ready(&named, "")
}

#[test]
fn transition_time_changes_only_with_the_status() {
    let (then, now) = (time("2026-11-20T10:00:00Z"), time("2026-11-20T11:00:00Z"));
    let old = |status: &str| {
        vec![Condition {
            type_: "AddonsReady".to_owned(),
            status: status.to_owned(),
            reason: "Before".to_owned(),
            message: "before".to_owned(),
            observed_generation: Some(6),
            last_transition_time: Time(then),
        }]
    };
    let rows = [("False", then), ("True", now), ("Unknown", now)];
    for (status, transition) in rows {
        let new = report(ConditionStatus::False, "InstallFailed", "cni: no luck").condition(
            ConditionType::AddonsReady,
            7,
            &old(status),
            now,
        );
        assert_eq!(new.last_transition_time, Time(transition), "{status}");
        assert_eq!(
            (new.status.as_str(), new.reason.as_str(), new.message.as_str()),
            ("False", "InstallFailed", "cni: no luck")
        );
        assert_eq!((new.type_.as_str(), new.observed_generation), ("AddonsReady", Some(7)));
    }
    let of_another_type =
        report(ConditionStatus::False, "A", "").condition(ConditionType::Ready, 7, &old("False"), now);
    assert_eq!(of_another_type.last_transition_time, Time(now));
}

#[test]
fn addon_summary_orders_issue_unknown_applied() {
    let failure = failed(Transient, "InstallFailed", "no luck");
    let applied = Verdict::Applied;
    let ready = addons(vec![("cni", Some(applied.clone())), ("csi", Some(applied.clone()))]);
    assert_eq!(ready, report(ConditionStatus::True, "Applied", "2 of 2 addons"));
    let unknown =
        addons(vec![("cni", Some(applied.clone())), ("csi", Some(Verdict::Pending)), ("ccm", None)]);
    assert_eq!(
        unknown,
        report(
            ConditionStatus::Unknown,
            "Several",
            "1 of 3 addons; csi: Flux has not reconciled it yet; ccm: not yet reported"
        )
    );
    let issue = addons(vec![("cni", Some(applied)), ("csi", Some(Verdict::Pending)), ("ccm", Some(failure))]);
    assert_eq!(
        issue,
        report(
            ConditionStatus::False,
            "InstallFailed",
            "1 of 3 addons; ccm: no luck; csi: Flux has not reconciled it yet"
        )
    );
}

#[test]
fn shared_cause_of_addons_is_reported_once() {
    let waits = || Some(waiting("KubeConfigNotFound", "Secret a is missing", None));
    let names = ["ccm", "cni", "csi", "dns", "gpu"];
    let all = addons(names.iter().map(|name| (*name, waits())).collect());
    let sentence = "0 of 5 addons; ccm, cni, csi and 2 others: Secret a is missing";
    assert_eq!(all, report(ConditionStatus::Unknown, "KubeConfigNotFound", sentence));
    let two = addons(vec![("ccm", waits()), ("cni", Some(Verdict::Pending)), ("csi", waits())]);
    assert_eq!(
        two.message,
        "0 of 3 addons; ccm, csi: Secret a is missing; cni: Flux has not reconciled it yet"
    );
}

#[test]
fn missing_is_never_true() {
    let unknown = addons(vec![("cni", None)]);
    assert_eq!(
        unknown,
        report(ConditionStatus::Unknown, "NotYetReported", "0 of 1 addons; cni: not yet reported")
    );
    assert_eq!(object_ready(None), report(ConditionStatus::Unknown, "NotYetReported", "not yet reported"));
    assert_eq!(mirror(&[], 1, "Ready").status, ConditionStatus::Unknown);
    let of_three = aggregate(
        "clusters",
        &[("a", Some(report(ConditionStatus::True, "Applied", ""))), ("b", None)],
        Reason::Applied,
    );
    assert_eq!(
        of_three,
        report(ConditionStatus::Unknown, "NotYetReported", "1 of 2 clusters: 1 NotYetReported (b)")
    );
}

#[test]
fn part_that_waits_for_others_hides_no_cause() {
    let unknown = |reason, message| Some(report(ConditionStatus::Unknown, reason, message));
    let stage = || unknown("WaitingForStage", "stays as it is");
    let dependency = || unknown("WaitingForDependency", "waits until cni is applied");
    let progress = || unknown("Progressing", "installs");
    let of = |parts: &[(&str, Option<Report>)]| {
        let sum = summary(parts, (Reason::Applied, ""));
        (sum.reason, sum.message)
    };
    for (parts, reason, message) in [
        (
            vec![("policies", stage()), ("cni", progress())],
            "Progressing",
            "cni: installs; policies: stays as it is",
        ),
        (vec![("policies", stage()), ("csi", stage())], "WaitingForStage", "policies, csi: stays as it is"),
        (
            vec![("policies", stage()), ("cni", progress()), ("ccm", unknown("Suspended", "is suspended"))],
            "Several",
            "cni: installs; ccm: is suspended; policies: stays as it is",
        ),
        (
            vec![("policies", dependency()), ("csi", stage())],
            "Several",
            "policies: waits until cni is applied; csi: stays as it is",
        ),
        (
            vec![
                ("policies", stage()),
                ("cni", Some(report(ConditionStatus::False, "InstallFailed", "no luck"))),
            ],
            "InstallFailed",
            "cni: no luck; policies: stays as it is",
        ),
    ] {
        assert_eq!(of(&parts), (reason.to_owned(), message.to_owned()), "{parts:?}");
    }
}

#[test]
fn release_without_addons_is_ready() {
    assert_eq!(addons(vec![]), report(ConditionStatus::True, "Applied", "0 of 0 addons"));
}

#[test]
fn mirror_ignores_condition_of_old_generation() {
    let source = |generation| {
        report(ConditionStatus::False, "ImageMissing", "no image").condition(
            ConditionType::Ready,
            generation,
            &[],
            written_at(),
        )
    };
    assert_eq!(mirror(&[source(3)], 3, "Ready"), report(ConditionStatus::False, "ImageMissing", "no image"));
    assert_eq!(mirror(&[source(2)], 3, "Ready"), Report::not_yet_reported());
    let without = Condition { observed_generation: None, ..source(1) };
    assert_eq!(mirror(&[without], 3, "Ready").reason, "ImageMissing");
}

#[test]
fn aggregate_counts_all_and_names_a_few() {
    let failing = |reason| Some(report(ConditionStatus::False, reason, "a long story"));
    let names: Vec<String> = (0..1000).map(|number| format!("c{number:03}")).collect();
    let objects: Vec<(&str, Option<Report>)> = names
        .iter()
        .rev()
        .enumerate()
        .map(|(number, name)| {
            let report = match number {
                0..5 => failing("InstallFailed"),
                5 => failing("RolledBack"),
                6..10 => Some(report(ConditionStatus::Unknown, "Progressing", "")),
                _ => Some(report(ConditionStatus::True, "Applied", "")),
            };
            (name.as_str(), report)
        })
        .collect();
    let message = "990 of 1000 clusters: 5 InstallFailed (c995, c996, c997 and 2 others), 1 RolledBack (c994), \
                   4 Progressing (c990, c991, c992 and 1 others)";
    assert_eq!(
        aggregate("clusters", &objects, Reason::Applied),
        report(ConditionStatus::False, "Several", message)
    );

    let mut other_order = objects.clone();
    other_order.reverse();
    assert_eq!(
        aggregate("clusters", &other_order, Reason::Applied),
        aggregate("clusters", &objects, Reason::Applied)
    );
    let good =
        aggregate("clusters", &[("a", Some(report(ConditionStatus::True, "Fetched", "")))], Reason::Applied);
    assert_eq!(good, report(ConditionStatus::True, "Applied", "1 of 1 clusters"));
}

#[test]
fn condition_is_valid_for_any_message_of_flux() {
    let long = Report::new(ConditionStatus::False, "9 lives", &"wörter\n\t".repeat(2000));
    assert_eq!(long.reason, "Unrecognized");
    assert_eq!(long.message.chars().count(), 1024);
    assert!(long.message.starts_with("wörter wörter ") && long.message.ends_with('…'));
    let exact = Report::new(ConditionStatus::False, "Fine_1", &"x".repeat(1024));
    assert_eq!((exact.reason.as_str(), exact.message.len()), ("Fine_1", 1024));
    for bad in ["", "_a", "a_", "a b", "ä", "a\nb"] {
        assert_eq!(Report::new(ConditionStatus::False, bad, "").reason, "Unrecognized", "{bad:?}");
    }
    let drowned = addons(vec![
        ("cni", Some(failed(Transient, "A", &"x".repeat(5000)))),
        ("csi", Some(failed(Transient, "A", "y"))),
    ]);
    assert_eq!(drowned.message.chars().count(), 1024);
}

#[test]
fn kstatus_conditions_are_there_only_while_true() {
    let applied = Verdict::Applied;
    let given_up = failed(Terminal, "RetriesExceeded", "three times");
    let rolled_back = |exhausted| Verdict::RolledBack { exhausted, message: "back".to_owned() };
    assert_eq!((reconciling([&applied]), stalled([&applied])), (None, None));
    assert_eq!(
        reconciling([&applied, &Verdict::Pending]),
        Some(report(ConditionStatus::True, "Pending", "Flux has not reconciled it yet"))
    );
    assert_eq!(reconciling([&given_up]), None);
    assert_eq!(
        stalled([&applied, &given_up]),
        Some(report(ConditionStatus::True, "RetriesExceeded", "three times"))
    );
    assert_eq!((reconciling([&rolled_back(true)]), stalled([&rolled_back(false)])), (None, None));
    assert!(reconciling([&Verdict::Foreign { manager: None, wait: None }]).is_some());
}

fn drifted() -> Verdict {
    Verdict::Drifted { message: "ConfigMap/a/b changed".to_owned() }
}

/// The report of every verdict, in one place for readers.
#[test]
fn reports_of_verdicts() {
    let until = "2026-11-21T12:00:04Z".parse().unwrap();
    let wait = Wait { manager: Some("argocd".to_owned()), count: 3, until };
    let rows = [
        (Verdict::Terminating, "False Terminating: is being deleted"),
        (Verdict::Suspended, "Unknown Suspended: is suspended, its state is not known"),
        (
            Verdict::Foreign { manager: None, wait: None }.waiting_for(Some(&wait)),
            "False Foreign: was changed again by argocd after the operator restored it 3 times; the operator restores it \
             at 2026-11-21T12:00:04Z",
        ),
        (
            Verdict::Foreign { manager: Some("kubectl-edit".to_owned()), wait: None },
            "False Foreign: its spec was changed by kubectl-edit",
        ),
        (
            Verdict::RolledBack { exhausted: true, message: "back".to_owned() },
            "False RolledBack: back; no retries are left",
        ),
        (
            Verdict::RolledBack { exhausted: false, message: "back".to_owned() },
            "False RolledBack: back; Flux tries again",
        ),
        (failed(Terminal, "RetriesExceeded", "three times"), "False RetriesExceeded: three times"),
        (waiting("SourceNotReady", "no chart", None), "Unknown SourceNotReady: no chart"),
        (
            waiting("SourceNotReady", "no chart", Some("1.0.0")),
            "Unknown SourceNotReady: no chart (1.0.0 works meanwhile)",
        ),
        (Verdict::Pending, "Unknown Pending: Flux has not reconciled it yet"),
        (Verdict::Applied, "True Applied: "),
        (drifted(), "False Drifted: ConfigMap/a/b changed; Flux only reports it (driftDetection: warn)"),
        (
            Verdict::Retrying { attempt: 2, message: "no luck".to_owned() },
            "False Retrying: attempt 2 failed: no luck",
        ),
        (progressing("Running"), "Unknown Progressing: Running"),
        (Verdict::Fetched, "True Fetched: "),
        (
            Verdict::ApplierUnavailable(Silence::NoAnswer {
                controller: "helm-controller",
                since: written_at(),
            }),
            "Unknown ApplierUnavailable: helm-controller has not responded to a change or request of \
             2026-11-20T10:00:00Z, and changed no other object of the kind for 2m",
        ),
    ];
    for (verdict, words) in rows {
        let Report { status, reason, message } = object_ready(Some(&verdict));
        assert_eq!(format!("{} {reason}: {message}", status.as_str()), words);
    }
}

#[test]
fn deadline_stops_for_settled_objects() {
    assert!(drifted().is_settled() && Verdict::Suspended.is_settled() && Verdict::Fetched.is_settled());
    assert!(!Verdict::Pending.is_settled() && !progressing("").is_settled());
}
