//! Reports the upgrade of a Cluster to another Kubernetes version, and whether its addons delay it.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::api::cluster_addon::{ClusterAddonStatus, UpgradeStatus};
use crate::api::conditions::{ConditionType, Reason};
use crate::gate::upgrade::{Gate, Phase};
use crate::names::{AddonName, ReleaseName};
use crate::rollup::report::{ConditionStatus, Report};

/// The facts about the upgrade of a Cluster.
#[derive(Clone, Debug)]
pub struct GateFacts {
    /// Whether upgrades wait.
    pub gate: Gate,
    /// How far the upgrade has come.
    pub phase: Phase,
    /// The version of the control plane, and that of the Cluster; `None` before there is a control plane.
    pub versions: Option<(String, String)>,
    /// Whether a user opens the gate.
    pub is_forced: bool,
    /// The value of the annotation that delays upgrades: the version of the control plane when it was added.
    pub hook: Option<String>,
    /// The reason why nothing of the release is delivered.
    pub held: Option<Report>,
    /// The addons that the upgrade waits for, each with what it waits for itself.
    pub behind: Vec<(AddonName, String)>,
    /// The versions through which Cluster API upgrades the control plane, as far as it lists them.
    pub steps: Vec<String>,
    /// The newest release for the version of the Cluster, if that of its class is for another one.
    pub offered: Option<ReleaseName>,
    /// What Cluster API says about the topology.
    pub topology_message: Option<String>,
    /// The other field manager that sets the annotation, if the Cluster has it.
    pub foreign: Option<String>,
    /// The refusal of the last change of the annotation.
    pub refusal: Option<String>,
    /// The reason why the control plane cannot be read.
    pub unreadable: Option<String>,
    /// Whether Cluster API made the control plane without its lifecycle hooks.
    pub is_without_hooks: bool,
}

impl GateFacts {
    /// Whether the control plane has another version than it will have, or Cluster API upgrades the Cluster.
    fn is_upgrade(&self) -> bool {
        self.phase != Phase::Steady
    }
}

/// Returns the report of `UpgradeGate`. `old` is the status before.
pub(super) fn upgrade_gate(facts: &GateFacts, old: &ClusterAddonStatus, now: Timestamp) -> Report {
    let good = |reason: Reason, message: &str| Report::new(ConditionStatus::True, reason.as_str(), message);
    let unknown =
        |reason: Reason, message: &str| Report::new(ConditionStatus::Unknown, reason.as_str(), message);
    if let Some(refusal) = &facts.refusal {
        let message = format!("the annotation that delays upgrades could not be changed: {refusal}");
        return unknown(Reason::GateNotWritable, &message);
    }
    let (from, to) = facts.versions.as_ref().map_or(("", ""), |(from, to)| (from.as_str(), to.as_str()));
    match facts.phase {
        _ if facts.gate == Gate::Off => good(Reason::Off, "the ClusterStack has upgradeGate: Off"),
        _ if facts.gate != Gate::Enforced => not_ours(facts, (from, to)),
        _ if is_not_enforced(facts, old) => unknown(Reason::NotEnforced, &not_enforced(to)),
        Phase::Steady => match &facts.unreadable {
            Some(why) => unknown(Reason::ControlPlaneUnreadable, why),
            None if facts.versions.is_none() => good(Reason::NotUpgrading, "there is no control plane yet"),
            None => good(Reason::NotUpgrading, &format!("the control plane has {to}")),
        },
        Phase::Requested | Phase::Waiting => closed(facts, (from, to), since(facts, old, now)),
        Phase::Open if facts.is_forced => {
            let late = late(facts)
                .map_or_else(|| "all addons are applied".to_owned(), |late| format!("not applied: {late}"));
            good(Reason::Forced, &format!("a user opened the gate for {to}; {late}"))
        }
        Phase::Open => match &facts.foreign {
            Some(manager) => {
                let message = format!("{manager} sets the annotation again that the operator removes");
                Report::new(ConditionStatus::False, Reason::ForeignAnnotation.as_str(), &message)
            }
            _ => good(Reason::Opened, &opened(facts, (from, to))),
        },
        Phase::Upgrading => match late(facts) {
            Some(late) => {
                let message = format!("Cluster API upgrades to {to}, and these are not applied: {late}");
                unknown(Reason::Bypassed, &message)
            }
            None => good(Reason::Upgrading, &format!("Cluster API upgrades to {to}")),
        },
    }
}

/// Returns the state of the upgrade for the status; `None` if there is none. After it, the state stays until all addons have
/// moved (`is_delivered`).
pub(super) fn upgrade_status(
    facts: &GateFacts,
    old: &ClusterAddonStatus,
    is_delivered: bool,
    now: Timestamp,
) -> Option<UpgradeStatus> {
    let (current, to) = facts.versions.clone()?;
    let before = old.upgrade.as_ref().filter(|before| before.to == to);
    if !facts.is_upgrade() && (is_delivered || before.is_none()) {
        return None;
    }
    // The control plane has the new version before all nodes have it.
    let from = if current == to { before.map(|before| before.from.clone()) } else { Some(current.clone()) };
    let since = Time(since(facts, old, now));
    Some(UpgradeStatus { from: from.unwrap_or(current), to, phase: facts.phase.as_str().to_owned(), since })
}

/// Returns the time since which the upgrade is in its phase.
fn since(facts: &GateFacts, old: &ClusterAddonStatus, now: Timestamp) -> Timestamp {
    let to = facts.versions.as_ref().map(|(_, to)| to.as_str());
    let same = old
        .upgrade
        .as_ref()
        .filter(|before| Some(before.to.as_str()) == to && before.phase == facts.phase.as_str());
    same.map_or(now, |before| before.since.0)
}

/// Reports an upgrade that waits.
fn closed(facts: &GateFacts, (from, to): (&str, &str), since: Timestamp) -> Report {
    let steps =
        if facts.steps.len() > 1 { format!(" through {}", facts.steps.join(", ")) } else { String::new() };
    let waits = format!(
        "the upgrade from {from} to {to}{steps} waits since {since}, and replicas and variables of the topology have no effect \
         before it"
    );
    let (reason, message) = match (&facts.held, facts.phase) {
        (Some(held), _) if held.reason == Reason::KubernetesVersionMismatch.as_str() => {
            let class = match &facts.offered {
                Some(release) => format!("{}, the newest release for {to}", release.class_name()),
                None => format!("a release for {to}"),
            };
            let ways = format!(
                "set the class to {class}; or set the version back to {from} with the annotation \
                 unsafe.topology.cluster.x-k8s.io/disable-update-version-check; or run: stackflux gate open"
            );
            (held.reason.clone(), format!("{}; {ways}", held.message))
        }
        (Some(held), _) => (held.reason.clone(), held.message.clone()),
        (None, Phase::Requested) => {
            let message = match &facts.topology_message {
                Some(message) => format!("Cluster API says: {message}"),
                None => "Cluster API has not come so far that it waits for the addons".to_owned(),
            };
            (Reason::WaitingForClusterAPI.to_string(), message)
        }
        (None, _) => {
            let message = late(facts).unwrap_or_else(|| "all addons are applied".to_owned());
            (Reason::WaitingForAddons.to_string(), message)
        }
    };
    let unreadable = facts.unreadable.as_ref().map_or_else(String::new, |why| format!("; {why}"));
    Report::new(ConditionStatus::False, &reason, &format!("{message}; {waits}{unreadable}"))
}

/// Lists the addons that are not applied, or the reason why none is delivered; `None` if all are applied.
fn late(facts: &GateFacts) -> Option<String> {
    if let Some(held) = &facts.held {
        return Some(held.message.clone());
    }
    let addons: Vec<String> = facts.behind.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    (!addons.is_empty()).then(|| addons.join("; "))
}

fn opened(facts: &GateFacts, (from, to): (&str, &str)) -> String {
    let opened = format!("all addons that belong before the upgrade from {from} to {to} are applied");
    match &facts.topology_message {
        Some(message) => format!("{opened}; Cluster API says: {message}"),
        None => opened,
    }
}

/// Reports a Cluster of which it is not known whether its upgrades wait. With the annotation they do.
fn not_ours(facts: &GateFacts, (from, to): (&str, &str)) -> Report {
    let unknown = Report::not_yet_reported();
    let Some(Report { reason, message, .. }) = facts.held.clone() else { return unknown };
    let waits = if facts.is_upgrade() && facts.hook.is_some() && !facts.is_forced {
        format!(
            "; the annotation that delays upgrades stays, and the upgrade from {from} to {to} waits: set the class to that of \
             a known ClusterStack, or run: stackflux gate open"
        )
    } else {
        String::new()
    };
    Report::new(ConditionStatus::Unknown, &reason, &format!("{message}{waits}"))
}

/// Whether Cluster API upgrades without waiting: the control plane has moved, or moves, with an annotation from before. An
/// annotation of another client says nothing. That client may also have moved the Cluster here, which has a control plane
/// since long ago, and no status of it.
fn is_not_enforced(facts: &GateFacts, old: &ClusterAddonStatus) -> bool {
    let hook = facts.hook.as_deref().filter(|hook| !hook.is_empty() && facts.foreign.is_none());
    let is_without_hooks = facts.is_without_hooks && facts.foreign.is_none();
    let to = facts.versions.as_ref().map(|(_, to)| to.as_str());
    let has_moved = to.is_some() && hook.is_some() && hook != to;
    let gate = old.conditions.iter().find(|before| before.type_ == ConditionType::UpgradeGate.as_str());
    let is_known = gate.is_some_and(|gate| gate.reason == Reason::NotEnforced.as_str());
    match facts.phase {
        Phase::Steady => has_moved || is_without_hooks || is_known,
        Phase::Upgrading => has_moved,
        Phase::Requested | Phase::Waiting | Phase::Open => false,
    }
}

fn not_enforced(to: &str) -> String {
    format!(
        "Cluster API did not wait for the addons on its way to {to}, or will not: start it with the feature gate RuntimeSDK. \
         This is reported until the next upgrade"
    )
}

#[cfg(test)]
mod tests;
