//! Decides what the reconcile of a release does: deliver it, report why it is not delivered, or delete its objects. Of a
//! delivered release, decides which steps are written.

use k8s_openapi::api::core::v1::ObjectReference;

use super::Teardown;
use crate::api::{ClusterStack, ClusterStackRelease, Reason};
use crate::gate::Hold;
use crate::plan::{Plan, Step};

/// The way in which objects reach the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryMode {
    /// They do not, because the `ClusterStack` is suspended.
    Suspended,
    /// The operator applies them.
    Api,
    /// The operator commits them, and Flux applies them.
    Git,
}

impl DeliveryMode {
    /// Returns the mode of a `ClusterStack`.
    #[must_use]
    pub fn of(stack: &ClusterStack) -> Self {
        match stack.spec.delivery.git() {
            _ if stack.spec.suspend => Self::Suspended,
            Some(_) => Self::Git,
            None => Self::Api,
        }
    }

    /// Whether the operator writes anything.
    #[must_use]
    pub fn writes(self) -> bool {
        self != Self::Suspended
    }
}

/// The state of a release's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentState {
    /// The release is not pinned, or Flux has not fetched its content yet.
    NotRead,
    /// The release or its `ClusterStack` is invalid.
    Invalid,
    /// The content is temporarily unavailable.
    Unavailable,
    /// The content was read.
    Known,
}

/// The facts about an existing release.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseActionFacts<'a> {
    /// The decision in case it is deleted.
    pub teardown: &'a Teardown,
    /// Its `ClusterStack`, if this operator watches it.
    pub owner: Option<&'a ClusterStack>,
    /// Whether it is pinned.
    pub is_pinned: bool,
    /// Its content.
    pub content: ContentState,
}

/// The decision of a release's reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseAction {
    /// Do nothing: this operator has no `ClusterStack` for it. If the release is deleted and kept for its Clusters, they
    /// report its hold.
    Forget(Option<Hold>),
    /// Delete or orphan its objects.
    TearDown(Teardown),
    /// Wait until its `ClusterStack` pins it, or reports the problem.
    Await,
    /// Report that it is invalid. Its objects stay.
    ReportInvalid,
    /// Report that its content is temporarily unavailable. Everything known about it stays.
    ReportUnavailable {
        /// Whether to retry soon, because no event announces that the content is available.
        retry: bool,
    },
    /// Deliver it.
    Deliver(DeliveryMode),
}

/// Decides what the reconcile of a release does.
#[must_use]
pub fn decide_release_action(facts: &ReleaseActionFacts) -> ReleaseAction {
    let Teardown::Keep(hold) = facts.teardown else { return ReleaseAction::TearDown(facts.teardown.clone()) };
    let Some(owner) = facts.owner else { return ReleaseAction::Forget(hold.clone()) };
    match facts.content {
        ContentState::NotRead if facts.is_pinned => ReleaseAction::ReportUnavailable { retry: false },
        ContentState::NotRead => ReleaseAction::Await,
        ContentState::Invalid => ReleaseAction::ReportInvalid,
        ContentState::Unavailable => ReleaseAction::ReportUnavailable { retry: true },
        ContentState::Known => ReleaseAction::Deliver(DeliveryMode::of(owner)),
    }
}

/// The steps of a release, in the order of delivery.
pub const RELEASE_STEPS: [Step; 3] = [Step::Sources, Step::NodeImages, Step::ClusterClass];

/// The facts about the delivery of a release's objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepFacts<'a> {
    /// The first object whose name an object of another client has: its step, and its hold.
    pub taken: Option<(Step, &'a Hold)>,
    /// Whether the class was delivered before. A delivered class is kept as planned, even if its images change later.
    pub is_class_delivered: bool,
    /// The reason why the provider's object is not ready, if any.
    pub provider_problem: Option<&'a str>,
    /// A description of the node images that are not ready, if any.
    pub images_not_ready: Option<&'a str>,
}

/// The steps of a release that are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenSteps {
    /// The steps. In the last one, the objects that follow a taken name are not written either: they refer to it.
    pub steps: Vec<Step>,
    /// The reason why the others are not written, or not all of the last step.
    pub hold: Option<Hold>,
}

impl WrittenSteps {
    /// Whether the name of a source is taken, so that no Cluster can have the release.
    #[must_use]
    pub fn is_without_source(&self) -> bool {
        !self.steps.contains(&Step::NodeImages)
    }
}

/// Decides which steps of a release are written. A step waits for a taken name in an earlier one, and the class also for
/// the provider and the node images.
#[must_use]
pub fn steps_to_write(facts: &StepFacts) -> WrittenSteps {
    let taken = facts.taken.map(|(step, hold)| (step, hold.clone()));
    let class = class_hold(facts).map(|hold| (Step::NodeImages, hold));
    let first = taken.into_iter().chain(class).min_by_key(|(last, _)| *last);
    let (last, hold) = first.unzip();
    let steps = RELEASE_STEPS.into_iter().filter(|step| last.is_none_or(|last| *step <= last));
    WrittenSteps { steps: steps.collect(), hold }
}

/// Returns the reason why the cluster class is not delivered yet, if an object that it refers to is not ready.
fn class_hold(facts: &StepFacts) -> Option<Hold> {
    if facts.is_class_delivered {
        return None;
    }
    if let Some(problem) = facts.provider_problem {
        return Some(Hold { reason: Reason::WaitingForProvider, message: problem.to_owned() });
    }
    let message = format!("{} is not ready yet", facts.images_not_ready?);
    Some(Hold { reason: Reason::WaitingForNodeImages, message })
}

/// Whether the cluster class of a release was delivered before, according to its status.
#[must_use]
pub fn is_class_delivered(release: &ClusterStackRelease, plan: &Plan) -> bool {
    let mut class =
        plan.objects().filter(|object| object.step == Step::ClusterClass).map(|object| &object.id);
    class.any(|id| release.spec_digest_of(&id.kind, &id.namespace, &id.name).is_some())
}

/// Returns the references to the template of a release's provider object and to that object; `None` if the `ClusterStack`
/// has no provider integration.
#[must_use]
pub fn provider_references<'a>(
    stack: &'a ClusterStack,
    release: &'a ClusterStackRelease,
) -> Option<(&'a ObjectReference, &'a ObjectReference)> {
    let template = stack.spec.provider_ref.as_ref().filter(|_| !stack.spec.no_provider);
    template.zip(release.spec.provider_ref.as_ref())
}
