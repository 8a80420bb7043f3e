//! The chain of conditions and objects that an object waits for, from the object down to what Flux reports.

mod cluster;
mod flux_objects;
mod others;
mod release;
mod stack;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::Serialize;

use super::advice::{Action, advice};
use super::cause::unhinted;
use super::flux::is_true;
use super::next::{Place, controller, prune, secret, workloads};
use super::snapshot::mirrored;
use super::step::{self, Role, Step};
use super::values::hint;
use crate::api::ConditionType;
use crate::rollup::{ConditionStatus, Report};

pub use self::cluster::{addons, cluster};
pub use self::others::OtherCause;
pub use self::release::release;
pub use self::stack::stack;

/// The explanation of a state.
#[derive(Clone, Debug, Serialize)]
pub struct Chain {
    /// `Cluster <namespace>/<name>`, with the addon if one was named.
    pub about: String,
    /// Whether the object is ready.
    pub ready: bool,
    /// `False` if something is wrong, `Unknown` if it is not known yet.
    pub status: ConditionStatus,
    /// Time since which the object is not ready, if it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The innermost cause; absent if the object is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Innermost>,
    /// What to do; absent if the object is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// The addons that are not ready for other causes, which the advice is not about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherCause>,
    /// The other objects that are not ready, with the same message and advice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The steps from the object down to what Flux reports.
    pub steps: Vec<Step>,
    /// The names for the next commands of all steps.
    #[serde(skip)]
    place: Place,
}

/// The step that all others wait for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Innermost {
    /// The object or condition.
    pub what: String,
    /// The reason of its status.
    pub reason: String,
    /// Its message.
    pub message: String,
}

impl Chain {
    fn new(about: String, place: Place) -> Self {
        Self {
            about,
            ready: false,
            status: ConditionStatus::Unknown,
            since: None,
            cause: None,
            action: None,
            others: Vec::new(),
            also: Vec::new(),
            steps: Vec::new(),
            place,
        }
    }

    fn add(&mut self, depth: usize, role: Role, what: String, report: &Report) {
        let step = self.step(depth, role, what, report);
        self.steps.push(step);
    }

    /// Creates a step, with the names that the chain and its message have.
    fn step(&self, depth: usize, role: Role, what: String, report: &Report) -> Step {
        let message = &report.message;
        let place = Place {
            secret: secret(message, self.namespace()),
            controller: controller(message),
            prune: prune(message),
            workloads: workloads(message),
            ..self.place.clone()
        };
        Step::new(depth, role, what, report, place)
    }

    /// Returns the namespace of the object of the chain.
    fn namespace(&self) -> &str {
        let key = self.place.cluster.as_ref().or(self.place.stack.as_ref()).or(self.place.release.as_ref());
        key.map(|key| key.namespace.as_str()).unwrap_or_default()
    }

    /// Ends a chain: with the innermost cause and what to do about it, unless the object is ready.
    fn ended(mut self, ready: bool, since: Option<Timestamp>) -> Self {
        step::mark_unchecked(&mut self.steps);
        self.ready = ready;
        if ready {
            self.status = ConditionStatus::True;
            return self;
        }
        self.since = since;
        let mut path = step::blocking(&self.steps);
        // If no condition is an issue yet, the advice is about the object that is one.
        let is_issue = |step: &&Step| step.status == ConditionStatus::False;
        if path.is_empty() {
            path.extend(self.steps.iter().find(is_issue));
        }
        let action = self.action.take().or_else(|| advice(&path));
        // What is said is what the advice is about: two places cannot contradict each other.
        let advised = action.as_ref().and_then(|action| action.about.as_ref());
        let advised = advised.and_then(|about| path.iter().rev().find(|step| step.what == *about));
        let has_message = |step: &&&Step| !step.message.is_empty();
        let innermost = || path.iter().rev().find(has_message).or(path.last());
        let text = action.as_ref().map(|action| action.text.clone()).unwrap_or_default();
        let cause = advised.filter(has_message).or_else(innermost).map(|step| Innermost {
            what: step.what.clone(),
            reason: step.reason.clone(),
            message: unhinted(&step.message, &text).to_owned(),
        });
        self.status = path.iter().map(|step| step.status).min().unwrap_or_default();
        self.others = others::others(&self.steps, &path);
        let values = path.iter().flat_map(|step| &step.values).cloned().collect::<Vec<_>>();
        let action = action.map(|mut action| {
            action.text.extend(hint(action.cause, &values).map(|hint| format!(" {hint}")));
            action
        });
        // What to do is said once.
        for step in &mut self.steps {
            step.message = unhinted(&step.message, &text).to_owned();
        }
        (self.cause, self.action) = (cause, action);
        self
    }
}

/// Returns the time since which the condition `Ready` has its status.
fn since(conditions: Option<&Vec<Condition>>, kind: ConditionType) -> Option<Timestamp> {
    let found = conditions?.iter().find(|condition| condition.type_ == kind.as_str())?;
    (found.status != ConditionStatus::True.as_str()).then_some(found.last_transition_time.0)
}

/// Returns the reports of those conditions that an object has, in this order.
fn present(
    metadata: &ObjectMeta,
    conditions: Option<&Vec<Condition>>,
    kinds: &[ConditionType],
) -> Vec<(ConditionType, Report)> {
    let has = |kind: &ConditionType| {
        conditions.into_iter().flatten().any(|condition| condition.type_ == kind.as_str())
    };
    let there = kinds.iter().copied().filter(has);
    there.map(|kind| (kind, mirrored(metadata, conditions, kind))).collect()
}

/// Returns the reports that are not true.
fn issues<'a, T>(reports: impl IntoIterator<Item = &'a (T, Report)>) -> impl Iterator<Item = &'a (T, Report)>
where
    T: 'a,
{
    reports.into_iter().filter(|(_, report)| !is_true(report))
}
