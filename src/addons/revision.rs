//! Decides which revision of a Helm release does not have the planned content.

use super::Snapshot;
use crate::foreign::capi::field;
use crate::foreign::flux::observed::{FluxObject, KindStatus, References};
use crate::plan::PlannedObject;

/// Returns the revision of a Helm release before the write of another content. `present` is the object now, and `noted` the
/// revision in the status.
///
/// `None` if the values name the content, so that helm-controller itself compares it, if nothing is installed, or if the
/// content did not change since the status had none. An upgrade to earlier content may still run until Flux attempts the
/// present spec: its revision counts as one before.
pub(super) fn revision_before(
    snapshot: &Snapshot,
    planned: &PlannedObject,
    present: Option<&FluxObject>,
    noted: Option<i64>,
) -> Option<i64> {
    let spec = References::of(field(&planned.value, &["spec"])?);
    let latest = |object: &FluxObject| object.status.helm_release().map(|latest| latest.version);
    if spec.names_content {
        return None;
    }
    let before = snapshot.existing(planned).filter(|found| !found.refers_to.is_chart_of(&spec));
    let noted = before.map_or(noted, |before| latest(before))?;
    let is_attempted = |object: &FluxObject| match &object.status {
        KindStatus::HelmRelease(status) => {
            status.last_attempted_generation == Some(object.metadata.generation)
                && object.refers_to.is_chart_of(&spec)
        }
        _ => true,
    };
    Some(present.filter(|present| !is_attempted(present)).and_then(latest).unwrap_or(noted))
}
