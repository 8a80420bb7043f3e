//! Inputs to ordered Flux objects: a function without effects, the same inputs give the same bytes.

mod addons;
pub mod canonical;
mod cluster_class;
pub mod delivery;
mod dependencies;
pub mod diff;
pub mod existing;
pub mod holder;
pub mod memory;
mod object;
mod presets;
mod provider;
pub mod repair;
mod sources;
pub mod write;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::gate::upgrade::Phase;
use crate::gate::{self, Hold};
use crate::inputs::stack::Stack;
use crate::inputs::{ClusterInputs, ReleaseInputs, platform};
use crate::names::{AddonName, NameError, Namespace, ObjectName};
use crate::release::Digest;

pub use addons::{helm_names, rendered_values, values};
pub use cluster_class::storage_namespace;
use object::Rank;
pub use object::{ObjectId, PlannedObject, Step};
pub use provider::{is_provider_object_written, provider_object};

/// The reason why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A name that Kubernetes would refuse.
    #[error(transparent)]
    Name(#[from] NameError),
    /// An object that has no JSON form.
    #[error("cannot serialize an object: {0}")]
    Unserialisable(#[from] serde_json::Error),
    /// Two plans want different objects of one identity.
    #[error("conflicting plans for {0}: two different objects have this name")]
    Conflict(ObjectId),
}

/// The reason why an addon of a cluster, or the whole cluster, is left out of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The Cluster's namespace.
    pub namespace: Namespace,
    /// The Cluster's name.
    pub cluster: ObjectName,
    /// The addon; `None` for all of the cluster.
    pub addon: Option<AddonName>,
    /// The reason.
    pub hold: Hold,
}

/// Position of an object in a plan: by step, within one what others need first, then by identity.
type Order = (Step, Rank, ObjectId);

/// Flux objects in the order of delivery, each identity once, and what is held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    objects: BTreeMap<Order, PlannedObject>,
    held: Vec<Held>,
}

impl Plan {
    /// Returns the objects in the order of delivery.
    pub fn objects(&self) -> impl Iterator<Item = &PlannedObject> {
        self.objects.values()
    }

    /// Returns the sources and charts.
    pub fn sources(&self) -> impl Iterator<Item = &PlannedObject> {
        self.objects().filter(|object| object.step == Step::Sources)
    }

    /// Returns the objects of addons.
    pub fn addons(&self) -> impl Iterator<Item = &PlannedObject> {
        self.objects().filter(|object| object.step == Step::Addons)
    }

    /// Returns the parts that are held, and the reasons.
    #[must_use]
    pub fn held(&self) -> &[Held] {
        &self.held
    }

    /// Returns the digest over the digests of all objects in their order.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let digests: Vec<&str> = self.objects().map(PlannedObject::digest).collect();
        Digest::of_bytes(digests.join("\n").as_bytes())
    }

    /// Returns the part of the plan that is in these steps, with all that is held.
    #[must_use]
    pub fn only(&self, steps: &[Step]) -> Self {
        let objects = self.objects.iter().filter(|((step, ..), _)| steps.contains(step));
        let objects = objects.map(|(order, object)| (order.clone(), object.clone())).collect();
        Self { objects, held: self.held.clone() }
    }

    /// Takes in what another plan holds. An object that both hold must be the same; otherwise nothing is taken in.
    pub fn merge(&mut self, other: Self) -> Result<(), PlanError> {
        let is_conflict = |order: &Order, object: &PlannedObject| {
            self.objects.get(order).is_some_and(|same| same != object)
        };
        if let Some(((.., id), _)) = other.objects.iter().find(|(order, object)| is_conflict(order, object)) {
            return Err(PlanError::Conflict(id.clone()));
        }
        self.held.extend(other.held);
        other.objects.into_values().try_for_each(|object| self.insert(object))
    }

    /// Notes that something is left out.
    pub fn hold(&mut self, held: Held) {
        self.held.push(held);
    }

    fn insert(&mut self, object: PlannedObject) -> Result<(), PlanError> {
        match self.objects.entry((object.step, Rank::of(&object.id), object.id.clone())) {
            Entry::Occupied(same) if *same.get() == object => Ok(()),
            Entry::Occupied(_) => Err(PlanError::Conflict(object.id)),
            Entry::Vacant(place) => {
                place.insert(object);
                Ok(())
            }
        }
    }

    fn extend(&mut self, objects: impl IntoIterator<Item = PlannedObject>) -> Result<(), PlanError> {
        objects.into_iter().try_for_each(|object| self.insert(object))
    }
}

/// Plans what a `ClusterStack` needs without any release: the repository that it follows.
pub fn stack(stack: &Stack) -> Result<Plan, PlanError> {
    let mut plan = Plan::default();
    plan.extend(sources::catalog(stack)?)?;
    Ok(plan)
}

/// Plans a release: its sources and charts, its node images and its cluster class.
pub fn release(inputs: &ReleaseInputs) -> Result<Plan, PlanError> {
    let mut plan = Plan::default();
    plan.extend(sources::of_release(inputs)?)?;
    plan.extend(cluster_class::node_images(inputs)?)?;
    plan.extend(cluster_class::cluster_class(inputs)?)?;
    Ok(plan)
}

/// Plans the addons of a Cluster whose class is that of the release, in a phase of its upgrade to another Kubernetes version.
/// Leaves out what a gate holds, and names it.
pub fn cluster(inputs: &ReleaseInputs, cluster: &ClusterInputs, phase: Phase) -> Result<Plan, PlanError> {
    let mut plan = Plan::default();
    let not_now = |addon, hold| Held {
        namespace: cluster.cluster.namespace().clone(),
        cluster: cluster.cluster.name().clone(),
        addon,
        hold,
    };
    if let Some(hold) = gate::cluster(&cluster.cluster, inputs.release) {
        plan.held.push(not_now(None, hold));
        return Ok(plan);
    }
    plan.extend(sources::of_cluster(inputs, cluster.cluster.namespace())?)?;
    for addon in platform::addons_of(inputs.release, &cluster.cluster) {
        if let Some(hold) = gate::component(addon) {
            plan.held.push(not_now(Some(addon.name.clone()), hold));
            continue;
        }
        let Some(content) = inputs.contents.addons.get(&addon.name) else { continue };
        if let Some(hold) = gate::upgrade::hold(phase, inputs.release, &addon.name) {
            plan.held.push(not_now(Some(addon.name.clone()), hold));
            continue;
        }
        match addons::addon(inputs, cluster, addon, content)? {
            Ok(object) => plan.insert(object)?,
            Err(hold) => plan.held.push(not_now(Some(addon.name.clone()), hold)),
        }
    }
    Ok(plan)
}

#[cfg(test)]
pub(crate) mod tests;
