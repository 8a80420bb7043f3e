//! Who uses a release.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt as _;

use super::super::cache::Key;
use super::super::cluster::addon_key;
use super::super::objects::{ClusterObject, term};
use super::super::routes::cluster_of;
use super::super::world::World;
use crate::api::{ClusterAddon, ClusterStackRelease};
use crate::foreign::capi::ClassReference;
use crate::names::ReleaseName;
use crate::sink::cluster::RequestError;

/// The Clusters that have the class of a release.
pub(in super::super) fn of(world: &World, namespace: &str, release: &ReleaseName) -> Vec<Arc<ClusterObject>> {
    world.caches.clusters.find(&term::class(namespace, &release.class_name()))
}

/// The releases that `ClusterAddon`s name for classes of a namespace: a Cluster that was moved and not delivered to yet has
/// the charts of its old release.
pub(in super::super) fn named_by_addons(world: &World, namespace: &str) -> BTreeSet<ReleaseName> {
    let mut named = BTreeSet::new();
    for addon in world.caches.addons.all() {
        let Some(progress) = addon.status.as_ref().and_then(|status| status.release.as_ref()) else {
            continue;
        };
        let cluster = world.caches.clusters.get(&cluster_of(&addon));
        let class = cluster.and_then(|cluster| cluster.cluster.class());
        if class.is_none_or(|class| class.namespace == namespace) {
            let releases = [&progress.applied, &progress.desired].into_iter().flatten();
            named.extend(releases.filter_map(|name| name.parse::<ReleaseName>().ok()));
        }
    }
    named
}

/// Whether one of the Clusters that used a release last uses it still, as the API server says now: a watch alone is no
/// proof that nobody does.
pub(in super::super) async fn any_last_user(
    world: &World,
    release: &ClusterStackRelease,
) -> Result<bool, RequestError> {
    let Ok(name) = release.name_any().parse::<ReleaseName>() else { return Ok(false) };
    let namespace = release.namespace().unwrap_or_default();
    for user in release.status.iter().flat_map(|status| &status.last_users) {
        let Some((of, cluster)) = user.split_once('/') else { continue };
        if is_user(world, &Key::new(of, cluster), &namespace, &name).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn is_user(
    world: &World,
    cluster: &Key,
    namespace: &str,
    release: &ReleaseName,
) -> Result<bool, RequestError> {
    // Before it is known how Clusters are called nobody can say that there are none.
    let Some(kind) = world.cluster_kind() else { return Ok(true) };
    let found: Option<ClusterObject> = world.api.get_dynamic(cluster, kind).await?;
    let Some(found) = found else { return Ok(false) };
    let class = release.class_name();
    let is_its = |found: &ClassReference| (found.namespace.as_str(), &found.name) == (namespace, &class);
    if found.cluster.class().is_some_and(|found| is_its(&found)) {
        return Ok(true);
    }
    let addon: Option<ClusterAddon> = world.api.get(&addon_key(cluster)).await?;
    let progress = addon.and_then(|addon| addon.status?.release);
    Ok(progress.is_some_and(|progress| progress.applied.as_ref() == Some(&release.to_string())))
}
