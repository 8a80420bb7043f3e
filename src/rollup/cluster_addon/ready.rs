//! The parts of the condition `Ready` of a `ClusterAddon`.

use super::{ClusterFacts, wanted};
use crate::api::conditions::{ConditionType, Reason};
use crate::rollup::Verdict;
use crate::rollup::report::{ConditionStatus, Report, summary};

/// Lists the parts of `Ready`: each cause once. A part that only waits for an earlier one is left out, and so is the gate unless
/// it is closed.
pub(super) fn ready_parts(
    facts: &ClusterFacts,
    reports: &[(ConditionType, Report)],
) -> Vec<(ConditionType, Option<Report>)> {
    let mut parts: Vec<(ConditionType, Report)> = Vec::new();
    let is_issue = |report: &Report| report.status != ConditionStatus::True;
    for (kind, report) in reports {
        let has_cause = parts.iter().any(|(_, part)| is_issue(part));
        if *kind == ConditionType::UpgradeGate && !is_closed_by_itself(report, &parts) {
            continue;
        }
        // The condition for the hold of an addon has reported it.
        let is_sum = *kind == ConditionType::AddonsReady && is_issue(report) && has_cause;
        let Some(part) = (if is_sum { not_held(facts) } else { Some(report.clone()) }) else { continue };
        let is_same = |(_, cause): &(ConditionType, Report)| is_issue(cause) && cause.reason == part.reason;
        let is_silent = part.reason == Reason::NotYetReported.as_str() && has_cause;
        let follows = is_silent || parts.iter().any(is_same);
        if part.status != ConditionStatus::Unknown || !follows {
            parts.push((*kind, part));
        }
    }
    parts.into_iter().map(|(kind, part)| (kind, Some(part))).collect()
}

/// Whether the gate is closed, and not because of what another part reports.
fn is_closed_by_itself(gate: &Report, parts: &[(ConditionType, Report)]) -> bool {
    let is_false = |report: &Report| report.status == ConditionStatus::False;
    let is_cause = |part: &Report| {
        is_false(part) && (part.reason == gate.reason || gate.reason == Reason::WaitingForAddons.as_str())
    };
    is_false(gate) && !parts.iter().any(|(_, part)| is_cause(part))
}

/// Sums up the addons without a hold, without numbers; `None` if Flux has none to act on.
fn not_held(facts: &ClusterFacts) -> Option<Report> {
    let parts = wanted(facts).filter(|addon| addon.hold.is_none());
    let parts: Vec<_> =
        parts.map(|addon| (&addon.name, addon.verdict.as_ref().map(Verdict::report))).collect();
    let is_seen = parts.iter().any(|(_, report)| report.is_some());
    is_seen.then(|| summary(&parts, (Reason::Applied, "")))
}
