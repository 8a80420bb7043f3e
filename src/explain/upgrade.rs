//! The upgrades of Clusters to another Kubernetes version, as their `ClusterAddon`s report them.

use crate::api::{ClusterAddon, ConditionType, Reason};
use crate::rollup::Report;

use super::snapshot::mirrored;

/// The report on an upgrade, for views.
pub(super) struct Upgrade {
    /// The two versions, such as `v1.34.0 to v1.35.0`; empty without an upgrade.
    pub(super) versions: String,
    /// Time since which the upgrade is in its phase.
    pub(super) since: Option<jiff::Timestamp>,
    /// The condition `UpgradeGate`.
    pub(super) report: Report,
}

/// Returns the report on an upgrade; `None` if there is none, and upgrades would wait.
pub(super) fn upgrade(addon: &ClusterAddon) -> Option<Upgrade> {
    let status = addon.status.as_ref()?;
    let report = mirrored(&addon.metadata, Some(&status.conditions), ConditionType::UpgradeGate);
    let versions = status.upgrade.as_ref().map(|it| format!("{} to {}", it.from, it.to));
    let warns = [Reason::NotEnforced, Reason::GateNotWritable, Reason::ControlPlaneUnreadable];
    let is_shown = versions.is_some() || warns.iter().any(|reason| reason.as_str() == report.reason);
    let since = status.upgrade.as_ref().map(|it| it.since.0);
    is_shown.then(|| Upgrade { versions: versions.unwrap_or_default(), since, report })
}
