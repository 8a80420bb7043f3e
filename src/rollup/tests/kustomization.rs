//! A row per line of the table, written by hand after kustomize-controller's sources.

use super::*;
use crate::error::Class::{Terminal, Transient};

const OTHER: &str = "main@sha1:ffffffffffffffffffffffffffffffffffffffff";
const READY: &str = "Ready=True ReconciliationSucceeded: Applied revision";
const BAD: &str = "Ready=False HealthCheckFailed: timeout";
const DEPENDENCY: &str = "Ready=False DependencyNotReady: dependency 'a/b' is not ready";
/// Flux's conditions at the beginning of every interval, and of every retry.
const BEGIN: [&str; 2] = [
    "Ready=Unknown Progressing: Reconciliation in progress",
    "Reconciling=True Progressing: Building manifests",
];

/// Creates a status after an attempt at the expected commit ended with `outcome`.
fn after(outcome: &str) -> Value {
    json!({
        "observedGeneration": 2, "lastAppliedRevision": format!("sha1:{COMMIT}"), "lastAttemptedRevision": format!("sha1:{COMMIT}"),
        "history": [
            {"lastReconciledStatus": outcome, "metadata": {"revision": format!("main@sha1:{COMMIT}")}},
            {"lastReconciledStatus": "Other"},
        ],
    })
}

fn but(field: &str, value: Value) -> Value {
    let mut status = after("ReconciliationSucceeded");
    status[field] = value;
    status
}

#[test]
fn status_gives_its_verdict() {
    let unhealthy = || failed(Transient, "HealthCheckFailed", "timeout");
    let applied = || Verdict::Applied;
    let rows: Vec<(&str, Value, &[&str], Verdict)> = vec![
        ("no status", json!({}), &[], Verdict::Pending),
        ("applied", after("ReconciliationSucceeded"), &[READY], applied()),
        (
            "on a branch",
            but("lastAppliedRevision", json!(format!("main@sha1:{COMMIT}"))),
            &[READY],
            applied(),
        ),
        ("the look at every interval", after("ReconciliationSucceeded"), &BEGIN, applied()),
        (
            "a retry of what became unhealthy",
            after("HealthCheckFailed"),
            &BEGIN,
            failed(Transient, "HealthCheckFailed", "Flux tries again"),
        ),
        (
            "the first attempt at a commit after another failed",
            but(
                "history",
                json!([{"lastReconciledStatus": "HealthCheckFailed", "metadata": {"revision": OTHER}}]),
            ),
            &BEGIN,
            progressing("Building manifests"),
        ),
        (
            "the first attempt at a new spec after another failed",
            {
                let mut status = after("HealthCheckFailed");
                status["observedGeneration"] = json!(1);
                status
            },
            &BEGIN,
            progressing("Building manifests"),
        ),
        ("no attempt ended yet", but("history", json!([])), &BEGIN, progressing("Building manifests")),
        (
            "another commit",
            but("lastAppliedRevision", json!(OTHER)),
            &[READY],
            progressing(&format!("commit {COMMIT} is expected, {OTHER} is applied")),
        ),
        ("no commit", but("lastAppliedRevision", Value::Null), &[READY], progressing("Applied revision")),
        (
            "before the change",
            but("observedGeneration", json!(1)),
            &["Ready=True ReconciliationSucceeded@1"],
            Verdict::Pending,
        ),
        (
            "a new spec of the same commit",
            but("observedGeneration", json!(1)),
            &BEGIN,
            progressing("Building manifests"),
        ),
        ("failed", after("HealthCheckFailed"), &[BAD], unhealthy()),
        (
            "failed at the first attempt",
            json!({"observedGeneration": -1, "lastAttemptedRevision": format!("sha1:{COMMIT}")}),
            &[BAD],
            unhealthy(),
        ),
        (
            "failed with another commit",
            json!({"lastAttemptedRevision": OTHER}),
            &[BAD],
            progressing("timeout"),
        ),
        (
            "failed before the change",
            after("HealthCheckFailed"),
            &["Ready=False HealthCheckFailed@1"],
            Verdict::Pending,
        ),
        (
            "no source",
            json!({}),
            &["Ready=False ArtifactFailed: not found"],
            waiting("ArtifactFailed", "not found", None),
        ),
        ("no source before the change", json!({}), &["Ready=False ArtifactFailed@1"], Verdict::Pending),
        (
            "a dependency",
            json!({}),
            &[DEPENDENCY],
            waiting("DependencyNotReady", "dependency 'a/b' is not ready", None),
        ),
        (
            "given up",
            json!({}),
            &["Ready=False AccessDenied: no", "Stalled=True AccessDenied: no"],
            failed(Terminal, "AccessDenied", "no"),
        ),
    ];
    for (case, status, reported, verdict) in rows {
        assert_eq!(judge_kustomization(&object(status, reported), &soon()), verdict, "{case}");
    }
}

#[test]
fn metadata_and_spec_precede_the_status() {
    let mut object = object(after("ReconciliationSucceeded"), &[READY]);
    let expected = expected(&object, COMMIT);
    let verdict = |object: &Value| judge(&read(FluxKind::Kustomization, object), &expected, &soon());
    object["spec"]["path"] = json!("elsewhere");
    assert_eq!(verdict(&object), Verdict::Foreign { manager: None, wait: None });
    object["spec"]["suspend"] = json!(true);
    assert_eq!(verdict(&object), Verdict::Suspended);
    object["metadata"]["deletionTimestamp"] = json!("2026-11-20T10:00:07Z");
    assert_eq!(verdict(&object), Verdict::Terminating);
}

/// `HelmRelease`s report the same about the same Secret.
#[test]
fn missing_kubeconfig_is_waited_for() {
    let reported = "Ready=False ReconciliationFailed: unable to read KubeConfig secret 'demo/a-kubeconfig' error: \
                secrets \"a-kubeconfig\" not found";
    let message = "Secret demo/a-kubeconfig with the kubeconfig of the cluster is missing";
    let expected = waiting("KubeConfigNotFound", message, None);
    assert_eq!(
        judge_kustomization(&object(json!({"observedGeneration": 2}), &[reported]), &soon()),
        expected
    );
    let status = json!({"observedGeneration": 2, "lastAttemptedRevision": format!("main@sha1:{COMMIT}")});
    assert_eq!(judge_kustomization(&object(status, &[reported]), &soon()), expected);
    let helm = "Ready=False RESTClientError: could not get KubeConfig secret 'demo/a-kubeconfig': secrets \
                \"a-kubeconfig\" not found";
    assert_eq!(judge_helm_release(&object(json!({}), &[helm]), &soon()), expected);
}

/// A retry begins each minute: neither `Ready` nor its message may change with it.
#[test]
fn retry_keeps_the_cause_that_was_reported() {
    let retry = judge_kustomization(&object(after("ReconciliationFailed"), &BEGIN), &soon());
    let late = judge_kustomization(
        &object(after("ReconciliationFailed"), &BEGIN),
        &Moment::at(time("2026-11-20T11:00:00Z")),
    );
    let overdue = "not ready after 20m: dry-run failed";
    for (verdict, phase, reason, message, expected) in [
        (
            &retry,
            "Failed",
            "ReconciliationFailed",
            "dry-run failed",
            failed(Transient, "ReconciliationFailed", "dry-run failed"),
        ),
        (
            &retry,
            "Failed",
            "ClusterUnreachable",
            "refused",
            failed(Transient, "ClusterUnreachable", "refused"),
        ),
        (&retry, "Waiting", "KubeConfigNotFound", "missing", waiting("KubeConfigNotFound", "missing", None)),
        (&retry, "Progressing", "Progressing", "Building manifests", retry.clone()),
        (&retry, "Failed", "ReconciliationFailed", overdue, retry.clone()),
        (
            &late,
            "Failed",
            "ReconciliationFailed",
            overdue,
            failed(Transient, "ReconciliationFailed", overdue),
        ),
        (
            &late,
            "Failed",
            "ReconciliationFailed",
            "dry-run failed",
            failed(Transient, "ReconciliationFailed", overdue),
        ),
    ] {
        let reported = Some(Reported { phase, reason, message });
        assert_eq!(verdict.clone().with_cause_of(reported), expected, "{phase} {reason} {message}");
    }
    assert_eq!(retry.clone().with_cause_of(None), retry, "nothing was reported");
    let other = failed(Transient, "HealthCheckFailed", "timeout");
    let reported =
        Some(Reported { phase: "Failed", reason: "ReconciliationFailed", message: "dry-run failed" });
    assert_eq!(other.clone().with_cause_of(reported), other, "Flux says why");
}
