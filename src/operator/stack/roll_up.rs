//! Rolls up the status of a `ClusterStack` from the facts, the decision and the results of the writes: without effects.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;

use super::super::context::NotInstalled;
use super::super::deliver::REQUEUE_EXISTING_AFTER;
use super::source::{Receipt, repository_key};
use super::{Facts, Receipts, clusters, delete};
use crate::api::cluster_stack::{CommittedDelivery, FollowedSource};
use crate::api::{ClusterStack, ClusterStackRelease, ClusterStackStatus, Duration, Reason, labels};
use crate::gate::{Hold, settings};
use crate::inputs::content::CatalogEntry;
use crate::inputs::platform;
use crate::names::{AddonName, ReleaseName};
use crate::plan::write::Write;
use crate::rollup::cluster_stack::{ReleaseState, StackFacts, cluster_stack, next_limit, usable_components};
use crate::rollup::{
    ConditionStatus, InRepository, Report, SourceFacts, Verdict, delivery_limit, followed_source,
    missing_release, source_ready,
};
use crate::runtime::queue::{Next, at};
use crate::subscription::{
    self, ReleaseDecision, ReleaseProblem, Role, SourceWrite, StackDecision, StackPruning,
};

/// Interval of a source that does not exist or has an invalid interval.
const INTERVAL: SignedDuration = SignedDuration::from_mins(1);

/// The result of a reconcile.
pub(super) struct Outcome {
    /// The status.
    pub(super) status: ClusterStackStatus,
    /// Flux's verdict on the source.
    pub(super) verdict: Option<Verdict>,
    /// The releases that Clusters name but that are not installed.
    pub(super) not_installed: NotInstalled,
    /// Time of the next reconcile.
    pub(super) next: Next,
}

/// Rolls up a reconcile.
pub(super) fn roll_up(facts: &Facts, decision: &StackDecision, receipts: &Receipts) -> Outcome {
    let (stack, now) = (&*facts.stack, facts.now);
    let old = stack.status.clone().unwrap_or_default();
    let owned: BTreeMap<&ReleaseName, &ClusterStackRelease> = { facts.releases.owned.iter() }
        .chain(&receipts.releases.written)
        .map(|(name, release)| (name, &**release))
        .collect();
    let not_installed = not_installed(facts, &owned);
    let (recorded, verdict) = followed(facts, &receipts.source);
    let interval = interval(&receipts.source);
    let StackPruning { retirement, left_over } = receipts.pruning(decision);
    let state = |(name, role): (&ReleaseName, &Role)| {
        let clusters = facts.releases.clusters.get(name).map_or(0, Vec::len);
        (name.clone(), ReleaseState { role: *role, clusters, release: owned.get(name).copied() })
    };
    let available = facts.releases.available.as_ref();
    let rolled = StackFacts {
        generation: stack.metadata.generation.unwrap_or_default(),
        requested_at: stack.annotations().get(labels::REQUESTED_AT).cloned(),
        source_ready: source_report(facts, receipts, verdict.as_ref(), !left_over.is_empty()),
        source: recorded,
        interval,
        available: available.map(|all| (subscription::latest(&stack.spec, all).cloned(), all.len())),
        releases: facts.releases.roles.iter().map(state).collect(),
        problems: problems(&decision.releases, &receipts.releases.refused, retirement.problems),
        clusters: clusters::states(&facts.users, stack.spec.suspend, &not_installed),
        notes: notes(facts),
        pruned: retirement.pruned,
        pruned_addons: facts.pruned_addons.clone(),
        delivered: delivered(facts, receipts),
        published: published(facts),
        components: components(facts),
        deletion_hold: facts.hold.clone(),
    };
    let status = cluster_stack(rolled, &old, now);
    let limits = [
        next_limit(interval, &status, now),
        delivery_limit(&status.conditions, now),
        retirement.next,
        verdict_limit(facts, verdict.as_ref(), status.source.as_ref()),
    ];
    let next = next(facts, decision, receipts, limits.into_iter().flatten().min());
    Outcome { status, verdict, not_installed, next }
}

/// Returns the followed `GitRepository` in the status, and Flux's verdict on it.
pub(super) fn followed(facts: &Facts, receipt: &Receipt) -> (Option<FollowedSource>, Option<Verdict>) {
    let old = facts.stack.status.as_ref().and_then(|status| status.source.as_ref());
    let Ok(source) = &facts.source else { return (old.cloned(), None) };
    let (recorded, verdict) = followed_source(SourceFacts {
        key: repository_key(&source.stack),
        found: receipt.repository.as_deref(),
        is_ours: source.plan.objects().next().is_some(),
        expected: receipt.expected.clone(),
        old,
        is_read: source.catalog.error.is_none() && source.catalog.read.is_some(),
        moment: facts.moment,
    });
    (Some(recorded), verdict.map(|verdict| verdict.waiting_for(receipt.wait.as_ref())))
}

/// Reports whether the source is followed and was read. If it is, reports the refusal to delete that of an earlier source,
/// if there is one.
fn source_report(
    facts: &Facts,
    receipts: &Receipts,
    verdict: Option<&Verdict>,
    has_left_over: bool,
) -> Report {
    let source = match &facts.source {
        Ok(source) => source,
        Err(error) => {
            return Report::new(ConditionStatus::False, error.reason().as_str(), &error.to_string());
        }
    };
    let refused = |Hold { reason, message }: &Hold, prefix: &str| {
        Report::new(ConditionStatus::Unknown, reason.as_str(), &format!("{prefix}{message}"))
    };
    if let Some(refusal) = &receipts.source.refusal {
        return refused(&refusal.hold(), "");
    }
    if let Some(hold) = &receipts.source.hold {
        return Report::new(ConditionStatus::False, hold.reason.as_str(), &hold.message);
    }
    let report = source_ready(verdict, source.catalog.error.as_ref());
    // Flux knows only that it was refused.
    if let (Some(why), ConditionStatus::False) = (&facts.closed, report.status) {
        let message = format!("the operator does not serve the built-in stack repository now: {why}");
        return Report { message, ..report };
    }
    match &facts.undeletable {
        Some(refusal) if has_left_over && report.status == ConditionStatus::True => {
            refused(refusal, "the GitRepository of an earlier source is not deleted: ")
        }
        _ => report,
    }
}

/// Returns the interval at which Flux fetches the followed `GitRepository`.
fn interval(receipt: &Receipt) -> SignedDuration {
    let interval =
        receipt.repository.as_ref().and_then(|found| found.refers_to.interval.parse::<Duration>().ok());
    interval.and_then(|interval| interval.to_std().try_into().ok()).unwrap_or(INTERVAL)
}

/// Returns the problem of each release. An issue of the release itself hides a refused write, which is its consequence.
fn problems(
    decisions: &BTreeMap<ReleaseName, ReleaseDecision>,
    refused: &BTreeMap<ReleaseName, ReleaseProblem>,
    held_by_budget: BTreeMap<ReleaseName, ReleaseProblem>,
) -> BTreeMap<ReleaseName, ReleaseProblem> {
    let decided =
        decisions.iter().filter_map(|(name, decision)| Some((name.clone(), decision.problem.clone()?)));
    let mut problems: BTreeMap<_, _> = decided.collect();
    for (name, problem) in refused {
        if problems.get(name).is_none_or(|known| !known.is_issue) {
            problems.insert(name.clone(), problem.clone());
        }
    }
    problems.extend(held_by_budget);
    problems
}

/// Returns the releases that Clusters name but that are not installed, each with the report for its Clusters.
fn not_installed(facts: &Facts, owned: &BTreeMap<&ReleaseName, &ClusterStackRelease>) -> NotInstalled {
    let catalog = facts.source.as_ref().ok().and_then(|source| source.catalog.facts());
    let missing = facts.users.iter().filter(|user| !user.is_installed && !owned.contains_key(&user.release));
    let names = missing.map(|user| &user.release);
    let report = |name: &ReleaseName| {
        let is_wanted = facts.releases.roles.contains_key(name);
        missing_release(&facts.stack, InRepository::of(catalog, name), is_wanted, name)
    };
    names.map(|name| (name.clone(), report(name))).collect()
}

/// Reports on the components of the `ClusterStack`, and whether one is invalid; `None` without any. They are checked against its
/// releases that are offered or in use.
fn components(facts: &Facts) -> Option<(Report, bool)> {
    if facts.stack.spec.components.repositories.is_empty() {
        return None;
    }
    let source = facts.source.as_ref().ok();
    let read = source.and_then(|source| source.catalog.read.as_ref());
    let is_wanted = |name| facts.releases.roles.get(name).is_some_and(|role| *role <= Role::Used);
    let releases = read.into_iter().flat_map(|read| &read.releases).filter_map(|(name, entry)| {
        let entry = entry.as_ref().ok().filter(|_| is_wanted(name))?;
        Some((name, entry.addons.keys().map(|addon| (addon, None)).collect()))
    });
    let report = source.map(|source| usable_components(&platform::check(&source.stack, &releases.collect())));
    let message = "not checked before the stack repository is read";
    let unread = || (Report::new(ConditionStatus::Unknown, Reason::Pending.as_str(), message), false);
    // What is wrong beside any release is known without them.
    Some(report.filter(|(_, is_invalid)| read.is_some() || *is_invalid).unwrap_or_else(unread))
}

/// Returns which settings have no effect. Those of addons are known once all releases that are offered or in use were read.
fn notes(facts: &Facts) -> Vec<String> {
    let spec = &facts.stack.spec;
    let ignored = subscription::ignored(spec).map(str::to_owned);
    let addons = addons_of_releases(facts).map(|known| settings::without_addon(spec, &known));
    ignored.into_iter().chain(addons.unwrap_or_default()).collect()
}

/// Returns the addons of the releases that are offered or in use; `None` while that is not known of each.
fn addons_of_releases(facts: &Facts) -> Option<BTreeSet<&str>> {
    let read = facts.source.as_ref().ok()?.catalog.read.as_ref()?;
    let wanted = facts.releases.roles.iter().filter(|(_, role)| **role <= Role::Used);
    let entries: Option<Vec<&CatalogEntry>> =
        wanted.map(|(name, _)| read.releases.get(name)?.as_ref().ok()).collect();
    let entries = entries.filter(|entries| !entries.is_empty())?;
    Some(entries.into_iter().flat_map(|entry| entry.addons.keys()).map(AddonName::as_str).collect())
}

/// Reports whether all offered upstream releases are published; `None` if the `ClusterStack` has no upstream source.
fn published(facts: &Facts) -> Option<Report> {
    if !facts.has_upstream {
        return None;
    }
    if facts.stack.spec.suspend {
        return Some(suspended());
    }
    Some(facts.published.clone().unwrap_or_else(Report::not_yet_reported))
}

/// Reports that nothing is checked while the `ClusterStack` is suspended.
fn suspended() -> Report {
    let message = "not checked while the ClusterStack is suspended";
    Report::new(ConditionStatus::Unknown, Reason::Suspended.as_str(), message)
}

/// Reports the progress of commits; `None` unless the `ClusterStack` is delivered through Git.
fn delivered(facts: &Facts, receipts: &Receipts) -> Option<(Report, Option<CommittedDelivery>)> {
    let stack: &ClusterStack = &facts.stack;
    stack.spec.delivery.git()?;
    let recorded = || stack.status.as_ref().and_then(|status| status.delivery.clone());
    if stack.spec.suspend {
        return Some((suspended(), recorded()));
    }
    let Some((progress, waiting)) = &receipts.commits else {
        return Some((Report::not_yet_reported(), recorded()));
    };
    let not_applied = clusters::not_applied(&facts.users);
    Some((progress.report(*waiting, &not_applied), Some(progress.to_status())))
}

/// Returns when the verdict on the source may change without an event.
fn verdict_limit(
    facts: &Facts,
    verdict: Option<&Verdict>,
    recorded: Option<&FollowedSource>,
) -> Option<Timestamp> {
    let since = recorded.and_then(|recorded| recorded.since.as_ref());
    verdict.zip(since).and_then(|(verdict, since)| facts.moment.next_limit(verdict, since.0))
}

/// Returns when to reconcile again. `limit` is the time at which the status or the decision may change without an event.
fn next(facts: &Facts, decision: &StackDecision, receipts: &Receipts, limit: Option<Timestamp>) -> Next {
    if facts.hold.is_some() {
        return Next::After(delete::REQUEUE_AFTER);
    }
    let limit = limit.map_or(Next::Await, |limit| at(limit, facts.now));
    let Ok(source) = &facts.source else { return limit };
    if receipts.source.hold.is_some() {
        return limit.earlier(Next::After(REQUEUE_EXISTING_AFTER));
    }
    if source.catalog.error.is_some() {
        return Next::Retry;
    }
    // This reconcile pinned nothing. If the write did not change the spec, no event of Flux follows.
    let is_fetched = receipts.source.repository.as_ref().is_some_and(|repository| repository.is_observed());
    let is_written = decision.source != SourceWrite::Apply(Write::Nothing)
        && subscription::source_write(&facts.stack, &source.followed(&receipts.source))
            == SourceWrite::Apply(Write::Nothing);
    if is_written && is_fetched { Next::After(std::time::Duration::ZERO) } else { limit }
}
