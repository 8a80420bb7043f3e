//! A `ClusterStack` that was deleted: held while Clusters use it, let go where that is asked for, else taken down.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;
use tracing::info;

use super::super::annotations::annotate;
use super::super::context::Context;
use super::super::reconcile::ReconcileError;
use super::super::release::users;
use super::super::{cluster, finalizer, ownership, status};
use super::Found;
use super::pins;
use super::releases::{self, Releases};
use super::source::{self, reconcile_source};
use crate::api::{ClusterStack, ClusterStackRelease, ClusterStackStatus, Reason, labels};
use crate::gate::Hold;
use crate::names::ReleaseName;
use crate::rollup::conditions_of_deleted;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::runtime::queue::Next;

/// How long until it is looked again whether it can go.
const AGAIN: Duration = Duration::from_secs(10);
/// The same, while its Clusters are left to themselves.
const SOON: Duration = Duration::from_secs(1);
/// How many releases the status names.
const NAMED: usize = 3;

/// Takes a deleted `ClusterStack` down, or says why it stays.
pub(super) async fn delete(
    context: &Context,
    key: &Key,
    stack: &Arc<ClusterStack>,
) -> Result<Next, ReconcileError> {
    if !stack.finalizers().iter().any(|finalizer| finalizer == labels::FINALIZER) {
        return Ok(Next::Await);
    }
    let now: Option<ClusterStack> = context.api.get(key).await?;
    let is_going = |now: &ClusterStack| now.uid() == stack.uid() && now.metadata.deletion_timestamp.is_some();
    if !now.is_some_and(|now| is_going(&now)) {
        return Ok(Next::After(AGAIN));
    }
    let orphan = stack.annotations().get(labels::ON_DELETE).is_some_and(|value| value == labels::ORPHAN);
    if let Some(hold) = hold(context, stack).await?.filter(|_| !orphan) {
        return held(context, key, stack, hold).await;
    }
    let owned = releases::owned(context, stack);
    if orphan && are_clusters_left(context, stack, owned.keys()) {
        return Ok(Next::After(SOON));
    }
    if !owned.is_empty() {
        let names: Vec<String> = owned.keys().take(NAMED).map(ToString::to_string).collect();
        let message = format!("being deleted: its releases are deleted first: {}", names.join(", "));
        say_deleted(context, stack, &message).await?;
        for release in owned.values() {
            remove(context, release, orphan).await?;
        }
        return Ok(Next::After(AGAIN));
    }
    if !orphan && !source::remove_from_git(context, stack)? {
        let message = "being deleted: its GitRepository is removed from the repository of delivery.git first";
        say_deleted(context, stack, message).await?;
        return Ok(Next::After(AGAIN));
    }
    for repository in source::made(context, stack) {
        let cache = &context.caches.git_repositories;
        if orphan {
            ownership::drop_owner(context, cache, &repository, stack.uid().as_deref(), &[]).await?;
        } else {
            ownership::delete(context, cache, &*repository).await?;
        }
    }
    finalizer::remove(context, &context.caches.stacks, &**stack).await?;
    info!(orphan, "the ClusterStack is deleted");
    // Another one may have waited for its releases.
    for other in context.caches.stacks.all() {
        if other.namespace().as_deref() == Some(&key.namespace) {
            context.triggers.stacks.now(Key::of(&*other));
        }
    }
    Ok(Next::Await)
}

/// Says in the status what the deletion waits for.
async fn say_deleted(context: &Context, stack: &ClusterStack, message: &str) -> Result<(), RequestError> {
    let old = stack.status.clone().unwrap_or_default();
    let generation = stack.metadata.generation.unwrap_or_default();
    let conditions = conditions_of_deleted(message, &old.conditions, generation, Timestamp::now());
    let status = ClusterStackStatus { observed_generation: Some(generation), conditions, ..old };
    status::write_deletion(context, stack, &status).await
}

/// Whether `ClusterAddon`s of these releases are still to be left to themselves, which the reconcile of each Cluster does. The
/// releases stay until then: they say whose the Clusters are.
fn are_clusters_left<'a>(
    context: &Context,
    stack: &ClusterStack,
    releases: impl Iterator<Item = &'a ReleaseName>,
) -> bool {
    let left: BTreeSet<Key> =
        releases.flat_map(|release| cluster::to_orphan(context, &namespace(stack), release)).collect();
    let is_any_left = !left.is_empty();
    for cluster in left {
        context.triggers.clusters.now(cluster);
    }
    is_any_left
}

/// Why it has to stay.
async fn hold(context: &Context, stack: &ClusterStack) -> Result<Option<Hold>, RequestError> {
    let owned = releases::owned(context, stack);
    let count: usize = owned.keys().map(|name| users::of(context, &namespace(stack), name).len()).sum();
    if count > 0 {
        let what = if count == 1 { "1 Cluster uses".to_owned() } else { format!("{count} Clusters use") };
        let message = format!("deleted, but {what} its releases: kept until no Cluster does");
        return Ok(Some(Hold { reason: Reason::InUse, message }));
    }
    for release in owned.values() {
        if users::any_last_user(context, release).await? {
            let message =
                format!("deleted, but a Cluster uses {}: kept until no Cluster does", release.name_any());
            return Ok(Some(Hold { reason: Reason::InUse, message }));
        }
    }
    Ok(stack.spec.suspend.then(|| Hold {
        reason: Reason::Suspended,
        message: format!(
            "deleted while suspended: unset spec.suspend, or annotate with {}=Orphan",
            labels::ON_DELETE
        ),
    }))
}

fn namespace(stack: &ClusterStack) -> String {
    stack.namespace().unwrap_or_default()
}

/// Goes on as before, and says why it is still there.
async fn held(
    context: &Context,
    key: &Key,
    stack: &Arc<ClusterStack>,
    hold: Hold,
) -> Result<Next, ReconcileError> {
    let source = reconcile_source(context, stack, !stack.spec.suspend).await?;
    let releases = Releases::of(context, stack, &source);
    let decisions = pins::decide(context, stack, &source, &releases, source.now).await?;
    let problems = super::problems(decisions, BTreeMap::new(), BTreeMap::new());
    let pruned = stack.status.as_ref().and_then(|status| status.pruned.clone());
    let found = Found { source, releases, problems, pruned, stays: Some(hold) };
    super::finish(context, key, stack, &found).await?;
    Ok(Next::After(AGAIN))
}

/// Deletes a `ClusterStackRelease`, which lets go of what was made of it where the `ClusterStack` does.
async fn remove(
    context: &Context,
    release: &Arc<ClusterStackRelease>,
    orphan: bool,
) -> Result<(), RequestError> {
    let cache = &context.caches.releases;
    let is_marked = release.annotations().get(labels::ON_DELETE).is_some_and(|value| value == labels::ORPHAN);
    if orphan && !is_marked {
        annotate(context, cache, &**release, &[(labels::ON_DELETE, labels::ORPHAN)]).await?;
    }
    ownership::delete(context, cache, &**release).await?;
    context.triggers.releases.now(Key::of(&**release));
    Ok(())
}
