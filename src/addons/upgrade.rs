//! Whether the addons of a Cluster are where its upgrade to another Kubernetes version needs them.

use super::roll_up::judge_recorded;
use super::{Available, Decision, Delivery, Facts, Target, addon_of, snapshot};
use crate::gate::upgrade::Phase;
use crate::names::AddonName;
use crate::release::Hook;
use crate::rollup::Verdict;

/// How far the addons are that move before the upgrade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing of the release is delivered: the release, the Cluster or a suspension keeps all of it back, and says why itself.
    Held,
    /// These addons are not applied as planned, in the order of the release.
    Behind(Vec<Behind>),
    /// All are applied as planned.
    Done,
}

/// An addon that the upgrade waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The addon.
    pub addon: AddonName,
    /// What it waits for, in the words of its status.
    pub why: String,
}

/// Judges the addons that the release of the class applies before an upgrade, by the plan for [`Phase::Waiting`].
#[must_use]
pub fn before_upgrade(facts: &Facts, decision: &Decision) -> Before {
    let Target::Available(available) = &facts.target else { return Before::Held };
    if !matches!(decision.delivery, Delivery::Apply | Delivery::Commit) {
        return Before::Held;
    }
    let needed = available.release.addons.iter().filter(|addon| {
        let hooks: Vec<Hook> = available.release.hooks_of(&addon.name).collect();
        Phase::Waiting.lets_move(&hooks)
    });
    let behind = needed.filter_map(|addon| {
        let why = why_behind((facts, available), decision, &addon.name)?;
        Some(Behind { addon: addon.name.clone(), why })
    });
    let behind: Vec<Behind> = behind.collect();
    if behind.is_empty() { Before::Done } else { Before::Behind(behind) }
}

/// Returns what an addon waits for; `None` if it is applied as planned.
fn why_behind(
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
