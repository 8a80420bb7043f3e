//! The status of a `ClusterAddon` that is being cleaned up.

use jiff::Timestamp;

use crate::api::cluster_addon::ClusterAddonStatus;
use crate::api::conditions::ConditionType;
use crate::gate::Hold;
use crate::rollup::report::{ConditionStatus, Report, conditions};

use super::PHASE_HELD;

/// The conditions without a report during the cleanup.
const UNKNOWN: [ConditionType; 5] = [
    ConditionType::ReleaseReady,
    ConditionType::ValuesRendered,
    ConditionType::Delivered,
    ConditionType::AddonsReady,
    ConditionType::UpgradeGate,
];

/// Computes the whole status of a `ClusterAddon` whose addons are being cleaned up, derived from the status before:
/// none of its former conditions are valid. `waits_for` is the hold that delays removing the objects from a repository.
#[must_use]
pub fn deleted_cluster_addon(
    why: &Hold,
    waits_for: Option<&Hold>,
    old: &ClusterAddonStatus,
    generation: i64,
    now: Timestamp,
) -> ClusterAddonStatus {
    let report = |status| Report::new(status, why.reason.as_str(), &why.message);
    let deleting = report(ConditionStatus::False);
    let unknown = UNKNOWN.map(|kind| match waits_for.filter(|_| kind == ConditionType::Delivered) {
        Some(hold) => (kind, Report::held(hold)),
        None => (kind, report(ConditionStatus::Unknown)),
    });
    let reports = [(ConditionType::Ready, deleting.clone()), (ConditionType::ClusterAvailable, deleting)];
    let reports = reports.into_iter().chain(unknown);
    let addons = old.addons.iter().cloned().map(|mut addon| {
        addon.phase = Some(PHASE_HELD.to_owned());
        (addon.reason, addon.message) = (Some(why.reason.to_string()), Some(why.message.clone()));
        addon.observed = None;
        addon
    });
    ClusterAddonStatus {
        addons: addons.collect(),
        ready: false,
        observed_generation: Some(generation),
        conditions: conditions(reports, generation, &old.conditions, now),
        ..old.clone()
    }
}
