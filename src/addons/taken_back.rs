//! Decides whether a `ClusterAddon` may stay `Ready` while its objects are written.

use super::decision::AddonWrite;
use super::{Available, Decision, Delivery, Facts, Snapshot, Target, addon_of, committed_by};
use crate::api::cluster_addon::{ClusterAddonStatus, ReleaseProgress};
use crate::api::{ConditionType, Reason};
use crate::foreign::capi::field;
use crate::foreign::flux::observed::SpecDigest;
use crate::plan::PlannedObject;
use crate::plan::delivery::{Action, Baseline, action};
use crate::rollup::{ConditionStatus, Report, summary};

/// Returns the status to write before a decision is carried out; `None` if the present status stays true meanwhile.
///
/// An operator that ends between the first changed object and the next status must not leave `Ready` of the earlier content.
/// The status is the present one, but names the release and is not ready. It is not written if it is not ready anyway, or if
/// the writes change no spec.
#[must_use]
pub fn ready_taken_back(facts: &Facts, decision: &Decision) -> Option<ClusterAddonStatus> {
    let Facts { snapshot, target: Target::Available(available), .. } = facts else { return None };
    let before = snapshot.addon.status.as_ref().filter(|status| status.ready)?;
    let changed = changed_addons(snapshot, available, decision);
    (!changed.is_empty()).then(|| delivering(before, available, &changed, snapshot))
}

/// Lists the addons whose content or settings a decision changes, or requests to change through a repository.
fn changed_addons<'a>(snapshot: &Snapshot, available: &'a Available, decision: &Decision) -> Vec<&'a str> {
    let is_requested = match decision.delivery {
        Delivery::Apply => true,
        // The status names the committing ClusterStack before the first commit, and is not ready then.
        Delivery::Commit => committed_by(&snapshot.addon) == Some(available.stack_name()),
        _ => false,
    };
    let is_changed = |planned: &&PlannedObject| {
        let write = decision.actions.get(addon_of(planned)).map(|action| action.write);
        matches!(write, Some(AddonWrite::Deliver(Action::Apply | Action::Repair)))
            && is_other(snapshot, planned)
    };
    available.planned().filter(|_| is_requested).filter(is_changed).map(addon_of).collect()
}

/// Whether an object does not exist, or has another spec than planned.
fn is_other(snapshot: &Snapshot, planned: &PlannedObject) -> bool {
    let Some(found) = snapshot.existing(planned) else { return true };
    let is_planned = action(planned, Some((&**found).into()), Baseline::Plan) == Action::Nothing;
    let spec = field(&planned.value, &["spec"]).cloned().unwrap_or_default();
    let kept = snapshot.addon.spec_digest_of(addon_of(planned)).map(SpecDigest::kept);
    // The API server adds defaults to a spec: that of the same plan is compared with the last write instead.
    let expected = if is_planned { kept } else { Some(SpecDigest::of(spec)) };
    expected.is_none_or(|expected| expected != found.spec_digest)
}

/// Returns a status that names the release, and is neither delivered nor ready.
fn delivering(
    before: &ClusterAddonStatus,
    available: &Available,
    changed: &[&str],
    snapshot: &Snapshot,
) -> ClusterAddonStatus {
    let release = &available.release.name;
    let message = format!("the operator is delivering {release}: changed addons: {}", changed.join(", "));
    let mut status = before.clone();
    status.ready = false;
    status.release = Some(ReleaseProgress {
        desired: Some(release.to_string()),
        desired_namespace: Some(available.stack.namespace.to_string()),
        ..before.release.clone().unwrap_or_default()
    });
    let generation = snapshot.addon.metadata.generation.unwrap_or_default();
    let delivered = Report::new(ConditionStatus::Unknown, Reason::Progressing.as_str(), &message);
    let ready = summary(&[(ConditionType::Delivered, Some(delivered.clone()))], (Reason::Progressing, ""));
    for (kind, report) in [(ConditionType::Delivered, delivered), (ConditionType::Ready, ready)] {
        let condition = report.condition(kind, generation, &before.conditions, snapshot.now);
        for known in status.conditions.iter_mut().filter(|known| known.type_ == kind.as_str()) {
            known.clone_from(&condition);
        }
    }
    status
}
