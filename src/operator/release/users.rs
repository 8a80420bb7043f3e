//! The users of a release.

use std::sync::Arc;

use kube::ResourceExt as _;
use serde_json::Value;

use super::super::context::Context;
use super::super::objects::{ClusterObject, addon_key, index};
use crate::api::{ClusterAddon, ClusterStackRelease};
use crate::foreign::capi::Cluster;
use crate::names::ReleaseName;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Cache, Key};
use crate::subscription::{has_applied, has_class};

/// Returns the Clusters that have the class of a release.
pub(in super::super) fn of(
    context: &Context,
    namespace: &str,
    release: &ReleaseName,
) -> Vec<Arc<ClusterObject>> {
    context.caches.clusters.by_index(&index::class(namespace, &release.class_name()))
}

/// Whether a `ClusterAddon` reports that its cluster has or will have a release. A Cluster that moved to another release
/// and was not delivered to yet still has the charts of its old release, and so does one without a class. Such a release is
/// kept, but it is not created for this reason.
pub(in super::super) fn is_remembered(
    addons: &Cache<ClusterAddon>,
    namespace: &str,
    release: &ReleaseName,
) -> bool {
    let release = release.to_string();
    let has = |namespace| !addons.by_index(&index::remembers(namespace, &release)).is_empty();
    has(Some(namespace)) || has(None)
}

/// Whether a Cluster uses a release now. If no known one does, all Clusters are listed: no GET finds a new Cluster that a
/// stalled watch has not shown.
pub(in super::super) async fn any_user(
    context: &Context,
    release: &ClusterStackRelease,
) -> Result<bool, RequestError> {
    Ok(any_known_user(context, release).await? || any_listed_user(context, release).await?)
}

/// Whether a known Cluster uses a release now. A watch alone does not prove that a release is unused: its last users are
/// fetched from the API server.
pub(in super::super) async fn any_known_user(
    context: &Context,
    release: &ClusterStackRelease,
) -> Result<bool, RequestError> {
    let Ok(name) = release.name_any().parse::<ReleaseName>() else { return Ok(false) };
    let namespace = release.namespace().unwrap_or_default();
    if !of(context, &namespace, &name).is_empty() {
        return Ok(true);
    }
    let last = release.status.iter().flat_map(|status| &status.last_users);
    for (of, cluster) in last.filter_map(|user| user.split_once('/')) {
        if is_user(context, &Key::new(of, cluster), &namespace, &name).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a list of the API server has a Cluster with the class of a release. Only for a release that is about to be
/// deleted, with its class: no other reconcile lists anything.
pub(in super::super) async fn any_listed_user(
    context: &Context,
    release: &ClusterStackRelease,
) -> Result<bool, RequestError> {
    let Ok(name) = release.name_any().parse::<ReleaseName>() else { return Ok(false) };
    // Until the kind of Clusters is discovered, there may be users.
    let Some(kind) = context.cluster_resource() else { return Ok(true) };
    let namespace = release.namespace().unwrap_or_default();
    let only = (!context.settings.watch.all_namespaces).then_some(namespace.as_str());
    context.api.any_listed(only, kind, |cluster| may_use(cluster, &namespace, &name)).await
}

/// Whether a Cluster has the class of a release. One that cannot be read may have the class if it has the name anywhere.
fn may_use(cluster: Value, namespace: &str, release: &ReleaseName) -> bool {
    let text = cluster.to_string();
    text.contains(&release.class_name())
        && Cluster::new(cluster)
            .map_or(true, |cluster| has_class(cluster.class().as_ref(), namespace, release))
}

async fn is_user(
    context: &Context,
    cluster: &Key,
    namespace: &str,
    release: &ReleaseName,
) -> Result<bool, RequestError> {
    // Until the kind of Clusters is discovered, there may be users.
    let Some(kind) = context.cluster_resource() else { return Ok(true) };
    let found: Option<ClusterObject> = context.api.get_dynamic(cluster, kind).await?;
    let Some(found) = found else { return Ok(false) };
    if has_class(found.cluster.class().as_ref(), namespace, release) {
        return Ok(true);
    }
    let addon: Option<ClusterAddon> = context.api.get(&addon_key(cluster)).await?;
    Ok(has_applied(addon.as_ref(), namespace, release))
}

#[cfg(test)]
mod tests;
