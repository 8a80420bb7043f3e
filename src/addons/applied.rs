//! Judges whether an addon is applied as planned, by what its status has recorded.

use super::decision::Decision;
use super::facts::{Available, Facts, addon_of};
use super::roll_up::judge_recorded;
use super::snapshot;
use crate::names::AddonName;
use crate::rollup::Verdict;

/// Returns what an addon that another one waits for lacks; `None` if it is applied as planned. `decision` is that of the facts.
pub(super) fn why_not_applied(
    (facts, available): (&Facts, &Available),
    decision: &Decision,
    addon: &AddonName,
) -> Option<String> {
    let held = available.plan.held().iter().find(|held| held.addon.as_ref() == Some(addon));
    if let Some(held) = held {
        return Some(held.hold.message.clone());
    }
    let action = decision.actions.get(addon.as_str());
    let is_as_planned = action.is_some_and(|action| action.write.is_nothing() && action.suspend.is_none());
    let planned = available.planned().find(|planned| addon_of(planned) == addon.as_str());
    let Some(planned) = planned.filter(|_| is_as_planned) else {
        return Some("its object is not as planned yet".to_owned());
    };
    let before = facts.snapshot.addons_before().find(|before| before.name == addon.as_str());
    let found = snapshot::find(&facts.snapshot.objects, &planned.id.kind, &planned.id.name);
    let verdict = before
        .zip(found)
        .and_then(|(before, found)| judge_recorded(before, found, &facts.snapshot.moment(&planned.id.kind)));
    match verdict {
        Some(Verdict::Applied | Verdict::Drifted { .. }) => None,
        Some(verdict) => {
            let report = verdict.report();
            Some(if report.message.is_empty() { report.reason } else { report.message })
        }
        None => Some("Flux has not reported on it yet".to_owned()),
    }
}
