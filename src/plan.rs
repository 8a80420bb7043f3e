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
pub mod overlaps;
mod presets;
mod provider;
pub mod repair;
mod sources;
pub mod stages;
mod values;
pub mod write;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::api::Reason;
use crate::foreign::capi::Cluster;
use crate::gate::{self, Hold};
use crate::inputs::overrides::Requests;
use crate::inputs::stack::Stack;
use crate::inputs::{ClusterInputs, ReleaseInputs};
use crate::names::{AddonName, NameError, Namespace, ObjectName};
use crate::release::{Addon, Digest};

pub use addons::helm_names;
pub use cluster_class::storage_namespace;
pub use dependencies::held_by_operator;
use object::Rank;
pub use object::{ObjectId, PlannedObject, Step};
pub use provider::{is_provider_object_written, provider_object};
use stages::Course;
pub use values::{rendered as values, rendered_values};

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

impl Held {
    fn of(cluster: &Cluster, addon: Option<AddonName>, hold: Hold) -> Self {
        let (namespace, cluster) = (cluster.namespace().clone(), cluster.name().clone());
        Self { namespace, cluster, addon, hold }
    }
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

    /// Leaves out addons of a Cluster. Their objects stay as they are.
    pub fn hold_addons(&mut self, cluster: &Cluster, holds: BTreeMap<AddonName, Hold>) {
        let is_held = |object: &PlannedObject| holds.keys().any(|addon| addon.as_str() == object.addon());
        self.objects.retain(|(step, ..), object| *step != Step::Addons || !is_held(object));
        self.held.extend(holds.into_iter().map(|(addon, hold)| Held::of(cluster, Some(addon), hold)));
    }

    /// Adds to the message of each addon that waits for a stage what `addon` lacks, which is of that stage.
    pub fn explain_stage(&mut self, addon: &AddonName, lacks: &str) {
        let is_waiting = |held: &&mut Held| {
            held.hold.reason == Reason::WaitingForStage && held.addon.as_ref() != Some(addon)
        };
        for held in self.held.iter_mut().filter(is_waiting) {
            held.hold.message = format!("{}; {addon}: {lacks}", held.hold.message);
        }
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

/// Plans the addons that a Cluster whose class is that of the release has at this point of its course. Leaves out what a gate or
/// a stage holds, and names it.
pub fn cluster(inputs: &ReleaseInputs, cluster: &ClusterInputs, course: &Course) -> Result<Plan, PlanError> {
    let mut plan = Plan::default();
    let not_now = |addon, hold| Held::of(&cluster.cluster, addon, hold);
    if let Some(hold) = gate::cluster(&cluster.cluster, inputs.release) {
        plan.held.push(not_now(None, hold));
        return Ok(plan);
    }
    plan.extend(sources::of_cluster(inputs, cluster.cluster.namespace())?)?;
    let requests = cluster.requests(inputs.stack, inputs.release);
    let of = |addon: &Addon| outcome(inputs, (cluster, &requests, course), addon);
    for addon in course.addons(inputs.release, &cluster.cluster, &requests) {
        match of(addon)? {
            Some(Ok(object)) => plan.insert(object)?,
            Some(Err(hold)) => plan.held.push(not_now(Some(addon.name.clone()), hold)),
            None => {}
        }
    }
    for addon in course.coming_back(inputs.release, &cluster.cluster, &requests) {
        if let Some(Err(hold)) = of(addon)? {
            plan.held.push(not_now(Some(addon.name.clone()), hold));
        }
    }
    Ok(plan)
}

/// Plans an addon at a point of the course of its Cluster; `None` if its content is not known.
fn outcome(
    inputs: &ReleaseInputs,
    of: (&ClusterInputs, &Requests, &Course),
    addon: &Addon,
) -> Result<Option<addons::Outcome>, PlanError> {
    let (_, requests, course) = of;
    let by_settings = || gate::settings::hold(&inputs.stack.flux, addon);
    let refused = || refused_request(requests, addon.name.as_str());
    if let Some(hold) = gate::component(addon).or_else(by_settings).or_else(refused) {
        return Ok(Some(Err(hold)));
    }
    let Some(content) = inputs.contents.addons.get(&addon.name) else { return Ok(None) };
    match course.hold(inputs.release, addon) {
        Some(hold) => Ok(Some(Err(hold))),
        None => addons::addon(inputs, of, addon, content).map(Some),
    }
}

/// Returns the hold of an addon whose request was accepted before and is refused now: it stays as it is.
#[must_use]
pub fn refused_request(requests: &Requests, addon: &str) -> Option<Hold> {
    let refused = if requests.is_held(addon) { requests.refused(addon) } else { &[] };
    let first = refused.first()?;
    let more = refused.len() - 1;
    let more = if more == 0 { String::new() } else { format!(", and {more} more") };
    let message = format!(
        "the ClusterAddonOverride is refused: {}: {}{more}; the addon stays as it is",
        first.field, first.rule
    );
    Some(Hold { reason: Reason::OverrideRefused, message })
}

#[cfg(test)]
pub(crate) mod tests;
