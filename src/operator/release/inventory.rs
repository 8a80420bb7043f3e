//! The objects of a release, and the objects that other cluster classes have too.

use std::sync::Arc;

use kube::ResourceExt as _;
use kube::core::ApiResource;

use super::super::context::Context;
use super::super::objects::index;
use super::super::write;
use crate::api::ClusterStackRelease;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::inputs::line::Line;
use crate::names::ReleaseName;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::subscription::{self, Inventory, InventoryFacts, kinds_of_users, refers_to};

/// Returns all objects that were made from a release.
pub(super) fn inventory(context: &Context, release: &ClusterStackRelease, name: &ReleaseName) -> Inventory {
    let caches = &context.caches;
    let mut others = caches.releases.all();
    others.retain(|other| other.uid() != release.uid());
    let index_key = index::owned_by("ClusterStackRelease", &Key::of(release));
    let owned = caches.flux.by_index(&FluxKind::ALL, &index_key);
    subscription::inventory(InventoryFacts {
        release,
        line: line(context, release, name),
        others: &others,
        owned: owned.iter().map(|object| (object.kind(), Key::of(&**object))).collect(),
        objects: &caches.flux.all(&FluxKind::ALL),
    })
}

/// Returns the line of the `ClusterStack` that owns the release, or that of the release's name if the `ClusterStack` does
/// not exist.
fn line(context: &Context, release: &ClusterStackRelease, name: &ReleaseName) -> Line {
    let stack = release.stack_key().and_then(|key| context.caches.stacks.get(&key));
    stack.map_or_else(|| Line::of(name), |stack| Line::of_stack(&stack.spec))
}

/// Describes an object of the cluster class that another class of the namespace has too, according to the caches. No
/// deletion depends on the result; see [`shared_object_now`].
pub(super) fn shared_object(context: &Context, release: &ClusterStackRelease) -> Option<String> {
    let class =
        |release: &ClusterStackRelease| context.caches.flux.get(FluxKind::HelmRelease, &Key::of(release));
    let ours = class(release)?;
    others(context, release).iter().find_map(|other| {
        let (ours, theirs) = (ours.status.inventory()?, class(other)?);
        subscription::shared_object(ours, theirs.status.inventory()?, &other.name_any())
    })
}

/// Like [`shared_object`], according to the API server. `None` if the class does not exist or is being deleted.
pub(super) async fn shared_object_now(
    context: &Context,
    release: &ClusterStackRelease,
) -> Result<Option<String>, RequestError> {
    let (kind, key) = (FluxKind::HelmRelease, Key::of(release));
    if context.caches.flux.get(kind, &key).is_none_or(|class| class.metadata.terminating) {
        return Ok(None);
    }
    let Some(ours) = write::present(context, kind, &key).await? else { return Ok(None) };
    let Some(ours) = ours.status.inventory().filter(|ours| !ours.is_empty()) else { return Ok(None) };
    for other in others(context, release) {
        let Some(theirs) = write::present(context, kind, &Key::of(&*other)).await? else { continue };
        let theirs = theirs.status.inventory();
        let shared = theirs.and_then(|theirs| subscription::shared_object(ours, theirs, &other.name_any()));
        if shared.is_some() {
            return Ok(shared);
        }
    }
    Ok(None)
}

/// Whether an object of the API server refers to a source or chart: a watch alone does not prove that nothing does.
pub(super) async fn is_used(context: &Context, source: &FluxObject) -> Result<bool, RequestError> {
    let namespace = source.namespace().unwrap_or_default();
    let only = (!context.settings.watch.all_namespaces).then_some(namespace.as_str());
    for kind in kinds_of_users() {
        let resource = ApiResource::erase::<FluxObject>(&kind);
        if context.api.any_listed(only, &resource, |user| refers_to(&user, kind, source)).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the other releases of the namespace.
fn others(context: &Context, release: &ClusterStackRelease) -> Vec<Arc<ClusterStackRelease>> {
    let mut others = context.caches.releases.all();
    others.retain(|other| other.namespace() == release.namespace() && other.uid() != release.uid());
    others
}
