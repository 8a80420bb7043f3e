//! Computes the status of a `ClusterStackRelease` from the facts about one release.

mod objects;

use jiff::Timestamp;

use super::report::{ConditionStatus, Report, conditions, mirror, summary};
use super::retry::Reported;
use super::{object_ready, reconciling, stalled};
use crate::api::ClusterStackReleaseStatus;
use crate::api::cluster_stack_release::{PinnedSource, ReleaseAddon};
use crate::api::components::AddonSource;
use crate::api::conditions::{ConditionType, Reason};
use crate::gate::Hold;
use crate::plan::{ObjectId, Step};
use crate::release::{Addon, Chart, Component, Hook, Release};

pub use objects::{
    ObjectFacts, expected_object, expected_since, kept, present_version, recorded_expectation, with_rest,
};

/// Maximum number of Clusters that the status lists.
const LAST_USERS: usize = 5;

/// The message of source-controller 1.9 about a commit that the repository does not have, or has no longer.
const COMMIT_GONE: &str = "unable to resolve commit object";
/// The same about the branch of a release, which only the built-in stack repository has.
const BRANCH_GONE: &str = "couldn't find remote ref";

/// The facts about a release's content.
#[derive(Clone, Debug)]
pub enum ContentFacts<'a> {
    /// The content was read.
    Known {
        /// The release.
        release: &'a Release,
        /// The different content that the stack repository has now.
        mutated: Option<String>,
    },
    /// The content cannot be used.
    Unusable(Report),
    /// The content cannot be read at present: the earlier facts stay.
    Unread(Report),
}

/// The users of a release.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// Number of Clusters that have the release's class.
    pub clusters: usize,
    /// The first of those Clusters, as `<namespace>/<name>`.
    pub first: Vec<String>,
    /// Whether the release is no longer needed.
    pub retiring: bool,
    /// Whether the `ClusterStackRelease` was deleted.
    pub deleted: bool,
}

/// The facts about one release.
#[derive(Clone, Debug)]
pub struct ReleaseFacts<'a> {
    /// The generation of the `ClusterStackRelease`.
    pub generation: i64,
    /// The request to reconcile that this status answers.
    pub requested_at: Option<String>,
    /// The content that the release is pinned to.
    pub pin: Option<&'a PinnedSource>,
    /// The content of the release.
    pub content: ContentFacts<'a>,
    /// The report of the provider's object.
    pub provider: Report,
    /// The objects generated from the release, in the order of delivery.
    pub objects: Vec<ObjectFacts>,
    /// The reason why the cluster class is not written yet.
    pub class_hold: Option<Hold>,
    /// The users of the release.
    pub usage: Usage,
    /// The hold that delays the deletion of the release.
    pub deletion_hold: Option<Hold>,
}

/// Reads the release's `Ready` in a status, in the form that its Clusters mirror.
#[must_use]
pub fn ready_of(status: &ClusterStackReleaseStatus) -> Report {
    mirror(&status.conditions, 0, ConditionType::Ready.as_str())
}

/// Computes the whole status from the facts and the status before.
#[must_use]
pub fn cluster_stack_release(
    mut facts: ReleaseFacts,
    old: &ClusterStackReleaseStatus,
    now: Timestamp,
) -> ClusterStackReleaseStatus {
    keep_cause(&mut facts, &mirror(&old.conditions, 0, ConditionType::NodeImagesReady.as_str()));
    let reports = [
        (ConditionType::ReleaseValid, valid(&facts, old)),
        (ConditionType::ProviderReady, facts.provider.clone()),
        (ConditionType::NodeImagesReady, node_images(&facts, old)),
        (ConditionType::ClusterClassReady, cluster_class(&facts)),
    ];
    let sources = of_step(&facts, Step::Sources);
    let mut parts: Vec<_> =
        reports.iter().map(|(kind, report)| (kind.to_string(), Some(report.clone()))).collect();
    let sources = summary(&sources, (Reason::Fetched, ""));
    let sources_ready = has_components(&facts, old)
        .then(|| (ConditionType::SourcesReady, with_users(&sources, &facts.usage)));
    parts.insert(1, ("Sources".to_owned(), Some(sources)));
    if facts.objects.is_empty() && matches!(facts.content, ContentFacts::Unusable(_)) {
        // No objects will be made: reports about missing ones add nothing.
        parts.truncate(1);
    }
    let sum = summary(&parts, (Reason::Usable, Reason::Usable.meaning()));
    let is_ready = sum.status == ConditionStatus::True;
    let verdicts = || facts.objects.iter().filter_map(|object| object.verdict.as_ref());
    let temporary = [
        (ConditionType::Reconciling, reconciling(verdicts()).or_else(|| on_its_way(&facts))),
        (ConditionType::Stalled, stalled(verdicts()).or_else(|| given_up(&facts))),
    ];
    let temporary = temporary.into_iter().filter_map(|(kind, report)| Some((kind, report?)));
    let in_use = (ConditionType::InUse, in_use(&facts));
    let all = [(ConditionType::Ready, sum)]
        .into_iter()
        .chain(temporary)
        .chain(reports)
        .chain(sources_ready)
        .chain([in_use]);
    let release = match &facts.content {
        ContentFacts::Known { release, .. } => Some(*release),
        ContentFacts::Unusable(_) | ContentFacts::Unread(_) => None,
    };
    let users = if facts.usage.first.is_empty() { old.last_users.clone() } else { facts.usage.first };
    ClusterStackReleaseStatus {
        kubernetes_version: release
            .map_or_else(|| old.kubernetes_version.clone(), |release| Some(release.kubernetes.to_string())),
        ready: is_ready,
        digest: release.map_or_else(|| old.digest.clone(), |release| Some(release.digest.to_string())),
        source: release.and(facts.pin).cloned().or_else(|| old.source.clone()),
        addons: release.map_or_else(|| old.addons.clone(), addons),
        objects: facts.objects.into_iter().map(|object| object.into_status(&old.objects, now)).collect(),
        last_users: users.into_iter().take(LAST_USERS).collect(),
        observed_generation: Some(facts.generation),
        last_handled_reconcile_at: facts.requested_at.or_else(|| old.last_handled_reconcile_at.clone()),
        conditions: conditions(all, facts.generation, &old.conditions, now),
    }
}

/// Whether the content can be used. A pinned content that was valid stays valid while it cannot be read; an invalid one
/// may have been fixed.
fn valid(facts: &ReleaseFacts, old: &ClusterStackReleaseStatus) -> Report {
    match &facts.content {
        ContentFacts::Known { mutated: Some(message), .. } => {
            Report::new(ConditionStatus::True, Reason::ReleaseMutated.as_str(), message)
        }
        ContentFacts::Known { mutated: None, .. } => is_valid(),
        ContentFacts::Unusable(report) => report.clone(),
        ContentFacts::Unread(report) => {
            let before = mirror(&old.conditions, 0, ConditionType::ReleaseValid.as_str());
            if before.status == ConditionStatus::True { is_valid() } else { report.clone() }
        }
    }
}

fn is_valid() -> Report {
    Report::new(ConditionStatus::True, Reason::Valid.as_str(), Reason::Valid.meaning())
}

/// Lists the objects of a step, each with its report.
fn of_step<'a>(facts: &'a ReleaseFacts, step: Step) -> Vec<(&'a ObjectId, Option<Report>)> {
    let objects = facts.objects.iter().filter(|object| object.step == step);
    objects.map(|object| (&object.id, Some(report(object)))).collect()
}

/// Returns the report of an object. A missing commit has a reason of its own: only the commit fixes it.
fn report(object: &ObjectFacts) -> Report {
    let report = object_ready(object.verdict.as_ref());
    let is_gone = report.reason == "GitOperationFailed"
        && [COMMIT_GONE, BRANCH_GONE].into_iter().any(|text| report.message.contains(text));
    if is_gone { Report { reason: Reason::PinUnreachable.to_string(), ..report } } else { report }
}

/// Whether a release has sources other than the stack repository.
fn has_components(facts: &ReleaseFacts, old: &ClusterStackReleaseStatus) -> bool {
    match &facts.content {
        ContentFacts::Known { release, .. } => release.addons.iter().any(|addon| addon.component().is_some()),
        ContentFacts::Unusable(_) | ContentFacts::Unread(_) => {
            old.conditions.iter().any(|condition| condition.type_ == ConditionType::SourcesReady.as_str())
        }
    }
}

/// Adds the number of Clusters to a report of sources that are not fetched.
fn with_users(sources: &Report, usage: &Usage) -> Report {
    if sources.status == ConditionStatus::True || usage.clusters == 0 {
        return sources.clone();
    }
    let users = match usage.clusters {
        1 => "1 Cluster uses the release".to_owned(),
        count => format!("{count} Clusters use the release"),
    };
    let message = format!("{}; {users}", sources.message);
    Report { message, ..sources.clone() }
}

/// Keeps the cause that was reported of the node images while Flux tries again: they alone are a `Kustomization`.
fn keep_cause(facts: &mut ReleaseFacts, before: &Report) {
    if before.status != ConditionStatus::False {
        return;
    }
    let phase = Reason::Failed.as_str();
    let reported = Reported { phase, reason: &before.reason, message: &before.message };
    for object in facts.objects.iter_mut().filter(|object| object.step == Step::NodeImages) {
        object.verdict = object.verdict.take().map(|verdict| verdict.with_cause_of(Some(reported)));
    }
}

fn not_needed(what: &str) -> Report {
    Report::new(ConditionStatus::True, Reason::NotNeeded.as_str(), &format!("the release has no {what}"))
}

fn node_images(facts: &ReleaseFacts, old: &ClusterStackReleaseStatus) -> Report {
    let mut objects = of_step(facts, Step::NodeImages).into_iter();
    match (objects.next(), &facts.content) {
        (Some((_, report)), _) => report.unwrap_or_else(Report::not_yet_reported),
        (None, ContentFacts::Known { release, .. }) if release.node_images.is_none() => {
            not_needed("node images")
        }
        (None, ContentFacts::Known { .. }) => existing(facts).unwrap_or_else(Report::not_yet_reported),
        (None, ContentFacts::Unusable(report) | ContentFacts::Unread(report)) => {
            let before = mirror(&old.conditions, 0, ConditionType::NodeImagesReady.as_str());
            let is_good = before.status == ConditionStatus::True;
            if is_good { before } else { Report { status: ConditionStatus::Unknown, ..report.clone() } }
        }
    }
}

/// Reports that an object of another client has the name of a planned one, which ended the delivery.
fn existing(facts: &ReleaseFacts) -> Option<Report> {
    facts.class_hold.as_ref().filter(|hold| hold.reason == Reason::AlreadyExists).map(Report::held)
}

fn cluster_class(facts: &ReleaseFacts) -> Report {
    if let Some(hold) = &facts.class_hold {
        return Report::held(hold);
    }
    let objects = of_step(facts, Step::ClusterClass);
    if objects.is_empty() {
        return Report::not_yet_reported();
    }
    summary(&objects, (Reason::Applied, "the cluster class is ready"))
}

fn clusters(count: usize) -> String {
    if count == 1 { "1 Cluster uses it".to_owned() } else { format!("{count} Clusters use it") }
}

fn in_use(facts: &ReleaseFacts) -> Report {
    let usage = &facts.usage;
    let new = |status, reason: Reason, message: &str| Report::new(status, reason.as_str(), message);
    match (usage.clusters, &facts.deletion_hold) {
        (0, Some(hold)) => new(ConditionStatus::False, hold.reason, &hold.message),
        (0, None) if usage.retiring => {
            new(ConditionStatus::False, Reason::Retiring, Reason::Retiring.meaning())
        }
        (0, None) => new(ConditionStatus::False, Reason::NotUsed, Reason::NotUsed.meaning()),
        (count, _) if usage.deleted => {
            let message = format!("deleted, but {}: kept until no Cluster does", clusters(count));
            new(ConditionStatus::True, Reason::InUse, &message)
        }
        (count, _) => new(ConditionStatus::True, Reason::Used, &clusters(count)),
    }
}

/// Reports the progress that does not depend on Flux.
fn on_its_way(facts: &ReleaseFacts) -> Option<Report> {
    let waits = match &facts.content {
        ContentFacts::Unread(report) => Some(report.clone()),
        ContentFacts::Known { .. } | ContentFacts::Unusable(_) => None,
    };
    let report = waits
        .or_else(|| facts.class_hold.as_ref().filter(|_| existing(facts).is_none()).map(Report::held))?;
    Some(report.become_true())
}

/// Reports the problems that only a person can fix.
fn given_up(facts: &ReleaseFacts) -> Option<Report> {
    let report = match &facts.content {
        ContentFacts::Unusable(report) if report.status == ConditionStatus::False => report.clone(),
        _ => existing(facts)?,
    };
    Some(report.become_true())
}

/// Lists the addons in the release's order.
fn addons(release: &Release) -> Vec<ReleaseAddon> {
    release.addons.iter().map(|addon| status_of_addon(release, addon)).collect()
}

fn status_of_addon(release: &Release, addon: &Addon) -> ReleaseAddon {
    let chart = addon.chart();
    let known = chart.map(Chart::known_as);
    let dependency = chart.and_then(|chart| chart.dependencies.first());
    let stages = release.stages.iter();
    let listed = stages.filter(|(_, stages)| stages.iter().any(|stage| stage.addon == addon.name));
    let hooks: Vec<Hook> = match addon.platform() {
        Some(_) => release.hooks_of(&addon.name).collect(),
        None => listed.map(|(hook, _)| *hook).collect(),
    };
    let fields = addon.template.iter().flat_map(|source| source.template.fields());
    ReleaseAddon {
        name: addon.name.to_string(),
        kind: Some(if addon.is_chart() { "Chart" } else { "Manifests" }.to_owned()),
        source: addon.component().map(|component| component_source(component, None)),
        version: known.as_ref().map(|known| known.version.clone()),
        app_version: known.and_then(|known| known.app_version),
        chart_name: chart.map(|chart| chart.name.clone()),
        chart_version: chart.map(|chart| chart.version.clone()),
        dependency: dependency.map(|chart| format!("{} {}", chart.name, chart.version)),
        digest: Some(addon.digest.to_string()),
        hooks: hooks.iter().map(|hook| hook.as_str().to_owned()).collect(),
        template: fields.map(ToString::to_string).collect(),
    }
}

/// Returns the repository of a component. `fetched` is the version that Flux fetched, for a reference that can change.
#[must_use]
pub fn component_source(component: &Component, fetched: Option<&str>) -> AddonSource {
    let source = &component.source;
    let revision = source.exact().or(fetched).unwrap_or_default().to_owned();
    let follows = source.exact().is_none().then(|| source.followed());
    AddonSource { url: source.url().to_owned(), revision, follows }
}

#[cfg(test)]
mod tests;
