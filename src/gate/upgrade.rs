//! The upgrade gate of a Cluster: its addons move before Cluster API upgrades the control plane.
//!
//! The operator puts the annotation [`UPGRADE_HOOK`](crate::foreign::capi::upgrade::UPGRADE_HOOK) on each Cluster before
//! there is an upgrade, and Cluster API waits for its removal. The phase is a function of what the API server has, and
//! nothing is remembered: another process decides the same.

use super::Hold;
use crate::api::Reason;
use crate::api::cluster_stack::UpgradeGate;
use crate::names::AddonName;
use crate::release::{Hook, Release};

/// Whether upgrades of a Cluster wait for its addons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// They wait.
    Enforced,
    /// They do not wait: the `ClusterStack` says so.
    Off,
    /// They do not wait for stackflux: no release has the class, or its `ClusterStack` orphans everything.
    NotOurs,
    /// The `ClusterStack` of the class is not known: it may be another shard's, or not exist yet.
    Unknown,
}

impl From<UpgradeGate> for Gate {
    fn from(wanted: UpgradeGate) -> Self {
        match wanted {
            UpgradeGate::Enforce => Self::Enforced,
            UpgradeGate::Off => Self::Off,
        }
    }
}

/// The Kubernetes version of a Cluster's control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Current<'a> {
    /// The Cluster has no control plane yet.
    None,
    /// It has this `spec.version`.
    Version(&'a str),
    /// It cannot be determined: it counts as another version than the Cluster's.
    Unknown,
}

/// The facts about the Kubernetes version of a Cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpgradeFacts<'a> {
    /// Whether upgrades wait.
    pub gate: Gate,
    /// `spec.topology.version` of the Cluster.
    pub wanted: &'a str,
    /// The version of its control plane.
    pub current: Current<'a>,
    /// Whether Cluster API has begun the upgrade, and is not done.
    pub has_begun: bool,
    /// Whether Cluster API has come as far as the annotation, and waits for its removal.
    pub is_awaited: bool,
    /// Whether all that moves before the upgrade is applied: the release of the class is usable and for the wanted version.
    pub is_done: bool,
    /// The version for which a user opens the gate by force, if any.
    pub forced: Option<&'a str>,
}

impl UpgradeFacts<'_> {
    /// Whether the control plane has another version than it will have.
    #[must_use]
    pub fn is_due(&self) -> bool {
        match self.current {
            Current::None => false,
            Current::Version(current) => current != self.wanted,
            Current::Unknown => true,
        }
    }

    /// Whether a user opens the gate for this upgrade.
    #[must_use]
    pub fn is_forced(&self) -> bool {
        self.is_due() && self.forced == Some(self.wanted)
    }
}

/// How far the upgrade of a Cluster to another Kubernetes version has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// There is none: the control plane has the wanted version.
    Steady,
    /// The Cluster has another version, and Cluster API has not come as far as the annotation.
    Requested,
    /// Cluster API waits for the removal of the annotation.
    Waiting,
    /// Nothing of ours delays the upgrade.
    Open,
    /// Cluster API upgrades the Cluster.
    Upgrading,
}

/// Determines the phase.
///
/// A forced opening counts for the version that it names alone, so that none is left over for the next upgrade.
#[must_use]
pub fn phase(facts: &UpgradeFacts) -> Phase {
    match facts.is_due() {
        _ if matches!(facts.gate, Gate::Off | Gate::NotOurs) => Phase::Steady,
        true if facts.is_forced() => Phase::Open,
        _ if facts.has_begun => Phase::Upgrading,
        false => Phase::Steady,
        true if facts.is_done => Phase::Open,
        true if facts.is_awaited => Phase::Waiting,
        true => Phase::Requested,
    }
}

/// What happens to the annotation that delays the upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookAction {
    /// The Cluster has it.
    Set,
    /// The Cluster does not have it.
    Remove,
    /// It stays as it is.
    Keep,
}

/// Decides about the annotation. Between the start of an upgrade and the move of the control plane it stays as it is: Cluster
/// API before 1.12 looks at it then.
#[must_use]
pub fn hook(facts: &UpgradeFacts) -> HookAction {
    match phase(facts) {
        _ if matches!(facts.gate, Gate::Off | Gate::NotOurs) => HookAction::Remove,
        _ if facts.gate == Gate::Unknown && !facts.is_forced() => HookAction::Keep,
        Phase::Open => HookAction::Remove,
        Phase::Upgrading if facts.is_due() => HookAction::Keep,
        Phase::Steady | Phase::Requested | Phase::Waiting | Phase::Upgrading => HookAction::Set,
    }
}

impl Phase {
    /// Returns the phase as one word, for a status.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steady => "Steady",
            Self::Requested => "Requested",
            Self::Waiting => "Waiting",
            Self::Open => "Open",
            Self::Upgrading => "Upgrading",
        }
    }

    /// Whether an addon may move to the release of the class. `hooks` are the moments at which that release applies it.
    ///
    /// Before and during an upgrade, only what the release applies before the upgrade moves. An addon of no moment is that of
    /// a release with a single chart.
    #[must_use]
    pub fn lets_move(self, hooks: &[Hook]) -> bool {
        match self {
            Self::Steady => true,
            Self::Requested => false,
            Self::Waiting | Self::Open | Self::Upgrading => {
                hooks.is_empty() || hooks.contains(&Hook::BeforeClusterUpgrade)
            }
        }
    }
}

/// Whether a release applies an addon before and after an upgrade.
#[must_use]
pub fn is_of_both_hooks(release: &Release, addon: &str) -> bool {
    let addon = release.addons.iter().find(|known| known.name.as_str() == addon);
    addon.is_some_and(|addon| {
        let hooks: Vec<Hook> = release.hooks_of(&addon.name).collect();
        [Hook::BeforeClusterUpgrade, Hook::AfterClusterUpgrade].iter().all(|hook| hooks.contains(hook))
    })
}

/// Returns the hold of an addon that does not move to a release yet; `None` if it may. It keeps its object as it is.
#[must_use]
pub fn hold(phase: Phase, release: &Release, addon: &AddonName) -> Option<Hold> {
    let hooks: Vec<Hook> = release.hooks_of(addon).collect();
    if phase.lets_move(&hooks) {
        return None;
    }
    let version = &release.kubernetes;
    let message = if phase == Phase::Requested {
        format!(
            "stays as it is until Cluster API waits for the addons before it upgrades the Cluster to {version}"
        )
    } else {
        let moments: Vec<&str> = hooks.iter().map(|hook| hook.as_str()).collect();
        let is_component = release.addon(addon).is_some_and(|addon| addon.platform().is_some());
        let by = if is_component { "its ClusterStack".to_owned() } else { release.name.to_string() };
        format!(
            "stays as it is until the Cluster is upgraded to {version}: {by} applies it at {}, and not at {}",
            moments.join(" and "),
            Hook::BeforeClusterUpgrade.as_str()
        )
    };
    Some(Hold { reason: Reason::WaitingForUpgrade, message })
}

#[cfg(test)]
mod tests;
