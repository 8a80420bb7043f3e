//! Compares what the API server has now with the facts of a decision to remove addons.

use jiff::Timestamp;

use super::pruning::owned;
use super::{
    AddonAction, AddonMatch, Candidate, Decision, Facts, PruneDecision, Pruning, Target, prune_decision,
};
use crate::api::{ClusterAddon, ClusterAddonOverride, ClusterStack};
use crate::foreign::capi::Cluster;
use crate::foreign::flux::observed::FluxObject;
use crate::inputs::overrides::Requests;
use crate::inputs::stack::Stack;

/// Whether the API server confirms that a plan has all components of the `ClusterStack`, which is `live` now, and with requests for
/// addons also what it lets users request. One that is gone confirms nothing about either.
#[must_use]
pub fn has_present_settings(planned: &Stack, requests: &Requests, live: Option<&ClusterStack>) -> bool {
    let has_requests = requests.all().next().is_some();
    live.map_or(planned.components.repositories.is_empty() && !has_requests, |live| {
        live.spec.components == planned.components
            && (!has_requests || live.spec.flux.addons == planned.flux.addons)
    })
}

/// Whether the API server has to confirm that nothing is requested for the addons of a Cluster before a decision is carried out:
/// it changes or resumes addons, and a list may lack the requests that the plan is made without.
#[must_use]
pub fn are_requests_to_confirm(facts: &Facts, decision: &Decision) -> bool {
    let Target::Available(available) = &facts.target else { return false };
    let is_changed = |action: &AddonAction| action.changes_spec || action.suspend.is_some();
    let changes = decision.actions.values().any(is_changed) || !decision.resumes.is_empty();
    changes && available.inputs.requested().is_none()
}

/// Whether the API server confirms the requests of a plan: it has the same object as the plan, or none either. One that is being
/// deleted confirms nothing, because what it switches off comes back.
#[must_use]
pub fn are_requests_confirmed(
    planned: Option<&ClusterAddonOverride>,
    live: Option<&ClusterAddonOverride>,
) -> bool {
    match (planned, live) {
        (None, None) => true,
        (Some(planned), Some(live)) => {
            let id = |of: &ClusterAddonOverride| (of.metadata.uid.clone(), of.metadata.generation);
            // What was accepted before decides about what is refused now.
            let has_same_effect =
                planned.spec.addons.keys().all(|addon| live.in_effect(addon) == planned.in_effect(addon));
            let is_same = id(live) == id(planned) && live.spec == planned.spec;
            live.metadata.deletion_timestamp.is_none() && is_same && has_same_effect
        }
        _ => false,
    }
}

/// Whether the API server confirms the removal of addons: the Cluster has class, version and labels of the plan, the stages have
/// come as far, and neither the Cluster nor the `ClusterAddon` is deleted, paused or suspended meanwhile. `live` are the two objects as the API server has them
/// now.
#[must_use]
pub fn is_prune_confirmed(
    (cluster, addon): (&Cluster, &ClusterAddon),
    live: (Option<&Cluster>, Option<&ClusterAddon>),
) -> bool {
    let is_deleted = |addon: &ClusterAddon| addon.metadata.deletion_timestamp.is_some();
    let has_class = live.0.is_some_and(|now| {
        let class = now.class();
        let is_active = !now.deleting() && !now.paused();
        // Labels decide which components a Cluster has.
        let is_as_planned = class == cluster.class() && now.labels() == cluster.labels();
        // The stages of a release are those of its version.
        let is_as_planned = is_as_planned && now.topology_version() == cluster.topology_version();
        now.uid() == cluster.uid() && class.is_some() && is_as_planned && is_active
    });
    let is_same = live.1.is_some_and(|now| {
        let is_it = now.metadata.uid == addon.metadata.uid && is_deleted(now) == is_deleted(addon);
        is_it && !now.spec.suspend && is_as_far(now, addon)
    });
    has_class && is_same
}

/// Whether two states of a `ClusterAddon` have recorded the same of releases and stages.
fn is_as_far(one: &ClusterAddon, other: &ClusterAddon) -> bool {
    let of = |addon: &ClusterAddon| {
        let status = addon.status.clone().unwrap_or_default();
        let release = status.release.unwrap_or_default();
        (release.desired, release.applied, release.applied_namespace, status.hook, status.stages)
    };
    of(one) == of(other)
}

/// Whether an object did not change since the decision to delete it. `live` is the object as the API server has it now.
#[must_use]
pub fn is_still_due(candidate: &Candidate, live: &FluxObject, addon: &ClusterAddon) -> bool {
    live.object.uid == candidate.object.object.uid
        && live.addon() == candidate.object.addon()
        && prune_decision(owned(live, addon, AddonMatch::NotInRelease), true) == PruneDecision::Delete
        // Otherwise nothing has counted it.
        && (live.is_never_installed() || !candidate.object.is_never_installed())
}

/// Keeps all candidates, because the API server does not confirm their deletion. Those that are counted stay counted.
#[must_use]
pub fn unconfirmed(mut candidates: Vec<Candidate>, now: Timestamp) -> Pruning {
    for candidate in &mut candidates {
        match candidate.decision {
            PruneDecision::Delete => {
                (candidate.decision, candidate.hold) = (PruneDecision::Blocked, None);
            }
            PruneDecision::DeleteCounted => candidate.decision = PruneDecision::Deleting,
            _ => {}
        }
    }
    Pruning { candidates, next: Some(now), ..Pruning::default() }
}
