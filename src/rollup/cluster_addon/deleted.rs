//! The status of a `ClusterAddon` that is being cleaned up.

use jiff::Timestamp;

use crate::api::cluster_addon::ClusterAddonStatus;
use crate::api::conditions::{ConditionType, Reason};
use crate::gate::Hold;
use crate::rollup::report::{ConditionStatus, Report};
use crate::rollup::status_of;

/// The conditions without a report during the cleanup.
const UNKNOWN: [ConditionType; 4] = [
    ConditionType::ReleaseReady,
    ConditionType::ValuesRendered,
    ConditionType::Delivered,
    ConditionType::AddonsReady,
];

/// The whole status of a `ClusterAddon` whose addons are being cleaned up, derived from the status before: none of its
/// former conditions are valid. `waits_for` is the hold that delays removing the objects from a repository.
#[must_use]
pub fn deleted_cluster_addon(
    why: &Hold,
    waits_for: Option<&Hold>,
    old: &ClusterAddonStatus,
    generation: i64,
    now: Timestamp,
) -> ClusterAddonStatus {
    let report = |status, hold: &Hold| Report::new(status, hold.reason.as_str(), &hold.message);
    let deleting = report(ConditionStatus::False, why);
    let unknown = UNKNOWN.map(|kind| match waits_for.filter(|_| kind == ConditionType::Delivered) {
        Some(hold) => (kind, report(status_of(hold.reason), hold)),
        None => (kind, report(ConditionStatus::Unknown, why)),
    });
    let gate = Report::new(
        ConditionStatus::Unknown,
        Reason::NotImplemented.as_str(),
        Reason::NotImplemented.meaning(),
    );
    let reports = [(ConditionType::Ready, deleting.clone()), (ConditionType::ClusterAvailable, deleting)];
    let reports = reports.into_iter().chain(unknown).chain([(ConditionType::UpgradeGate, gate)]);
    let conditions = reports.map(|(kind, report)| report.condition(kind, generation, &old.conditions, now));
    let addons = old.addons.iter().cloned().map(|mut addon| {
        addon.phase = Some("Held".to_owned());
        (addon.reason, addon.message) = (Some(why.reason.to_string()), Some(why.message.clone()));
        addon.observed = None;
        addon
    });
    ClusterAddonStatus {
        addons: addons.collect(),
        ready: false,
        observed_generation: Some(generation),
        conditions: conditions.collect(),
        ..old.clone()
    }
}
