//! Handles a deleted `ClusterStack`: keeps it while Clusters use it, orphans it if its annotation requires that, and
//! otherwise deletes it after its releases. Releases that another `ClusterStack` keeps are left to that one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt as _;
use tracing::info;

use super::super::annotations::annotate;
use super::super::context::Context;
use super::super::enqueue::on_release_event;
use super::super::reconcile::ReconcileError;
use super::super::release::{live_owners, users};
use super::super::{cluster, finalizer, status, write};
use super::{releases, source};
use crate::api::{ClusterStack, ClusterStackRelease, labels};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::names::ReleaseName;
use crate::rollup::deleted_stack;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Change, Key};
use crate::runtime::queue::Next;
use crate::subscription::{Deletion, DeletionFacts, decide_deletion, is_orphaned, keeper};

/// Delay before checking again whether the `ClusterStack` can be deleted.
pub(super) const REQUEUE_AFTER: Duration = Duration::from_secs(10);
/// The same delay while the addons of its Clusters are being orphaned.
const REQUEUE_ORPHANS_AFTER: Duration = Duration::from_secs(1);

/// The objects of a deleted `ClusterStack`.
#[derive(Default)]
struct Owned {
    releases: BTreeMap<ReleaseName, Arc<ClusterStackRelease>>,
    sources: Vec<Arc<FluxObject>>,
}

/// Deletes a deleted `ClusterStack`, or maintains it while there is a reason to keep it.
pub(super) async fn delete(
    context: &Context,
    key: &Key,
    stack: Arc<ClusterStack>,
) -> Result<Next, ReconcileError> {
    let (facts, owned) = gather(context, &stack).await?;
    let now = context.clock.now();
    let deletion = decide_deletion(&facts);
    if let Deletion::Keep(hold) = deletion {
        return super::maintain(context, stack, Some(hold)).await;
    }
    let is_removed = act(context, &stack, &deletion)?;
    if let Some(message) = deletion.waits_for(is_removed) {
        status::write_deletion(context, &*stack, &deleted_stack(&stack, message, now)).await?;
    }
    Ok(prune(context, key, &stack, &owned, &deletion, is_removed).await?)
}

/// Gathers the facts about a deleted `ClusterStack`. Fetches from the API server what the deletion depends on.
async fn gather<'a>(
    context: &Context,
    stack: &'a ClusterStack,
) -> Result<(DeletionFacts<'a>, Owned), RequestError> {
    let mut facts = DeletionFacts {
        stack,
        live: None,
        releases: BTreeSet::new(),
        kept_by_others: BTreeSet::new(),
        clusters: BTreeSet::new(),
        last_used: None,
        not_orphaned: BTreeSet::new(),
    };
    if decide_deletion(&facts) != Deletion::Unconfirmed {
        return Ok((facts, Owned::default()));
    }
    facts.live = context.api.get(&Key::of(stack)).await?;
    // Read the releases after that request: one may have been created in between.
    let mut owned =
        Owned { releases: releases::owned(context, stack), sources: source::made(context, stack) };
    if decide_deletion(&facts) == Deletion::Unconfirmed {
        return Ok((facts, owned));
    }
    let namespace = stack.namespace().unwrap_or_default();
    let clusters = |facts: &DeletionFacts| -> BTreeSet<Key> {
        let deleted = facts.releases.difference(&facts.kept_by_others);
        let clusters = deleted.flat_map(|name| users::of(context, &namespace, name));
        clusters.map(|cluster| Key::of(&*cluster)).collect()
    };
    if !is_orphaned(stack) {
        // Most reconciles end here, with few requests.
        let shared = owned.releases.iter().filter(|(_, release)| release.stack_owners().count() > 1);
        facts.kept_by_others = kept_by_others(context, stack, shared).await?;
        facts.releases = owned.releases.keys().cloned().collect();
        facts.clusters = clusters(&facts);
        if !facts.clusters.is_empty() {
            return Ok((facts, owned));
        }
    }
    add_recorded(context, stack, &mut owned).await?;
    facts.releases = owned.releases.keys().cloned().collect();
    facts.kept_by_others = kept_by_others(context, stack, &owned.releases).await?;
    if is_orphaned(stack) {
        let orphaned = facts.releases.difference(&facts.kept_by_others);
        let left = orphaned.flat_map(|release| cluster::to_orphan(context, &namespace, release));
        facts.not_orphaned = left.collect();
        return Ok((facts, owned));
    }
    facts.clusters = clusters(&facts);
    let is_deleted = |name: &ReleaseName| facts.clusters.is_empty() && !facts.kept_by_others.contains(name);
    for (name, release) in owned.releases.iter().filter(|(name, _)| is_deleted(name)) {
        if users::any_user(context, release).await? {
            facts.last_used = Some(name.clone());
            break;
        }
    }
    Ok((facts, owned))
}

/// Adds the objects of a `ClusterStack` that its status names and the caches lack. A list may have been incomplete, and
/// what is not orphaned is deleted with the `ClusterStack`.
async fn add_recorded(
    context: &Context,
    stack: &ClusterStack,
    owned: &mut Owned,
) -> Result<(), RequestError> {
    let Some(status) = &stack.status else { return Ok(()) };
    let namespace = stack.namespace().unwrap_or_default();
    for release in &status.summary {
        let Some(name) = release.name.parse().ok().filter(|name| !owned.releases.contains_key(name)) else {
            continue;
        };
        let found: Option<ClusterStackRelease> =
            context.api.get(&Key::new(&namespace, &release.name)).await?;
        if let Some(release) = found.filter(|release| release.is_owned_by(stack)) {
            owned.releases.insert(name, Arc::new(release));
        }
    }
    let source = status.source.as_ref().and_then(|source| source.git_repository.split_once('/'));
    let source = source.map(|(namespace, name)| Key::new(namespace, name));
    if let Some(key) = source.filter(|key| owned.sources.iter().all(|known| Key::of(&**known) != *key)) {
        let found = context.api.get_dynamic::<FluxObject>(&key, &FluxKind::GitRepository).await?;
        owned.sources.extend(found.filter(|found| source::is_made_by(found, stack)).map(Arc::new));
    }
    Ok(())
}

/// Returns those releases of a `ClusterStack` that another one keeps, according to the API server.
async fn kept_by_others(
    context: &Context,
    stack: &ClusterStack,
    releases: impl IntoIterator<Item = (&ReleaseName, &Arc<ClusterStackRelease>)>,
) -> Result<BTreeSet<ReleaseName>, RequestError> {
    let mut kept = BTreeSet::new();
    for (name, release) in releases {
        let live: Option<ClusterStackRelease> = context.api.get(&Key::of(&**release)).await?;
        let is_other = |owner: &OwnerReference| Some(&owner.uid) != stack.metadata.uid.as_ref();
        // Most releases have no other owner.
        let Some(live) = live.filter(|live| live.stack_owners().any(is_other)) else { continue };
        let owners = live_owners(context, &live).await?;
        if keeper(&live, owners.iter().filter(|owner| owner.uid() != stack.uid())).is_some() {
            kept.insert(name.clone());
        }
    }
    Ok(kept)
}

/// Enqueues what has to precede the deletion: the reconciles of Clusters, and the removal of the source from the repository
/// of `delivery.git`. Returns whether that removal is complete or not needed.
fn act(context: &Context, stack: &ClusterStack, deletion: &Deletion) -> Result<bool, ReconcileError> {
    match deletion {
        Deletion::OrphanClusters(clusters) => {
            for cluster in clusters {
                context.triggers.clusters.now(cluster.clone());
            }
            Ok(true)
        }
        Deletion::DeleteSource { orphan: false } => Ok(source::remove_from_git(context, stack)?),
        _ => Ok(true),
    }
}

/// Deletes or leaves the releases of a `ClusterStack`, or deletes its source and then the `ClusterStack`.
async fn prune(
    context: &Context,
    key: &Key,
    stack: &Arc<ClusterStack>,
    owned: &Owned,
    deletion: &Deletion,
    is_removed: bool,
) -> Result<Next, RequestError> {
    let orphan = match deletion {
        Deletion::Finished => return Ok(Next::Await),
        Deletion::Unconfirmed | Deletion::Keep(_) => return Ok(Next::After(REQUEUE_AFTER)),
        Deletion::OrphanClusters(_) => return Ok(Next::After(REQUEUE_ORPHANS_AFTER)),
        Deletion::DeleteReleases { orphan, left, .. } => {
            for (name, release) in &owned.releases {
                if left.contains(name) {
                    leave_release(context, stack, release).await?;
                } else {
                    delete_release(context, release, *orphan).await?;
                }
            }
            return Ok(Next::After(REQUEUE_AFTER));
        }
        Deletion::DeleteSource { .. } if !is_removed => return Ok(Next::After(REQUEUE_AFTER)),
        Deletion::DeleteSource { orphan } => *orphan,
    };
    for repository in &owned.sources {
        if orphan {
            write::drop_owner(context, &**repository, stack.uid().as_deref(), &[]).await?;
        } else {
            write::delete(context, &**repository).await?;
        }
    }
    finalizer::remove(context, &**stack).await?;
    info!(orphan, "the ClusterStack is deleted");
    // Another ClusterStack may have waited for its releases.
    for other in context.caches.stacks.all() {
        if other.namespace().as_deref() == Some(&key.namespace) {
            context.triggers.stacks.now(Key::of(&*other));
        }
    }
    Ok(Next::Await)
}

/// Removes a `ClusterStack` from the owners of a release that another one keeps.
async fn leave_release(
    context: &Context,
    stack: &ClusterStack,
    release: &Arc<ClusterStackRelease>,
) -> Result<(), RequestError> {
    write::drop_owner(context, &**release, stack.uid().as_deref(), &[]).await?;
    info!(release = %Key::of(&**release), "left the release to its other owner");
    on_release_event(context, &Change { before: Some(release.clone()), now: None });
    Ok(())
}

/// Deletes a `ClusterStackRelease`, which orphans its objects if the `ClusterStack` does.
async fn delete_release(
    context: &Context,
    release: &Arc<ClusterStackRelease>,
    orphan: bool,
) -> Result<(), RequestError> {
    if orphan && !is_orphaned(&**release) {
        annotate(context, &**release, &[(labels::ON_DELETE, labels::ORPHAN)]).await?;
    }
    write::delete(context, &**release).await?;
    context.triggers.releases.now(Key::of(&**release));
    Ok(())
}
