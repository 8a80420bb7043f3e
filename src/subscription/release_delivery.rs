//! Decides what is written of a release: one step at a time. The reconcile after the write of a step decides about the next one,
//! from the state that it finds.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::delivery::{
    DeliveryMode, RELEASE_STEPS, StepFacts, WrittenSteps, is_class_delivered, steps_to_write,
};
use crate::api::ClusterStackRelease;
use crate::foreign::flux::observed::{FluxObject, SpecDigest};
use crate::names::Key;
use crate::plan::delivery::{
    Action, Baseline, NamespaceState, Purpose, action, is_of_plan, namespace_action, suspension,
};
use crate::plan::write::{RepairState, Write, WriteFacts, write};
use crate::plan::{Plan, PlannedObject, Step, existing};

/// The present state of a planned object of a release.
#[derive(Clone, Debug)]
pub struct ObjectState {
    /// The Flux object that has its name according to the watches.
    pub found: Option<Arc<FluxObject>>,
    /// The object of another client that has its name, if a write conflicted with one.
    pub occupant: Option<Arc<FluxObject>>,
    /// The state of the Namespace that has its name, if it is one.
    pub namespace_state: NamespaceState,
    /// The digest of its spec, as the status has it or, if Flux applies it, as it is.
    pub expected: Option<SpecDigest>,
    /// Its owners: the release first, and the others that it shares the object with.
    pub owners: Vec<OwnerReference>,
    /// The Namespace that it is in as an owner, if known.
    pub namespace: Option<OwnerReference>,
    /// Its repairs.
    pub repairs: RepairState,
    /// Whether Flux reports that it is applied as planned.
    pub is_ready: bool,
}

/// The facts about the objects of a release whose content is known.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryFacts<'a> {
    /// The release.
    pub release: &'a ClusterStackRelease,
    /// Its plan.
    pub plan: &'a Plan,
    /// The states of the plan's objects, in the order of the plan.
    pub objects: &'a [ObjectState],
    /// The way in which the objects reach the API server.
    pub mode: DeliveryMode,
    /// The reason why the provider's object is not ready, if any.
    pub provider_problem: Option<&'a str>,
}

/// The write of a planned object of a release.
#[derive(Clone, Debug, PartialEq)]
pub enum ReleaseWrite {
    /// None: the `ClusterStack` is suspended.
    Nothing,
    /// None: Flux applies the object from a repository; this is what Flux does, or has done.
    ByFlux(Action),
    /// None before an earlier step is written.
    InItsTurn,
    /// That of a Flux object.
    Flux {
        /// The write.
        write: Write,
        /// Whether the object is resumed, because an earlier `ClusterStack` orphaned it. It is resumed only in the state that
        /// this is decided for.
        resumes: bool,
    },
    /// That of a Namespace.
    Namespace(Action),
}

impl ReleaseWrite {
    /// Whether the object is written.
    #[must_use]
    pub fn is_written(&self) -> bool {
        match self {
            Self::Nothing | Self::ByFlux(_) | Self::InItsTurn => false,
            Self::Flux { write, resumes } => *resumes || matches!(write, Write::Apply(_)),
            Self::Namespace(action) => matches!(action, Action::Apply | Action::Repair),
        }
    }

    /// Whether the object is as planned.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::InItsTurn => false,
            Self::Flux { write, resumes } => *write == Write::Nothing && !resumes,
            Self::Namespace(action) | Self::ByFlux(action) => *action == Action::Nothing,
        }
    }
}

/// A planned object of a release with its write.
#[derive(Clone, Debug)]
pub struct DecidedObject<'a> {
    /// The planned object.
    pub planned: &'a PlannedObject,
    /// Its present state.
    pub state: &'a ObjectState,
    /// Its write.
    pub write: ReleaseWrite,
}

/// The decision about the objects of a release.
#[derive(Clone, Debug)]
pub struct ReleaseDelivery<'a> {
    /// The objects of the steps that are written now or were before, in the order of delivery, up to the first whose name an
    /// object of another client has: those that follow refer to it.
    pub objects: Vec<DecidedObject<'a>>,
    /// The object after them whose name an object of another client has, if any.
    pub taken: Option<&'a PlannedObject>,
    /// The steps of these objects.
    pub written: WrittenSteps,
    /// Whether the provider's object is written.
    pub writes_provider: bool,
    /// Whether a later step may be due after these writes.
    pub comes_again: bool,
}

impl ReleaseDelivery<'_> {
    /// Whether an object is written now.
    #[must_use]
    pub fn writes(&self, object: &FluxObject) -> bool {
        let is_it = |planned: &PlannedObject| {
            planned.kind() == Some(object.kind()) && planned.id.key() == Key::of(object)
        };
        self.objects.iter().any(|decided| decided.write.is_written() && is_it(decided.planned))
    }
}

/// Decides about the objects of a release.
#[must_use]
pub fn decide_delivery<'a>(facts: &DeliveryFacts<'a>) -> ReleaseDelivery<'a> {
    let mut objects: Vec<DecidedObject> = facts
        .plan
        .objects()
        .zip(facts.objects)
        .map(|(planned, state)| DecidedObject { planned, state, write: decided(planned, state, facts.mode) })
        .collect();
    let taken = objects
        .iter()
        .position(|object| matches!(object.write, ReleaseWrite::Flux { write: Write::Taken, .. }));
    let written = written(facts, &objects, taken);
    let taken_object = taken.and_then(|taken| objects.get(taken)).map(|object| object.planned);
    objects.truncate(taken.unwrap_or(usize::MAX));
    objects.retain(|object| written.steps.contains(&object.planned.step));
    let is_awaited =
        |object: &&DecidedObject| object.write.is_written() && !object.state.has_content(object.planned);
    let present = objects.iter().find(is_awaited).map(|object| object.planned.step);
    for object in
        objects.iter_mut().filter(|object| present.is_some_and(|present| object.planned.step > present))
    {
        if object.write.is_written() {
            object.write = ReleaseWrite::InItsTurn;
        }
    }
    let is_past_sources = present != Some(Step::Sources);
    ReleaseDelivery {
        writes_provider: facts.mode.writes() && is_past_sources && !written.is_without_source(),
        comes_again: present.is_some_and(|present| Some(&present) != RELEASE_STEPS.last())
            || objects.iter().any(DecidedObject::is_resumed_next),
        taken: taken_object.filter(|taken| written.steps.contains(&taken.step)),
        objects,
        written,
    }
}

impl DecidedObject<'_> {
    /// Whether the object is applied now, and resumed by the next reconcile.
    fn is_resumed_next(&self) -> bool {
        matches!(self.write, ReleaseWrite::Flux { write: Write::Apply(_), .. }) && self.state.is_orphaned()
    }
}

impl ObjectState {
    /// Whether the object has the planned content, so that later steps do not wait for its write.
    fn has_content(&self, planned: &PlannedObject) -> bool {
        self.found.as_deref().is_some_and(|found| is_of_plan(&found.object, planned))
    }

    /// Whether an earlier `ClusterStack` orphaned the object. A suspension by a user stays.
    fn is_orphaned(&self) -> bool {
        let resumes = |found: &FluxObject| suspension(found, Purpose::Deliver { suspend: false }).is_some();
        self.found.as_deref().is_some_and(resumes)
    }
}

/// Decides the write of an object that is not held.
fn decided(planned: &PlannedObject, state: &ObjectState, mode: DeliveryMode) -> ReleaseWrite {
    let expected = state.expected.as_ref();
    let namespace =
        planned.kind().is_none().then(|| namespace_action(planned, state.namespace_state, expected));
    match (mode, namespace) {
        (DeliveryMode::Suspended, _) => return ReleaseWrite::Nothing,
        (DeliveryMode::Git, Some(action)) => return ReleaseWrite::ByFlux(action),
        (DeliveryMode::Git, None) => {
            let found = state.found.as_deref().map(Into::into);
            return ReleaseWrite::ByFlux(action(planned, found, Baseline::Plan));
        }
        (DeliveryMode::Api, Some(action)) => return ReleaseWrite::Namespace(action),
        (DeliveryMode::Api, None) => {}
    }
    let found = state.found.as_deref().or(state.occupant.as_deref());
    let (namespace, repairs) = (state.namespace.as_ref(), &state.repairs);
    // Several releases have the same sources, and each adds itself to the owners.
    let is_shared = planned.step == Step::Sources;
    let facts = WriteFacts { found, expected, owners: &state.owners, namespace, is_shared, repairs };
    let write = write(planned, facts);
    let resumes = matches!(write, Write::Nothing | Write::Later(_)) && state.is_orphaned();
    ReleaseWrite::Flux { write, resumes }
}

/// Decides which steps are written. `taken` is the first object whose name an object of another client has.
fn written(facts: &DeliveryFacts, objects: &[DecidedObject], taken: Option<usize>) -> WrittenSteps {
    let taken = taken.and_then(|taken| objects.get(taken)).map(|object| object.planned);
    let hold = taken.map(|taken| (taken.step, existing::hold(&taken.id)));
    let mut images = objects.iter().filter(|object| object.planned.step == Step::NodeImages);
    let not_ready = images.find(|images| !images.write.is_nothing() || !images.state.is_ready);
    let not_ready = not_ready.map(|images| images.planned.id.to_string());
    steps_to_write(&StepFacts {
        taken: hold.as_ref().map(|(step, hold)| (*step, hold)),
        is_class_delivered: is_class_delivered(facts.release, facts.plan),
        provider_problem: facts.provider_problem,
        images_not_ready: not_ready.as_deref(),
    })
}
