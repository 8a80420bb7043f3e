//! Decides which unused releases to delete: after ten minutes, within a budget, and each only after the API server confirms
//! that it is unused.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;

use super::budget::{allows, deletions, in_words, left, refilled, spent};
use super::releases::ReleaseProblem;
use super::roles::{RETIREMENT_DELAY, Role};
use crate::api::cluster_stack::Pruned;
use crate::api::{ClusterStack, ClusterStackRelease, ConditionType, Reason, labels};
use crate::gate::Hold;
use crate::names::ReleaseName;

/// Time until the API server is asked again about a release that it did not confirm to be unused.
const UNCONFIRMED: SignedDuration = SignedDuration::from_mins(1);

/// The facts about the releases that may be deleted.
#[derive(Clone, Copy, Debug)]
pub struct RetirementFacts<'a> {
    /// The `ClusterStack`.
    pub stack: &'a ClusterStack,
    /// The `ClusterStackRelease`s that it owns.
    pub owned: &'a BTreeMap<ReleaseName, Arc<ClusterStackRelease>>,
    /// The role of each release for the `ClusterStack`.
    pub roles: &'a BTreeMap<ReleaseName, Role>,
    /// The present time.
    pub now: Timestamp,
}

/// The releases to delete now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retirement {
    /// The releases to delete, in order.
    pub delete: Vec<ReleaseName>,
    /// The releases that wait for the budget.
    pub problems: BTreeMap<ReleaseName, ReleaseProblem>,
    /// The deletions that the status must record before they happen.
    pub pruned: Option<Pruned>,
    /// Time at which the decision may change without an event.
    pub next: Option<Timestamp>,
}

impl Retirement {
    /// Returns the decision to delete nothing now.
    #[must_use]
    pub fn none(stack: &ClusterStack) -> Self {
        let pruned = stack.status.as_ref().and_then(|status| status.pruned.clone());
        Self { pruned, ..Self::default() }
    }
}

/// Returns the releases that are unused for long enough. Before the deletion, the API server has to [confirm] that.
///
/// [confirm]: is_confirmed
#[must_use]
pub fn due<'a>(facts: &RetirementFacts<'a>) -> Vec<&'a ReleaseName> {
    let is_due = |(name, release): &(&'a ReleaseName, &Arc<ClusterStackRelease>)| {
        let is_over = end(facts, name, release).is_some_and(|end| end <= facts.now);
        is_over && reported_use(release) == Some(Reason::Retiring.as_str())
    };
    facts.owned.iter().filter(is_due).map(|(name, _)| name).collect()
}

/// Whether the budget permits another deletion beside the `confirmed` ones.
#[must_use]
pub fn has_room(facts: &RetirementFacts, confirmed: usize) -> bool {
    let pruned = facts.stack.status.as_ref().and_then(|status| status.pruned.as_ref());
    is_allowed(facts, &deletions(due(facts))) || left(pruned, facts.owned.len(), facts.now) > confirmed
}

fn is_allowed(facts: &RetirementFacts, deletions: &str) -> bool {
    allows(facts.stack.annotations().get(labels::PRUNE).map(String::as_str), deletions)
}

/// Decides which of the [due] releases to delete now. `confirmed` are those that are unused according to the API server.
#[must_use]
pub fn decide_retirement(facts: &RetirementFacts, confirmed: &BTreeSet<ReleaseName>) -> Retirement {
    let (now, total) = (facts.now, facts.owned.len());
    let due = due(facts);
    let names = deletions(&due);
    let is_allowed = is_allowed(facts, &names);
    let waiting = facts.owned.iter().filter_map(|(name, release)| end(facts, name, release));
    let next = waiting.filter(|end| *end > now).min();
    let mut retirement = Retirement { next, ..Retirement::none(facts.stack) };
    for name in due {
        if !is_allowed && left(retirement.pruned.as_ref(), total, now) == 0 {
            let budget = in_words(retirement.pruned.as_ref(), (total, "releases"), now);
            retirement.problems.insert(name.clone(), exceeded(&names, &budget));
            let refilled = refilled(retirement.pruned.as_ref(), now);
            retirement.next = retirement.next.into_iter().chain(refilled).min();
        } else if confirmed.contains(name) {
            retirement.pruned = Some(spent(retirement.pruned.as_ref(), now));
            retirement.delete.push(name.clone());
        } else {
            // No event may follow: what kept it can be gone without a change of the release.
            retirement.next = retirement.next.into_iter().chain(now.checked_add(UNCONFIRMED).ok()).min();
        }
    }
    retirement
}

/// Whether the API server confirms that a release is unused: the `ClusterStack` is unchanged, the release is still
/// retiring, and no Cluster uses it. `live` are the two objects as the API server has them now.
#[must_use]
pub fn is_confirmed(
    (stack, release): (&ClusterStack, &ClusterStackRelease),
    live: (Option<&ClusterStack>, Option<&ClusterStackRelease>),
    is_used: bool,
) -> bool {
    let is_same_stack = live.0.is_some_and(|now| {
        now.uid() == stack.uid() && now.spec == stack.spec && now.metadata.deletion_timestamp.is_none()
    });
    let is_retiring = live.1.is_some_and(|now| {
        now.uid() == release.uid() && now.annotations().contains_key(labels::RETIRING_SINCE)
    });
    is_same_stack && is_retiring && !is_used
}

/// Returns the time at which a release is unused for long enough; `None` if it is not retiring or already being deleted.
fn end(facts: &RetirementFacts, name: &ReleaseName, release: &ClusterStackRelease) -> Option<Timestamp> {
    let is_retiring = facts.roles.get(name) == Some(&Role::Retiring);
    let is_there = is_retiring && release.metadata.deletion_timestamp.is_none();
    retirement_end(release.annotations().get(labels::RETIRING_SINCE).filter(|_| is_there)?)
}

/// Returns the time at which a release is unused for long enough; `None` if `since` is not a time.
pub(super) fn retirement_end(since: &str) -> Option<Timestamp> {
    let since: Timestamp = since.parse().ok()?;
    Some(since.saturating_add(RETIREMENT_DELAY).unwrap_or(Timestamp::MAX))
}

/// Returns the use that the release itself reports: its reconcile knows which objects its class shares with other classes.
fn reported_use(release: &ClusterStackRelease) -> Option<&str> {
    let conditions = &release.status.as_ref()?.conditions;
    let in_use = conditions.iter().find(|condition| condition.type_ == ConditionType::InUse.as_str())?;
    Some(&in_use.reason)
}

fn exceeded(deletions: &str, budget: &str) -> ReleaseProblem {
    let message = format!(
        "waits to be deleted: {budget}; annotate the ClusterStack with {}={deletions} to delete all that wait now",
        labels::PRUNE
    );
    ReleaseProblem { is_issue: true, hold: Hold { reason: Reason::PruneBudgetExceeded, message } }
}
