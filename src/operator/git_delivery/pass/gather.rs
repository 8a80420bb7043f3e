//! Gathers the facts about a pass.

use std::collections::BTreeSet;

use kube::ResourceExt as _;

use super::super::super::context::Context;
use super::super::super::objects::index;
use super::super::id_of;
use super::super::missing::Applied;
use super::super::pending_commits::Subject;
use super::super::progress::Fetched;
use super::{Facts, Kustomizations};
use crate::api::ClusterStack;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::{applier_of, cluster_of, committing_stack, is_applied_by_flux};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;

/// Gathers the facts about a pass. Asks the API server what Flux applied if the operator may commit.
#[expect(clippy::disallowed_methods, reason = "gather takes the time once")]
pub(super) async fn gather<'a>(
    context: &Context,
    key: &'a Key,
    stack: Option<&'a ClusterStack>,
) -> Result<Facts<'a>, RequestError> {
    let git = stack.and_then(|stack| stack.spec.delivery.git());
    let may_write = stack.is_some_and(|stack| !stack.spec.suspend) && context.api.may_write();
    let is_active = git.is_some() && may_write;
    let (kustomizations, sources) =
        if is_active { kustomizations(context, key).await? } else { <_>::default() };
    let (before, batch) = (context.git.progress.get(key), context.git.pending_commits.requested(key));
    let known = before.iter().flat_map(|before| before.fetched.keys().cloned());
    let fetched = fetched(context, sources.into_iter().chain(known).collect());
    let applied = if is_active && !batch.is_empty() { applied(context, key) } else { Applied::new() };
    Ok(Facts {
        now: context.clock.now(),
        key,
        git,
        may_write,
        before,
        batch,
        kustomizations,
        fetched,
        applied,
    })
}

/// Returns the objects that Flux applied from the repository, according to the labels of those in the cache.
fn applied(context: &Context, stack: &Key) -> Applied {
    let caches = &context.caches;
    let of = |owner: &str, kinds: &[FluxKind], subject: Subject| {
        let applied = caches.flux.by_index(kinds, owner);
        let applied = applied.into_iter().filter(|found| is_applied_by_flux(&found.object));
        applied.map(move |found| (id_of(&*found, &found.kind()), subject.clone())).collect::<Vec<_>>()
    };
    let releases = caches.releases.by_index(&index::owned_by("ClusterStack", stack)).into_iter();
    let shared = releases.flat_map(|release| {
        let owner = index::owned_by("ClusterStackRelease", &Key::of(&*release));
        of(&owner, &FluxKind::ALL, Subject::Release(release.name_any()))
    });
    let addons = caches.addons.all().into_iter();
    let addons = addons.filter(|addon| committing_stack(addon).as_ref() == Some(stack));
    let of_clusters = addons.flat_map(|addon| {
        let owner = index::owned_by("ClusterAddon", &Key::of(&*addon));
        of(&owner, &FluxKind::DELIVERING, Subject::Cluster(cluster_of(&addon)))
    });
    shared.chain(of_clusters).collect()
}

/// Returns the Flux `Kustomization`s that apply what the Clusters of a `ClusterStack` share, according to the labels of the
/// applied objects, each with the last revision that it applied, and their sources.
async fn kustomizations(
    context: &Context,
    stack: &Key,
) -> Result<(Kustomizations, BTreeSet<Key>), RequestError> {
    let caches = &context.caches;
    let owners = caches.releases.by_index(&index::owned_by("ClusterStack", stack)).into_iter();
    let owners = owners.map(|release| index::owned_by("ClusterStackRelease", &Key::of(&*release)));
    // The sources may be in another namespace, and the class may not exist yet.
    let kinds = [FluxKind::GitRepository, FluxKind::HelmRelease];
    let objects = owners.flat_map(|owner| caches.flux.by_index(&kinds, &owner));
    let keys = objects.filter_map(|found| applier_of(&found.object));
    let (mut kustomizations, mut sources) = (Kustomizations::new(), BTreeSet::new());
    for key in keys.collect::<BTreeSet<Key>>() {
        let found: Option<FluxObject> = context.api.get_dynamic(&key, &FluxKind::Kustomization).await?;
        sources.extend(found.as_ref().map(FluxObject::source));
        let revision = found.and_then(|found| found.status.applied_revision().map(str::to_owned));
        kustomizations.insert(key, revision);
    }
    Ok((kustomizations, sources))
}

/// Returns the revisions that Flux fetched last, of the `GitRepository`s that the cache has.
fn fetched(context: &Context, repositories: BTreeSet<Key>) -> Fetched {
    let revision = |key: Key| {
        let found = context.caches.flux.get(FluxKind::GitRepository, &key)?;
        Some((key, found.status.artifact()?.revision.clone()))
    };
    repositories.into_iter().filter_map(revision).collect()
}
