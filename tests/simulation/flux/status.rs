//! The statuses of Flux's objects, as in `tests/recorded`. Functions without another purpose return changes of a status.

use serde_json::{Value, json};
use stackflux::api::labels::{FORCE_AT, REQUESTED_AT};

use super::Content;

/// The status of a successful reconciliation.
pub(super) fn done(object: &Value, reason: &str, message: &str, more: &Value) -> Value {
    let ready = condition(object, "Ready", "True", reason, message);
    let status = json!({"observedGeneration": object["metadata"]["generation"], "conditions": [ready]});
    merged(status, more)
}

/// The fields that name the attempted content.
pub(super) fn attempted(object: &Value, wanted: &Content) -> Value {
    json!({
        "lastAttemptedGeneration": object["metadata"]["generation"],
        "lastAttemptedRevision": wanted.0,
        "lastAttemptedConfigDigest": wanted.1,
    })
}

/// The beginning of an attempt.
pub(super) fn progressing(object: &Value, more: &Value) -> Value {
    let action = if deployed(object).is_some() { "upgrade" } else { "install" };
    let (reason, message) = ("Progressing", format!("Running '{action}' action with timeout of 5m0s"));
    let ready = condition(object, "Ready", "Unknown", reason, &message);
    let reconciling = condition(object, "Reconciling", "True", reason, &message);
    merged(json!({"conditions": [ready, reconciling]}), more)
}

/// A successful installation or upgrade of a `HelmRelease`.
pub(super) fn installed(object: &Value, wanted: &Content) -> Value {
    let mut history = history(object);
    let before = history.iter_mut().find(|snapshot| snapshot["status"] == "deployed");
    let (action, reason) = match before {
        Some(before) => {
            before["status"] = json!("superseded");
            ("upgrade", "UpgradeSucceeded")
        }
        None => ("install", "InstallSucceeded"),
    };
    history.insert(0, snapshot(object, action, wanted, "deployed"));
    history.truncate(3);
    let message = format!("Helm {action} succeeded for release kube-system/{}", release(object));
    let none =
        json!({"history": history, "failures": null, "installFailures": null, "upgradeFailures": null});
    let status = done(object, reason, &message, &none);
    with_condition(status, condition(object, "Released", "True", reason, &message))
}

/// A `HelmRelease` whose content is installed already.
pub(super) fn still_installed(object: &Value, attempted: &Value) -> Value {
    let is_first = history(object).len() == 1;
    let (action, reason) =
        if is_first { ("install", "InstallSucceeded") } else { ("upgrade", "UpgradeSucceeded") };
    let message = format!("Helm {action} succeeded for release kube-system/{}", release(object));
    let status = done(object, reason, &message, attempted);
    with_condition(status, condition(object, "Released", "True", reason, &message))
}

/// A failed installation, which Flux will retry.
pub(super) fn install_failed(object: &Value, wanted: &Content) -> Value {
    let message = format!("Helm install failed for release kube-system/{}: timeout waiting", release(object));
    let ready = condition(object, "Ready", "False", "InstallFailed", &message);
    let released = condition(object, "Released", "False", "InstallFailed", &message);
    let reconciling = condition(object, "Reconciling", "True", "ProgressingWithRetry", "retrying after 1m0s");
    json!({
        "conditions": [ready, released, reconciling], "failures": 1, "installFailures": 1,
        "history": [snapshot(object, "install", wanted, "failed")],
    })
}

/// A failed upgrade, before its rollback.
pub(super) fn upgrade_failed(object: &Value) -> Value {
    let message = format!("Helm upgrade failed for release kube-system/{}: timeout waiting", release(object));
    let ready = condition(object, "Ready", "False", "UpgradeFailed", &message);
    let released = condition(object, "Released", "False", "UpgradeFailed", &message);
    let running = "Running 'upgrade' action with timeout of 5m0s";
    json!({"conditions": [ready, released, condition(object, "Reconciling", "True", "Progressing", running)]})
}

/// The rollback of a failed upgrade, which Flux will retry.
pub(super) fn rolled_back(object: &Value, wanted: &Content) -> Value {
    let mut history = history(object);
    history.insert(0, snapshot(object, "upgrade", wanted, "failed"));
    let failed = format!("Helm upgrade failed for release kube-system/{}: timeout waiting", release(object));
    let message = format!("Helm rollback to previous release kube-system/{} succeeded", release(object));
    let of = |kind: &str, status: &str, reason: &str| condition(object, kind, status, reason, &message);
    json!({
        "conditions": [
            of("Ready", "False", "RollbackSucceeded"),
            of("Reconciling", "True", "ProgressingWithRetry"),
            condition(object, "Released", "False", "UpgradeFailed", &failed),
            of("Remediated", "True", "RollbackSucceeded"),
        ],
        "failures": 1, "upgradeFailures": 1, "history": history,
    })
}

/// A `Kustomization` that is applied.
pub(super) fn applied(object: &Value, revision: &str) -> Value {
    let attempt =
        json!({"lastReconciledStatus": "ReconciliationSucceeded", "metadata": {"revision": revision}});
    let more =
        json!({"lastAppliedRevision": revision, "lastAttemptedRevision": revision, "history": [attempt]});
    let message = format!("Applied revision: {revision}");
    let status = done(object, "ReconciliationSucceeded", &message, &more);
    with_condition(status, condition(object, "Healthy", "True", "Succeeded", "Health check passed in 18ms"))
}

/// A `Kustomization` whose objects do not become ready.
pub(super) fn unhealthy(object: &Value) -> Value {
    let message = "health check failed after 30s: timeout waiting for: [Deployment status: 'InProgress']";
    let ready = condition(object, "Ready", "False", "HealthCheckFailed", message);
    let healthy = condition(object, "Healthy", "False", "HealthCheckFailed", message);
    let reconciling =
        condition(object, "Reconciling", "True", "ProgressingWithRetry", "Running health checks");
    json!({"conditions": [ready, healthy, reconciling]})
}

/// The content that Helm has deployed, according to the status; `None` if a later revision failed.
pub(super) fn deployed(object: &Value) -> Option<Content> {
    let history = object["status"]["history"].as_array()?;
    let found = history.iter().find(|snapshot| snapshot["status"] == "deployed")?;
    let version = found.get("ociDigest").unwrap_or(&found["chartVersion"]);
    Some((version.as_str()?.to_owned(), found["configDigest"].as_str()?.to_owned()))
}

/// Whether the last revision of Helm is deployed. After another one, Flux upgrades even to the content that is installed.
pub(super) fn is_latest_deployed(object: &Value) -> bool {
    history(object).first().is_some_and(|snapshot| snapshot["status"] == "deployed")
}

/// Whether an attempt at the present generation has begun.
pub(super) fn is_running(object: &Value) -> bool {
    ready(object).is_some_and(|ready| ready["reason"] == "Progressing" && is_current(object, ready))
}

/// Whether an upgrade is requested that has to happen though nothing changed.
pub(super) fn is_forced(object: &Value) -> bool {
    let (annotations, status) = (&object["metadata"]["annotations"], &object["status"]);
    let forced = &annotations[FORCE_AT];
    !forced.is_null()
        && *forced == annotations[REQUESTED_AT]
        && *forced != status["lastHandledForceAt"]
        && *forced != status["lastHandledReconcileAt"]
}

/// Whether the last attempt at the present generation failed, and Flux waits before the next one.
pub(super) fn has_failed(object: &Value) -> bool {
    let waits = ["InstallFailed", "RollbackSucceeded", "HealthCheckFailed"];
    let has = |ready: &Value| ready["reason"].as_str().is_some_and(|reason| waits.contains(&reason));
    ready(object).is_some_and(|ready| has(ready) && is_current(object, ready))
}

/// Whether an upgrade failed and is not rolled back yet.
pub(super) fn has_failed_upgrade(object: &Value) -> bool {
    ready(object).is_some_and(|ready| ready["reason"] == "UpgradeFailed" && is_current(object, ready))
}

/// Whether the object is ready in its present generation.
pub(super) fn is_ready_now(object: &Value) -> bool {
    ready(object).is_some_and(|ready| ready["status"] == "True" && is_current(object, ready))
}

/// A semantic version from one that Helm accepts, such as `v1`.
pub(super) fn semantic(version: &str) -> String {
    let version = version.trim_start_matches('v');
    let missing = 2_usize.saturating_sub(version.matches('.').count());
    format!("{version}{}", ".0".repeat(missing))
}

fn ready(object: &Value) -> Option<&Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == "Ready")
}

fn is_current(object: &Value, condition: &Value) -> bool {
    condition["observedGeneration"] == object["metadata"]["generation"]
}

fn history(object: &Value) -> Vec<Value> {
    object["status"]["history"].as_array().cloned().unwrap_or_default()
}

fn snapshot(object: &Value, action: &str, content: &Content, status: &str) -> Value {
    let latest = history(object).first().and_then(|snapshot| snapshot["version"].as_i64());
    let digest = content.0.strip_prefix("sha256:");
    let version = digest.map_or_else(|| content.0.clone(), |digest| format!("1.0.0+{}", &digest[..12]));
    let mut snapshot = json!({
        "action": action, "apiVersion": "v2", "chartName": "addon", "chartVersion": version,
        "configDigest": content.1, "digest": "sha256:0", "firstDeployed": "2026-11-20T20:42:56Z",
        "lastDeployed": "2026-11-20T20:42:56Z", "name": release(object), "namespace": "kube-system",
        "status": status, "version": latest.unwrap_or_default() + 1,
    });
    if digest.is_some() {
        snapshot["ociDigest"] = json!(content.0);
    }
    snapshot
}

fn release(object: &Value) -> &str {
    object["spec"]["releaseName"].as_str().unwrap_or_default()
}

fn condition(object: &Value, kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-11-20T20:43:02Z", "observedGeneration": object["metadata"]["generation"],
    })
}

fn with_condition(mut status: Value, condition: Value) -> Value {
    if let Some(conditions) = status["conditions"].as_array_mut() {
        conditions.push(condition);
    }
    status
}

pub(super) fn merged(mut one: Value, other: &Value) -> Value {
    for (name, value) in other.as_object().into_iter().flatten() {
        one[name] = value.clone();
    }
    one
}
