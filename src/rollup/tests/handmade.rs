//! One row per line of the truth tables, and rows for the order of the lines.

use super::*;
use crate::error::Class::{Terminal, Transient};

fn deployed(version: &str) -> Value {
    json!([{"status": "deployed", "chartVersion": version, "version": 2}, {"status": "superseded", "chartVersion": "0.9.0"}])
}

/// A status that says applied, ready for one thing to be wrong with it.
fn ready() -> Value {
    json!({
        "observedGeneration": 2, "lastAttemptedGeneration": 2, "history": deployed(CHART),
        "conditions": [condition("Ready", "True", "UpgradeSucceeded", "done"), condition("Released", "True", "UpgradeSucceeded", "done")],
    })
}

/// `ready()` with some fields replaced.
fn but(changes: Value) -> Value {
    let mut status = ready();
    for (field, value) in changes.as_object().unwrap().clone() {
        status[field] = value;
    }
    status
}

#[test]
fn helm_release_rows() {
    let retry = condition("Reconciling", "True", "ProgressingWithRetry", "retrying after 1m0s");
    let look = condition("Reconciling", "True", "Progressing", "Fulfilling prerequisites");
    let remediated = condition("Remediated", "True", "RollbackSucceeded", "rolled back");
    let stalled = condition("Stalled", "True", "RetriesExceeded", "Failed to upgrade after 3 attempt(s)");
    let failure = |kind| condition(kind, "False", "InstallFailed", "no luck");
    let dependency = stale("Ready", "False", "DependencyNotReady", "dependency 'tenant/ccm' is not ready", 1);
    let rolled_back = |exhausted| Verdict::RolledBack { exhausted, message: "rolled back".to_owned() };

    let rows: Vec<(&str, Value, Verdict)> = vec![
        ("no status at all", Value::Null, Verdict::Pending),
        ("the CRD's default status", json!({"observedGeneration": -1}), Verdict::Pending),
        ("applied", ready(), Verdict::Applied { drifted: false }),
        (
            "drift that is only reported",
            but(json!({"conditions": [
            condition("Ready", "True", "UpgradeSucceeded", ""), condition("Drifted", "True", "DriftDetected", "")]})),
            Verdict::Applied { drifted: true },
        ),
        (
            "the look at every interval",
            but(json!({"conditions": [condition("Ready", "True", "UpgradeSucceeded", ""), look.clone()]})),
            Verdict::Applied { drifted: false },
        ),
        ("another chart is deployed", but(json!({"history": deployed("0.9.0")})), progressing("done")),
        ("nothing is deployed", but(json!({"history": []})), progressing("done")),
        (
            "the newest release failed",
            but(json!({"history": [{"status": "failed", "chartVersion": CHART}]})),
            progressing("done"),
        ),
        ("not observed", but(json!({"observedGeneration": 1})), progressing("done")),
        (
            "ready of the generation before",
            but(json!({"observedGeneration": 1, "lastAttemptedGeneration": 1,
            "conditions": [stale("Ready", "True", "UpgradeSucceeded", "", 1)]})),
            Verdict::Pending,
        ),
        (
            "a failure of the generation before",
            but(json!({"lastAttemptedGeneration": 1,
            "conditions": [stale("Ready", "False", "UpgradeFailed", "", 1), stale("Stalled", "True", "RetriesExceeded", "", 1)]})),
            Verdict::Pending,
        ),
        (
            "a rollback of the generation before",
            but(json!({"lastAttemptedGeneration": 1,
            "conditions": [stale("Ready", "False", "RollbackSucceeded", "", 1), stale("Remediated", "True", "RollbackSucceeded", "", 1)]})),
            Verdict::Pending,
        ),
        (
            "values cannot be put together",
            but(
                json!({"lastAttemptedGeneration": 1, "conditions": [condition("Ready", "False", "ValuesError", "no Secret")]}),
            ),
            waiting("ValuesError", "no Secret", Some(CHART)),
        ),
        (
            "a dependency, whatever the generation",
            but(json!({"conditions": [dependency.clone()]})),
            waiting("DependencyNotReady", "dependency 'tenant/ccm' is not ready", Some(CHART)),
        ),
        (
            "a dependency of a first install",
            json!({"observedGeneration": -1, "conditions": [dependency.clone(), look.clone()]}),
            waiting("DependencyNotReady", "dependency 'tenant/ccm' is not ready", None),
        ),
        (
            "rolled back, more retries",
            but(
                json!({"conditions": [condition("Ready", "False", "RollbackSucceeded", ""), remediated.clone(), retry.clone()]}),
            ),
            rolled_back(false),
        ),
        (
            "rolled back, no retries",
            but(
                json!({"conditions": [condition("Ready", "False", "RollbackSucceeded", ""), remediated, stalled.clone()]}),
            ),
            rolled_back(true),
        ),
        (
            "the rollback failed",
            but(
                json!({"conditions": [condition("Ready", "False", "RollbackFailed", "worse"), condition("Remediated", "False", "RollbackFailed", "worse")]}),
            ),
            failed(Transient, "RollbackFailed", "worse"),
        ),
        (
            "given up",
            but(json!({"conditions": [failure("Ready"), stalled, dependency]})),
            failed(Terminal, "RetriesExceeded", "Failed to upgrade after 3 attempt(s)"),
        ),
        (
            "between two retries",
            but(json!({"failures": 3, "conditions": [failure("Ready"), failure("Released"), retry]})),
            Verdict::Retrying { attempt: 3, message: "no luck".to_owned() },
        ),
        (
            "a retry begins",
            but(json!({"conditions": [failure("Ready"), failure("Released"), look]})),
            failed(Transient, "InstallFailed", "no luck"),
        ),
        (
            "a retry runs",
            but(
                json!({"conditions": [condition("Ready", "Unknown", "Progressing", "Running 'upgrade'"), failure("Released"),
            condition("Reconciling", "True", "Progressing", "Running 'upgrade'")]}),
            ),
            progressing("no luck"),
        ),
        (
            "an install runs",
            json!({"observedGeneration": -1, "lastAttemptedGeneration": 2, "conditions": [
            condition("Ready", "Unknown", "Progressing", "Running 'install'"), condition("Reconciling", "True", "Progressing", "Running 'install' action")]}),
            progressing("Running 'install' action"),
        ),
    ];
    for (case, status, verdict) in rows {
        assert_eq!(judge_helm_release(&object(status), &soon()), verdict, "{case}");
    }
}

#[test]
fn every_reason_to_wait() {
    for reason in [
        "DependencyNotReady",
        "SourceNotReady",
        "ArtifactFailed",
        "RESTClientError",
        "StateError",
        "HealthCheckCanceled",
    ] {
        let status = but(json!({"conditions": [condition("Ready", "False", reason, "why")]}));
        assert_eq!(judge_helm_release(&object(status), &soon()), waiting(reason, "why", Some(CHART)));
    }
}

#[test]
fn a_chart_version_that_is_not_known_is_never_applied() {
    let object = object(ready());
    let expected = Expected { content: None, ..expected(&object, CHART) };
    let verdict = helm_release(&serde_json::from_value(object).unwrap(), &expected, &soon());
    assert_eq!(verdict, progressing("done"));
}

/// Deletion, then suspension, then somebody else's spec: none of them is hidden by what the status says.
#[test]
fn what_comes_before_the_status() {
    let mut object = object(ready());
    let expected = expected(&object, CHART);
    let verdict =
        |object: &Value| helm_release(&serde_json::from_value(object.clone()).unwrap(), &expected, &soon());

    object["spec"]["values"] = json!({"evil": true});
    assert_eq!(verdict(&object), Verdict::Foreign { manager: None });

    let owns = json!({"f:spec": {"f:values": {"f:evil": {}}}});
    object["metadata"]["managedFields"] = json!([
        {"manager": "stackflux", "operation": "Apply", "time": "2026-11-20T10:00:09Z", "fieldsV1": {"f:spec": {}}},
        {"manager": "stackflux-suspend", "operation": "Update", "time": "2026-11-20T10:00:09Z", "fieldsV1": {"f:spec": {"f:suspend": {}}}},
        {"manager": "old-tool", "operation": "Update", "time": "2026-11-20T10:00:02Z", "fieldsV1": owns},
        {"manager": "kubectl-edit", "operation": "Update", "time": "2026-11-20T10:00:05Z", "fieldsV1": owns},
        {"manager": "helm-controller", "operation": "Update", "time": "2026-11-20T10:00:08Z", "fieldsV1": {"f:status": {}}, "subresource": "status"},
    ]);
    assert_eq!(verdict(&object), Verdict::Foreign { manager: Some("kubectl-edit".to_owned()) });

    object["spec"]["suspend"] = json!(true);
    assert_eq!(verdict(&object), Verdict::Suspended);
    object["metadata"]["deletionTimestamp"] = json!("2026-11-20T10:00:07Z");
    assert_eq!(verdict(&object), Verdict::Terminating);
}

#[test]
fn a_suspend_that_was_taken_back_is_no_foreign_edit() {
    let mut resumed = object(ready());
    resumed["spec"]["suspend"] = json!(false);
    let expected = expected(&object(ready()), CHART);
    let verdict = helm_release(&serde_json::from_value(resumed).unwrap(), &expected, &soon());
    assert_eq!(verdict, Verdict::Applied { drifted: false });
}

#[test]
fn kustomization_rows() {
    let revision = format!("sha1:{COMMIT}");
    let other = "main@sha1:ffffffffffffffffffffffffffffffffffffffff";
    let succeeded = json!([{"lastReconciledStatus": "ReconciliationSucceeded"}, {"lastReconciledStatus": "HealthCheckFailed"}]);
    let unhealthy = json!([{"lastReconciledStatus": "HealthCheckFailed"}, {"lastReconciledStatus": "ReconciliationSucceeded"}]);
    let unknown = condition("Ready", "Unknown", "Progressing", "Reconciliation in progress");
    let building = condition("Reconciling", "True", "Progressing", "Building manifests");
    let bad = condition("Ready", "False", "HealthCheckFailed", "timeout");

    let rows: Vec<(&str, Value, Verdict)> = vec![
        ("no status", Value::Null, Verdict::Pending),
        (
            "ready",
            json!({"observedGeneration": 2, "lastAppliedRevision": revision, "lastAttemptedRevision": revision, "history": succeeded,
            "conditions": [condition("Ready", "True", "ReconciliationSucceeded", "")]}),
            Verdict::Applied { drifted: false },
        ),
        (
            "a branch before the commit",
            json!({"observedGeneration": 2, "lastAppliedRevision": format!("main@{revision}"),
            "conditions": [condition("Ready", "True", "ReconciliationSucceeded", "")]}),
            Verdict::Applied { drifted: false },
        ),
        (
            "the look at every interval",
            json!({"observedGeneration": 2, "lastAppliedRevision": revision, "history": succeeded,
            "conditions": [unknown.clone(), building.clone()]}),
            Verdict::Applied { drifted: false },
        ),
        (
            "a retry of what became unhealthy",
            json!({"observedGeneration": 2, "lastAppliedRevision": revision, "history": unhealthy,
            "conditions": [unknown.clone(), building.clone()]}),
            progressing("Building manifests"),
        ),
        (
            "ready, but of another commit",
            json!({"observedGeneration": 2, "lastAppliedRevision": other, "history": succeeded,
            "conditions": [condition("Ready", "True", "ReconciliationSucceeded", "Applied revision")]}),
            progressing("Applied revision"),
        ),
        (
            "ready of the generation before",
            json!({"observedGeneration": 1, "lastAppliedRevision": revision, "history": succeeded,
            "conditions": [stale("Ready", "True", "ReconciliationSucceeded", "", 1)]}),
            Verdict::Pending,
        ),
        (
            "a new spec of the same commit",
            json!({"observedGeneration": 1, "lastAppliedRevision": revision, "history": succeeded,
            "conditions": [unknown, building]}),
            progressing("Building manifests"),
        ),
        (
            "failed",
            json!({"observedGeneration": 1, "lastAttemptedRevision": revision, "conditions": [bad.clone()]}),
            failed(Transient, "HealthCheckFailed", "timeout"),
        ),
        (
            "failed with another commit",
            json!({"observedGeneration": 1, "lastAttemptedRevision": other, "conditions": [bad]}),
            progressing("timeout"),
        ),
        (
            "the source is missing",
            json!({"conditions": [condition("Ready", "False", "ArtifactFailed", "not found")]}),
            waiting("ArtifactFailed", "not found", None),
        ),
        (
            "a dependency",
            json!({"conditions": [condition("Ready", "False", "DependencyNotReady", "dependency 'a/b' is not ready")]}),
            waiting("DependencyNotReady", "dependency 'a/b' is not ready", None),
        ),
        (
            "given up",
            json!({"conditions": [condition("Ready", "False", "AccessDenied", "no"), condition("Stalled", "True", "AccessDenied", "no")]}),
            failed(Terminal, "AccessDenied", "no"),
        ),
    ];
    for (case, status, verdict) in rows {
        assert_eq!(judge_kustomization(&object(status), &soon()), verdict, "{case}");
    }
}

#[test]
fn git_repository_rows() {
    let fetched = |revision: &str, observed| {
        json!({"observedGeneration": observed, "artifact": {"revision": revision, "url": "http://source/a.tar.gz"},
        "conditions": [condition("Ready", "True", "Succeeded", "stored artifact")]})
    };
    let rows: Vec<(&str, Value, Verdict)> = vec![
        ("no status", Value::Null, Verdict::Pending),
        ("fetched", fetched(&format!("sha1:{COMMIT}"), 2), Verdict::Fetched),
        ("another commit", fetched("main@sha1:ff", 2), progressing("stored artifact")),
        ("twelve digits are not a commit", fetched("sha1:0123456789ab", 2), progressing("stored artifact")),
        ("not observed", fetched(&format!("sha1:{COMMIT}"), 1), progressing("stored artifact")),
        (
            "the pin is gone",
            json!({"observedGeneration": 2, "artifact": {"revision": format!("sha1:{COMMIT}")}, "conditions": [
            condition("Ready", "False", "GitOperationFailed", "no such commit")]}),
            failed(Transient, "GitOperationFailed", "no such commit"),
        ),
        (
            "a bad URL",
            json!({"conditions": [condition("Ready", "False", "URLInvalid", "bad"), condition("Stalled", "True", "URLInvalid", "bad")]}),
            failed(Terminal, "URLInvalid", "bad"),
        ),
    ];
    for (case, status, verdict) in rows {
        let object = object(status);
        let expected = expected(&object, COMMIT);
        assert_eq!(
            git_repository(&serde_json::from_value(object).unwrap(), &expected, &soon()),
            verdict,
            "{case}"
        );
    }
}

#[test]
fn helm_chart_rows() {
    let packaged = |source: &str| {
        json!({"observedGeneration": 2, "observedSourceArtifactRevision": source, "artifact": {"revision": "v2"},
        "conditions": [condition("Ready", "True", "ChartPackageSucceeded", "packaged")]})
    };
    let mut gone = packaged(&format!("sha1:{COMMIT}"));
    gone["artifact"] = Value::Null;
    let rows: Vec<(&str, Value, Verdict)> = vec![
        (
            "packaged from the commit, whose digits its version lacks",
            packaged(&format!("sha1:{COMMIT}")),
            Verdict::Fetched,
        ),
        ("packaged from another commit", packaged("main@sha1:ff"), progressing("packaged")),
        ("the artifact is gone", gone, progressing("packaged")),
    ];
    for (case, status, verdict) in rows {
        let object = object(status);
        let expected = expected(&object, COMMIT);
        assert_eq!(
            helm_chart(&serde_json::from_value(object).unwrap(), &expected, &soon()),
            verdict,
            "{case}"
        );
    }
}
