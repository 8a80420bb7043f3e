//! The truth table of a `Kustomization`.

use crate::foreign::flux::observed::{Attempt, FluxObject, KustomizationStatus, Status};

use super::source::has_version;
use super::verdict::{Expected, Moment, Verdict, doing};

/// Reasons of `Ready=False` that the manifests do not cause: something else has to happen first.
const WAITING: [&str; 3] = ["DependencyNotReady", "ArtifactFailed", "HealthCheckCanceled"];

/// The reason of `Ready=True`.
const SUCCEEDED: &str = "ReconciliationSucceeded";

/// Reads the status of a `Kustomization`. `expected.version` is the commit.
///
/// The rules come from kustomize-controller 1.9 (`internal/controller/kustomization_controller.go`).
pub(super) fn kustomization(
    object: &FluxObject,
    status: &KustomizationStatus,
    expected: &Expected,
    moment: &Moment,
) -> Verdict {
    let not_ready = object.current_with("Ready", Status::False);
    let attempted = has_version(status.last_attempted_revision.as_deref(), expected);

    let verdict = if let Some(verdict) = Verdict::before_status(object, expected) {
        verdict
    } else if let Some(stalled) = object.current_with("Stalled", Status::True) {
        Verdict::stalled(object, stalled)
    } else if let Some(ready) = not_ready.filter(|ready| WAITING.contains(&ready.reason.as_str())) {
        Verdict::Waiting { reason: ready.reason.clone(), message: ready.message.clone(), last_good: None }
    } else if object.current("Ready").is_none() {
        Verdict::Pending
    } else if is_applied(object, status, expected) {
        Verdict::Applied
    } else if let Some(attempt) = retried(object, status, expected) {
        Verdict::tries_again(&attempt.last_reconciled_status)
    } else if let Some(waiting) =
        not_ready.and_then(|ready| Verdict::without_kubeconfig(&ready.message, None))
    {
        waiting
    } else if let Some(ready) = not_ready.filter(|_| attempted) {
        Verdict::failing(ready)
    } else {
        Verdict::Progressing {
            message: awaited(object, status, expected),
            deadline: moment.deadline_of(expected),
        }
    };
    moment.judge(verdict, object, expected)
}

/// Names what is missing although Flux reports success; otherwise returns Flux's message.
fn awaited(object: &FluxObject, status: &KustomizationStatus, expected: &Expected) -> String {
    let is_ready = object.conditions.with("Ready", Status::True).is_some();
    match (&status.last_applied_revision, &expected.version) {
        (Some(applied), Some(commit)) if is_ready && !has_version(Some(applied), expected) => {
            format!("commit {commit} is expected, {applied} is applied")
        }
        _ => doing(object),
    }
}

/// Returns the last attempt if it failed, and Flux tries the same again.
///
/// Flux sets `Ready` to unknown at the beginning of each attempt, once a minute: only the history tells a retry from the first
/// attempt.
fn retried<'a>(
    object: &FluxObject,
    status: &'a KustomizationStatus,
    expected: &Expected,
) -> Option<&'a Attempt> {
    let is_under_way = object.is_observed() && object.conditions.with("Ready", Status::Unknown).is_some();
    let last = status.history.first().filter(|_| is_under_way)?;
    let is_same = has_version(last.metadata.revision.as_deref(), expected);
    (is_same && last.last_reconciled_status != SUCCEEDED).then_some(last)
}

/// Whether the `Kustomization` is applied, of this generation and this commit.
///
/// Flux sets `Ready` to unknown at the beginning of every interval. The object still counts as applied, unless the
/// attempt before failed: a retry begins with unknown, too.
fn is_applied(object: &FluxObject, status: &KustomizationStatus, expected: &Expected) -> bool {
    let ready = match object.conditions.get("Ready").map(|ready| ready.status) {
        Some(Status::True) => true,
        Some(Status::Unknown) => {
            status.history.first().is_some_and(|attempt| attempt.last_reconciled_status == SUCCEEDED)
        }
        Some(Status::False) | None => false,
    };
    ready && object.is_observed() && has_version(status.last_applied_revision.as_deref(), expected)
}
