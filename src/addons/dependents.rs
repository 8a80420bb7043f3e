//! Holds the addons that wait for others in a form that Flux cannot express.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::applied::why_not_applied;
use super::decision::{AddonAction, Decision, ObjectWrite, decide};
use super::facts::{Available, Facts, Target};
use crate::api::Reason;
use crate::gate::Hold;
use crate::names::AddonName;
use crate::plan;
use crate::release::Addon;

/// Takes out of the plan what would change before the addons are applied that it depends on: its objects stay as they are. An
/// addon that is as planned is not held if one that it depends on fails later.
pub(super) fn hold_dependents(facts: &mut Facts) {
    let Target::Available(available) = &facts.target else { return };
    let dependents = dependents(available);
    if dependents.is_empty() || !available.delivery().is_written() {
        return;
    }
    let decision = decide(facts);
    let holds = dependents.into_iter().filter_map(|(addon, needed)| {
        // What has another form now is uninstalled first.
        let is_to_change =
            |action: &AddonAction| action.changes_spec || matches!(action.write, ObjectWrite::AfterOtherKind);
        let is_changed = decision.actions.get(addon.as_str()).is_some_and(is_to_change);
        let hold = is_changed.then(|| hold((facts, available), &decision, &needed)).flatten()?;
        Some((addon.clone(), hold))
    });
    let holds: BTreeMap<AddonName, Hold> = holds.collect();
    let cluster = facts.cluster;
    if let (false, Target::Available(available)) = (holds.is_empty(), &mut facts.target) {
        Arc::make_mut(&mut available.plan).hold_addons(cluster, holds);
    }
}

/// Lists the planned addons that the operator holds for others, each with those.
fn dependents<'a>(available: &'a Available<'_>) -> Vec<(&'a AddonName, Vec<&'a AddonName>)> {
    let (stack, release) = (available.stack, available.release);
    let of = |addon: &'a Addon| (&addon.name, plan::held_by_operator(stack, release, addon));
    release.addons.iter().map(of).filter(|(_, needed)| !needed.is_empty()).collect()
}

/// Returns the hold of an addon that waits for others, by the first that is not applied as planned.
fn hold(of: (&Facts, &Available), decision: &Decision, needed: &[&AddonName]) -> Option<Hold> {
    let (name, why) = needed.iter().find_map(|name| Some((name, why_not_applied(of, decision, name)?)))?;
    let message = format!("waits until {name} is applied, as dependsOn says; {name}: {why}");
    Some(Hold { reason: Reason::WaitingForDependency, message })
}
