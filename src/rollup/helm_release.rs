//! The truth table of a `HelmRelease`.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::api::DriftDetection;
use crate::api::labels::FORCE_AT;
use crate::error::Class;
use crate::foreign::flux::observed::{
    Condition, FluxObject, HelmReleaseStatus, KindStatus, Snapshot, Status,
};

use super::verdict::{Expected, Moment, REPEATED_ATTEMPTS, Verdict, doing, join_messages};

/// Reasons of `Ready=False` that the release does not cause: something else has to happen first.
const WAITING: [&str; 6] = [
    "DependencyNotReady",
    "SourceNotReady",
    "ArtifactFailed",
    "RESTClientError",
    "StateError",
    "HealthCheckCanceled",
];

/// The reason of `Stalled` after an installation failed twice. Flux retries it as an upgrade, to which the remediation
/// of upgrades applies. There is nothing to roll back to, so Flux gives up.
const NEVER_INSTALLED: &str = "MissingRollbackTarget";
/// Time until the next attempt, which is Flux's interval for installations.
const RETRY_INTERVAL: SignedDuration = SignedDuration::from_mins(1);

/// The message about a rollback that helm-controller takes for a success. Only its events name the cause of the failed
/// upgrade.
const UNNOTICED: &str = "the upgrade failed, and Helm rolled it back to the previous revision. helm-controller reports \
     success, because both revisions have the same chart version and values; its events say why the upgrade failed";

/// Reads the status of a `HelmRelease`. `expected.version` is the version of the chart, or the digest of its OCI artifact.
///
/// The rules come from helm-controller 1.6 (`internal/controller`, `internal/reconcile`) and from records of a running
/// one (`tests/recorded`).
pub(super) fn helm_release(
    object: &FluxObject,
    status: &HelmReleaseStatus,
    expected: &Expected,
    moment: &Moment,
) -> Verdict {
    let stalled = object.current_with("Stalled", Status::True);
    let not_ready = object.conditions.with("Ready", Status::False);

    let verdict = if let Some(verdict) = Verdict::before_status(object, expected) {
        verdict
    } else if let Some(remediated) = object.current_with("Remediated", Status::True)
        && remediated.reason == "RollbackSucceeded"
    {
        let why = object.current_with("Released", Status::False);
        Verdict::RolledBack { exhausted: stalled.is_some(), message: join_messages([Some(remediated), why]) }
    } else if never_installed(object).is_some() {
        Verdict::Retrying { attempt: attempts(status), message: last_words(object) }
    } else if let Some(stalled) = stalled {
        Verdict::stalled(object, stalled)
    } else if let Some(ready) = not_ready.filter(|ready| WAITING.contains(&ready.reason.as_str())) {
        waiting(status, &ready.reason, &ready.message)
    } else if status.last_attempted_generation != Some(object.metadata.generation) {
        match object.current_with("Ready", Status::False) {
            Some(ready) => waiting(status, &ready.reason, &ready.message),
            None => Verdict::Pending,
        }
    } else if is_applied(object, status, expected) && is_rolled_back_unnoticed(object, status) {
        Verdict::RolledBack { exhausted: true, message: UNNOTICED.to_owned() }
    } else if is_applied(object, status, expected) && !has_new_revision(object, status, expected) {
        without_revision(object, status, expected)
    } else if is_applied(object, status, expected) {
        unless_drifted(object, moment.deadline_of(expected))
    } else if is_reconciling(object, "ProgressingWithRetry") || has_failed_often(object, status) {
        Verdict::Retrying { attempt: attempts(status), message: last_words(object) }
    } else if let Some(ready) = not_ready {
        Verdict::failing(ready)
    } else {
        Verdict::Progressing {
            message: awaited(object, status, expected),
            deadline: moment.deadline_of(expected),
        }
    };
    moment.judge(verdict, object, expected)
}

/// Returns `Applied`, unless Flux has found drift since. If drift detection is off, the condition is from the time when
/// it was on.
fn unless_drifted(object: &FluxObject, deadline: Timestamp) -> Verdict {
    let drift = object.conditions.with("Drifted", Status::True).map(|drift| drift.message.clone());
    match (object.refers_to.drift_detection, drift) {
        (Some(DriftDetection::Enabled), Some(drift)) => {
            Verdict::Progressing { message: format!("{drift}; Flux corrects it"), deadline }
        }
        (Some(DriftDetection::Warn), Some(message)) => Verdict::Drifted { message },
        _ => Verdict::Applied,
    }
}

/// Whether Helm has deployed a revision since the content was changed, if only that proves it. A number is not counted down,
/// but begins again if Helm uninstalls and installs the release.
fn has_new_revision(object: &FluxObject, status: &HelmReleaseStatus, expected: &Expected) -> bool {
    let before = expected.revision_before.filter(|_| !object.refers_to.names_content);
    deployed(status).map(|latest| latest.version) != before
}

/// The state of the forced upgrade that is requested once for each content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ForcedUpgrade {
    /// It is to be requested.
    Due,
    /// Flux has not handled the request yet.
    Requested,
    /// Flux handled it.
    Handled,
}

impl ForcedUpgrade {
    fn of(object: &FluxObject, status: &HelmReleaseStatus, expected: &Expected) -> Self {
        let requested = object.object.annotations.as_ref().and_then(|found| found.get(FORCE_AT));
        let handled = status.last_handled_force_at.as_ref();
        let is_of_content = |at: &String| at.parse::<Timestamp>().is_ok_and(|at| at >= expected.since);
        if requested.is_some() && requested != handled && requested == object.metadata.requested_at.as_ref() {
            Self::Requested
        } else if handled.is_some_and(is_of_content) {
            Self::Handled
        } else {
            Self::Due
        }
    }
}

/// Returns the verdict while Flux reports the success of an upgrade of which Helm has stored no revision.
fn without_revision(object: &FluxObject, status: &HelmReleaseStatus, expected: &Expected) -> Verdict {
    let revision = expected.revision_before.unwrap_or_default();
    let found = format!(
        "helm-controller reports success, but Helm still has revision {revision}, from before the content changed"
    );
    if ForcedUpgrade::of(object, status, expected) != ForcedUpgrade::Handled {
        let message = format!("{found}: the operator requested a forced upgrade");
        return Verdict::Retrying { attempt: attempts(status).max(1), message };
    }
    let (name, namespace) = (object.name(), object.object.namespace.as_deref().unwrap_or_default());
    let message = format!(
        "{found}, also after a forced upgrade; the events of the HelmRelease say why it fails; to upgrade again, run \
         flux reconcile helmrelease {name} -n {namespace} --force"
    );
    Verdict::Failed { class: Class::Terminal, reason: "UpgradeFailed".to_owned(), message }
}

/// Whether to request a forced upgrade now: Flux reports the success of an upgrade of which Helm has stored no revision.
#[must_use]
pub fn is_forced_upgrade_due(object: &FluxObject, expected: &Expected) -> bool {
    let KindStatus::HelmRelease(status) = &object.status else { return false };
    Verdict::before_status(object, expected).is_none()
        && is_applied(object, status, expected)
        && !has_new_revision(object, status, expected)
        && ForcedUpgrade::of(object, status, expected) == ForcedUpgrade::Due
}

/// Returns the time to request a retry of an installation that Flux gave up on; `None` if Flux did not, or has an open
/// request.
#[must_use]
pub fn retry_at(object: &FluxObject) -> Option<Timestamp> {
    let is_asked = object.metadata.requested_at != object.last_handled_reconcile_at;
    let stalled =
        never_installed(object).filter(|_| !object.suspended && !object.metadata.terminating && !is_asked)?;
    stalled.last_transition_time.as_ref()?.0.checked_add(RETRY_INTERVAL).ok()
}

/// The installations that Flux gave up on and is asked to retry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retries {
    /// The objects to ask for now.
    pub due: Vec<Arc<FluxObject>>,
    /// Time of the next retry.
    pub next: Option<Timestamp>,
}

/// Decides which installations to retry now, and when the next one is due.
#[must_use]
pub fn due_retries<'a>(objects: impl IntoIterator<Item = &'a Arc<FluxObject>>, now: Timestamp) -> Retries {
    let mut retries = Retries::default();
    for object in objects {
        match retry_at(object) {
            Some(due) if due <= now => retries.due.push(object.clone()),
            next => retries.next = [retries.next, next].into_iter().flatten().min(),
        }
    }
    retries
}

fn never_installed(object: &FluxObject) -> Option<&Condition> {
    object.current_with("Stalled", Status::True).filter(|stalled| stalled.reason == NEVER_INSTALLED)
}

/// Whether the release is ready, of this generation, and with the expected chart.
///
/// Flux sets `Reconciling` at the beginning of every interval and leaves `Ready` true until it acts, so a `Reconciling`
/// with the reason `Progressing` beside a true `Ready` is a check, not a change.
fn is_applied(object: &FluxObject, status: &HelmReleaseStatus, expected: &Expected) -> bool {
    let deployed = deployed(status).zip(expected.version.as_deref());
    object.conditions.with("Ready", Status::True).is_some()
        && object.is_observed()
        && (object.conditions.with("Reconciling", Status::True).is_none()
            || is_reconciling(object, "Progressing"))
        && deployed.is_some_and(|(snapshot, version)| snapshot.has_version(version))
}

/// Whether Helm rolled back to a revision with the chart version and the values of the failed one, so that
/// helm-controller takes the rollback for a success of the upgrade. Values that name the content distinguish the two: if
/// they are equal, the content is the wanted one.
fn is_rolled_back_unnoticed(object: &FluxObject, status: &HelmReleaseStatus) -> bool {
    if object.refers_to.names_content {
        return false;
    }
    let [latest, before, ..] = status.history.as_slice() else { return false };
    latest.action == "rollback"
        && before.status == "failed"
        && (&latest.chart_version, &latest.config_digest) == (&before.chart_version, &before.config_digest)
}

/// Whether several attempts have failed. The other states that Flux shows between two attempts add no information.
fn has_failed_often(object: &FluxObject, status: &HelmReleaseStatus) -> bool {
    attempts(status) >= REPEATED_ATTEMPTS && object.current_with("Released", Status::False).is_some()
}

/// Counts failed attempts: Flux's count, and at least the revisions of a Helm release that never worked. Flux's own
/// counter restarts when the operator makes it retry an installation that it gave up on.
fn attempts(status: &HelmReleaseStatus) -> i64 {
    let history = &status.history;
    let has_worked = |snapshot: &Snapshot| matches!(snapshot.status.as_str(), "deployed" | "superseded");
    let revisions = history.first().filter(|_| !history.iter().any(has_worked));
    revisions.map_or(0, |latest| latest.version).max(status.failures)
}

/// Names what is missing although Flux reports success; otherwise returns Flux's message.
fn awaited(object: &FluxObject, status: &HelmReleaseStatus, expected: &Expected) -> String {
    let generation = object.metadata.generation;
    if object.conditions.with("Ready", Status::True).is_none() {
        return last_words(object);
    }
    if !object.is_observed() {
        return format!(
            "helm-controller has not finished generation {generation}; its status is of an earlier generation"
        );
    }
    match (deployed(status), &expected.version) {
        (Some(snapshot), Some(version)) if !snapshot.has_version(version) => {
            let what = if version.contains(':') { "the chart of manifest" } else { "chart version" };
            let deployed = match snapshot.version_like(version) {
                "" => "one of another source",
                deployed => deployed,
            };
            format!("{what} {version} is expected, {deployed} is deployed")
        }
        (Some(Snapshot { chart_version, .. }), None) => format!(
            "chart version {chart_version} is deployed; the expected version is known when the HelmChart is packaged"
        ),
        (None, _) => "no Helm release is deployed".to_owned(),
        (Some(_), Some(_)) => last_words(object),
    }
}

fn is_reconciling(object: &FluxObject, reason: &str) -> bool {
    object
        .conditions
        .with("Reconciling", Status::True)
        .is_some_and(|reconciling| reconciling.reason == reason)
}

fn waiting(status: &HelmReleaseStatus, reason: &str, message: &str) -> Verdict {
    let last_good = deployed(status).map(|snapshot| snapshot.chart_version.clone());
    if let Some(waiting) = Verdict::without_kubeconfig(message, last_good.clone()) {
        return waiting;
    }
    Verdict::Waiting { reason: reason.to_owned(), message: message.to_owned(), last_good }
}

/// Returns the latest Helm release, if it is the deployed one.
fn deployed(status: &HelmReleaseStatus) -> Option<&Snapshot> {
    status.history.first().filter(|snapshot| snapshot.status == "deployed")
}

/// Returns the cause of the last failure, otherwise Flux's message.
fn last_words(object: &FluxObject) -> String {
    object
        .current_with("Released", Status::False)
        .map_or_else(|| doing(object), |failed| failed.message.clone())
}
