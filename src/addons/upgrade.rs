//! The upgrade of a Cluster to another Kubernetes version: how far it has come, and what happens to the annotation that delays
//! it.

use crate::api::labels::OPEN_UPGRADE_GATE;
use crate::foreign::capi::upgrade::UPGRADE_HOOK;
use crate::foreign::capi::{Cluster, ObjectReference};
use crate::gate::upgrade::{Current, Gate, HookAction, Phase, UpgradeFacts, hook, phase};
use crate::inputs::ClusterInputs;
use crate::names::{AddonName, ReleaseName};
use crate::rollup::{GateFacts, Report};

/// What is reported in place of a version that cannot be determined.
const UNKNOWN_VERSION: &str = "an unknown version";

/// The upgrade of a Cluster to another Kubernetes version.
#[derive(Clone, Debug)]
pub struct Upgrade {
    /// Whether upgrades wait.
    pub gate: Gate,
    /// The version of the control plane.
    pub control_plane: ControlPlane,
    /// How far the upgrade has come.
    pub phase: Phase,
    /// How far the addons are that move before it.
    pub before: Before,
    /// The newest release for the version of the Cluster, if that of its class is for another one.
    pub offered: Option<ReleaseName>,
    /// The other field manager that sets the annotation, if any.
    pub hook_manager: Option<String>,
}

/// The version of a Cluster's control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlPlane {
    /// The Cluster names no control plane yet.
    Unnamed,
    /// It has this `spec.version`.
    Version(String),
    /// It cannot be read.
    Unreadable {
        /// The control plane.
        object: ObjectReference,
        /// The version that stands in for it: that of the Cluster if Cluster API is done with it, otherwise that of the release
        /// that was applied last.
        instead: Option<String>,
        /// Whether it is initialized. Before that, Cluster API does not upgrade it.
        is_initialized: bool,
    },
}

/// How far the addons are that move before the upgrade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing of the release is delivered, for this reason.
    Held(Report),
    /// These addons are not applied as planned, in the order of the release.
    Behind(Vec<Behind>),
    /// All are applied as planned.
    Done,
}

/// An addon that the upgrade waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The addon.
    pub addon: AddonName,
    /// What it waits for, in the words of its status.
    pub why: String,
}

/// A change of the annotation that delays upgrades.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookChange {
    /// It is added.
    Set,
    /// It is removed.
    Remove,
}

impl ControlPlane {
    /// Reads the version. `applied` is the Kubernetes version of the release that was applied last, if known.
    #[must_use]
    pub fn of(inputs: &ClusterInputs, applied: Option<&str>) -> Self {
        let Some(object) = inputs.cluster.control_plane_ref() else { return Self::Unnamed };
        if let Some(version) = inputs.control_plane_version() {
            return Self::Version(version.to_owned());
        }
        let is_done = inputs.cluster.is_topology_reconciled();
        let instead = if is_done { Some(inputs.cluster.topology_version()) } else { applied };
        let is_initialized = inputs.cluster.control_plane_initialized();
        Self::Unreadable { object, instead: instead.map(str::to_owned), is_initialized }
    }

    fn version(&self) -> Option<&str> {
        match self {
            Self::Unnamed => None,
            Self::Version(version) => Some(version),
            Self::Unreadable { instead, .. } => instead.as_deref(),
        }
    }

    fn current(&self) -> Current<'_> {
        match self {
            Self::Unreadable { instead: None, is_initialized: true, .. } => Current::Unknown,
            _ => self.version().map_or(Current::None, Current::Version),
        }
    }
}

impl Upgrade {
    /// Takes the facts before the addons are judged: they do not count as applied. The annotation has no other field manager.
    #[must_use]
    pub fn new(cluster: &Cluster, gate: Gate, control_plane: ControlPlane) -> Self {
        let before = Before::Held(Report::not_yet_reported());
        let mut upgrade =
            Self { gate, control_plane, phase: Phase::Steady, before, offered: None, hook_manager: None };
        upgrade.phase = phase(&upgrade.facts(cluster));
        upgrade
    }

    pub(super) fn facts<'a>(&'a self, cluster: &'a Cluster) -> UpgradeFacts<'a> {
        let facts = UpgradeFacts {
            gate: self.gate,
            wanted: cluster.topology_version(),
            current: self.control_plane.current(),
            has_begun: cluster.is_upgrading(),
            is_awaited: cluster.awaits_removal_of(UPGRADE_HOOK),
            is_done: self.before == Before::Done,
            forced: cluster.annotation(OPEN_UPGRADE_GATE),
        };
        // Cluster API before 1.12 waits for the annotation also while an earlier upgrade is not over.
        let is_next = facts.is_due() && facts.is_awaited && cluster.annotation(UPGRADE_HOOK).is_some();
        UpgradeFacts { has_begun: facts.has_begun && !is_next, ..facts }
    }

    /// Returns the phase to plan the addons for before they are judged: what an upgrade waits for is planned for the time in
    /// which Cluster API waits.
    #[must_use]
    pub fn phase_to_plan(&self) -> Phase {
        if self.phase == Phase::Requested { Phase::Waiting } else { self.phase }
    }

    /// Whether an upgrade seems to have ended while the addons are still those of another version (`applied`), or the annotation
    /// is that of before. A watch of Clusters that is behind that of control planes shows the same.
    #[must_use]
    pub fn seems_ended(&self, cluster: &Cluster, applied: Option<&str>) -> bool {
        let is_steady = self.gate == Gate::Enforced && self.phase == Phase::Steady;
        let wanted = cluster.topology_version();
        let is_at = self.control_plane == ControlPlane::Version(wanted.to_owned());
        let is_hook_of_before =
            cluster.annotation(UPGRADE_HOOK).is_some_and(|hook| !hook.is_empty() && hook != wanted);
        is_steady && is_at && (applied != Some(wanted) || is_hook_of_before)
    }

    /// Whether the API server, which has `live`, confirms the end of an upgrade that a cached Cluster shows. The annotation of an
    /// older state would tell that Cluster API did not wait.
    #[must_use]
    pub fn is_end_confirmed(cached: &Cluster, live: Option<&Cluster>) -> bool {
        let of = |cluster: &Cluster| {
            let hook = cluster.annotation(UPGRADE_HOOK).map(str::to_owned);
            let uid = cluster.uid().map(str::to_owned);
            (uid, cluster.topology_version().to_owned(), cluster.class(), cluster.is_upgrading(), hook)
        };
        live.is_some_and(|live| of(live) == of(cached))
    }

    /// Whether the gate is open because the addons are applied.
    #[must_use]
    pub fn is_opened_by_addons(&self) -> bool {
        self.phase == Phase::Open && self.before == Before::Done
    }

    /// Whether no upgrade is due or under way, and Cluster API has brought all of the topology to the present spec.
    #[must_use]
    pub fn is_over(&self, cluster: &Cluster) -> bool {
        self.phase == Phase::Steady && cluster.is_topology_reconciled()
    }

    /// Whether the annotation depends on the addons.
    #[must_use]
    pub fn depends_on_addons(&self) -> bool {
        matches!(self.phase, Phase::Requested | Phase::Waiting)
    }

    /// Returns the value of the annotation if it is added now: the version of the control plane. One that does not exist yet will
    /// have the version of the Cluster.
    #[must_use]
    pub fn hook_value<'a>(&'a self, cluster: &'a Cluster) -> &'a str {
        self.control_plane.version().unwrap_or_else(|| cluster.topology_version())
    }

    /// Decides about the annotation as far as the addons do; `None` if it stays as it is, or was written before they were judged.
    #[must_use]
    pub fn hook_change_by_addons(&self, cluster: &Cluster) -> Option<HookChange> {
        let is_theirs = self.depends_on_addons() || self.is_opened_by_addons();
        is_theirs.then(|| self.hook_change(cluster)).flatten()
    }

    /// Decides about the annotation; `None` if it stays as it is.
    #[must_use]
    pub fn hook_change(&self, cluster: &Cluster) -> Option<HookChange> {
        match (hook(&self.facts(cluster)), cluster.annotation(UPGRADE_HOOK).is_some()) {
            (HookAction::Set, false) => Some(HookChange::Set),
            (HookAction::Remove, true) => Some(HookChange::Remove),
            _ => None,
        }
    }

    /// Returns what the status reports.
    #[must_use]
    pub fn report(&self, cluster: &Cluster) -> GateFacts {
        let current = match self.control_plane.current() {
            Current::None => None,
            Current::Version(version) => Some(version.to_owned()),
            Current::Unknown => Some(UNKNOWN_VERSION.to_owned()),
        };
        let (held, behind) = match &self.before {
            Before::Held(report) => (Some(report.clone()), Vec::new()),
            Before::Behind(behind) => {
                (None, behind.iter().map(|it| (it.addon.clone(), it.why.clone())).collect())
            }
            Before::Done => (None, Vec::new()),
        };
        GateFacts {
            gate: self.gate,
            phase: self.phase,
            versions: current.map(|current| (current, cluster.topology_version().to_owned())),
            is_forced: self.facts(cluster).is_forced(),
            hook: cluster.annotation(UPGRADE_HOOK).map(str::to_owned),
            held,
            behind,
            steps: cluster.upgrade_steps().into_iter().map(str::to_owned).collect(),
            offered: self.offered.clone(),
            topology_message: cluster.topology_message().map(str::to_owned),
            foreign: self.hook_manager.clone(),
            refusal: None,
            unreadable: self.unreadable(),
            is_without_hooks: cluster.is_made_without_hooks(),
        }
    }

    fn unreadable(&self) -> Option<String> {
        let ControlPlane::Unreadable {
            object: ObjectReference { group, kind, name },
            instead,
            is_initialized,
        } = &self.control_plane
        else {
            return None;
        };
        let instead = match instead {
            Some(version) => format!("{version} is taken for it"),
            None if *is_initialized => "the Cluster counts as one that waits for its upgrade".to_owned(),
            None => "the Cluster counts as new".to_owned(),
        };
        Some(format!(
            "{kind} {name} has no spec.version that the operator can read, and {instead}: check that it exists, and that a \
             ClusterRole lets the operator get, list and watch this kind of {group}"
        ))
    }
}
