//! Decides which revision of a Helm release does not have the planned content.

use super::Snapshot;
use crate::api::cluster_addon::RevisionBefore;
use crate::foreign::capi::field;
use crate::foreign::flux::observed::{FluxObject, KindStatus, References};
use crate::plan::PlannedObject;

/// Returns the note of the last revision of a Helm release from before the write of another content. `present` is the object now,
/// and `noted` is the note in the status.
///
/// `None` if the values or the version name the content, so that helm-controller itself compares it, if nothing is installed, or if the
/// content did not change since the status had no note.
pub(super) fn revision_before(
    snapshot: &Snapshot,
    planned: &PlannedObject,
    present: Option<&FluxObject>,
    noted: Option<&RevisionBefore>,
) -> Option<RevisionBefore> {
    let spec = References::of(field(&planned.value, &["spec"])?);
    if spec.names_content || spec.content.is_empty() {
        return None;
    }
    let before = snapshot.existing(planned).filter(|found| !found.refers_to.is_chart_of(&spec));
    let noted = match before {
        Some(before) => before_write(before, noted)?,
        None => noted?.clone(),
    };
    Some(match present {
        Some(present) => carried_on(noted, present, &spec),
        None => noted,
    })
}

/// Returns the note before an object gets another content than it has. A write that never happens, because it is refused or
/// held, makes none of this untrue: the note still says what the revision has.
fn before_write(object: &FluxObject, noted: Option<&RevisionBefore>) -> Option<RevisionBefore> {
    let number = latest(object)?;
    let chart = match noted {
        Some(noted) if noted.number == number => noted.chart.clone(),
        // An upgrade to earlier content may have made it.
        Some(_) if last_attempted(object) != Some(object.metadata.generation) => None,
        _ => Some(object.refers_to.source.clone()),
    };
    Some(RevisionBefore { number, generation: object.metadata.generation, chart })
}

/// Returns the note after the object may have been written. An upgrade to earlier content may run until Flux attempts a generation
/// with the planned content: a revision that it makes replaces the noted one. A later change of other settings is a new
/// generation, but not another content.
fn carried_on(noted: RevisionBefore, present: &FluxObject, planned: &References) -> RevisionBefore {
    let has_content = present.refers_to.is_chart_of(planned);
    let generation = present.metadata.generation;
    // An object that was created again counts its generations from the beginning.
    let generation = if has_content { noted.generation.min(generation - 1) } else { generation };
    let is_attempted = last_attempted(present).is_some_and(|attempted| attempted > generation);
    match latest(present) {
        Some(number) if !is_attempted && number != noted.number => {
            RevisionBefore { number, generation, chart: None }
        }
        _ => RevisionBefore { generation, ..noted },
    }
}

/// Returns the number of the noted revision, if it does not have the content of an object.
pub(super) fn other_revision(noted: Option<&RevisionBefore>, object: &FluxObject) -> Option<i64> {
    let other = noted.filter(|noted| noted.chart.as_ref() != Some(&object.refers_to.source));
    other.map(|noted| noted.number)
}

fn latest(object: &FluxObject) -> Option<i64> {
    object.status.helm_release().map(|latest| latest.version)
}

fn last_attempted(object: &FluxObject) -> Option<i64> {
    match &object.status {
        KindStatus::HelmRelease(status) => status.last_attempted_generation,
        _ => None,
    }
}
