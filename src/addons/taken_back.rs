//! Decides what the status of a `ClusterAddon` has to say before its objects are written.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::revision::revision_before;
use super::{Available, Decision, Delivery, Facts, Snapshot, Target, addon_of, committed_by};
use crate::api::cluster_addon::{ClusterAddonStatus, ReleaseProgress};
use crate::api::{ClusterAddon, ConditionType, Reason};
use crate::plan::PlannedObject;
use crate::rollup::{ConditionStatus, Report, summary};

/// Returns the status to write before a decision is carried out; `None` if the present status stays true meanwhile.
///
/// An operator that ends between the first changed object and the next status must not leave `Ready` of the earlier content.
/// The status is the present one, but names the release and is not ready. It also has [the revision](revision_before) of each
/// Helm release whose content changes, which cannot be read afterwards. Nothing is written if the status says all of this
/// anyway, or if the writes change no spec. A status whose request had no answer may still arrive and be ready: then a later
/// time of the conditions makes the API server store this one, and refuse that one.
#[must_use]
pub fn ready_taken_back(facts: &Facts, decision: &Decision) -> Option<ClusterAddonStatus> {
    let Facts { snapshot, target: Target::Available(available), .. } = facts else { return None };
    let before = snapshot.addon.status.as_ref()?;
    let changed = changed_addons(snapshot, available, decision);
    let mut status = before.clone();
    for planned in &changed {
        note_revision(&mut status, snapshot, planned);
    }
    if (before.ready || snapshot.is_status_under_way) && !changed.is_empty() {
        take_back(&mut status, available, &changed, snapshot);
    }
    (status != *before).then_some(status)
}

/// Notes the revision of a Helm release whose content changes.
fn note_revision(status: &mut ClusterAddonStatus, snapshot: &Snapshot, planned: &PlannedObject) {
    let mut addons = status.addons.iter_mut();
    let addon = addons.find(|addon| addon.name == addon_of(planned));
    if let Some(addon) = addon {
        let present = snapshot.existing(planned).map(|present| &**present);
        addon.revision_before = revision_before(snapshot, planned, present, addon.revision_before.as_ref());
    }
}

/// Lists the objects of addons whose content or settings a decision changes, or requests to change through a repository.
fn changed_addons<'a>(
    snapshot: &Snapshot,
    available: &'a Available,
    decision: &Decision,
) -> Vec<&'a PlannedObject> {
    let is_requested = match decision.delivery {
        Delivery::Apply => true,
        // The status names the committing ClusterStack before the first commit, and is not ready then.
        Delivery::Commit => is_committer_named(&snapshot.addon, available),
        _ => false,
    };
    let is_changed = |planned: &&PlannedObject| {
        decision.actions.get(addon_of(planned)).is_some_and(|action| action.changes_spec)
    };
    available.planned().filter(|_| is_requested).filter(is_changed).collect()
}

/// Whether a status names the `ClusterStack` that commits the objects. It precedes the first commit, because the deletion of the
/// Cluster finds the files by it.
#[must_use]
pub fn is_committer_named(addon: &ClusterAddon, available: &Available) -> bool {
    committed_by(addon) == Some(available.stack_name())
}

/// Makes a status name the release, and neither delivered nor ready.
fn take_back(
    status: &mut ClusterAddonStatus,
    available: &Available,
    changed: &[&PlannedObject],
    snapshot: &Snapshot,
) {
    let release = &available.release.name;
    let addons: Vec<&str> = changed.iter().map(|planned| addon_of(planned)).collect();
    let message = format!("the operator is delivering {release}: changed addons: {}", addons.join(", "));
    status.ready = false;
    let desired = status.release.as_ref().and_then(|of| of.desired.clone());
    if desired.as_deref() != Some(release.to_string().as_str()) {
        (status.hook, status.stages) = (None, Vec::new());
    }
    status.release = Some(ReleaseProgress {
        desired: Some(release.to_string()),
        desired_namespace: Some(available.stack.namespace.to_string()),
        ..status.release.take().unwrap_or_default()
    });
    let generation = snapshot.addon.metadata.generation.unwrap_or_default();
    let delivered = Report::new(ConditionStatus::Unknown, Reason::Progressing.as_str(), &message);
    let ready = summary(&[(ConditionType::Delivered, Some(delivered.clone()))], (Reason::Progressing, ""));
    for (kind, report) in [(ConditionType::Delivered, delivered), (ConditionType::Ready, ready)] {
        let mut condition = report.condition(kind, generation, &status.conditions, snapshot.now);
        for known in status.conditions.iter_mut().filter(|known| known.type_ == kind.as_str()) {
            if snapshot.is_status_under_way {
                condition.last_transition_time = later(known, snapshot.now);
            }
            known.clone_from(&condition);
        }
    }
}

/// Returns the present time, or the next second after a condition's time.
fn later(known: &Condition, now: Timestamp) -> Time {
    Time(now.max(known.last_transition_time.0 + SignedDuration::from_secs(1)))
}
