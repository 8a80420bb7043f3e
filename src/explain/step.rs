//! The steps of a chain: conditions and objects, each below what waits for it.

use serde::Serialize;

use super::cause::Component;
use super::next::Place;
use crate::api::Reason;
use crate::release::finding;
use crate::rollup::{ConditionStatus, Report};

/// One object or condition of a chain.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The level below the object of the chain.
    #[serde(skip)]
    pub depth: usize,
    /// The object or condition.
    pub what: String,
    /// Its status.
    pub status: ConditionStatus,
    /// The reason of the status.
    pub reason: String,
    /// The message about the status.
    pub message: String,
    /// Whether it was not checked, because an earlier step is not true.
    #[serde(skip)]
    pub is_unchecked: bool,
    #[serde(skip)]
    pub(super) role: Role,
    /// The reason that the advice is based on, if it is a known one.
    #[serde(skip)]
    pub(super) known: Option<Reason>,
    /// The component whose message it is, if its messages can prove a cause.
    #[serde(skip)]
    pub(super) component: Option<Component>,
    /// The names for the next commands.
    #[serde(skip)]
    pub(super) place: Place,
    /// The places of values that a new release does not change, if it is that of an addon.
    #[serde(skip)]
    pub(super) values: Vec<String>,
}

/// The relation of a step to those beside it, the most blocking one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// All later steps wait for this one.
    Gate,
    /// The step proceeds independently of the others.
    Part,
    /// The step adds details to the one above it.
    Detail,
}

impl Step {
    pub(super) fn new(depth: usize, role: Role, what: String, report: &Report, place: Place) -> Self {
        let Report { status, reason, message } = report.clone();
        let known = Reason::of(&reason).or_else(|| is_finding(&reason).then_some(Reason::Invalid));
        Self {
            depth,
            what,
            status,
            reason,
            message,
            is_unchecked: false,
            role,
            known,
            component: known.and_then(of_operator),
            place,
            values: Vec::new(),
        }
    }

    /// Whether nothing is wrong with it.
    #[must_use]
    pub fn is_true(&self) -> bool {
        self.status == ConditionStatus::True
    }
}

/// Whether a reason is that of a finding in a release.
pub(super) fn is_finding(reason: &str) -> bool {
    finding::Reason::ALL.iter().any(|known| known.as_str() == reason)
}

/// Returns the component that a reason of the operator is about.
fn of_operator(reason: Reason) -> Option<Component> {
    match reason {
        Reason::DeliveryFailed => Some(Component::Writing),
        Reason::PushFailed => Some(Component::Delivery),
        Reason::PublishFailed | Reason::UpstreamUnavailable => Some(Component::Publishing),
        _ => None,
    }
}

/// Returns the steps from the blocking one down to its cause.
pub(super) fn blocking(mut steps: &[Step]) -> Vec<&Step> {
    let mut path = Vec::new();
    while let Some((step, below)) = worst(steps) {
        path.push(step);
        steps = below;
    }
    path
}

/// Returns the most blocking one of the steps beside each other, and the steps below it: the first gate that is not
/// true, otherwise a false step before an unknown one, and of equal steps the first.
fn worst(steps: &[Step]) -> Option<(&Step, &[Step])> {
    let mut found: Option<(&Step, &[Step])> = None;
    let mut left = steps;
    while let Some((step, after)) = left.split_first() {
        let is_below = |other: &&Step| other.depth > step.depth;
        let (below, beside) = after.split_at(after.iter().take_while(is_below).count());
        left = beside;
        let blocks_more = |other: &Step| match (step.role, other.role) {
            (Role::Gate, Role::Gate) => false,
            _ => (step.role, step.status) < (other.role, other.status),
        };
        if !step.is_true() && found.is_none_or(|(other, _)| blocks_more(other)) {
            found = Some((step, below));
        }
    }
    found
}

/// Marks the conditions after the first gate that is not true: they wait for it, and say nothing of their own. A warning about the
/// gate of upgrades does not wait.
pub(super) fn mark_unchecked(steps: &mut [Step]) {
    let mut is_after = false;
    for step in steps.iter_mut().filter(|step| step.depth == 0) {
        let warns = step.known == Some(Reason::NotEnforced);
        step.is_unchecked = is_after && step.status == ConditionStatus::Unknown && !warns;
        is_after |= step.role == Role::Gate && !step.is_true();
    }
}
