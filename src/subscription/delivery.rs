//! Decides what the reconcile of a release does: deliver it, report why that is not possible, or delete what was made of it.

use super::Teardown;
use crate::api::{ClusterStack, Reason};
use crate::gate::Hold;

/// How objects get to the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryMode {
    /// They do not: the `ClusterStack` is suspended.
    Suspended,
    /// The operator applies them.
    Api,
    /// The operator commits them, and Flux applies them.
    Git,
}

impl DeliveryMode {
    /// The mode of a `ClusterStack`.
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

/// What is known about the content of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentState {
    /// It is not pinned, or nothing holds its content yet.
    NotRead,
    /// It, or its `ClusterStack`, cannot be used.
    Invalid,
    /// It cannot be read at present.
    Unavailable,
    /// It was read.
    Known,
}

/// What is known about a release that exists.
#[derive(Clone, Copy, Debug)]
pub struct CourseFacts<'a> {
    /// What becomes of it if it is deleted.
    pub teardown: &'a Teardown,
    /// Its `ClusterStack`, if this operator watches it.
    pub owner: Option<&'a ClusterStack>,
    /// Whether it is pinned.
    pub is_pinned: bool,
    /// Its content.
    pub content: ContentState,
}

/// What the reconcile of a release does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseCourse {
    /// Nothing: this operator has no `ClusterStack` for it. Its Clusters report the hold of a release that is deleted and
    /// kept for them.
    Forget(Option<Hold>),
    /// Delete or orphan what was made of it.
    TearDown(Teardown),
    /// Nothing: its `ClusterStack` pins it next, or reports what is wrong with it.
    Await,
    /// Report that it cannot be used. What was made of it stays as it is.
    ReportInvalid,
    /// Report that it cannot be read at present. All that was known of it stays.
    ReportUnavailable {
        /// Whether to try again soon: no event announces that it can be read.
        retry: bool,
    },
    /// Deliver it.
    Deliver(DeliveryMode),
}

/// Decides what the reconcile of a release does.
#[must_use]
pub fn decide_course(facts: &CourseFacts) -> ReleaseCourse {
    let Teardown::Keep(hold) = facts.teardown else { return ReleaseCourse::TearDown(facts.teardown.clone()) };
    let Some(owner) = facts.owner else { return ReleaseCourse::Forget(hold.clone()) };
    match facts.content {
        ContentState::NotRead if facts.is_pinned => ReleaseCourse::ReportUnavailable { retry: false },
        ContentState::NotRead => ReleaseCourse::Await,
        ContentState::Invalid => ReleaseCourse::ReportInvalid,
        ContentState::Unavailable => ReleaseCourse::ReportUnavailable { retry: true },
        ContentState::Known => ReleaseCourse::Deliver(DeliveryMode::of(owner)),
    }
}

/// What a cluster class needs before it is delivered.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClassFacts<'a> {
    /// Whether the class was delivered before: it stays as planned, whatever its images do later.
    pub is_delivered: bool,
    /// Why the provider's object is not ready.
    pub provider_problem: Option<&'a str>,
    /// The node images that are not ready, in words.
    pub images_not_ready: Option<&'a str>,
}

/// Decides why the cluster class is not delivered yet: what it refers to is not ready.
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
