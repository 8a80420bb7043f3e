//! The facts about a Cluster that its decisions depend on.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Snapshot;
use super::upgrade::Upgrade;
use crate::api::Reason;
use crate::foreign::capi::Cluster;
use crate::foreign::flux::FluxKind;
use crate::gate::Hold;
use crate::inputs::ClusterInputs;
use crate::inputs::overrides::Requests;
use crate::inputs::stack::Stack;
use crate::names::{AddonName, ReleaseName};
use crate::plan::stages::Course;
use crate::plan::{Plan, PlanError, PlannedObject};
use crate::release::{Addon, Release};
use crate::rollup::{ConditionStatus, Report};

/// The facts about a Cluster that is not being deleted.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// The Cluster.
    pub cluster: &'a Cluster,
    /// Its addons.
    pub snapshot: Snapshot,
    /// The addons that it will have.
    pub target: Target<'a>,
    /// Its upgrade to another Kubernetes version.
    pub upgrade: Upgrade,
}

impl Facts<'_> {
    /// Returns the plan of the addons, if there is a release to deliver.
    #[must_use]
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        match &self.target {
            Target::Available(available) => Some(&available.plan),
            Target::Paused | Target::Unavailable { .. } => None,
        }
    }
}

/// The addons that a Cluster will have.
#[derive(Clone, Debug)]
pub enum Target<'a> {
    /// The present ones, because the Cluster is paused.
    Paused,
    /// The present ones, because there is no valid release to deliver.
    Unavailable {
        /// The release of the class, or the name of a class without a release; empty if the Cluster has no class.
        desired: String,
        /// The reason why nothing is delivered.
        report: Report,
    },
    /// The addons of a release.
    Available(Available<'a>),
}

impl Target<'_> {
    /// Returns the target while a release cannot be planned: nothing of it may be reported as delivered.
    #[must_use]
    pub fn without_plan(release: &ReleaseName, error: &PlanError) -> Self {
        let message = format!("cannot plan {release}: {error}; the installed addons stay as they are");
        let report = Report::new(ConditionStatus::False, Reason::DeliveryFailed.as_str(), &message);
        Self::Unavailable { desired: release.to_string(), report }
    }
}

/// A release whose addons can be delivered to a Cluster.
#[derive(Clone, Debug)]
pub struct Available<'a> {
    /// The `ClusterStack`.
    pub stack: &'a Stack,
    /// The release.
    pub release: &'a Release,
    /// The applied version of each addon: the version of the chart that Flux packaged, or the commit of the manifests.
    pub versions: &'a BTreeMap<AddonName, String>,
    /// The `Ready` of the release.
    pub ready: &'a Report,
    /// Deletions that the `ClusterStack`'s annotation allows beyond the budget.
    pub allowed_deletions: Option<&'a str>,
    /// Whether the `ClusterStack` or the `ClusterAddon` is suspended.
    pub is_suspended: bool,
    /// The inputs of the values.
    pub inputs: Box<ClusterInputs>,
    /// How far the Cluster has come in the stages of the release.
    pub course: Course,
    /// The requests for the addons, with what is refused.
    pub requests: Requests,
    /// The objects of the addons.
    pub plan: Arc<Plan>,
    /// The hold of a plan that must not be delivered, because another repository has the files of the Cluster.
    pub elsewhere: Option<Hold>,
}

impl Available<'_> {
    /// Returns the name of the `ClusterStack` in the status.
    #[must_use]
    pub fn stack_name(&self) -> String {
        format!("{}/{}", self.stack.namespace, self.stack.name)
    }

    /// Returns the addons of the release that the Cluster has or keeps now.
    pub fn addons(&self) -> impl Iterator<Item = &Addon> {
        self.course.addons(self.release, &self.inputs.cluster, &self.requests)
    }

    /// Returns the planned objects of addons.
    pub fn planned(&self) -> impl Iterator<Item = &PlannedObject> {
        self.plan.addons()
    }

    /// Returns the way in which the objects are written.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        if self.hold().is_some() {
            Delivery::Nothing
        } else if self.is_suspended {
            Delivery::Suspended
        } else if let Some(hold) = &self.elsewhere {
            Delivery::Elsewhere(hold.clone())
        } else if self.stack.delivery.git().is_some() {
            Delivery::Commit
        } else {
            Delivery::Apply
        }
    }

    /// Returns the hold of the whole Cluster, if any.
    #[must_use]
    pub fn hold(&self) -> Option<&Hold> {
        hold_of(&self.plan)
    }
}

/// Returns the addon that an object delivers.
#[must_use]
pub fn addon_of(object: &PlannedObject) -> &str {
    object.addon()
}

/// Returns the hold because of which a plan delivers nothing to its Cluster, if any.
#[must_use]
pub fn hold_of(plan: &Plan) -> Option<&Hold> {
    plan.held().iter().find(|held| held.addon.is_none()).map(|held| &held.hold)
}

/// The way in which the objects of a Cluster's addons are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// They are not written: the Cluster is held, or there is no release.
    Nothing,
    /// They are not written while the `ClusterStack` or the `ClusterAddon` is suspended.
    Suspended,
    /// They are not written while another repository has the files.
    Elsewhere(Hold),
    /// The operator commits them to the Git repository of the `ClusterStack`.
    Commit,
    /// The operator applies them.
    Apply,
}

impl Delivery {
    /// Whether objects are written. Otherwise uncommitted changes are withdrawn.
    #[must_use]
    pub fn is_written(&self) -> bool {
        matches!(self, Self::Commit | Self::Apply)
    }
}

/// Returns the kind of the object that delivers an addon.
#[must_use]
pub fn kind_of(addon: &Addon) -> FluxKind {
    if addon.is_chart() { FluxKind::HelmRelease } else { FluxKind::Kustomization }
}
