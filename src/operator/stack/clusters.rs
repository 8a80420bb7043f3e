//! The Clusters that count for a `ClusterStack`.

use std::sync::Arc;

use super::super::context::{Context, NotInstalled};
use super::super::objects::{ClusterObject, addon_key};
use super::releases::Releases;
use crate::addons::is_made_for;
use crate::api::cluster_stack::Pruned;
use crate::api::{ClusterAddon, ConditionType, Reason};
use crate::names::ReleaseName;
use crate::rollup::{ClusterState, Report, mirror};
use crate::runtime::cache::Key;
use crate::subscription::Role;

/// A Cluster that counts for a `ClusterStack`.
pub(super) struct User {
    /// The release of its class.
    pub(super) release: ReleaseName,
    /// Whether any `ClusterStack` has a `ClusterStackRelease` for that release.
    pub(super) is_installed: bool,
    /// Whether the Cluster is in another namespace, and the `ClusterStack` does not offer the release.
    is_unoffered: bool,
    cluster: Arc<ClusterObject>,
    addon: Option<Arc<ClusterAddon>>,
}

/// Returns the Clusters that count for a `ClusterStack`.
pub(super) fn users(context: &Context, namespace: &str, releases: &Releases) -> Vec<User> {
    let mut users = Vec::new();
    for (release, clusters) in releases.held() {
        let is_installed = context.caches.releases.get(&Key::new(namespace, &release.to_string())).is_some();
        let is_offered = releases.roles.get(release) == Some(&Role::Offered);
        users.extend(clusters.iter().map(|cluster| User {
            release: release.clone(),
            is_installed,
            is_unoffered: !is_offered && cluster.cluster.namespace().as_str() != namespace,
            addon: context.caches.addons.get(&addon_key(&Key::of(&**cluster))),
            cluster: cluster.clone(),
        }));
    }
    users
}

/// Returns the deletions that the statuses of the `ClusterAddon`s of Clusters record.
pub(super) fn pruned(users: &[User]) -> impl Iterator<Item = &Pruned> {
    users.iter().filter_map(|user| user.addon.as_ref()?.status.as_ref()?.pruned.as_ref())
}

/// Returns the states of Clusters. `not_installed` are the releases that are not installed.
pub(super) fn states<'a>(
    users: &'a [User],
    is_suspended: bool,
    not_installed: &NotInstalled,
) -> Vec<ClusterState<'a>> {
    let state = |user: &'a User| {
        let (cluster, addon) = (&user.cluster.cluster, user.addon.as_deref());
        ClusterState {
            namespace: cluster.namespace().as_str(),
            name: cluster.name().as_str(),
            deleting: cluster.deleting(),
            paused: cluster.paused(),
            suspended: is_suspended || addon.is_some_and(|addon| addon.spec.suspend),
            initialized: cluster.control_plane_initialized(),
            without_release: not_installed.get(&user.release).cloned(),
            unoffered: user.is_unoffered,
            ready: addon.and_then(|addon| ready(addon, &user.cluster, &user.release)),
        }
    };
    users.iter().map(state).collect()
}

/// Returns the `Ready` of a `ClusterAddon`; `None` if it was made for an earlier Cluster of the same name, or reports
/// another release.
fn ready(addon: &ClusterAddon, cluster: &ClusterObject, release: &ReleaseName) -> Option<Report> {
    let status = addon.status.as_ref()?;
    let desired = status.release.as_ref()?.desired.as_ref()?;
    let is_its = is_made_for(addon, &cluster.cluster) && *desired == release.to_string();
    let generation = addon.metadata.generation.unwrap_or_default();
    is_its.then(|| mirror(&status.conditions, generation, ConditionType::Ready.as_str()))
}

/// Returns the Clusters for which Flux has not applied all commits.
pub(super) fn not_applied(users: &[User]) -> Vec<String> {
    let is_behind = |user: &&User| {
        let addon = user.addon.as_ref().filter(|_| !user.cluster.cluster.deleting());
        addon.is_some_and(|addon| {
            let conditions = addon.status.as_ref().map_or(&[][..], |status| &status.conditions);
            let generation = addon.metadata.generation.unwrap_or_default();
            let delivered = mirror(conditions, generation, ConditionType::Delivered.as_str());
            delivered.reason == Reason::CommitNotApplied.as_str()
        })
    };
    users.iter().filter(is_behind).map(|user| Key::of(&*user.cluster).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cluster_is_ready_by_the_ready_of_its_release() {
        let cluster = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": {"name": "a", "namespace": "team", "uid": "a"},
            "spec": {"topology": {"classRef": {"name": "docker-demo-1-34-v2"}}},
        });
        let cluster: ClusterObject = serde_json::from_value(cluster).unwrap();
        let release = "docker-demo-1-34-v2".parse().unwrap();
        for (uid, desired, expected, why) in [
            ("a", "docker-demo-1-34-v2", true, "it reports this Cluster and release"),
            ("a", "docker-demo-1-34-v1", false, "the Cluster had another release"),
            ("b", "docker-demo-1-34-v2", false, "another Cluster had the name"),
        ] {
            let addon = json!({
                "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddon",
                "metadata": {"name": "cluster-addon-a", "namespace": "team"},
                "spec": {"clusterRef": {"name": "a", "uid": uid}},
                "status": {"release": {"desired": desired}},
            });
            let addon = serde_json::from_value(addon).unwrap();
            assert_eq!(ready(&addon, &cluster, &release).is_some(), expected, "{why}");
        }
    }
}
