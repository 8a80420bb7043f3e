//! Decides what is written for a Cluster whose addons are to be delivered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{FluxObject, Snapshot, addon_of};
use crate::api::ClusterAddon;
use crate::foreign::capi::Cluster;
use crate::foreign::flux::ownership::other_kind;
use crate::gate::{self, Hold};
use crate::inputs::ClusterInputs;
use crate::inputs::stack::Stack;
use crate::names::AddonName;
use crate::plan::delivery::waits_for_other_kind;
use crate::plan::{Plan, PlannedObject, Step};
use crate::release::Release;
use crate::rollup::Report;

/// What is known of a Cluster that is not being deleted.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// The Cluster.
    pub cluster: &'a Cluster,
    /// Its addons.
    pub snapshot: Snapshot,
    /// What it is to have.
    pub target: Target<'a>,
}

/// What a Cluster is to have.
#[derive(Clone, Debug)]
pub enum Target<'a> {
    /// What it has: it is paused.
    Paused,
    /// What it has: there is no release to deliver, or an invalid one.
    Unavailable {
        /// The release that the class is of, otherwise the name of the class; empty if the Cluster has none.
        desired: String,
        /// Why nothing is delivered.
        report: Report,
    },
    /// The addons of a release.
    Available(Available<'a>),
}

/// A release whose addons can be delivered to a Cluster.
#[derive(Clone, Debug)]
pub struct Available<'a> {
    /// The `ClusterStack`.
    pub stack: &'a Stack,
    /// The release.
    pub release: &'a Release,
    /// What counts as applied, by addon: the version of the chart that Flux packaged, the commit of manifests.
    pub versions: &'a BTreeMap<AddonName, String>,
    /// The `Ready` of the release.
    pub ready: &'a Report,
    /// The deletions that a person allows: the annotation of the `ClusterStack`.
    pub allowed_deletions: Option<&'a str>,
    /// Whether the `ClusterStack` or the `ClusterAddon` is suspended.
    pub is_suspended: bool,
    /// What the values are rendered from.
    pub inputs: Box<ClusterInputs>,
    /// The objects of the addons.
    pub plan: Arc<Plan>,
    /// Why the plan must not be delivered: another repository has the files of the Cluster.
    pub elsewhere: Option<Hold>,
}

impl Available<'_> {
    /// The `ClusterStack` as the status names it.
    #[must_use]
    pub fn stack_name(&self) -> String {
        format!("{}/{}", self.stack.namespace, self.stack.name)
    }

    /// The planned objects of addons.
    pub fn planned(&self) -> impl Iterator<Item = &PlannedObject> {
        planned_addons(&self.plan)
    }

    /// Why the Cluster as a whole is held.
    #[must_use]
    pub fn hold(&self) -> Option<&Hold> {
        hold_of(&self.plan)
    }
}

/// The objects of addons in a plan.
pub(super) fn planned_addons(plan: &Plan) -> impl Iterator<Item = &PlannedObject> {
    plan.objects().filter(|object| object.step == Step::Addons)
}

/// Why a plan delivers nothing to its Cluster.
#[must_use]
pub fn hold_of(plan: &Plan) -> Option<&Hold> {
    plan.held().iter().find(|held| held.addon.is_none()).map(|held| &held.hold)
}

/// How the objects of a Cluster's addons are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Not at all: the Cluster is held, or there is no release.
    Nothing,
    /// Not while the `ClusterStack` or the `ClusterAddon` is suspended.
    Suspended,
    /// Not while another repository has the files.
    Elsewhere(Hold),
    /// Through the Git repository of the `ClusterStack`.
    Commit,
    /// By the operator.
    Apply,
}

impl Delivery {
    /// Whether objects are written. Otherwise what waits for a commit is withdrawn.
    #[must_use]
    pub fn is_written(&self) -> bool {
        matches!(self, Self::Commit | Self::Apply)
    }
}

/// What is written for a Cluster before its status is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// How the objects are written.
    pub delivery: Delivery,
    /// The addons whose objects the settings suspend.
    pub suspend: BTreeSet<String>,
    /// The addons whose objects are not written until one of the other kind is gone.
    pub blocked: BTreeSet<String>,
    /// Whether Flux is asked to reconcile now: the cluster is reachable again.
    pub request_reconcile: bool,
    /// Whether Flux is asked to retry the installations that it gave up.
    pub retry: bool,
}

/// Decides what is written for a Cluster before its status is.
#[must_use]
pub fn decide(facts: &Facts) -> Decision {
    let before = facts.snapshot.addon.status.as_ref().map_or(&[][..], |status| &status.conditions);
    let is_paused = matches!(facts.target, Target::Paused);
    let mut decision = Decision {
        delivery: Delivery::Nothing,
        suspend: BTreeSet::new(),
        blocked: BTreeSet::new(),
        request_reconcile: !is_paused && gate::has_recovered(before, facts.cluster),
        retry: false,
    };
    let Target::Available(available) = &facts.target else { return decision };
    decision.delivery = delivery(available);
    decision.retry = !available.is_suspended;
    if decision.delivery.is_written() {
        let settings = &available.stack.flux.addons;
        let names = || available.planned().map(|planned| (addon_of(planned), planned));
        let is_suspended = |name: &str| settings.get(name).is_some_and(|settings| settings.suspend);
        decision.suspend =
            names().filter(|(name, _)| is_suspended(name)).map(|(name, _)| name.to_owned()).collect();
        let is_blocked = |planned: &PlannedObject| has_other_kind(&facts.snapshot, planned);
        decision.blocked =
            names().filter(|(_, planned)| is_blocked(planned)).map(|(name, _)| name.to_owned()).collect();
    }
    decision
}

fn delivery(available: &Available) -> Delivery {
    if available.hold().is_some() {
        Delivery::Nothing
    } else if available.is_suspended {
        Delivery::Suspended
    } else if let Some(hold) = &available.elsewhere {
        Delivery::Elsewhere(hold.clone())
    } else if available.stack.delivery.git().is_some() {
        Delivery::Commit
    } else {
        Delivery::Apply
    }
}

/// Whether a `ClusterAddon` has an object of the other kind with the name of a planned one.
fn has_other_kind(snapshot: &Snapshot, planned: &PlannedObject) -> bool {
    let other = snapshot.get(other_kind(&planned.id.kind), &planned.id.name);
    waits_for_other_kind(other.map(FluxObject::object), &snapshot.addon)
}

/// Whether a release was delivered before.
#[must_use]
pub fn has_release(addon: &ClusterAddon) -> bool {
    let release = addon.status.as_ref().and_then(|status| status.release.as_ref());
    release.is_some_and(|release| release.applied.is_some())
}
