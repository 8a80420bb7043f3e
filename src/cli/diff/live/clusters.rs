//! The changes for one Cluster, as the operator decides about it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::budgets::Budgets;
use super::{Live, holds};
use crate::addons::{
    Available, ControlPlane, Decision, Delivery, Facts, Receipts, Snapshot, Target, Upgrade, addon_of,
    course, decide, judge_waits, prune_candidates, reported_without_file,
};
use crate::api::{ClusterAddon, Reason};
use crate::cli::error::CliError;
use crate::cli::live::prepared::Prepared;
use crate::compare::plans::{ClusterChange, HeldAddon, ObjectChange};
use crate::foreign::flux::definition::Renaming;
use crate::gate::Hold;
use crate::inputs::ClusterInputs;
use crate::plan::stages::Course;
use crate::plan::write::namespace_owner;
use crate::plan::{self, Plan};
use crate::rollup::Applier;

/// Returns the effect on a Cluster. With a hold of its release, nothing is delivered to it.
pub(super) fn change(
    live: &Live,
    (prepared, release_hold): (&Prepared, Option<&Hold>),
    (cluster, addon): (&ClusterInputs, &ClusterAddon),
    budgets: &Budgets,
) -> Result<ClusterChange, CliError> {
    let all_held = |hold| Ok(ClusterChange::held(cluster, HeldAddon::new(None, hold)));
    if let Some(hold) = holds::not_delivered(live, prepared, cluster, release_hold.is_none()) {
        return all_held(hold);
    }
    if let Some(hold) = release_hold.filter(|_| !cluster.cluster.paused()) {
        return all_held(hold.clone());
    }
    let gate = prepared.inputs().stack.upgrade_gate.into();
    let upgrade = Upgrade::new(&cluster.cluster, gate, ControlPlane::of(cluster, None));
    let inputs = prepared.inputs();
    let of = (inputs.stack.namespace.as_str(), inputs.release);
    let course = course(addon, of, upgrade.phase_to_plan());
    let plan = Arc::new(plan::cluster(&inputs, cluster, &course)?);
    let mut facts = facts(live, (prepared, course, plan.clone()), (cluster, addon), upgrade);
    judge_waits(&mut facts, Some(&prepared.inputs()))?;
    let plan = facts.plan().cloned().unwrap_or(plan);
    let decision = decide(&facts);
    match &decision.delivery {
        Delivery::Nothing => return Ok(ClusterChange::new(cluster, Vec::new(), &plan)),
        Delivery::Suspended => return all_held(suspended(prepared)),
        Delivery::Elsewhere(hold) => return all_held(hold.clone()),
        Delivery::Commit | Delivery::Apply => {}
    }
    let mut objects = written(live, &plan, &decision);
    if decision.is_without_source() {
        return Ok(ClusterChange::new(cluster, objects, &plan));
    }
    let mut left = Vec::new();
    let candidates = prune_candidates(&facts, &Receipts::if_accepted(&facts, &decision));
    for candidate in budgets.decide(&facts, candidates, prepared) {
        if candidate.is_due() {
            objects.extend(live.found.removal(&candidate.object));
        } else if let Some(hold) = candidate.report(addon) {
            left.push(HeldAddon::new(Some(&candidate.addon), hold));
        }
    }
    let mut change = ClusterChange::new(cluster, objects, &plan);
    change.held.extend(left);
    Ok(change)
}

/// Returns the changes that the writes of a decision make.
fn written(live: &Live, plan: &Plan, decision: &Decision) -> Vec<ObjectChange> {
    let sources = plan.sources().zip(&decision.sources);
    let addons = plan.addons().filter_map(|planned| {
        let action = decision.actions.get(addon_of(planned))?;
        Some((planned, &action.write))
    });
    sources.chain(addons).filter_map(|(planned, write)| live.found.of_write(planned, write)).collect()
}

/// Returns the facts about a Cluster, as the operator would gather them. What only its process knows is not known: the state
/// and the age of Flux's controllers, earlier repairs, and uncommitted changes.
fn facts<'a>(
    live: &'a Live,
    (prepared, course, plan): (&'a Prepared, Course, Arc<Plan>),
    (cluster, addon): (&'a ClusterInputs, &ClusterAddon),
    upgrade: Upgrade,
) -> Facts<'a> {
    let objects = live.found.objects.around(addon, &plan);
    let namespace = cluster.cluster.namespace().as_str();
    let snapshot = Snapshot {
        is_status_under_way: false,
        addon: Arc::new(addon.clone()),
        without_file: reported_without_file(addon, &objects),
        sources: plan.sources().filter_map(|planned| live.found.objects.named(planned)).cloned().collect(),
        occupants: Vec::new(),
        repairs: BTreeMap::new(),
        objects,
        namespace: live.found.namespace_uid(namespace).map(|uid| namespace_owner(namespace, uid)),
        helm_controller: Applier::unknown(),
        kustomize_controller: Applier::unknown(),
        renaming: Renaming::InPlace,
        now: live.now,
    };
    let target = Target::Available(Available {
        stack: prepared.inputs().stack,
        release: prepared.inputs().release,
        versions: &live.versions,
        ready: &live.ready,
        allowed_deletions: prepared.allowed_deletions.as_deref(),
        is_suspended: prepared.suspended || addon.spec.suspend,
        requests: cluster.requests(prepared.inputs().stack, prepared.inputs().release),
        inputs: Box::new(cluster.clone()),
        elsewhere: holds::elsewhere(live.present, prepared, addon),
        course,
        plan,
    });
    Facts { cluster: &cluster.cluster, snapshot, target, upgrade }
}

/// Returns the hold of a Cluster if its `ClusterAddon` or its `ClusterStack` is suspended.
fn suspended(prepared: &Prepared) -> Hold {
    let of = if prepared.suspended { "its ClusterStack" } else { "its ClusterAddon" };
    Hold { reason: Reason::Suspended, message: format!("{of} has spec.suspend: nothing is written") }
}
