//! Judges the addons that belong before the upgrade of a Cluster to another Kubernetes version.

use std::sync::Arc;

use super::advance::{advance, deletion, explain};
use super::applied::why_not_applied;
use super::decision::{Decision, decide};
use super::dependents::hold_dependents;
use super::facts::{Available, Delivery, Facts, Target};
use super::renamed::hold_renamed;
use super::upgrade::{Before, Behind};
use crate::api::Reason;
use crate::foreign::capi::Cluster;
use crate::gate::upgrade::{Phase, phase};
use crate::inputs::ReleaseInputs;
use crate::plan::{self, PlanError};
use crate::release::{Addon, Hook};
use crate::rollup::{ConditionStatus, Report};

/// Judges what waits for addons, by facts whose plan is that for [`Upgrade::phase_to_plan`]: stages, addons, and the upgrade. The
/// plan gets the holds. If the upgrade is in another phase, the facts get the plan of `release` for that one.
pub fn judge_waits(facts: &mut Facts, release: Option<&ReleaseInputs>) -> Result<(), PlanError> {
    if let Some(release) = release {
        advance(facts, release)?;
    }
    hold_renamed(facts);
    hold_dependents(facts);
    if facts.upgrade.phase != Phase::Steady {
        judge_upgrade(facts, release)?;
    }
    explain(facts);
    Ok(())
}

fn judge_upgrade(facts: &mut Facts, release: Option<&ReleaseInputs>) -> Result<(), PlanError> {
    facts.upgrade.before = before_upgrade(facts, &decide(facts));
    facts.upgrade.phase = phase(&facts.upgrade.facts(facts.cluster));
    // What is planned does not differ in the other phases.
    if let (Phase::Requested, Some(release), Target::Available(available)) =
        (facts.upgrade.phase, release, &mut facts.target)
    {
        available.course.phase = Phase::Requested;
        available.plan = Arc::new(plan::cluster(release, &available.inputs, &available.course)?);
    }
    Ok(())
}

/// Whether facts that the API server has confirmed open the gate as those did from which the decision was made, about `before`.
#[must_use]
pub fn is_opening_confirmed(before: &Cluster, facts: &Facts) -> bool {
    let now = facts.cluster;
    let is_same = now.uid() == before.uid() && now.class().is_some() && now.class() == before.class();
    let is_upgrade = facts.upgrade.depends_on_addons() && now.topology_version() == before.topology_version();
    let is_active = !now.deleting() && !now.paused();
    is_same && is_upgrade && is_active && before_upgrade(facts, &decide(facts)) == Before::Done
}

/// Judges the addons that the release of the class applies before an upgrade, by the plan for [`Phase::Waiting`].
#[must_use]
pub fn before_upgrade(facts: &Facts, decision: &Decision) -> Before {
    let available = match &facts.target {
        Target::Available(available) => available,
        Target::Unavailable { report, .. } => return Before::Held(report.clone()),
        Target::Paused => return Before::Held(Report::not_yet_reported()),
    };
    if let Some(held) =
        held(available, &decision.delivery).or_else(|| other_version(facts.cluster, available))
    {
        return Before::Held(held);
    }
    let deleted = available.course.deletes_before_upgrade(available.release).map(|stage| {
        let is_its_turn = available.course.step(available.release).first() == Some(stage);
        let state = deletion(facts, &stage.addon).filter(|_| is_its_turn).unwrap_or("its turn has not come");
        let why = format!("a stage of {} deletes it: {state}", Hook::BeforeClusterUpgrade.as_str());
        Behind { addon: stage.addon.clone(), why }
    });
    let behind = needed_before_upgrade(available).filter_map(|addon| {
        let why = why_not_applied((facts, available), decision, &addon.name)?;
        Some(Behind { addon: addon.name.clone(), why })
    });
    let behind: Vec<Behind> = behind.chain(deleted).collect();
    if behind.is_empty() { Before::Done } else { Before::Behind(behind) }
}

/// Lists the addons that belong before the upgrade.
pub fn needed_before_upgrade<'a>(available: &'a Available) -> impl Iterator<Item = &'a Addon> {
    let release = available.release;
    available.addons().filter(|addon| {
        let hooks: Vec<Hook> = release.hooks_of(&addon.name).collect();
        Phase::Waiting.lets_move(&hooks)
    })
}

/// Returns the reason why nothing of a release is delivered, if any.
fn held(available: &Available, delivery: &Delivery) -> Option<Report> {
    match delivery {
        Delivery::Apply | Delivery::Commit => None,
        Delivery::Nothing => available.hold().map(Report::held),
        Delivery::Elsewhere(hold) => Some(Report::held(hold)),
        Delivery::Suspended => {
            let message = "the ClusterStack or the ClusterAddon is suspended";
            Some(Report::new(ConditionStatus::Unknown, Reason::Suspended.as_str(), message))
        }
    }
}

/// Reports a Cluster whose version is not that of the release. A text that is no version holds nothing else of the Cluster.
fn other_version(cluster: &Cluster, available: &Available) -> Option<Report> {
    let release = available.release;
    if cluster.kubernetes_version().as_ref() == Some(&release.kubernetes) {
        return None;
    }
    let message = format!(
        "spec.topology.version is {}, but release {} is for {}",
        cluster.topology_version(),
        release.name,
        release.kubernetes
    );
    Some(Report::new(ConditionStatus::False, Reason::KubernetesVersionMismatch.as_str(), &message))
}
