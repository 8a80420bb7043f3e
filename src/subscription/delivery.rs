//! Decides what the reconcile of a release does: deliver it, report why it is not delivered, or delete its objects.

use super::Teardown;
use crate::api::{ClusterStack, Reason};
use crate::gate::Hold;

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

/// The requirements of a cluster class.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClassFacts<'a> {
    /// Whether the class was delivered before. A delivered class is kept as planned, even if its images change later.
    pub is_delivered: bool,
    /// The reason why the provider's object is not ready, if any.
    pub provider_problem: Option<&'a str>,
    /// A description of the node images that are not ready, if any.
    pub images_not_ready: Option<&'a str>,
}

/// Returns the reason why the cluster class is not delivered yet, if an object that it refers to is not ready.
#[must_use]
pub fn class_hold(facts: ClassFacts) -> Option<Hold> {
    if facts.is_delivered {
        return None;
    }
    if let Some(problem) = facts.provider_problem {
        return Some(Hold { reason: Reason::WaitingForProvider, message: problem.to_owned() });
    }
    let message = format!("{} is not ready yet", facts.images_not_ready?);
    Some(Hold { reason: Reason::WaitingForNodeImages, message })
}
