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

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::core::{ApiResource, DynamicObject};
use tracing::{info, warn};

use super::super::context::Context;
use super::super::enqueue::on_addon_status;
use super::super::git_delivery::pending_commits::{Change, CommitState, Subject};
use super::super::git_delivery::{commit, forget_cluster};
use super::super::metrics::Queue;
use super::super::objects::{ClusterObject, committing_stack, index};
use super::super::reconcile::ReconcileError;
use super::super::{events, finalizer, status, write};
use super::gather::Gathered;
use super::{act, flux_objects};
use crate::addons::{
    CommittedFiles, LiveOwners, Pruner, Suppressed, Suppression, SuppressionDecision, SuppressionFacts,
    committed_files, decide_suppression, deletion_cause, is_addon_deleted, is_cluster_deleted, is_reported,
    prune_hold, suppressed,
};
use crate::api::{ClusterAddon, ClusterStack, ClusterStackRelease, Reason};
use crate::foreign::capi::Cluster;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::applier_of;
use crate::gate::Hold;
use crate::rollup::deleted_cluster_addon;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{self, Key};
use crate::runtime::queue::Next;

/// Delay before checking the cause, or the deletion of the objects, again.
const REQUEUE_AFTER: Duration = Duration::from_secs(2);

/// Delay before asking again whether Flux still has to delete objects. Their deletion is an event.
const REQUEUE_UNPRUNED_AFTER: Duration = Duration::from_secs(30);

/// The facts about a Cluster whose objects are suspended and deleted.
struct Facts<'a> {
    key: &'a Key,
    cluster: Option<&'a Cluster>,
    addon: &'a Arc<ClusterAddon>,
    /// The cause that the API server confirms, if any.
    cause: Option<Hold>,
    files: CommittedFiles,
    objects: Vec<Arc<FluxObject>>,
    is_namespace_terminating: bool,
    now: Timestamp,
}

/// The results of the writes.
struct Receipts {
    /// The objects that exist, suspended.
    objects: Vec<Suppressed>,
    /// The state of the commit that removes the files, if there are any.
    removal: Option<CommitState>,
    /// The hold after that commit while Flux still has to delete objects, if the decision waits for that.
    unpruned: Option<Hold>,
}

/// Suspends and deletes the objects of a Cluster's addons, once the API server confirms the cause.
pub(super) async fn suspend_and_delete(
    context: &Context,
    key: &Key,
    gathered: &Gathered,
) -> Result<Next, ReconcileError> {
    let Some(addon) = &gathered.addon else { return suspend_and_delete_left(context, key).await };
    let facts = gather(context, key, gathered, addon).await?;
    let decision = decide(&facts);
    if report_cause(context, &facts).await? {
        return Ok(Next::After(Duration::ZERO));
    }
    let suppression = match decision {
        SuppressionDecision::Suppress(suppression) => suppression,
        SuppressionDecision::ByAnotherShard => return Ok(Next::After(REQUEUE_UNPRUNED_AFTER)),
        SuppressionDecision::UnknownFiles(stack) => {
            warn!(%stack, "the API server has the ClusterStack, and the cache does not: nothing is deleted yet");
            return Ok(Next::After(REQUEUE_AFTER));
        }
        SuppressionDecision::Unconfirmed => {
            warn!(
                "the cache has a deletion of the Cluster, its ClusterAddon or its namespace, but the API server does \
                 not confirm that: nothing is deleted"
            );
            return Ok(Next::After(REQUEUE_AFTER));
        }
    };
    let receipts = act(context, &facts, &suppression).await?;
    if let Some((hold, next)) = roll_up(&suppression, &receipts) {
        write_status(context, &facts, Some(&hold)).await?;
        return Ok(Next::After(next));
    }
    prune(context, &facts, &suppression, &receipts).await
}

/// Gathers the facts about a Cluster. Reads the objects after all requests: Flux or a user may have written one in between.
#[expect(clippy::disallowed_methods, reason = "gather takes the time once")]
async fn gather<'a>(
    context: &Context,
    key: &'a Key,
    gathered: &'a Gathered,
    addon: &'a Arc<ClusterAddon>,
) -> Result<Facts<'a>, RequestError> {
    let cause = match confirm(context, key, addon).await? {
        Some(cause) if is_replaced(context, addon).await? => {
            warn!(%cause.message, "the API server has another ClusterAddon of this name: nothing is deleted");
            None
        }
        cause => cause,
    };
    let files = match cause {
        Some(_) => files_of(context, addon).await?,
        None => CommittedFiles::Nowhere,
    };
    Ok(Facts {
        key,
        cluster: gathered.cluster.as_ref().map(|cluster| &cluster.cluster),
        addon,
        cause,
        files,
        objects: objects_of(context, addon),
        is_namespace_terminating: context.is_terminating(&key.namespace),
        now: context.clock.now(),
    })
}

/// Decides about the objects of a Cluster, its files and its `ClusterAddon`.
fn decide(facts: &Facts) -> SuppressionDecision {
    decide_suppression(&SuppressionFacts {
        cluster: facts.cluster,
        addon: facts.addon,
        cause: facts.cause.as_ref(),
        objects: &facts.objects,
        files: &facts.files,
        is_namespace_terminating: facts.is_namespace_terminating,
    })
}

/// Reports the cause, once. Returns whether the status is written: the next reconcile reads the objects again, because Flux
/// or a user may have written one in between. In a namespace that is being deleted, the namespace controller does not wait
/// for the status.
async fn report_cause(context: &Context, facts: &Facts<'_>) -> Result<bool, RequestError> {
    let Some(cause) = facts.cause.as_ref().filter(|_| !facts.is_namespace_terminating) else {
        return Ok(false);
    };
    if facts.addon.status.as_ref().is_some_and(|status| is_reported(status, cause)) {
        return Ok(false);
    }
    Ok(write_status(context, facts, None).await?.is_some())
}

/// Suspends the objects, requests the removal of the Cluster's files, and looks what Flux still has to delete after it.
async fn act(
    context: &Context,
    facts: &Facts<'_>,
    suppression: &Suppression,
) -> Result<Receipts, RequestError> {
    let objects = suspend_all(context, &suppression.objects).await?;
    let removal = suppression.files.as_ref().map(|files| {
        let (subject, requester) = (Subject::Cluster(facts.key.clone()), (Queue::Cluster, facts.key.clone()));
        commit(context, &files.stack, subject, Change::Gone, requester)
    });
    let awaits_prune = suppression.files.as_ref().is_some_and(|files| files.awaits_prune);
    let unpruned = match removal {
        Some(CommitState::Committed) if awaits_prune => unpruned(context, facts.addon).await?,
        _ => None,
    };
    Ok(Receipts { objects, removal, unpruned })
}

/// Returns the hold of the deletion, if any, and when to look again: the removal of the files is forgotten once the
/// `ClusterAddon` is deleted, so it is committed before.
fn roll_up(suppression: &Suppression, receipts: &Receipts) -> Option<(Hold, Duration)> {
    let (files, state) = suppression.files.as_ref().zip(receipts.removal.as_ref())?;
    match state {
        CommitState::Committed => receipts.unpruned.clone().map(|hold| (hold, REQUEUE_UNPRUNED_AFTER)),
        _ if files.is_suspended => {
            let message = format!(
                "ClusterStack {} is suspended: the Cluster's files are not removed from the repository",
                files.stack
            );
            Some((Hold { reason: Reason::Suspended, message }, REQUEUE_AFTER))
        }
        state => Some((act::commit_hold(state), REQUEUE_AFTER)),
    }
}

/// Deletes the objects, then removes the finalizer of the `ClusterAddon` if the API server confirms that it owns no others.
async fn prune(
    context: &Context,
    facts: &Facts<'_>,
    suppression: &Suppression,
    receipts: &Receipts,
) -> Result<Next, ReconcileError> {
    let (key, addon) = (facts.key, facts.addon);
    let count = delete_all(context, &receipts.objects).await?;
    if count > 0 {
        let note = format!("suspended and deleted {count} Flux objects: nothing is uninstalled");
        events::normal(context, &**addon, Reason::Deleting, &note).await;
    }
    let to_confirm = if suppression.lists_owned {
        flux_objects::listed(context, addon).await?
    } else {
        suppression.to_confirm.clone()
    };
    if flux_objects::owns_any(context, addon, &to_confirm).await? {
        return Ok(Next::After(REQUEUE_AFTER));
    }
    finalizer::remove(context, &**addon).await?;
    if suppression.deletes_addon {
        write::delete(context, &**addon).await?;
    }
    on_addon_status(context, &cache::Change { before: Some(addon.clone()), now: None });
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

/// Returns the objects that a `ClusterAddon` owns according to the cache.
fn objects_of(context: &Context, addon: &ClusterAddon) -> Vec<Arc<FluxObject>> {
    flux_objects::by_index(context, &index::owned_by("ClusterAddon", &Key::of(addon)))
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
    let suspended = suspend_all(context, &suppressed(&objects)).await?;
    let count = delete_all(context, &suspended).await?;
    info!(objects = count, "suspended and deleted the Flux objects of the addons: nothing is uninstalled");
    Ok(Next::Await)
}

/// Returns the hold while Flux still has to delete objects of a `ClusterAddon` before the next one is created.
async fn unpruned(context: &Context, addon: &ClusterAddon) -> Result<Option<Hold>, RequestError> {
    let objects = objects_of(context, addon);
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
/// deletion. Returns the `ClusterAddon` with the written status, if it changed.
async fn write_status(
    context: &Context,
    facts: &Facts<'_>,
    waits_for: Option<&Hold>,
) -> Result<Option<Arc<ClusterAddon>>, RequestError> {
    let Some(cause) = &facts.cause else { return Ok(None) };
    let generation = facts.addon.metadata.generation.unwrap_or_default();
    let old = facts.addon.status.clone().unwrap_or_default();
    let status = deleted_cluster_addon(cause, waits_for, &old, generation, facts.now);
    status::write_deletion(context, &**facts.addon, &status).await
}

/// Confirms with the API server why the objects are deleted; `None` if it confirms no cause. The namespace and the
/// `ClusterAddon` are only fetched if the cache has their deletion.
async fn confirm(context: &Context, key: &Key, addon: &ClusterAddon) -> Result<Option<Hold>, RequestError> {
    let Some(kind) = context.cluster_resource() else { return Ok(None) };
    let cluster: Option<ClusterObject> = context.api.get_dynamic(key, kind).await?;
    let cluster = cluster.as_ref().map(|cluster| &cluster.cluster);
    let live = LiveOwners {
        cluster,
        is_namespace_terminating: false,
        is_addon_deleted: false,
        is_heir_unseen: false,
    };
    if let Some(why) = deletion_cause(addon, &live) {
        return Ok(Some(why));
    }
    if context.is_terminating(&key.namespace) && is_namespace_terminating(context, &key.namespace).await? {
        return Ok(deletion_cause(addon, &LiveOwners { is_namespace_terminating: true, ..live }));
    }
    let is_addon_deleted = addon.metadata.deletion_timestamp.is_some()
        && is_addon_deleted(addon, context.api.get(&Key::of(addon)).await?.as_ref());
    let is_heir_unseen = is_addon_deleted && is_heir_unseen(context, key, cluster).await?;
    Ok(deletion_cause(addon, &LiveOwners { is_addon_deleted, is_heir_unseen, ..live }))
}

/// Whether the API server has another `ClusterAddon` of the same name, which a list did not have: the objects are that one's.
async fn is_replaced(context: &Context, addon: &ClusterAddon) -> Result<bool, RequestError> {
    let live: Option<ClusterAddon> = context.api.get(&Key::of(addon)).await?;
    let Some(live) = live.filter(|live| live.metadata.uid != addon.metadata.uid) else { return Ok(false) };
    context.caches.addons.fetched(live);
    Ok(true)
}

/// Whether the API server has a Cluster, or the release of its class, that the cache lacks: a list may have lacked it.
async fn is_heir_unseen(
    context: &Context,
    key: &Key,
    cluster: Option<&Cluster>,
) -> Result<bool, RequestError> {
    if cluster.is_some() && context.caches.clusters.get(key).is_none() {
        return Ok(true);
    }
    let Some(release) = cluster.and_then(Cluster::release_key) else { return Ok(false) };
    if context.caches.releases.get(&release).is_some() {
        return Ok(false);
    }
    Ok(context.api.get::<ClusterStackRelease>(&release).await?.is_some())
}

async fn is_namespace_terminating(context: &Context, namespace: &str) -> Result<bool, RequestError> {
    let now: Option<Namespace> = context.api.get(&Key::new("", namespace)).await?;
    Ok(now.is_none_or(|now| now.metadata.deletion_timestamp.is_some()))
}

/// Suspends objects, and returns those that exist as they are then.
async fn suspend_all(context: &Context, objects: &[Suppressed]) -> Result<Vec<Suppressed>, RequestError> {
    let mut suspended = Vec::new();
    for target in objects {
        let object = flux_objects::suspend(context, &target.object).await?;
        suspended.extend(object.map(|object| Suppressed { object, ..target.clone() }));
    }
    Ok(suspended)
}

/// Deletes suspended objects, and returns the number of deletions that are counted.
async fn delete_all(context: &Context, objects: &[Suppressed]) -> Result<usize, RequestError> {
    for target in objects.iter().filter(|target| target.deletes) {
        write::delete(context, &*target.object).await?;
    }
    Ok(objects.iter().filter(|target| target.deletes && target.is_counted).count())
}
