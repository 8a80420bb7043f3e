//! A row per line of the table, written by hand after helm-controller's sources, and rows for the order of the lines.

use super::*;
use crate::api::conditions::Reason;
use crate::error::Class::{Terminal, Transient};

/// Returns the status of an applied release, into which a test puts one problem.
fn done() -> Value {
    json!({
        "observedGeneration": 2, "lastAttemptedGeneration": 2,
        "history": [{"status": "deployed", "chartVersion": CHART}, {"status": "superseded", "chartVersion": "0.9.0"}],
    })
}

/// Returns `done()` with one field replaced.
fn but(field: &str, value: Value) -> Value {
    let mut status = done();
    status[field] = value;
    status
}

const READY: &str = "Ready=True UpgradeSucceeded: done";
const BACK: &str = "Remediated=True RollbackSucceeded: rolled back";
const STALLED: &str = "Stalled=True RetriesExceeded: Failed to upgrade after 3 attempt(s)";
const NOT_READY: &str = "Ready=False InstallFailed: no luck";
const NOT_RELEASED: &str = "Released=False InstallFailed: no luck";
/// Flux's conditions for a moment at the beginning of every interval.
const FULFILLING: &str = "Reconciling=True Progressing: Fulfilling prerequisites";
const RETRY: &str = "Reconciling=True ProgressingWithRetry: retrying after 1m0s";

#[test]
fn while_all_is_well() {
    let installing = json!({"observedGeneration": -1, "lastAttemptedGeneration": 2});
    let rows: Vec<(&str, Value, &[&str], Verdict)> = vec![
        ("no status", json!({}), &[], Verdict::Pending),
        ("the CRD's default", json!({"observedGeneration": -1}), &[], Verdict::Pending),
        ("the first look", json!({"observedGeneration": -1}), &[FULFILLING], Verdict::Pending),
        (
            "installing",
            installing,
            &[
                "Ready=Unknown Progressing: Running 'install'",
                "Reconciling=True Progressing: Running 'install' action",
            ],
            progressing("Running 'install' action"),
        ),
        ("applied", done(), &[READY], Verdict::Applied),
        ("the look at every interval", done(), &[READY, FULFILLING], Verdict::Applied),
        ("drift of before", done(), &[READY, "Drifted=True DriftDetected: changed"], Verdict::Applied),
        ("no drift", done(), &[READY, "Drifted=False NoDriftDetected"], Verdict::Applied),
        (
            "another chart",
            but("history", json!([{"status": "deployed", "chartVersion": "2"}])),
            &[READY],
            progressing("chart version 1.0.0+0123456789ab is expected, 2 is deployed"),
        ),
        ("no Helm release", but("history", json!([])), &[READY], progressing("no Helm release is deployed")),
        (
            "a failed one",
            but("history", json!([{"status": "failed", "chartVersion": CHART}])),
            &[READY],
            progressing("no Helm release is deployed"),
        ),
        (
            "not observed",
            but("observedGeneration", json!(1)),
            &[READY],
            progressing(
                "helm-controller has not finished generation 2; its status is of an earlier generation",
            ),
        ),
        (
            "not attempted",
            but("lastAttemptedGeneration", json!(1)),
            &["Ready=True UpgradeSucceeded@1"],
            Verdict::Pending,
        ),
        ("no condition", done(), &[], progressing("")),
    ];
    for (case, status, reported, verdict) in rows {
        assert_eq!(judge_helm_release(&object(status, reported), &soon()), verdict, "{case}");
    }
}

#[test]
fn failed_release_gives_its_verdict() {
    let rolled_back =
        |exhausted| Verdict::RolledBack { exhausted, message: "rolled back: no luck".to_owned() };
    let given_up = |message| failed(Terminal, "RetriesExceeded", message);
    let retrying = Verdict::Retrying { attempt: 3, message: "no luck".to_owned() };
    let running =
        ["Ready=Unknown Progressing: Running", NOT_RELEASED, "Reconciling=True Progressing: Running"];
    let before = || but("lastAttemptedGeneration", json!(1));
    let rows: Vec<(&str, Value, &[&str], Verdict)> = vec![
        ("between two retries", but("failures", json!(3)), &[NOT_READY, NOT_RELEASED, RETRY], retrying),
        (
            "a retry begins",
            done(),
            &[NOT_READY, NOT_RELEASED, FULFILLING],
            failed(Transient, "InstallFailed", "no luck"),
        ),
        ("a retry runs", done(), &running, progressing("no luck")),
        (
            "rolled BACK, tries again",
            done(),
            &["Ready=False RollbackSucceeded", BACK, NOT_RELEASED, RETRY],
            rolled_back(false),
        ),
        (
            "rolled back for good",
            done(),
            &["Ready=False RollbackSucceeded", BACK, NOT_RELEASED, STALLED],
            rolled_back(true),
        ),
        (
            "ready, but it retries",
            but("failures", json!(3)),
            &[READY, RETRY],
            Verdict::Retrying { attempt: 3, message: "retrying after 1m0s".to_owned() },
        ),
        (
            "an older failure is not why",
            done(),
            &["Ready=Unknown Progressing", "Released=False InstallFailed@1: old", FULFILLING],
            progressing("Fulfilling prerequisites"),
        ),
        (
            "the rollback failed",
            done(),
            &["Ready=False RollbackFailed: x", "Remediated=False RollbackFailed: x"],
            failed(Transient, "RollbackFailed", "x"),
        ),
        (
            "uninstalled for good",
            done(),
            &["Ready=False UninstallSucceeded", "Remediated=True UninstallSucceeded", STALLED],
            given_up("Failed to upgrade after 3 attempt(s)"),
        ),
        (
            "given up",
            done(),
            &[NOT_READY, STALLED],
            given_up("Failed to upgrade after 3 attempt(s): no luck"),
        ),
        (
            "given up, whatever else",
            done(),
            &["Ready=False DependencyNotReady@1: x", STALLED],
            given_up("Failed to upgrade after 3 attempt(s)"),
        ),
        (
            "before the change",
            before(),
            &["Ready=False UpgradeFailed@1", "Stalled=True RetriesExceeded@1"],
            Verdict::Pending,
        ),
        (
            "rolled back before the change",
            before(),
            &["Ready=False RollbackSucceeded@1", "Remediated=True RollbackSucceeded@1"],
            Verdict::Pending,
        ),
    ];
    for (case, status, reported, verdict) in rows {
        assert_eq!(judge_helm_release(&object(status, reported), &soon()), verdict, "{case}");
    }
}

#[test]
fn waiting_release_gives_its_verdict() {
    for reason in [
        "DependencyNotReady",
        "SourceNotReady",
        "ArtifactFailed",
        "RESTClientError",
        "StateError",
        "HealthCheckCanceled",
    ] {
        for generation in [1, 2] {
            let reported = format!("Ready=False {reason}@{generation}: why");
            let upgrade = judge_helm_release(&object(done(), &[&reported, FULFILLING]), &soon());
            assert_eq!(upgrade, waiting(reason, "why", Some(CHART)));
            let install = judge_helm_release(
                &object(json!({"observedGeneration": -1}), &[&reported, FULFILLING]),
                &soon(),
            );
            assert_eq!(install, waiting(reason, "why", None));
        }
    }
    // Any other reason counts as a wait only before Helm was called.
    let reported = ["Ready=False ValuesError: no Secret"];
    let early = judge_helm_release(&object(but("lastAttemptedGeneration", json!(1)), &reported), &soon());
    assert_eq!(early, waiting("ValuesError", "no Secret", Some(CHART)));
    let late = judge_helm_release(&object(done(), &reported), &soon());
    assert_eq!(late, failed(Transient, "ValuesError", "no Secret"));
}

#[test]
fn drift_verdict_follows_the_spec() {
    let reported = Verdict::Drifted { message: "ConfigMap/a/b changed".to_owned() };
    for (mode, verdict) in [
        ("enabled", progressing("ConfigMap/a/b changed; Flux corrects it")),
        ("warn", reported),
        ("disabled", Verdict::Applied),
    ] {
        let mut release = object(done(), &[READY, "Drifted=True DriftDetected: ConfigMap/a/b changed"]);
        release["spec"]["driftDetection"] = json!({"mode": mode});
        assert_eq!(judge_helm_release(&release, &soon()), verdict, "{mode}");
        release["status"]["conditions"] =
            json!([condition(READY), condition("Drifted=False NoDriftDetected")]);
        assert_eq!(judge_helm_release(&release, &soon()), Verdict::Applied, "{mode}, corrected");
    }
}

#[test]
fn unknown_chart_version_is_never_applied() {
    let judged = |status: Value| {
        let object = object(status, &[READY]);
        let expected = Expected { version: None, ..expected(&object, CHART) };
        judge(&read(FluxKind::HelmRelease, &object), &expected, &soon())
    };
    assert_eq!(judged(but("history", json!([]))), progressing("no Helm release is deployed"));
    let sentence = format!(
        "chart version {CHART} is deployed; the expected version is known when the HelmChart is packaged"
    );
    assert_eq!(judged(done()), progressing(&sentence));
}

/// Deletion, then suspension, then a foreign spec: the status hides none of them.
#[test]
fn metadata_and_spec_precede_the_status() {
    let mut object = object(done(), &[READY]);
    let expected = expected(&object, CHART);
    let verdict = |object: &Value| judge(&read(FluxKind::HelmRelease, object), &expected, &soon());

    object["spec"]["values"] = json!({"evil": true});
    assert_eq!(verdict(&object), Verdict::Foreign { manager: None, wait: None });

    let wrote = |manager: &str, second: u8, fields: Value| json!({"manager": manager, "time": format!("2026-11-20T10:00:0{second}Z"), "fieldsV1": fields});
    let values = || json!({"f:spec": {"f:values": {"f:evil": {}}}});
    object["metadata"]["managedFields"] = json!([
        wrote("stackflux", 9, values()),
        wrote("stackflux-suspend", 9, json!({"f:spec": {"f:suspend": {}}})),
        wrote("old-tool", 2, values()),
        wrote("kubectl-edit", 5, values()),
        wrote("helm-controller", 8, json!({"f:status": {}})),
    ]);
    assert_eq!(verdict(&object), Verdict::Foreign { manager: Some("kubectl-edit".to_owned()), wait: None });

    object["spec"]["suspend"] = json!(true);
    assert_eq!(verdict(&object), Verdict::Suspended);
    object["metadata"]["deletionTimestamp"] = json!("2026-11-20T10:00:07Z");
    assert_eq!(verdict(&object), Verdict::Terminating);
}

/// Two contents may have one chart version, and if the chart has a schema, the values do not distinguish them either.
#[test]
fn successful_rollback_is_not_applied() {
    let judged = |latest: &str, before: Value| {
        let latest = json!({"version": 3, "status": "deployed", "chartVersion": CHART, "configDigest": "x", "action": latest});
        judge_helm_release(&object(but("history", json!([latest, before])), &[READY]), &soon())
    };
    let revision = |status: &str, chart: &str, config: &str| json!({"version": 2, "status": status, "chartVersion": chart, "configDigest": config, "action": "upgrade"});
    let failed = revision("failed", CHART, "x");
    let Verdict::RolledBack { exhausted: true, message } = judged("rollback", failed.clone()) else {
        panic!("a rollback");
    };
    assert!(message.contains("reports success"), "{message}");
    let applied = Verdict::Applied;
    for (why, latest, before) in [
        ("an upgrade that worked after one that did not", "upgrade", failed),
        ("the values are again those before the failure", "rollback", revision("failed", CHART, "y")),
        ("so is the chart", "rollback", revision("failed", "2.0.0", "x")),
        ("nothing failed", "rollback", revision("superseded", CHART, "x")),
    ] {
        assert_eq!(judged(latest, before), applied, "{why}");
    }
}

/// Such as after `flux reconcile helmrelease --force`: the content that Helm rolled back to is the wanted one.
#[test]
fn rollback_to_planned_values_is_applied() {
    let revision = |status: &str, action: &str| json!({"version": 2, "status": status, "chartVersion": CHART, "configDigest": "x", "action": action});
    let history = json!([revision("deployed", "rollback"), revision("failed", "upgrade")]);
    let mut release = object(but("history", history), &[READY]);
    assert!(matches!(judge_helm_release(&release, &soon()), Verdict::RolledBack { .. }));
    release["spec"]["values"] = json!({"clusterstack.x-k8s.io/content-digest": "sha256:1"});
    assert_eq!(judge_helm_release(&release, &soon()), Verdict::Applied);
}

#[test]
fn reverted_suspend_is_not_a_foreign_edit() {
    let mut resumed = object(done(), &[READY]);
    let expected = expected(&resumed, CHART);
    resumed["spec"]["suspend"] = json!(false);
    let verdict = judge(&read(FluxKind::HelmRelease, &resumed), &expected, &soon());
    assert_eq!(verdict, Verdict::Applied);
}

/// During repeated attempts Flux shows three states; after several attempts they are one, so that the reason changes once.
#[test]
fn repeated_failure_keeps_one_reason_in_all_faces() {
    let faces = [
        ["Ready=False InstallFailed: no luck", "Released=False InstallFailed: no luck", RETRY],
        ["Ready=False InstallFailed: no luck", "Released=False InstallFailed: no luck", FULFILLING],
        ["Ready=Unknown Progressing: Running", "Released=False InstallFailed: no luck", FULFILLING],
    ];
    let judged = |failures: i64| {
        faces.map(|reported| {
            let status = json!({"observedGeneration": 2, "lastAttemptedGeneration": 2, "failures": failures});
            let verdict = judge_helm_release(&object(status, &reported), &soon());
            let report = verdict.report();
            (verdict.phase(), report.reason, report.message)
        })
    };
    let reported = |reason: Reason, message: &str| (reason, reason.to_string(), message.to_owned());
    assert_eq!(judged(4)[0], reported(Reason::Retrying, "attempt 4 failed: no luck"));
    let often = reported(Reason::RepeatedlyFailing, "5 or more attempts have failed: no luck");
    for failures in [5, 6, 500] {
        assert_eq!(judged(failures), [often.clone(), often.clone(), often.clone()], "{failures}");
    }
}

/// The operator makes Flux retry an installation that it gave up on, which resets Flux's counter.
#[test]
fn reset_counter_does_not_hide_repeated_failures() {
    let phase = |revision: i64, before: &str| {
        let history = json!([
            {"status": "failed", "chartVersion": CHART, "version": revision},
            {"status": before, "chartVersion": CHART, "version": revision - 1},
        ]);
        let status =
            json!({"observedGeneration": 2, "lastAttemptedGeneration": 2, "failures": 1, "history": history});
        let reported = [NOT_READY, NOT_RELEASED, "Stalled=True MissingRollbackTarget: no target"];
        judge_helm_release(&object(status, &reported), &soon()).phase()
    };
    assert_eq!(phase(4, "failed"), Reason::Retrying);
    assert_eq!(phase(5, "failed"), Reason::RepeatedlyFailing);
    assert_eq!(phase(50, "deployed"), Reason::Retrying, "it has worked: its revisions are no failures");
}

#[test]
fn permanent_cause_is_the_reason_at_once() {
    let reported = |message: &str| {
        let [ready, released] =
            ["Ready", "Released"].map(|kind| format!("{kind}=False InstallFailed: {message}"));
        let status = json!({"observedGeneration": 2, "lastAttemptedGeneration": 2, "failures": 1});
        judge_helm_release(&object(status, &[&ready, &released, RETRY]), &soon()).report().reason
    };
    assert_eq!(
        reported("no matches for kind \"A\" in version \"b/v1\" ensure CRDs are installed first"),
        "KindNotInstalled"
    );
    assert_eq!(reported("line 9: mapping key \"name\" already defined at line 8"), "ManifestInvalid");
    assert_eq!(reported("execution error at (a/templates/b.yaml:1:3): set it"), "RefusedByChart");
    assert_eq!(reported("context deadline exceeded"), "Retrying");
}
