//! Suspend-and-delete: nothing is uninstalled from a cluster that is deleted or was recreated, nor from the clusters of a
//! namespace that is being deleted.
//!
//! A suspended `HelmRelease` loses its finalizer without an uninstall. Therefore each object is suspended before it is
//! deleted, and the `ClusterAddon` that owns them keeps its finalizer until then: garbage collection would delete them
//! without suspending them.
//!
//! The namespace controller begins to delete the objects of a namespace five seconds after the namespace is marked (its
//! `namespaceDeletionGracePeriod`), so a running operator suspends them first. If the operator does not run in that time,
//! it still suspends what Flux has not uninstalled by then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::core::{ApiResource, DynamicObject};
use tracing::{info, warn};

use super::super::context::Context;
use super::super::git_delivery::pending_commits::{Change, CommitState, Subject};
use super::super::git_delivery::{commit, forget_cluster};
use super::super::metrics::Queue;
use super::super::objects::{ClusterObject, committing_stack, index};
use super::super::reconcile::ReconcileError;
use super::super::{events, finalizer, status, write};
use super::gather::Gathered;
use super::{act, flux_objects};
use crate::addons::{
    CommittedFiles, FileRemoval, LiveOwners, Pruner, Suppressed, Suppression, SuppressionFacts,
    committed_files, decide_suppression, deletion_cause, is_addon_deleted, is_cluster_deleted, is_reported,
    prune_hold, suppressed,
};
use crate::api::{ClusterAddon, ClusterStack, Reason};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::applier_of;
use crate::gate::Hold;
use crate::rollup::deleted_cluster_addon;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;

/// Delay before checking the cause, or the deletion of the objects, again.
const REQUEUE_AFTER: Duration = Duration::from_secs(2);

/// Delay before asking again whether Flux still has to delete objects. Their deletion is an event.
const REQUEUE_UNPRUNED_AFTER: Duration = Duration::from_secs(30);

/// Suspends and deletes the objects of a Cluster's addons, once the API server confirms the cause.
pub(super) async fn suspend_and_delete(
    context: &Context,
    key: &Key,
    gathered: &Gathered,
) -> Result<Next, ReconcileError> {
    let Some(addon) = &gathered.addon else { return suspend_and_delete_left(context, key).await };
    let Some(why) = confirm(context, key, addon).await? else {
        warn!(
            "the cache has a deletion of the Cluster, its ClusterAddon or its namespace, but the API server does not \
             confirm that: nothing is deleted"
        );
        return Ok(Next::After(REQUEUE_AFTER));
    };
    // In a namespace that is being deleted, the namespace controller does not wait for the status.
    if !context.is_terminating(&key.namespace) {
        write_status(context, addon, &why, None).await?;
    }
    let repository = match files_of(context, addon).await? {
        CommittedFiles::Nowhere => None,
        CommittedFiles::InRepository { stack, is_suspended } => Some((stack, is_suspended)),
        CommittedFiles::InAnotherShard => return Ok(Next::After(REQUEUE_UNPRUNED_AFTER)),
        CommittedFiles::Unknown { stack } => {
            warn!(%stack, "the API server has the ClusterStack, and the cache does not: nothing is deleted yet");
            return Ok(Next::After(REQUEUE_AFTER));
        }
    };
    // Read the objects after the requests above: Flux or a user may have written an object in between.
    let objects = flux_objects::by_index(context, &index::owned_by("ClusterAddon", &Key::of(&**addon)));
    let mut suppression = decide_suppression(&SuppressionFacts {
        cluster: gathered.cluster.as_ref().map(|cluster| &cluster.cluster),
        addon,
        objects: &objects,
        has_files: repository.is_some(),
        is_namespace_terminating: context.is_terminating(&key.namespace),
    });
    if let Some(repository) = repository {
        suppression.objects = suspend_all(context, suppression.objects).await?;
        let (hold, next) = match remove_files(context, key, &repository) {
            None if suppression.files == FileRemoval::RemoveAndWait => {
                (awaits_prune(context, addon).await?, REQUEUE_UNPRUNED_AFTER)
            }
            hold => (hold, REQUEUE_AFTER),
        };
        if let Some(hold) = hold {
            write_status(context, addon, &why, Some(&hold)).await?;
            return Ok(Next::After(next));
        }
    }
    prune(context, key, addon, &suppression).await
}

/// Deletes the objects, then removes the finalizer of the `ClusterAddon` if the API server confirms that it owns no others.
async fn prune(
    context: &Context,
    key: &Key,
    addon: &Arc<ClusterAddon>,
    suppression: &Suppression,
) -> Result<Next, ReconcileError> {
    let count = delete_all(context, &suppression.objects).await?;
    if count > 0 {
        let note = format!("suspended and deleted {count} Flux objects: nothing is uninstalled");
        events::normal(context, &**addon, Reason::Deleting, &note).await;
    }
    if flux_objects::owns_any(context, addon, &suppression.to_confirm).await? {
        return Ok(Next::After(REQUEUE_AFTER));
    }
    finalizer::remove(context, &**addon).await?;
    if suppression.deletes_addon {
        write::delete(context, &**addon).await?;
    }
    forget_cluster(context, key);
    info!(objects = count, "suspended and deleted the Flux objects of the addons: nothing is uninstalled");
    context.metrics.remove(Queue::Cluster, &key.to_string());
    // The Cluster may stay for long because of the finalizer of another controller.
    let left = context.caches.addons.get(&Key::of(&**addon));
    left.iter()
        .filter_map(|left| left.status.as_ref())
        .for_each(|status| context.metrics.reported(&key.to_string(), status));
    Ok(if suppression.is_recreated { Next::After(REQUEUE_AFTER) } else { Next::Await })
}

/// Returns the place of a Cluster's files. Asks the API server for a `ClusterStack` that the cache lacks.
async fn files_of(context: &Context, addon: &ClusterAddon) -> Result<CommittedFiles, RequestError> {
    let committing = committing_stack(addon);
    let cached = committing.as_ref().and_then(|stack| context.caches.stacks.get(stack));
    let live: Option<ClusterStack> = match &committing {
        Some(stack) if cached.is_none() => context.api.get(stack).await?,
        _ => None,
    };
    Ok(committed_files(committing.as_ref(), cached.as_deref(), live.as_ref(), context.is_sharded()))
}

/// Suspends and deletes the objects that a `ClusterAddon` left to the next one, if the Cluster is deleted before that
/// exists.
async fn suspend_and_delete_left(context: &Context, key: &Key) -> Result<Next, ReconcileError> {
    let Some(kind) = context.cluster_resource() else { return Ok(Next::After(REQUEUE_AFTER)) };
    let live: Option<ClusterObject> = context.api.get_dynamic(key, kind).await?;
    let is_confirmed = is_cluster_deleted(live.as_ref().map(|live| &live.cluster))
        || is_namespace_terminating(context, &key.namespace).await?;
    if !is_confirmed {
        return Ok(Next::After(REQUEUE_AFTER));
    }
    let objects = flux_objects::by_index(context, &index::handed_over(key));
    let count = delete_all(context, &suppressed(&objects)).await?;
    info!(objects = count, "suspended and deleted the Flux objects of the addons: nothing is uninstalled");
    Ok(Next::Await)
}

/// Removes a Cluster's files from the repository that Flux applies. Returns the hold until the removal is committed,
/// because it is forgotten once the `ClusterAddon` is deleted. Flux then deletes the objects, all of which are suspended.
fn remove_files(context: &Context, key: &Key, (stack, is_suspended): &(Key, bool)) -> Option<Hold> {
    let requester = (Queue::Cluster, key.clone());
    match commit(context, stack, Subject::Cluster(key.clone()), Change::Gone, requester) {
        CommitState::Committed => None,
        _ if *is_suspended => {
            let message = format!(
                "ClusterStack {stack} is suspended: the Cluster's files are not removed from the repository"
            );
            Some(Hold { reason: Reason::Suspended, message })
        }
        state => Some(act::commit_hold(&state)),
    }
}

/// Returns the hold while Flux still has to delete the objects of a `ClusterAddon` before the next one is created.
async fn awaits_prune(context: &Context, addon: &ClusterAddon) -> Result<Option<Hold>, RequestError> {
    let objects = flux_objects::by_index(context, &index::owned_by("ClusterAddon", &Key::of(addon)));
    let keys: BTreeSet<Key> = objects.iter().filter_map(|object| applier_of(&object.object)).collect();
    let resource = ApiResource::erase::<FluxObject>(&FluxKind::Kustomization);
    let mut pruners = BTreeMap::new();
    for key in keys {
        let live: Option<DynamicObject> = context.api.get_dynamic(&key, &resource).await?;
        pruners.extend(live.map(|live| (key, Pruner::of(&live.data))));
    }
    Ok(prune_hold(&objects, &pruners))
}

/// Reports in the status why the objects are deleted, and what the deletion waits for. A failed write does not stop the
/// deletion.
async fn write_status(
    context: &Context,
    addon: &ClusterAddon,
    why: &Hold,
    waits_for: Option<&Hold>,
) -> Result<(), RequestError> {
    let Some(addon) = context.caches.addons.get(&Key::of(addon)) else { return Ok(()) };
    let generation = addon.metadata.generation.unwrap_or_default();
    let old = addon.status.clone().unwrap_or_default();
    if waits_for.is_none() && is_reported(&old, why) {
        return Ok(());
    }
    let status = deleted_cluster_addon(why, waits_for, &old, generation, context.clock.now());
    status::write_deletion(context, &*addon, &status).await
}

/// Confirms with the API server why the objects are deleted; `None` if it confirms no cause. The namespace and the
/// `ClusterAddon` are only fetched if the cache has their deletion.
async fn confirm(context: &Context, key: &Key, addon: &ClusterAddon) -> Result<Option<Hold>, RequestError> {
    let Some(kind) = context.cluster_resource() else { return Ok(None) };
    let cluster: Option<ClusterObject> = context.api.get_dynamic(key, kind).await?;
    let cluster = cluster.as_ref().map(|cluster| &cluster.cluster);
    let live = LiveOwners { cluster, is_namespace_terminating: false, is_addon_deleted: false };
    if let Some(why) = deletion_cause(addon, &live) {
        return Ok(Some(why));
    }
    if context.is_terminating(&key.namespace) && is_namespace_terminating(context, &key.namespace).await? {
        return Ok(deletion_cause(addon, &LiveOwners { is_namespace_terminating: true, ..live }));
    }
    let is_addon_deleted = addon.metadata.deletion_timestamp.is_some()
        && is_addon_deleted(addon, context.api.get(&Key::of(addon)).await?.as_ref());
    Ok(deletion_cause(addon, &LiveOwners { is_addon_deleted, ..live }))
}

async fn is_namespace_terminating(context: &Context, namespace: &str) -> Result<bool, RequestError> {
    let now: Option<Namespace> = context.api.get(&Key::new("", namespace)).await?;
    Ok(now.is_none_or(|now| now.metadata.deletion_timestamp.is_some()))
}

/// Suspends objects, and returns those that exist as they are then.
async fn suspend_all(context: &Context, objects: Vec<Suppressed>) -> Result<Vec<Suppressed>, RequestError> {
    let mut suspended = Vec::new();
    for target in objects {
        let object = flux_objects::suspend(context, &target.object).await?;
        suspended.extend(object.map(|object| Suppressed { object, ..target }));
    }
    Ok(suspended)
}

/// Suspends and deletes objects, and returns the number of deletions.
async fn delete_all(context: &Context, objects: &[Suppressed]) -> Result<usize, RequestError> {
    let mut count = 0;
    for Suppressed { object, deletes, is_counted } in objects {
        let Some(object) = flux_objects::suspend(context, object).await? else { continue };
        if *deletes {
            write::delete(context, &*object).await?;
            count += usize::from(*is_counted);
        }
    }
    Ok(count)
}
