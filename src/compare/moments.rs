//! When addons change on the way of a Cluster from one release to another.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::api::cluster_stack::UpgradeGate;
use crate::gate::upgrade::{Phase, is_of_both_hooks};
use crate::inputs::platform::addons_of;
use crate::inputs::stack::Stack;
use crate::inputs::{ClusterInputs, ReleaseInputs};
use crate::release::{Action, Hook, Release, Stage};

/// The changes of addons before and after the upgrade of a Cluster to another Kubernetes version.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moments {
    /// The version.
    pub version: String,
    /// The addons that change before Cluster API upgrades the control plane.
    pub before: Vec<String>,
    /// The addons that change when all nodes have the version.
    pub after: Vec<String>,
    /// The addons that Flux is asked to upgrade once more then, whether they change or not.
    pub repeated: Vec<String>,
}

impl Moments {
    /// Returns the moments of the changed addons on the way from one release to another; `None` if there is no upgrade, or upgrades
    /// do not wait, or no addon changes.
    pub(super) fn of(
        stack: &Stack,
        (from, to): (&Release, &Release),
        changed: BTreeSet<&str>,
    ) -> Option<Self> {
        let repeated = to.addons.iter().map(|addon| addon.name.as_str());
        let repeated: Vec<&str> = repeated.filter(|addon| is_of_both_hooks(to, addon)).collect();
        let is_upgrade = from.kubernetes != to.kubernetes && stack.upgrade_gate == UpgradeGate::Enforce;
        if !is_upgrade || (changed.is_empty() && repeated.is_empty()) {
            return None;
        }
        let moves_before = |addon: &&str| {
            let known = to.addons.iter().find(|known| known.name.as_str() == *addon);
            known.is_some_and(|known| Phase::Waiting.lets_move(&to.hooks_of(&known.name).collect::<Vec<_>>()))
        };
        let (before, after): (Vec<_>, Vec<_>) = changed.into_iter().partition(moves_before);
        let owned = |addons: Vec<&str>| addons.into_iter().map(str::to_owned).collect();
        let version = to.kubernetes.to_string();
        Some(Self { version, before: owned(before), after: owned(after), repeated: owned(repeated) })
    }
}

/// The addons that stages of the second release uninstall on the way to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OnTheWay {
    /// The addons that stages install, and uninstall again: Clusters have them only for the time of the move.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub temporary: Vec<String>,
    /// The addons that stages uninstall, and that are installed again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reinstalled: Vec<String>,
}

impl OnTheWay {
    /// Returns what the stages of a release uninstall in a Cluster that moves to it from another one.
    pub(super) fn of(from: &Release, inputs: &ReleaseInputs, cluster: &ClusterInputs) -> Self {
        let release = inputs.release;
        if from.name == release.name {
            return Self::default();
        }
        let lists = [Hook::BeforeClusterUpgrade, Hook::AfterClusterUpgrade];
        let stages: Vec<&Stage> =
            lists.into_iter().filter_map(|hook| release.stages.get(&hook)).flatten().collect();
        let requests = cluster.requests(inputs.stack, release);
        let mut found = Self::default();
        for addon in addons_of(release, &cluster.cluster, &requests) {
            let has = |wanted: Action| {
                stages.iter().any(|stage| stage.addon == addon.name && stage.action == wanted)
            };
            let is_temporary = release.is_deleted_in_the_end(&addon.name);
            match (is_temporary, has(Action::Apply), has(Action::Delete)) {
                (true, true, true) => found.temporary.push(addon.name.to_string()),
                (false, _, true) => found.reinstalled.push(addon.name.to_string()),
                _ => {}
            }
        }
        found
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.temporary.is_empty() && self.reinstalled.is_empty()
    }

    /// Returns what happens to the addons of each list.
    pub fn sentences(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        let both = [
            ("Installed and uninstalled again on the way", &*self.temporary),
            ("Uninstalled and installed again on the way", &*self.reinstalled),
        ];
        both.into_iter().filter(|(_, addons)| !addons.is_empty())
    }
}

#[cfg(test)]
mod tests;
