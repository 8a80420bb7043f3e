//! Handles a deleted `ClusterStack`: keeps it while Clusters use it, orphans it if its annotation requires that, and
//! otherwise deletes it after its releases. Releases that another `ClusterStack` keeps are left to that one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt as _;
use kube::core::ApiResource;
use tracing::info;

use super::super::annotations::annotate;
use super::super::context::Context;
use super::super::enqueue::on_release_event;
use super::super::reconcile::ReconcileError;
use super::super::release::{live_owners, users};
use super::super::{cluster, finalizer, status, write};
use super::{releases, source};
use crate::api::{ClusterStack, ClusterStackRelease, ClusterStackStatus, labels};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::names::ReleaseName;
use crate::rollup::deleted_stack;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Change, Key};
use crate::runtime::queue::Next;
use crate::subscription::{
    Deletion, DeletionFacts, decide_deletion, is_deletion_confirmed, is_orphaned, keeper,
};

/// Delay before checking again whether the `ClusterStack` can be deleted.
pub(super) const REQUEUE_AFTER: Duration = Duration::from_secs(10);
/// The same delay while the addons of its Clusters are being orphaned.
const REQUEUE_ORPHANS_AFTER: Duration = Duration::from_secs(1);

/// The facts about a deleted `ClusterStack`: one snapshot at one time.
struct Facts<'a> {
    now: Timestamp,
    key: Key,
    stack: &'a ClusterStack,
    /// The facts that decide.
    deletion: DeletionFacts<'a>,
    /// Its objects.
    owned: Owned,
    /// The other `ClusterStack`s of the namespace, which may wait for its releases.
    others: Vec<Key>,
}

/// The objects of a deleted `ClusterStack`.
#[derive(Default)]
struct Owned {
    releases: BTreeMap<ReleaseName, Arc<ClusterStackRelease>>,
    sources: Vec<Arc<FluxObject>>,
}

/// The report about a deleted `ClusterStack`.
struct Outcome {
    /// The status; `None` if the deletion waits for nothing that it has to name.
    status: Option<ClusterStackStatus>,
    next: Next,
}

/// Deletes a deleted `ClusterStack`, or maintains it while there is a reason to keep it.
pub(super) async fn delete(context: &Context, stack: Arc<ClusterStack>) -> Result<Next, ReconcileError> {
    let facts = gather(context, &stack).await?;
    let deletion = decide_deletion(&facts.deletion);
    if let Deletion::Keep(hold) = deletion {
        return super::maintain(context, stack, Some(hold)).await;
    }
    let is_removed = act(context, &facts, &deletion);
    let outcome = roll_up(&facts, &deletion, is_removed);
    write_status(context, &facts, &outcome).await?;
    prune(context, &facts, &deletion, is_removed).await?;
    Ok(outcome.next)
}

/// Gathers the facts about a deleted `ClusterStack`, and the time after all requests.
#[expect(clippy::disallowed_methods, reason = "gather takes the time once")]
async fn gather<'a>(context: &Context, stack: &'a ClusterStack) -> Result<Facts<'a>, ReconcileError> {
    let (deletion, owned) = gather_deletion(context, stack).await?;
    let (key, now) = (Key::of(stack), context.clock.now());
    let others = context.caches.stacks.all();
    let others = others.iter().map(|other| Key::of(&**other));
    let others = others.filter(|other| other.namespace == key.namespace && *other != key).collect();
    Ok(Facts { now, key, stack, deletion, owned, others })
}

/// Gathers what the deletion depends on, most of it from the API server. What precedes it in the decision is fetched first,
/// so that a `ClusterStack` that stays costs few requests.
async fn gather_deletion<'a>(
    context: &Context,
    stack: &'a ClusterStack,
) -> Result<(DeletionFacts<'a>, Owned), ReconcileError> {
    let mut facts = DeletionFacts::new(stack);
    if !labels::has_finalizer(stack) {
        return Ok((facts, Owned::default()));
    }
    facts.live = context.api.get(&Key::of(stack)).await?;
    // Read the releases after that request: one may have been created in between.
    let mut owned =
        Owned { releases: releases::owned(context, stack), sources: source::made(context, stack) };
    if !is_deletion_confirmed(stack, facts.live.as_ref()) {
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
    facts.committed = source::committed(context, stack)?;
    if is_orphaned(stack) {
        for release in facts.releases.difference(&facts.kept_by_others) {
            facts.not_orphaned.extend(cluster::to_orphan(context, &namespace, release).await?);
        }
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

/// Adds the objects of a `ClusterStack` that its status names and the caches lack, and if that leaves no release, those that
/// the API server lists. A list may have been incomplete, and what is not orphaned is deleted with the `ClusterStack`.
async fn add_recorded(
    context: &Context,
    stack: &ClusterStack,
    owned: &mut Owned,
) -> Result<(), RequestError> {
    for release in stack.status.iter().flat_map(|status| &status.summary) {
        add_release(context, stack, owned, &release.name).await?;
    }
    if owned.releases.is_empty() {
        // The status may be from after a list without releases.
        let (kind, uid) = (ApiResource::erase::<ClusterStackRelease>(&()), stack.uid().unwrap_or_default());
        for name in context.api.listed_of(&stack.namespace().unwrap_or_default(), &kind, &uid).await? {
            add_release(context, stack, owned, &name).await?;
        }
    }
    let Some(status) = &stack.status else { return Ok(()) };
    let source = status.source.as_ref().and_then(|source| source.git_repository.split_once('/'));
    let source = source.map(|(namespace, name)| Key::new(namespace, name));
    if let Some(key) = source.filter(|key| owned.sources.iter().all(|known| Key::of(&**known) != *key)) {
        let found = context.api.get_dynamic::<FluxObject>(&key, &FluxKind::GitRepository).await?;
        owned.sources.extend(found.filter(|found| source::is_made_by(found, stack)).map(Arc::new));
    }
    Ok(())
}

/// Adds a release to the objects of a `ClusterStack`, if it owns the release.
async fn add_release(
    context: &Context,
    stack: &ClusterStack,
    owned: &mut Owned,
    name: &str,
) -> Result<(), RequestError> {
    let key = Key::new(&stack.namespace().unwrap_or_default(), name);
    let Some(name) = name.parse().ok().filter(|name| !owned.releases.contains_key(name)) else {
        return Ok(());
    };
    // The reconciles of its Clusters need it too.
    write::refresh::<ClusterStackRelease>(context, &key).await?;
    let found = context.caches.releases.get(&key);
    owned.releases.extend(found.filter(|release| release.is_owned_by(stack)).map(|release| (name, release)));
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
fn act(context: &Context, facts: &Facts, deletion: &Deletion) -> bool {
    match deletion {
        Deletion::OrphanClusters(clusters) => {
            for cluster in clusters {
                context.triggers.clusters.now(cluster.clone());
            }
            true
        }
        Deletion::DeleteSource { committed, .. } => source::remove_from_git(context, &facts.key, committed),
        _ => true,
    }
}

/// Rolls up the status while the deletion waits, and returns when to check again.
fn roll_up(facts: &Facts, deletion: &Deletion, is_removed: bool) -> Outcome {
    let message = deletion.waits_for(is_removed);
    let next = match deletion {
        Deletion::Finished => Next::Await,
        Deletion::DeleteSource { .. } if is_removed => Next::Await,
        Deletion::OrphanClusters(_) => Next::After(REQUEUE_ORPHANS_AFTER),
        _ => Next::After(REQUEUE_AFTER),
    };
    Outcome { status: message.map(|message| deleted_stack(facts.stack, message, facts.now)), next }
}

/// Writes the status if it changed.
async fn write_status(context: &Context, facts: &Facts<'_>, outcome: &Outcome) -> Result<(), RequestError> {
    let Some(status) = &outcome.status else { return Ok(()) };
    status::write_deletion(context, facts.stack, status).await.map(drop)
}

/// Deletes or leaves the releases of a `ClusterStack`, or deletes its source and then the `ClusterStack`.
async fn prune(
    context: &Context,
    facts: &Facts<'_>,
    deletion: &Deletion,
    is_removed: bool,
) -> Result<(), RequestError> {
    match deletion {
        Deletion::DeleteReleases { orphan, left, .. } => {
            for (name, release) in &facts.owned.releases {
                if left.contains(name) {
                    leave_release(context, facts.stack, release).await?;
                } else {
                    delete_release(context, release, *orphan).await?;
                }
            }
            Ok(())
        }
        Deletion::DeleteSource { orphan, .. } if is_removed => delete_source(context, facts, *orphan).await,
        _ => Ok(()),
    }
}

/// Deletes or orphans the source of a `ClusterStack`, and then ends the `ClusterStack`.
async fn delete_source(context: &Context, facts: &Facts<'_>, orphan: bool) -> Result<(), RequestError> {
    for repository in &facts.owned.sources {
        if orphan {
            write::drop_owner(context, &**repository, facts.stack.uid().as_deref(), &[]).await?;
        } else {
            write::delete(context, &**repository).await?;
        }
    }
    finalizer::remove(context, facts.stack).await?;
    info!(orphan, "the ClusterStack is deleted");
    for other in &facts.others {
        context.triggers.stacks.now(other.clone());
    }
    Ok(())
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
