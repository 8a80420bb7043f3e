//! Letting go: nothing is uninstalled from a cluster that goes, was moved, or whose `ClusterAddon` somebody deletes,
//! nor from the clusters of a namespace that goes.
//!
//! A suspended `HelmRelease` loses its finalizer without an uninstall. So each object is suspended before it is deleted,
//! and the `ClusterAddon` that owns them keeps its finalizer until that is done: garbage collection would delete them as
//! they are.
//!
//! The namespace controller begins to delete what is in a namespace five seconds after the namespace is marked (its
//! `namespaceDeletionGracePeriod`), so an operator that runs is there first. One that does not run for those seconds is
//! too late: what Flux has not uninstalled by then is suspended all the same.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt as _;
use tracing::{info, warn};

use super::super::cache::{Cache, Key};
use super::super::git_delivery::outbox::{Change, Standing, Unit};
use super::super::metrics::Queue;
use super::super::objects::{ClusterObject, term};
use super::super::queue::Next;
use super::super::reconcile::ReconcileError;
use super::super::world::World;
use super::super::{events, finalizer, ownership};
use super::gather::Gathered;
use super::{committed, identity, status};
use crate::api::conditions::ConditionType;
use crate::api::{ClusterAddon, ClusterStack, Reason};
use crate::foreign::flux::observed::{Observed, ObservedKind};
use crate::gate::Hold;
use crate::rollup::{Report, status_of};
use crate::sink::cluster::RequestError;

/// How long until it is looked again whether the cause is there, or the objects are gone.
const AGAIN: Duration = Duration::from_secs(2);

/// Lets the addons of a Cluster go, once the API server itself says why.
pub(super) async fn let_go(world: &World, key: &Key, gathered: &Gathered) -> Result<Next, ReconcileError> {
    let Some(addon) = &gathered.addon else { return Ok(Next::Await) };
    if !is_caused(world, key, addon).await? {
        warn!(
            "a watch says that the Cluster, its ClusterAddon or its namespace goes, the API server does not: nothing is let go"
        );
        return Ok(Next::After(AGAIN));
    }
    if is_of_another_shard(world, addon).await? {
        return Ok(Next::Await);
    }
    let owned = term::owned_by("ClusterAddon", &Key::of(&**addon));
    if let Some(hold) = taken_out(world, key, addon, &owned).await? {
        tell(world, addon, &hold).await?;
        return Ok(Next::After(AGAIN));
    }
    let mut count = let_go_all(world, &world.caches.helm_releases, &owned).await?;
    count += let_go_all(world, &world.caches.kustomizations, &owned).await?;
    if count > 0 {
        let note = format!("{count} objects were suspended and deleted: nothing is uninstalled");
        events::normal(world, &**addon, Reason::Deleting, &note).await;
    }
    finalizer::remove(world, &world.caches.addons, &**addon).await?;
    if addon.metadata.deletion_timestamp.is_none()
        && gathered.cluster.as_ref().is_none_or(|cluster| !cluster.cluster.deleting())
    {
        // Its Cluster is gone: garbage collection would do the same, where it runs.
        ownership::delete(world, &world.caches.addons, &**addon).await?;
    }
    world.git.outbox.forget_cluster(key);
    info!(objects = count, "let go");
    world.metrics.forgot(Queue::Cluster, &key.to_string());
    let recreated = gathered.cluster.as_ref().is_some_and(|cluster| !cluster.cluster.deleting());
    Ok(if recreated { Next::After(AGAIN) } else { Next::Await })
}

/// Whether a `ClusterStack` that this operator does not watch commits what the Cluster gets: the operator of that shard takes
/// it out of the repository, and lets the rest go then.
async fn is_of_another_shard(world: &World, addon: &ClusterAddon) -> Result<bool, RequestError> {
    let Some(stack) = identity::committing_stack(addon).filter(|_| is_sharded(world)) else {
        return Ok(false);
    };
    if world.caches.stacks.get(&stack).is_some() {
        return Ok(false);
    }
    let found: Option<ClusterStack> = world.api.get(&stack).await?;
    Ok(found.is_some())
}

fn is_sharded(world: &World) -> bool {
    world.settings.watch.label_selector.is_some()
}

/// Takes what a Cluster has out of the repository that Flux applies it from, where it is delivered so; why that is not done
/// yet: nobody remembers it once the `ClusterAddon` is gone. Flux deletes then what it has applied, all of which is
/// suspended before.
async fn taken_out(
    world: &World,
    key: &Key,
    addon: &ClusterAddon,
    owned: &str,
) -> Result<Option<Hold>, RequestError> {
    let stack =
        identity::committing_stack(addon).and_then(|stack| Some((world.caches.stacks.get(&stack)?, stack)));
    let Some((stack, stack_key)) = stack.filter(|(stack, _)| stack.spec.delivery.git().is_some()) else {
        return Ok(None);
    };
    for object in world.caches.helm_releases.find(owned) {
        suspended(world, &world.caches.helm_releases, &object).await?;
    }
    for object in world.caches.kustomizations.find(owned) {
        suspended(world, &world.caches.kustomizations, &object).await?;
    }
    let asker = (Queue::Cluster, key.clone());
    let standing = world.commit(&stack_key, Unit::Cluster(key.clone()), Change::Gone, asker);
    Ok(match standing {
        Standing::Committed => None,
        _ if stack.spec.suspend => {
            let message = format!(
                "ClusterStack {stack_key} is suspended: its files are not taken out of the repository"
            );
            Some(Hold { reason: Reason::Suspended, message })
        }
        standing => Some(committed::hold(&standing)),
    })
}

/// Says in the status of a `ClusterAddon` that goes what it waits for.
async fn tell(world: &World, addon: &ClusterAddon, hold: &Hold) -> Result<(), RequestError> {
    let old = addon.status.clone().unwrap_or_default();
    let (now, generation) = (Timestamp::now(), addon.metadata.generation.unwrap_or_default());
    let report = Report::new(status_of(hold.reason), hold.reason.as_str(), &hold.message);
    let mut status = old.clone();
    for kind in [ConditionType::Ready, ConditionType::Delivered] {
        let condition = report.clone().condition(kind, generation, &old.conditions, now);
        match status.conditions.iter_mut().find(|condition| condition.type_ == kind.as_str()) {
            Some(there) => *there = condition,
            None => status.conditions.push(condition),
        }
    }
    status::write(world, addon, &status).await
}

/// Whether the Cluster is gone, another one, or going, or the `ClusterAddon` or the namespace is going: as the API server
/// says now.
async fn is_caused(world: &World, key: &Key, addon: &ClusterAddon) -> Result<bool, RequestError> {
    if addon.metadata.deletion_timestamp.is_some() {
        let now: Option<ClusterAddon> = world.api.get(&Key::of(addon)).await?;
        return Ok(
            now.is_none_or(|now| now.uid() != addon.uid() || now.metadata.deletion_timestamp.is_some())
        );
    }
    if world.is_terminating(&key.namespace) && namespace_goes(world, &key.namespace).await? {
        return Ok(true);
    }
    let Some(kind) = world.cluster_kind() else { return Ok(false) };
    let now: Option<ClusterObject> = world.api.get_dynamic(key, kind).await?;
    let is_its = |now: &ClusterObject| identity::cluster_uid(addon).is_none_or(|uid| now.uid() == Some(uid));
    Ok(now.is_none_or(|now| now.cluster.deleting() || !is_its(&now)))
}

async fn namespace_goes(world: &World, namespace: &str) -> Result<bool, RequestError> {
    let now: Option<Namespace> = world.api.get(&Key::new("", namespace)).await?;
    Ok(now.is_none_or(|now| now.metadata.deletion_timestamp.is_some()))
}

async fn let_go_all<Status: ObservedKind>(
    world: &World,
    cache: &Cache<Observed<Status>>,
    owned: &str,
) -> Result<usize, RequestError> {
    let mut count = 0;
    for object in cache.find(owned) {
        count += usize::from(let_go_one(world, cache, &object).await?);
    }
    Ok(count)
}

/// Suspends an object and deletes it. One that goes already is suspended all the same: its finalizer may be still there.
async fn let_go_one<Status: ObservedKind>(
    world: &World,
    cache: &Cache<Observed<Status>>,
    object: &Arc<Observed<Status>>,
) -> Result<bool, RequestError> {
    let Some(suspended) = suspended(world, cache, object).await? else { return Ok(false) };
    if suspended.metadata.terminating {
        return Ok(false);
    }
    ownership::delete(world, cache, &suspended).await?;
    Ok(true)
}

/// The object, suspended; `None` where it is gone.
async fn suspended<Status: ObservedKind>(
    world: &World,
    cache: &Cache<Observed<Status>>,
    object: &Arc<Observed<Status>>,
) -> Result<Option<Arc<Observed<Status>>>, RequestError> {
    if object.suspended {
        return Ok(Some(object.clone()));
    }
    let key = Key::of(&**object);
    match world.api.suspend(&key, true).await {
        Ok(suspended) => Ok(Some(cache.written(suspended))),
        Err(error) if error.is_not_found() => {
            cache.gone(&key);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Leaves the addons of a Cluster to themselves: their objects stay, suspended and without an owner, so that nothing that
/// is deleted later uninstalls them. The `ClusterAddon` loses our finalizer.
pub(in super::super) async fn abandon(world: &World, addon: &ClusterAddon) -> Result<(), RequestError> {
    let owned = term::owned_by("ClusterAddon", &Key::of(addon));
    abandon_all(world, &world.caches.helm_releases, &owned, addon).await?;
    abandon_all(world, &world.caches.kustomizations, &owned, addon).await?;
    finalizer::remove(world, &world.caches.addons, addon).await
}

async fn abandon_all<Status: ObservedKind>(
    world: &World,
    cache: &Cache<Observed<Status>>,
    owned: &str,
    addon: &ClusterAddon,
) -> Result<(), RequestError> {
    for object in cache.find(owned) {
        if let Some(object) = suspended(world, cache, &object).await? {
            ownership::drop_owner(world, cache, &object, addon.uid().as_deref()).await?;
        }
    }
    Ok(())
}
