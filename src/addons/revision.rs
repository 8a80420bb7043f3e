//! Decides which revision of a Helm release does not have the planned content.

use std::sync::Arc;

use super::{AddonWrite, Decision, Snapshot, snapshot};
use crate::foreign::capi::field;
use crate::foreign::flux::observed::{FluxObject, KindStatus, References};
use crate::plan::PlannedObject;
use crate::plan::delivery::Action;
use crate::rollup::{Expected, is_forced_upgrade_due};

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

/// Lists the objects of which Flux reports the success of an upgrade that has not happened. Flux is asked once to upgrade them.
/// An object that is written now is upgraded anyway.
pub(super) fn due_forced_upgrades(snapshot: &Snapshot, decision: &Decision) -> Vec<Arc<FluxObject>> {
    let is_as_planned = |addon: &str| {
        let write = decision.actions.get(addon).map(|action| action.write);
        write == Some(AddonWrite::Deliver(Action::Nothing))
    };
    let due = snapshot.addons_before().filter_map(|addon| {
        let since = addon.since.as_ref().map_or(snapshot.now, |since| since.0);
        let kept = Expected::kept(addon.expected.as_ref()?, since)?;
        let expected = Expected { revision_before: addon.revision_before, ..kept };
        let object = snapshot::named(&snapshot.objects, addon.object.as_ref()?)?;
        (is_as_planned(&addon.name) && is_forced_upgrade_due(object, &expected)).then(|| object.clone())
    });
    due.collect()
}
