//! Lets Clusters go on in the stages of their release.

use std::sync::Arc;

use super::applied::why_not_applied;
use super::{Delivery, Facts, Target, decide};
use crate::api::Reason;
use crate::inputs::ReleaseInputs;
use crate::names::AddonName;
use crate::plan::stages::Course;
use crate::plan::{self, Held, PlanError};
use crate::release::{Action, Stage};

/// Lets a Cluster leave the stages behind whose addons are applied, and plans what follows. This includes one that is suspended:
/// addons that would not change are no reason to wait.
pub(super) fn advance(facts: &mut Facts, release: &ReleaseInputs) -> Result<(), PlanError> {
    while let Some(course) = next(facts) {
        let Target::Available(available) = &mut facts.target else { break };
        let is_same = course.hook() == available.course.hook() && course.step(available.release).is_empty();
        available.course = course;
        if !is_same {
            available.plan = Arc::new(plan::cluster(release, &available.inputs, &course)?);
        }
    }
    Ok(())
}

/// Says to the addons that wait for the present stages what these lack: of the first addon that is not applied, or not deleted.
pub(super) fn explain(facts: &mut Facts) {
    let Some((addon, lacks)) = lacks(facts) else { return };
    if let Target::Available(available) = &mut facts.target {
        Arc::make_mut(&mut available.plan).explain_stage(&addon, &lacks);
    }
}

fn lacks(facts: &Facts) -> Option<(AddonName, String)> {
    let Target::Available(available) = &facts.target else { return None };
    let is_waiting = |held: &Held| held.hold.reason == Reason::WaitingForStage;
    if !available.plan.held().iter().any(is_waiting) || !available.delivery().is_written() {
        return None;
    }
    if let [Stage { addon, action: Action::Delete, .. }] = available.course.step(available.release) {
        return Some((addon.clone(), deletion(facts, addon)?.to_owned()));
    }
    let decision = decide(facts);
    let step = available.course.step(available.release).iter().map(|stage| &stage.addon);
    let mut names = step.chain(available.course.unlisted_first(available.release));
    let is_wanted = |name: &AddonName| available.addons().any(|addon| addon.name == *name);
    names.find_map(|name| {
        let why = why_not_applied((facts, available), &decision, name).filter(|_| is_wanted(name))?;
        Some((name.clone(), why))
    })
}

/// Returns what the status before says about an addon that a stage deletes.
pub(super) fn deletion<'a>(facts: &'a Facts, addon: &AddonName) -> Option<&'a str> {
    let before = facts.snapshot.addons_before().find(|before| before.name == addon.as_str());
    before.and_then(|before| before.message.as_deref())
}

fn next(facts: &Facts) -> Option<Course> {
    let Target::Available(available) = &facts.target else { return None };
    let is_compared = available.delivery().is_written() || available.delivery() == Delivery::Suspended;
    available.course.hook().filter(|_| is_compared)?;
    let decision = decide(facts);
    let is_applied = |name: &AddonName| {
        let is_wanted = available.addons().any(|addon| addon.name == *name);
        !is_wanted || why_not_applied((facts, available), &decision, name).is_none()
    };
    available.course.next(available.release, is_applied)
}
