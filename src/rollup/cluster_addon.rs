//! Computes the status of a `ClusterAddon` from the facts about one cluster's addons.

mod deleted;
mod ready;
mod upgrade_gate;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::delivery::overdue_delivery;
use super::report::{ConditionStatus, Report, conditions, summary};
use super::retry::Reported;
use super::{Verdict, addons_ready, reconciling, stalled};
use crate::api::cluster_addon::{
    AddonObject, AddonState, AddonStatus, ClusterAddonStatus, ReleaseProgress, RenderedInputs,
    RevisionBefore, StageStatus,
};
use crate::api::cluster_stack::Pruned;
use crate::api::components::AddonSource;
use crate::api::conditions::{ConditionType, Reason};
use crate::gate::Hold;
use crate::gate::upgrade::Phase;
use crate::names::AddonName;
use crate::release::{Hook, KnownAs};
pub use deleted::deleted_cluster_addon;
use ready::ready_parts;
pub use upgrade_gate::GateFacts;
use upgrade_gate::{upgrade_gate, upgrade_status};

/// The phase of an addon whose object is held.
const PHASE_HELD: &str = "Held";

/// The facts about one addon.
#[derive(Clone, Debug)]
pub struct AddonFacts {
    /// The addon's name.
    pub name: AddonName,
    /// The chart that is installed; `None` for plain manifests.
    pub chart: Option<KnownAs>,
    /// The repository of a component.
    pub source: Option<AddonSource>,
    /// The reason why the addon's object is held.
    pub hold: Option<Hold>,
    /// The addon's object, if one was written.
    pub object: Option<AddonObject>,
    /// The content that Flux has to deliver.
    pub expected: Option<AddonState>,
    /// The status that Flux reports.
    pub observed: Option<AddonState>,
    /// The verdict on that status.
    pub verdict: Option<Verdict>,
    /// The revision of the Helm release from before its content was changed, if only its number shows that.
    pub revision_before: Option<RevisionBefore>,
    /// The digest of the rendered values.
    pub values_digest: Option<String>,
    /// What else there is to say about the addon, if its state has no message.
    pub note: Option<String>,
}

/// The facts about one cluster.
#[derive(Clone, Debug)]
pub struct ClusterFacts {
    /// The generation of the `ClusterAddon`.
    pub generation: i64,
    /// The request to reconcile that this status answers.
    pub requested_at: Option<String>,
    /// The reason why addons are not delivered, or cannot be reached, for the whole cluster.
    pub hold: Option<Hold>,
    /// The release of the Cluster's class.
    pub desired: String,
    /// The namespace of that class; `None` without a class.
    pub namespace: Option<String>,
    /// Whether that release can be used.
    pub release: Report,
    /// The addons in the release's order.
    pub addons: Vec<AddonFacts>,
    /// Whether the addons are those of the desired release; otherwise they are those of the release that was delivered
    /// last.
    pub of_desired: bool,
    /// Whether the addons are those of the desired release, all written.
    pub delivered: bool,
    /// The latest deletions, if the status does not have them yet.
    pub pruned: Option<Pruned>,
    /// The upgrade to another Kubernetes version; `None` if it is not looked at, because the Cluster is paused.
    pub upgrade: Option<GateFacts>,
    /// The `ClusterStack` that commits the cluster's objects.
    pub committed_by: Option<String>,
    /// The hook whose stages run, if any, and these; `None` if nothing of the release is delivered.
    pub stages: Option<(Option<Hook>, Vec<StageStatus>)>,
    /// The inputs of the values; `None` if nothing was rendered.
    pub inputs: Option<RenderedInputs>,
}

/// Computes the whole status from the facts and the status before.
#[must_use]
pub fn cluster_addon(
    mut facts: ClusterFacts,
    old: &ClusterAddonStatus,
    now: Timestamp,
) -> ClusterAddonStatus {
    for addon in &mut facts.addons {
        let before = old.addons.iter().find(|before| before.name == addon.name.as_str());
        let reported = before.and_then(Reported::of);
        addon.verdict = addon.verdict.take().map(|verdict| verdict.with_cause_of(reported));
    }
    let of = Of::new(&facts, old);
    let reports = [
        (ConditionType::ClusterAvailable, available(facts.hold.as_ref())),
        (ConditionType::ReleaseReady, facts.release.clone()),
        (ConditionType::ValuesRendered, rendered(&facts)),
        (ConditionType::Delivered, overdue_delivery(delivered(&facts), &old.conditions, now)),
        (ConditionType::AddonsReady, ready(&facts, &of)),
        (ConditionType::UpgradeGate, gate(&facts, old, now)),
    ];
    let numbers = format!("{0} of {0} addons{1}", wanted(&facts).count(), of.suffix());
    let sum = summary(&ready_parts(&facts, &reports), (Reason::Applied, &numbers));
    let is_ready = sum.status == ConditionStatus::True;
    let present: Vec<&Verdict> = wanted(&facts).filter_map(|addon| addon.verdict.as_ref()).collect();
    let temporary = [
        (ConditionType::Reconciling, reconciling(present.iter().copied()).or_else(|| waits(&facts))),
        (ConditionType::Stalled, stalled(present.iter().copied())),
    ];
    let temporary = temporary.into_iter().filter_map(|(kind, report)| Some((kind, report?)));
    let all = [(ConditionType::Ready, sum)].into_iter().chain(temporary).chain(reports);
    let is_moved = facts.delivered && facts.upgrade.as_ref().is_none_or(|it| it.phase == Phase::Steady);
    let (hook, stages) = stages(&facts, old, is_moved);
    let upgrade = match &facts.upgrade {
        Some(upgrade) => upgrade_status(upgrade, old, is_moved, now),
        None => old.upgrade.clone(),
    };
    let release = progress(facts.desired, facts.namespace, old, (is_moved, is_ready));
    ClusterAddonStatus {
        release: Some(release),
        hook,
        upgrade,
        stages,
        addons: { facts.addons.into_iter() }
            .map(|addon| addon_status(addon, facts.hold.as_ref(), &old.addons, now))
            .collect(),
        inputs: facts.inputs.or_else(|| old.inputs.clone()),
        committed_by: facts.committed_by,
        pruned: facts.pruned.or_else(|| old.pruned.clone()),
        ready: is_ready,
        observed_generation: Some(facts.generation),
        last_handled_reconcile_at: facts.requested_at.or_else(|| old.last_handled_reconcile_at.clone()),
        conditions: conditions(all, facts.generation, &old.conditions, now),
    }
}

/// Returns the time since which an addon's object is expected to have its current state; deadlines count from it. `old`
/// is the entry in the status. Deadlines do not run while an object is settled.
#[must_use]
pub fn expected_since(old: Option<&AddonStatus>, spec_digest: &str, now: Timestamp) -> Timestamp {
    let settled = |phase: &str| {
        [Reason::Applied, Reason::Drifted, Reason::Suspended].iter().any(|reason| reason.as_str() == phase)
    };
    let same = old.filter(|old| {
        let digest = old.expected.as_ref().and_then(|expected| expected.spec_digest.as_deref());
        digest == Some(spec_digest) && !old.phase.as_deref().is_some_and(settled)
    });
    same.and_then(|old| old.since.as_ref()).map_or(now, |since| since.0)
}

/// Returns the report of `UpgradeGate`. Nothing is known of a Cluster that is paused.
fn gate(facts: &ClusterFacts, old: &ClusterAddonStatus, now: Timestamp) -> Report {
    match &facts.upgrade {
        Some(upgrade) => upgrade_gate(upgrade, old, now),
        None => not_looked_at(facts),
    }
}

/// The release that the numbers of `AddonsReady` are about.
struct Of {
    release: Option<String>,
    /// The desired release, if it is another one.
    desired: Option<String>,
}

impl Of {
    fn new(facts: &ClusterFacts, old: &ClusterAddonStatus) -> Self {
        if facts.of_desired {
            return Self { release: Some(facts.desired.clone()), desired: None };
        }
        let release = old.release.as_ref().and_then(|release| release.applied.clone());
        let is_another = release.is_some() && release.as_ref() != Some(&facts.desired);
        let desired = Some(facts.desired.clone()).filter(|desired| is_another && !desired.is_empty());
        Self { release, desired }
    }

    fn suffix(&self) -> String {
        self.release.as_ref().map(|release| format!(" of {release}")).unwrap_or_default()
    }
}

/// Lists the addons that belong to the release.
fn wanted(facts: &ClusterFacts) -> impl Iterator<Item = &AddonFacts> {
    facts.addons.iter().filter(|addon| !is_removed(addon))
}

/// Returns the hook whose stages run, and these. Those of another release are forgotten.
fn stages(
    facts: &ClusterFacts,
    old: &ClusterAddonStatus,
    is_moved: bool,
) -> (Option<String>, Vec<StageStatus>) {
    let before = old.release.as_ref();
    let is_same = before.is_some_and(|before| {
        before.desired.as_ref() == Some(&facts.desired) && before.desired_namespace == facts.namespace
    });
    match &facts.stages {
        _ if is_moved => (None, Vec::new()),
        Some((hook, stages)) => (hook.map(|hook| hook.as_str().to_owned()), stages.clone()),
        None if is_same => (old.hook.clone(), old.stages.clone()),
        None => (None, Vec::new()),
    }
}

/// Computes the progress of the cluster; `is_delivered` and `is_ready` are about the whole desired release.
fn progress(
    desired: String,
    namespace: Option<String>,
    old: &ClusterAddonStatus,
    (is_delivered, is_ready): (bool, bool),
) -> ReleaseProgress {
    let old = old.release.clone().unwrap_or_default();
    let (applied, applied_namespace) = if is_delivered {
        (Some(desired.clone()), namespace.clone())
    } else {
        (old.applied, old.applied_namespace)
    };
    let last_known_good = if is_ready { applied.clone() } else { old.last_known_good };
    let desired_namespace = namespace;
    let desired = Some(desired).filter(|desired| !desired.is_empty());
    ReleaseProgress { desired, desired_namespace, applied, applied_namespace, last_known_good }
}

fn available(hold: Option<&Hold>) -> Report {
    let initialized = "the control plane is initialized";
    let available = || Report::new(ConditionStatus::True, Reason::Available.as_str(), initialized);
    hold.map_or_else(available, Report::held)
}

fn rendered(facts: &ClusterFacts) -> Report {
    let parts = holds(facts, ConditionType::ValuesRendered);
    if parts.is_empty() && facts.inputs.is_none() {
        return not_looked_at(facts);
    }
    summary(&parts, (Reason::Rendered, "all fields that the values templates read are there"))
}

/// Lists the addons with a hold that this condition reports, each with its report.
fn holds(facts: &ClusterFacts, kind: ConditionType) -> Vec<(&AddonName, Option<Report>)> {
    let held_addons = facts.addons.iter().filter_map(|addon| Some((&addon.name, addon.hold.as_ref()?)));
    let held_addons = held_addons.filter(|(_, hold)| condition_of(hold.reason) == kind);
    held_addons.map(|(name, hold)| (name, Some(Report::held(hold)))).collect()
}

/// Returns the condition that reports a hold of an addon.
fn condition_of(reason: Reason) -> ConditionType {
    match reason {
        Reason::DeliveryFailed
        | Reason::AlreadyExists
        | Reason::Foreign
        | Reason::Committing
        | Reason::CommitNotApplied
        | Reason::DeliveredElsewhere
        | Reason::Progressing
        | Reason::PushFailed
        | Reason::FileEdited
        | Reason::PullRequestOpen
        | Reason::SecretInvalid
        | Reason::Suspended
        | Reason::Terminating
        | Reason::WaitingForDependency
        | Reason::WaitingForStage
        | Reason::WaitingForUpgrade
        | Reason::AddonRemoved
        | Reason::FileRemoved
        | Reason::PruneBudgetExceeded => ConditionType::Delivered,
        _ => ConditionType::ValuesRendered,
    }
}

/// Reports the addons that wait for the removal budget; `None` if none waits. They are not an issue.
fn waits(facts: &ClusterFacts) -> Option<Report> {
    let mut holds = facts.addons.iter().filter_map(|addon| addon.hold.as_ref());
    let hold = holds.find(|hold| hold.reason == Reason::PruneBudgetExceeded)?;
    Some(Report::held(hold).become_true())
}

/// Whether an addon no longer belongs to the release: it does not block rendering or readiness.
fn is_removed(addon: &AddonFacts) -> bool {
    let reason = addon.hold.as_ref().map(|hold| hold.reason);
    matches!(reason, Some(Reason::AddonRemoved | Reason::FileRemoved | Reason::PruneBudgetExceeded))
}

fn delivered(facts: &ClusterFacts) -> Report {
    if let Some(foreign) =
        facts.addons.iter().find(|addon| matches!(addon.verdict, Some(Verdict::Foreign { .. })))
    {
        let found = foreign.verdict.as_ref().map(|verdict| verdict.report().message).unwrap_or_default();
        let message = match &foreign.verdict {
            Some(Verdict::Foreign { wait: Some(_), .. }) => format!("{}: {found}", foreign.name),
            _ => format!("{}: {found}; {}", foreign.name, restoration(facts, foreign)),
        };
        return Report::new(ConditionStatus::False, Reason::Foreign.as_str(), &message);
    }
    let parts = holds(facts, ConditionType::Delivered);
    if !parts.is_empty() {
        return summary(&parts, (Reason::Delivered, Reason::Delivered.meaning()));
    }
    if facts.delivered {
        let message = "all objects are as they were planned";
        return Report::new(ConditionStatus::True, Reason::Delivered.as_str(), message);
    }
    not_looked_at(facts)
}

/// Describes what happens to an object that another field manager changed.
fn restoration(facts: &ClusterFacts, addon: &AddonFacts) -> String {
    if facts.committed_by.is_some() {
        return "Flux restores it from the repository at its next reconciliation".to_owned();
    }
    // The operator writes for an unreachable cluster too.
    let whole = facts.hold.as_ref().filter(|hold| hold.reason != Reason::Unreachable);
    match addon.hold.as_ref().or(whole) {
        Some(Hold { reason: Reason::DeliveryFailed, message }) => {
            format!("the operator could not restore it and tries again: {message}")
        }
        Some(Hold { reason: Reason::Suspended, message }) => {
            format!("the operator restores it when reconciling resumes: {message}")
        }
        Some(Hold { message, .. }) => format!("the operator does not restore it while this holds: {message}"),
        // The addons are those of an earlier release, because the desired one cannot be delivered.
        None if !facts.of_desired => {
            format!("the operator does not restore it: {}", facts.release.message)
        }
        None => "the operator restores it".to_owned(),
    }
}

/// Returns the report of a condition that is unknown because an earlier one is not true.
fn not_looked_at(facts: &ClusterFacts) -> Report {
    let available = available(facts.hold.as_ref());
    let before =
        [(ConditionType::ClusterAvailable, &available), (ConditionType::ReleaseReady, &facts.release)];
    let Some((kind, cause)) = before.into_iter().find(|(_, report)| report.status != ConditionStatus::True)
    else {
        return Report::not_yet_reported();
    };
    let Report { status, reason, .. } = cause;
    let message = format!("not checked while {kind} is {} ({reason})", status.as_str());
    Report::new(ConditionStatus::Unknown, reason, &message)
}

/// Computes `AddonsReady`. Addons that were never delivered do not count as ready, nor do addons with a hold.
fn ready(facts: &ClusterFacts, of: &Of) -> Report {
    let state = |addon: &AddonFacts| match (&addon.hold, &addon.verdict) {
        (Some(hold), _) => Some(Report { message: format!("held ({})", hold.reason), ..Report::held(hold) }),
        (None, verdict) => verdict.as_ref().map(Verdict::report),
    };
    let parts: Vec<_> = wanted(facts).map(|addon| (&addon.name, state(addon))).collect();
    let is_silent = parts.iter().all(|(_, report)| report.is_none());
    if is_silent && (facts.hold.is_some() || !facts.delivered) {
        return not_looked_at(facts);
    }
    let report = addons_ready(&parts, &of.suffix());
    match &of.desired {
        None => report,
        Some(desired) => {
            let message = format!("{}; {desired} is not delivered", report.message);
            Report::new(report.status, &report.reason, &message)
        }
    }
}

fn addon_status(addon: AddonFacts, all: Option<&Hold>, old: &[AddonStatus], now: Timestamp) -> AddonStatus {
    let before = old.iter().find(|before| before.name == addon.name.as_str());
    let (phase, report) = match (addon.hold.as_ref(), &addon.verdict) {
        // The object's old content may be ready, but it is not the planned content.
        (Some(hold), verdict) => {
            let is_going = is_removed(&addon) && *verdict == Some(Verdict::Terminating);
            let phase = if is_going { Reason::Terminating.as_str() } else { PHASE_HELD };
            (Some(phase.to_owned()), Some(Report::held(hold)))
        }
        (None, Some(verdict)) => (Some(verdict.phase().to_string()), Some(verdict.report())),
        // The condition has the message, which is the same for all addons.
        (None, None) => (
            all.map(|_| PHASE_HELD.to_owned()),
            all.map(|hold| Report { message: String::new(), ..Report::held(hold) }),
        ),
    };
    let is_settled = addon.verdict.as_ref().is_some_and(Verdict::is_settled);
    let digest = addon.expected.as_ref().and_then(|expected| expected.spec_digest.as_deref());
    let since = digest.map(|digest| match before {
        // While it stays settled, its entry in the status does not change.
        Some(before) if is_settled && before.phase == phase => {
            before.since.as_ref().map_or(now, |since| since.0)
        }
        _ if is_settled => now,
        _ => expected_since(before, digest, now),
    });
    AddonStatus {
        name: addon.name.to_string(),
        object: addon.object,
        phase,
        reason: report.as_ref().map(|report| report.reason.clone()),
        message: report.map(|report| report.message).filter(|message| !message.is_empty()).or(addon.note),
        source: addon.source,
        chart: addon.chart.as_ref().map(|chart| chart.name.clone()),
        version: addon.chart.as_ref().map(|chart| chart.version.clone()),
        app_version: addon.chart.and_then(|chart| chart.app_version),
        expected: addon.expected,
        observed: addon.observed,
        revision_before: addon.revision_before,
        values_digest: addon.values_digest,
        since: since.map(Time),
    }
}

#[cfg(test)]
mod tests;
