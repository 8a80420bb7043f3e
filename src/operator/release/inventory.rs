//! The objects of a release, and the objects that other cluster classes have too.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt as _;

use super::super::context::Context;
use super::super::objects::index;
use super::super::ownership;
use crate::api::ClusterStackRelease;
use crate::inputs::line::Line;
use crate::names::ReleaseName;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Cache, Cached, Key};
use crate::subscription::{self, Inventory, InventoryFacts};

/// Returns all objects that were made from a release.
pub(super) fn inventory(context: &Context, release: &ClusterStackRelease, name: &ReleaseName) -> Inventory {
    let caches = &context.caches;
    let mut others = caches.releases.all();
    others.retain(|other| other.uid() != release.uid());
    let index_key = index::owned_by("ClusterStackRelease", &Key::of(release));
    let owned = Inventory {
        helm_releases: owned(&caches.helm_releases, &index_key),
        kustomizations: owned(&caches.kustomizations, &index_key),
        helm_charts: owned(&caches.helm_charts, &index_key),
        git_repositories: owned(&caches.git_repositories, &index_key),
        namespaces: BTreeSet::new(),
    };
    subscription::inventory(InventoryFacts {
        release,
        line: line(context, release, name),
        others: &others,
        owned,
        helm_releases: &caches.helm_releases.all(),
        kustomizations: &caches.kustomizations.all(),
        helm_charts: &caches.helm_charts.all(),
        git_repositories: &caches.git_repositories.all(),
    })
}

fn owned<K: Cached>(cache: &Cache<K>, owner: &str) -> BTreeSet<Key> {
    cache.by_index(owner).iter().map(|object| Key::of(&**object)).collect()
}

/// Returns the line of the `ClusterStack` that owns the release, or that of the release's name if the `ClusterStack` does
/// not exist.
fn line(context: &Context, release: &ClusterStackRelease, name: &ReleaseName) -> Line {
    let key =
        release.stack_owner().map(|owner| Key::new(&release.namespace().unwrap_or_default(), &owner.name));
    let stack = key.and_then(|key| context.caches.stacks.get(&key));
    stack.map_or_else(|| Line::of(name), |stack| Line::of_stack(&stack.spec))
}

/// Describes an object of the cluster class that another class of the namespace has too, according to the caches. No
/// deletion depends on the result; see [`shared_object_now`].
pub(super) fn shared_object(context: &Context, release: &ClusterStackRelease) -> Option<String> {
    let class = |release: &ClusterStackRelease| context.caches.helm_releases.get(&Key::of(release));
    let ours = class(release)?;
    let ours = &ours.status.inventory.entries;
    others(context, release).iter().find_map(|other| {
        subscription::shared_object(ours, &class(other)?.status.inventory.entries, &other.name_any())
    })
}

/// Like [`shared_object`], according to the API server. `None` if the class does not exist or is being deleted.
pub(super) async fn shared_object_now(
    context: &Context,
    release: &ClusterStackRelease,
) -> Result<Option<String>, RequestError> {
    let cache = &context.caches.helm_releases;
    if cache.get(&Key::of(release)).is_none_or(|class| class.metadata.terminating) {
        return Ok(None);
    }
    let Some(ours) = ownership::present(context, cache, &Key::of(release)).await? else { return Ok(None) };
    let ours = &ours.status.inventory.entries;
    for other in others(context, release).iter().filter(|_| !ours.is_empty()) {
        let Some(theirs) = ownership::present(context, cache, &Key::of(&**other)).await? else { continue };
        let theirs = &theirs.status.inventory.entries;
        if let Some(shared) = subscription::shared_object(ours, theirs, &other.name_any()) {
            return Ok(Some(shared));
        }
    }
    Ok(None)
}

/// Returns the other releases of the namespace.
fn others(context: &Context, release: &ClusterStackRelease) -> Vec<Arc<ClusterStackRelease>> {
    let mut others = context.caches.releases.all();
    others.retain(|other| other.namespace() == release.namespace() && other.uid() != release.uid());
    others
}
