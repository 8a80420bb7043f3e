//! Named checks that keep a plan, or a part of it, from being delivered. Waiting is a state with a reason, not an error.

pub mod settings;
pub mod upgrade;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::api::{ConditionType, Reason};
use crate::foreign::capi::Cluster;
use crate::release::{Addon, Release};

/// The reason why something is not delivered now, with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The condition's reason.
    pub reason: Reason,
    /// The message: what has to happen first, and what the reader can do.
    pub message: String,
}

/// The action for a Cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterAction {
    /// Forget the Cluster: nothing of it exists, or it is being deleted and nothing of ours is left.
    Forget,
    /// Suspend and delete the objects of its addons: nothing is uninstalled.
    SuspendAndDelete,
    /// Orphan its addons: their objects stay, suspended and without an owner, and the `ClusterAddon` is deleted.
    Orphan,
    /// Keep its addons for the next `ClusterAddon`: this one is deleted, and its objects stay.
    HandOver,
    /// Deliver its addons.
    Deliver,
}

/// An existing Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Present {
    /// Its UID.
    pub uid: String,
    /// Whether it is being deleted.
    pub deleting: bool,
}

/// An existing `ClusterAddon`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The UID of the Cluster that it was made for.
    pub cluster_uid: Option<String>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether the `ClusterAddon` has our finalizer.
    pub held: bool,
    /// Whether Flux applies the objects that the `ClusterAddon` owns from a repository of ours.
    pub committed: bool,
}

/// The action for a Cluster's addons, as far as `ClusterStack`s decide it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backing {
    /// The release of the Cluster's class does not exist.
    #[default]
    None,
    /// The release of the Cluster's class exists, so that there will be another `ClusterAddon`.
    Wanted,
    /// The `ClusterStack` of the Cluster is deleted and orphans everything.
    Orphaned,
}

/// The other facts that decide the action for a Cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Whether the Cluster's namespace is being deleted.
    pub namespace_terminating: bool,
    /// The decision of the `ClusterStack`.
    pub backing: Backing,
    /// Whether an object of an earlier `ClusterAddon` waits for the next one.
    pub handed_over: bool,
    /// Whether the deleted `ClusterAddon` has an addon that the release does not have, or that is not known yet.
    pub removing: bool,
}

/// Decides the action for a Cluster and its `ClusterAddon`. The objects of a `ClusterAddon` that was made for an earlier
/// Cluster of the same name are suspended and deleted before there can be a new one. In a namespace that is being deleted
/// nothing can be created, and existing objects are suspended and deleted before Kubernetes deletes them.
///
/// The objects of a deleted `ClusterAddon` must not be uninstalled. The next `ClusterAddon` of the same Cluster takes
/// them over. An addon that waits for its removal is in no plan and would otherwise be forgotten. Files in a repository
/// cannot be taken over, so such a removal ends first.
#[must_use]
pub fn cluster_action(cluster: Option<&Present>, addon: Option<&Owned>, around: Around) -> ClusterAction {
    let rest = if around.handed_over { ClusterAction::SuspendAndDelete } else { ClusterAction::Forget };
    match (cluster, addon) {
        (None, None) => rest,
        (None, Some(_)) => ClusterAction::SuspendAndDelete,
        (Some(cluster), None) if cluster.deleting || around.namespace_terminating => rest,
        (Some(_), None) => ClusterAction::Deliver,
        (Some(cluster), Some(addon)) => {
            let is_its = addon.cluster_uid.as_ref().is_none_or(|uid| *uid == cluster.uid);
            let goes = cluster.deleting || around.namespace_terminating || !is_its;
            match (addon.deleting, around.backing) {
                _ if goes => ClusterAction::SuspendAndDelete,
                // A finalizer other than ours holds the `ClusterAddon`.
                (true, _) if !addon.held => ClusterAction::Forget,
                (_, Backing::Orphaned) => ClusterAction::Orphan,
                (false, _) => ClusterAction::Deliver,
                (true, Backing::Wanted) if !addon.committed => ClusterAction::HandOver,
                (true, Backing::Wanted) if around.removing => ClusterAction::Deliver,
                (true, _) => ClusterAction::SuspendAndDelete,
            }
        }
    }
}

/// Creates the hold for an unreachable cluster, with Cluster API's message. Nothing is withheld from the cluster: Flux
/// waits by itself.
#[must_use]
pub fn unreachable(message: &str) -> Hold {
    let message =
        if message.is_empty() { "Cluster API cannot reach the cluster's API server" } else { message };
    Hold { reason: Reason::Unreachable, message: message.to_owned() }
}

/// Whether a cluster that was [unreachable] answers again. `before` are the conditions of its `ClusterAddon`. Unless it
/// is requested to reconcile, Flux waits up to a quarter of an hour before it retries such a cluster.
#[must_use]
pub fn has_recovered(before: &[Condition], cluster: &Cluster) -> bool {
    let available = ConditionType::ClusterAvailable.as_str();
    let before = before.iter().find(|condition| condition.type_ == available);
    let was_lost = before.is_some_and(|condition| condition.reason == Reason::Unreachable.as_str());
    was_lost && cluster.unreachable().is_none()
}

/// Returns the hold of a component that cannot be used; `None` for any other addon.
#[must_use]
pub fn component(addon: &Addon) -> Option<Hold> {
    let problem = addon.platform()?.problem.as_ref()?;
    Some(Hold { reason: Reason::ComponentInvalid, message: format!("{}: {problem}", addon.path) })
}

/// A check of one Cluster against its release.
type Check = fn(&Cluster, &Release) -> Option<Hold>;

/// The checks in the order in which a reader expects them: the first hold is the one that is reported.
const CHECKS: [Check; 4] = [
    |cluster, _| not_deleting(cluster),
    |cluster, _| not_paused(cluster),
    kubernetes_version_matches,
    |cluster, _| control_plane_initialized(cluster),
];

/// Returns the first hold that keeps the addons of `release` from `cluster`; `None` if they may be delivered.
#[must_use]
pub fn cluster(cluster: &Cluster, release: &Release) -> Option<Hold> {
    CHECKS.iter().find_map(|check| check(cluster, release))
}

/// Returns the hold of a Cluster whose release cannot be read, by the checks that need no release.
#[must_use]
pub fn cluster_alone(cluster: &Cluster) -> Option<Hold> {
    not_written(cluster)
        .or_else(|| control_plane_initialized(cluster))
        .or_else(|| cluster.unreachable().map(unreachable))
}

/// Returns the hold of a Cluster for which nothing is written, whatever its class: it is being deleted, or paused.
#[must_use]
pub fn not_written(cluster: &Cluster) -> Option<Hold> {
    not_deleting(cluster).or_else(|| not_paused(cluster))
}

fn not_deleting(cluster: &Cluster) -> Option<Hold> {
    hold(cluster.deleting(), Reason::Deleting, || "the Cluster is being deleted".to_owned())
}

fn not_paused(cluster: &Cluster) -> Option<Hold> {
    let message = format!("the Cluster is paused ({}): nothing is written for it", cluster.paused_by()?);
    Some(Hold { reason: Reason::Paused, message })
}

fn kubernetes_version_matches(cluster: &Cluster, release: &Release) -> Option<Hold> {
    let version = cluster.kubernetes_version()?;
    // The class of a later version was set first. With the version first, Cluster API waits.
    let meanwhile = if version < release.kubernetes {
        "; Cluster API applies the class to the nodes meanwhile"
    } else {
        ""
    };
    hold(version != release.kubernetes, Reason::KubernetesVersionMismatch, || {
        format!(
            "spec.topology.version is {version}, but release {} is for {}: change class and version together{meanwhile}",
            release.name, release.kubernetes
        )
    })
}

fn control_plane_initialized(cluster: &Cluster) -> Option<Hold> {
    hold(!cluster.control_plane_initialized(), Reason::ControlPlaneNotInitialized, || {
        "the Cluster's control plane is not initialized yet: Flux could not reach its API server".to_owned()
    })
}

fn hold(holds: bool, reason: Reason, message: impl FnOnce() -> String) -> Option<Hold> {
    holds.then(|| Hold { reason, message: message() })
}

#[cfg(test)]
mod tests;
