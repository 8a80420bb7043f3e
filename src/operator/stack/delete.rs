//! Handles a deleted `ClusterStack`: keeps it while Clusters use it, orphans it if its annotation requires that, and
//! otherwise deletes it after its releases.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt as _;
use tracing::info;

use super::super::annotations::annotate;
use super::super::context::Context;
use super::super::reconcile::ReconcileError;
use super::super::release::users;
use super::super::{cluster, finalizer, ownership, status};
use super::{releases, source};
use crate::api::{ClusterStack, ClusterStackRelease, labels};
use crate::foreign::flux::observed::GitRepository;
use crate::names::ReleaseName;
use crate::rollup::deleted_stack;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;
use crate::subscription::{Deletion, DeletionFacts, decide_deletion, is_orphaned};

/// Delay before checking again whether the `ClusterStack` can be deleted.
pub(super) const REQUEUE_AFTER: Duration = Duration::from_secs(10);
/// The same delay while the addons of its Clusters are being orphaned.
const REQUEUE_ORPHANS_AFTER: Duration = Duration::from_secs(1);

/// The objects of a deleted `ClusterStack`.
#[derive(Default)]
struct Owned {
    releases: BTreeMap<ReleaseName, Arc<ClusterStackRelease>>,
    sources: Vec<Arc<GitRepository>>,
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
        clusters: 0,
        last_used: None,
        not_orphaned: BTreeSet::new(),
    };
    if decide_deletion(&facts) != Deletion::Unconfirmed {
        return Ok((facts, Owned::default()));
    }
    facts.live = context.api.get(&Key::of(stack)).await?;
    // Read the releases after that request: one may have been created in between.
    let owned = Owned { releases: releases::owned(context, stack), sources: source::made(context, stack) };
    facts.releases = owned.releases.keys().cloned().collect();
    if decide_deletion(&facts) == Deletion::Unconfirmed {
        return Ok((facts, owned));
    }
    let namespace = stack.namespace().unwrap_or_default();
    if is_orphaned(stack) {
        let left = owned.releases.keys().flat_map(|release| cluster::to_orphan(context, &namespace, release));
        facts.not_orphaned = left.collect();
        return Ok((facts, owned));
    }
    facts.clusters = owned.releases.keys().map(|name| users::of(context, &namespace, name).len()).sum();
    for (name, release) in owned.releases.iter().filter(|_| facts.clusters == 0) {
        if users::any_last_user(context, release).await? {
            facts.last_used = Some(name.clone());
            break;
        }
    }
    Ok((facts, owned))
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

/// Deletes the releases of a `ClusterStack`, or its source and then the `ClusterStack`.
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
        Deletion::DeleteReleases { orphan, .. } => {
            for release in owned.releases.values() {
                delete_release(context, release, *orphan).await?;
            }
            return Ok(Next::After(REQUEUE_AFTER));
        }
        Deletion::DeleteSource { .. } if !is_removed => return Ok(Next::After(REQUEUE_AFTER)),
        Deletion::DeleteSource { orphan } => *orphan,
    };
    for repository in &owned.sources {
        let cache = &context.caches.git_repositories;
        if orphan {
            ownership::drop_owner(context, cache, repository, stack.uid().as_deref(), &[]).await?;
        } else {
            ownership::delete(context, cache, &**repository).await?;
        }
    }
    finalizer::remove(context, &context.caches.stacks, &**stack).await?;
    info!(orphan, "the ClusterStack is deleted");
    // Another ClusterStack may have waited for its releases.
    for other in context.caches.stacks.all() {
        if other.namespace().as_deref() == Some(&key.namespace) {
            context.triggers.stacks.now(Key::of(&*other));
        }
    }
    Ok(Next::Await)
}

/// Deletes a `ClusterStackRelease`, which orphans its objects if the `ClusterStack` does.
async fn delete_release(
    context: &Context,
    release: &Arc<ClusterStackRelease>,
    orphan: bool,
) -> Result<(), RequestError> {
    let cache = &context.caches.releases;
    if orphan && !is_orphaned(&**release) {
        annotate(context, cache, &**release, &[(labels::ON_DELETE, labels::ORPHAN)]).await?;
    }
    ownership::delete(context, cache, &**release).await?;
    context.triggers.releases.now(Key::of(&**release));
    Ok(())
}
