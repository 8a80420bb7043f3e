//! Computes the status of a `ClusterStack` from the facts about the stack and the sum of its clusters.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::clusters::{ClusterState, clusters_ready};
use super::delivery::overdue_delivery;
use super::report::{ConditionStatus, Report, aggregate, conditions, mirror, summary};
use crate::api::cluster_stack::{CommittedDelivery, FollowedSource, Pruned, ReleaseCounts, ReleaseSummary};
use crate::api::conditions::{ConditionType, Reason};
use crate::api::{ClusterStackRelease, ClusterStackStatus};
use crate::gate::Hold;
use crate::inputs::platform::ComponentsState;
use crate::names::ReleaseName;
use crate::subscription::{ReleaseProblem, Role};

/// Maximum time for a fetch of the stack repository after it is due.
const FETCH_TIMEOUT: SignedDuration = SignedDuration::from_mins(1);

/// The state of one release of a stack.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseState<'a> {
    /// The role in the stack.
    pub role: Role,
    /// Number of Clusters that use the release.
    pub clusters: usize,
    /// The `ClusterStackRelease` of the release, if we own one.
    pub release: Option<&'a ClusterStackRelease>,
}

/// The facts about one stack.
#[derive(Clone, Debug)]
pub struct StackFacts<'a> {
    /// The generation of the `ClusterStack`.
    pub generation: i64,
    /// The request to reconcile that this status answers.
    pub requested_at: Option<String>,
    /// Whether the stack repository is followed and was read.
    pub source_ready: Report,
    /// The facts about the stack repository.
    pub source: Option<FollowedSource>,
    /// The interval at which Flux fetches the stack repository.
    pub interval: SignedDuration,
    /// The latest release in the stack repository, and the number of releases; `None` while it was not read.
    pub available: Option<(Option<ReleaseName>, usize)>,
    /// The releases that are offered, in use, or installed.
    pub releases: BTreeMap<ReleaseName, ReleaseState<'a>>,
    /// The problems of releases, by name.
    pub problems: BTreeMap<ReleaseName, ReleaseProblem>,
    /// The Clusters of the stack's classes.
    pub clusters: Vec<ClusterState<'a>>,
    /// The reasons why settings of the `ClusterStack` have no effect.
    pub notes: Vec<String>,
    /// The releases that were deleted in the current hour.
    pub pruned: Option<Pruned>,
    /// The objects of addons that were deleted in the current hour.
    pub pruned_addons: Option<Pruned>,
    /// The progress of commits, if delivery is through Git: the condition, and the part that the status keeps.
    pub delivered: Option<(Report, Option<CommittedDelivery>)>,
    /// Whether all wanted releases of the upstream source are published, if there is such a source.
    pub published: Option<Report>,
    /// Whether the components of the `ClusterStack` itself can be used, if it has any, and whether only a change of it helps.
    pub components: Option<(Report, bool)>,
    /// The hold that delays the deletion of the `ClusterStack`.
    pub deletion_hold: Option<Hold>,
}

/// Computes the whole status from the facts and the status before.
#[must_use]
pub fn cluster_stack(facts: StackFacts, old: &ClusterStackStatus, now: Timestamp) -> ClusterStackStatus {
    let reports = [
        (ConditionType::SourceReady, facts.source_ready.clone()),
        (ConditionType::ReleasesSynced, synced(&facts)),
        (
            ConditionType::ClusterClassesReady,
            releases_are(&facts, ConditionType::ClusterClassReady, "cluster classes"),
        ),
    ];
    let published = facts.published.clone().map(|report| (ConditionType::ReleasesPublished, report));
    let delivered = facts.delivered.as_ref().map(|(report, _)| {
        (ConditionType::Delivered, overdue_delivery(report.clone(), &old.conditions, now))
    });
    let components = facts.components.clone().map(|(report, _)| (ConditionType::ComponentsReady, report));
    let reports: Vec<_> = published.into_iter().chain(delivered).chain(reports).chain(components).collect();
    let sum = ready(&facts, &reports);
    let (clusters, counts_of_clusters) = clusters_ready(&facts.clusters);
    let summaries =
        facts.releases.iter().filter_map(|(name, state)| summary_of(name, state, &facts.problems));
    let summary: Vec<_> = summaries.map(|release| since(release, &old.summary, now)).collect();
    let temporary = match sum.status {
        ConditionStatus::True => None,
        ConditionStatus::False if is_terminal(&facts, &summary, now) => Some(ConditionType::Stalled),
        ConditionStatus::False | ConditionStatus::Unknown => Some(ConditionType::Reconciling),
    };
    let temporary = temporary.map(|kind| (kind, Report { status: ConditionStatus::True, ..sum.clone() }));
    let reports = reports.into_iter().chain([(ConditionType::ClustersReady, clusters)]);
    let all = [(ConditionType::Ready, sum)].into_iter().chain(temporary).chain(reports);
    let (latest, usable) = (latest(&facts, old), usable(&facts));
    ClusterStackStatus {
        latest_release: latest,
        usable_versions: usable,
        summary,
        releases: Some(counts(&facts, old)),
        clusters: Some(counts_of_clusters),
        source: facts.source,
        delivery: facts.delivered.and_then(|(_, status)| status),
        pruned: facts.pruned,
        pruned_addons: facts.pruned_addons,
        observed_generation: Some(facts.generation),
        last_handled_reconcile_at: facts.requested_at.or_else(|| old.last_handled_reconcile_at.clone()),
        conditions: conditions(all, facts.generation, &old.conditions, now),
    }
}

/// Computes the condition `Ready` of the stack itself. `ClustersReady` reports its Clusters: a user who waits for a
/// `ClusterStack` must not wait for ever while Clusters are created and deleted.
fn ready(facts: &StackFacts, reports: &[(ConditionType, Report)]) -> Report {
    let deletion = facts.deletion_hold.as_ref().map(|hold| {
        ("Deletion", Some(Report::new(ConditionStatus::False, hold.reason.as_str(), &hold.message)))
    });
    // A release that is not published because a user suspended the ClusterStack is not an issue of the stack.
    let is_own = |(kind, report): &&(ConditionType, Report)| match kind {
        // A ready release has its class.
        ConditionType::ClusterClassesReady => false,
        ConditionType::Delivered => report.status == ConditionStatus::True || is_own_trouble(report),
        ConditionType::ReleasesPublished => report.reason != Reason::Suspended.as_str(),
        _ => true,
    };
    let parts = reports.iter().filter(is_own).map(|(kind, report)| (kind.as_str(), Some(report.clone())));
    let of_releases = ("Releases", Some(releases_are(facts, ConditionType::Ready, "releases")));
    let parts: Vec<_> = deletion.into_iter().chain(parts).chain([of_releases]).collect();
    let there = facts.releases.values().filter(|state| state.release.is_some()).count();
    summary(&parts, (Reason::Usable, &releases(there)))
}

/// Reports whether all components can be used, and which of them change without a new release; and whether one is invalid.
#[must_use]
pub fn usable_components(state: &ComponentsState) -> (Report, bool) {
    if !state.problems.is_empty() {
        let message = state.problems.join("; ");
        let report = Report::new(ConditionStatus::False, Reason::ComponentInvalid.as_str(), &message);
        return (report, state.is_invalid);
    }
    let count =
        if state.count == 1 { "1 component".to_owned() } else { format!("{} components", state.count) };
    let message: Vec<String> = std::iter::once(count).chain(state.mutable.iter().cloned()).collect();
    (Report::new(ConditionStatus::True, Reason::Usable.as_str(), &message.join("; ")), false)
}

/// Whether delivery through Git fails for the stack as a whole. All other reasons of `Delivered` are about objects on
/// their way to Clusters.
fn is_own_trouble(delivered: &Report) -> bool {
    let own = [Reason::PushFailed, Reason::SecretInvalid];
    own.iter().any(|reason| reason.as_str() == delivered.reason)
}

fn releases(count: usize) -> String {
    if count == 1 { "1 release".to_owned() } else { format!("{count} releases") }
}

/// Whether only a change by a user helps. kstatus takes `Stalled` for a final failure, so an issue that another object
/// or the next fetch may fix is not terminal.
fn is_terminal(facts: &StackFacts, summary: &[ReleaseSummary], now: Timestamp) -> bool {
    let of_source = [Reason::NoSource, Reason::AccessDenied, Reason::SourceNotAllowed, Reason::Invalid];
    let of_release = |(name, problem): (&ReleaseName, &ReleaseProblem)| match problem.hold.reason {
        _ if !problem.is_issue => false,
        Reason::PruneBudgetExceeded | Reason::ApplierUnavailable | Reason::DeliveryFailed => false,
        Reason::ReleaseNotFound => {
            missing_after(facts.interval, summary, &name.to_string()).is_some_and(|limit| limit <= now)
        }
        _ => true,
    };
    of_source.iter().any(|reason| reason.as_str() == facts.source_ready.reason)
        || facts.problems.iter().any(of_release)
        || facts.components.as_ref().is_some_and(|(_, is_invalid)| *is_invalid)
}

/// Returns the time at which a release that the stack repository lacks counts as missing, because Flux has fetched
/// again. `None` for any other release.
fn missing_after(interval: SignedDuration, summary: &[ReleaseSummary], name: &str) -> Option<Timestamp> {
    let missing = Reason::ReleaseNotFound.as_str();
    let release = summary.iter().find(|release| release.name == name && release.phase == missing)?;
    let since = release.since.as_ref()?.0;
    since.checked_add(interval).and_then(|due| due.checked_add(FETCH_TIMEOUT)).ok()
}

/// Returns the time at which `Stalled` may replace `Reconciling` without an event.
#[must_use]
pub fn next_limit(
    interval: SignedDuration,
    status: &ClusterStackStatus,
    now: Timestamp,
) -> Option<Timestamp> {
    let releases = status.summary.iter();
    let limits = releases.filter_map(|release| missing_after(interval, &status.summary, &release.name));
    limits.filter(|limit| *limit > now).min()
}

/// Adds the time at which its phase last changed to the summary of a release that is not ready.
fn since(release: ReleaseSummary, old: &[ReleaseSummary], now: Timestamp) -> ReleaseSummary {
    if release.ready {
        return release;
    }
    let same = old.iter().find(|before| before.name == release.name && before.phase == release.phase);
    let since = same.and_then(|before| before.since.clone()).unwrap_or(Time(now));
    ReleaseSummary { since: Some(since), ..release }
}

/// Whether an issue only waits for its hour, or is retried: nothing is broken.
fn waits(hold: &Hold) -> bool {
    matches!(hold.reason, Reason::PruneBudgetExceeded | Reason::DeliveryFailed)
}

fn synced(facts: &StackFacts) -> Report {
    if facts.available.is_none() && facts.releases.values().all(|state| state.release.is_none()) {
        return Report::not_yet_reported();
    }
    let (mut parts, mut notes) = (Vec::new(), Vec::new());
    for (name, problem) in &facts.problems {
        let ReleaseProblem { is_issue, hold } = problem;
        if *is_issue {
            let status = if waits(hold) { ConditionStatus::Unknown } else { ConditionStatus::False };
            let report = Report::new(status, hold.reason.as_str(), &hold.message);
            parts.push((name.to_string(), Some(report)));
        } else {
            notes.push(format!("{name}: {}", hold.message));
        }
    }
    let missing = facts.releases.iter().filter(|(name, state)| {
        state.role <= Role::Used && state.release.is_none() && !facts.problems.contains_key(*name)
    });
    parts.extend(missing.map(|(name, _)| (name.to_string(), None)));
    let there = facts.releases.values().filter(|state| state.release.is_some()).count();
    notes.insert(0, releases(there));
    notes.extend(facts.notes.iter().cloned());
    summary(&parts, (Reason::Synced, &notes.join("; ")))
}

/// Sums up a condition of the releases that are offered or in use. For `Ready`, releases with an issue are left to
/// `ReleasesSynced`.
fn releases_are(facts: &StackFacts, kind: ConditionType, what: &str) -> Report {
    let has_issue = |name: &ReleaseName| {
        facts.problems.get(name).is_some_and(|problem| problem.is_issue && !waits(&problem.hold))
    };
    let is_reported = |name: &ReleaseName| kind == ConditionType::Ready && has_issue(name);
    let wanted = facts.releases.iter().filter(|(name, state)| state.role <= Role::Used && !is_reported(name));
    let reports =
        wanted.filter_map(|(name, state)| Some((name.to_string(), condition(state.release?, kind))));
    let reports: Vec<(String, Report)> = reports.collect();
    let reports: Vec<_> =
        reports.iter().map(|(name, report)| (name.as_str(), Some(report.clone()))).collect();
    aggregate(what, &reports, Reason::Applied)
}

fn condition(release: &ClusterStackRelease, kind: ConditionType) -> Report {
    let conditions = release.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    mirror(conditions, release.metadata.generation.unwrap_or_default(), kind.as_str())
}

fn latest(facts: &StackFacts, old: &ClusterStackStatus) -> Option<String> {
    match &facts.available {
        Some((latest, _)) => latest.as_ref().map(ToString::to_string),
        None => old.latest_release.clone(),
    }
}

/// Lists the versions that are ready, the latest first.
fn usable(facts: &StackFacts) -> Option<String> {
    let is_ready = |state: &ReleaseState| {
        state.release.and_then(|release| release.status.as_ref()).is_some_and(|status| status.ready)
    };
    let ready = facts.releases.iter().filter(|(_, state)| state.role == Role::Offered && is_ready(state));
    let versions: Vec<String> = ready.map(|(name, _)| name.version().dotted()).collect();
    (!versions.is_empty()).then(|| versions.join(", "))
}

fn counts(facts: &StackFacts, old: &ClusterStackStatus) -> ReleaseCounts {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let there = || facts.releases.values().filter(|state| state.release.is_some());
    let used = there().filter(|state| state.clusters > 0).count();
    let available = facts.available.as_ref().map(|(_, number)| count(*number));
    let before = old.releases.map_or(0, |releases| releases.available);
    ReleaseCounts {
        available: available.unwrap_or(before),
        used: count(used),
        unused: count(there().count().saturating_sub(used)),
    }
}

/// Summarizes a release; `None` if it is neither installed nor wanted.
fn summary_of(
    name: &ReleaseName,
    state: &ReleaseState,
    problems: &BTreeMap<ReleaseName, ReleaseProblem>,
) -> Option<ReleaseSummary> {
    let problem = problems.get(name);
    let status = state.release.and_then(|release| release.status.as_ref());
    let Some(release) = state.release else {
        let problem = problem?;
        return Some(ReleaseSummary {
            name: name.to_string(),
            ready: false,
            phase: problem.hold.reason.to_string(),
            message: Some(problem.hold.message.clone()),
            ..ReleaseSummary::default()
        });
    };
    let ready = condition(release, ConditionType::Ready);
    let is_ready = ready.status == ConditionStatus::True;
    let message = problem.map(|problem| problem.hold.message.clone());
    Some(ReleaseSummary {
        name: name.to_string(),
        ready: is_ready,
        phase: if is_ready { "done".to_owned() } else { ready.reason.clone() },
        message: message.or(Some(ready.message).filter(|_| !is_ready)),
        kubernetes_version: status.and_then(|status| status.kubernetes_version.clone()),
        since: None,
    })
}

#[cfg(test)]
mod tests;
