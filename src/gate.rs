//! Named checks that keep a plan, or a part of it, from being delivered. Waiting is a state with a reason, not an error.

use crate::api::Reason;
use crate::foreign::capi::Cluster;
use crate::release::Release;

/// Why something is not delivered now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The condition's reason.
    pub reason: Reason,
    /// What is waited for, in the words of whoever can do something about it.
    pub message: String,
}

/// A check of one Cluster against its release.
type Check = fn(&Cluster, &Release) -> Option<Hold>;

/// The checks in the order in which a reader expects them: the first hold is the one that is told.
const CHECKS: [Check; 4] = [not_deleting, not_paused, kubernetes_version_matches, control_plane_initialized];

/// The first check that keeps the addons of `release` from `cluster`.
#[must_use]
pub fn cluster(cluster: &Cluster, release: &Release) -> Option<Hold> {
    CHECKS.iter().find_map(|check| check(cluster, release))
}

fn not_deleting(cluster: &Cluster, _: &Release) -> Option<Hold> {
    hold(cluster.deleting(), Reason::Deleting, || "the Cluster is being deleted".to_owned())
}

fn not_paused(cluster: &Cluster, _: &Release) -> Option<Hold> {
    hold(cluster.paused(), Reason::Paused, || {
        "the Cluster is paused (spec.paused): nothing is written for it".to_owned()
    })
}

fn kubernetes_version_matches(cluster: &Cluster, release: &Release) -> Option<Hold> {
    let version = cluster.kubernetes_version()?;
    hold(version != release.kubernetes, Reason::KubernetesVersionMismatch, || {
        format!(
            "spec.topology.version is {version}, but release {} is for {}: change class and version together",
            release.name, release.kubernetes
        )
    })
}

fn control_plane_initialized(cluster: &Cluster, _: &Release) -> Option<Hold> {
    hold(!cluster.control_plane_initialized(), Reason::ControlPlaneNotInitialized, || {
        "the Cluster's control plane is not initialized yet: Flux could not reach its API server".to_owned()
    })
}

fn hold(holds: bool, reason: Reason, message: impl FnOnce() -> String) -> Option<Hold> {
    holds.then(|| Hold { reason, message: message() })
}
