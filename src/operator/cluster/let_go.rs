//! Letting go: nothing is uninstalled from a cluster that goes or was moved, nor from the clusters of a namespace that goes.
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

use super::super::annotations::suspend;
use super::super::context::Context;
use super::super::git_delivery::commit;
use super::super::git_delivery::outbox::{Change, Standing, Unit};
use super::super::metrics::Queue;
use super::super::objects::{ClusterObject, committing_stack, term};
use super::super::reconcile::ReconcileError;
use super::super::{events, finalizer, ownership, status};
use super::gather::Gathered;
use super::{committed, identity};
use crate::api::conditions::ConditionType;
use crate::api::{ClusterAddon, ClusterStack, Reason};
use crate::foreign::flux::observed::{Observed, ObservedKind};
use crate::gate::Hold;
use crate::rollup::cluster_addon_that_goes;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Cache, Key};
use crate::runtime::queue::Next;

/// How long until it is looked again whether the cause is there, or the objects are gone.
const AGAIN: Duration = Duration::from_secs(2);

/// Lets the addons of a Cluster go, once the API server itself says why.
pub(super) async fn let_go(
    context: &Context,
    key: &Key,
    gathered: &Gathered,
) -> Result<Next, ReconcileError> {
    let Some(addon) = &gathered.addon else { return let_rest_go(context, key).await };
    let Some(why) = cause(context, key, addon).await? else {
        warn!(
            "the cache has a deletion of the Cluster, its ClusterAddon or its namespace, but the API server does not \
             confirm that: nothing is deleted"
        );
        return Ok(Next::After(AGAIN));
    };
    // In a namespace that goes the namespace controller does not wait for the status.
    if !context.is_terminating(&key.namespace) {
        tell(context, addon, &why, None).await?;
    }
    if is_of_another_shard(context, addon).await? {
        return Ok(Next::Await);
    }
    let owned = term::owned_by("ClusterAddon", &Key::of(&**addon));
    if let Some(hold) = taken_out(context, key, addon, &owned).await? {
        tell(context, addon, &why, Some(&hold)).await?;
        return Ok(Next::After(AGAIN));
    }
    let mut count = let_go_all(context, &context.caches.helm_releases, &owned).await?;
    count += let_go_all(context, &context.caches.kustomizations, &owned).await?;
    if count > 0 {
        let note = format!("suspended and deleted {count} Flux objects: nothing is uninstalled");
        events::normal(context, &**addon, Reason::Deleting, &note).await;
    }
    finalizer::remove(context, &context.caches.addons, &**addon).await?;
    if addon.metadata.deletion_timestamp.is_none()
        && gathered.cluster.as_ref().is_none_or(|cluster| !cluster.cluster.deleting())
    {
        // Its Cluster is gone: garbage collection would do the same, where it runs.
        ownership::delete(context, &context.caches.addons, &**addon).await?;
    }
    context.git.outbox.forget_cluster(key);
    info!(objects = count, "suspended and deleted the Flux objects of the addons: nothing is uninstalled");
    context.metrics.forgot(Queue::Cluster, &key.to_string());
    // The Cluster may stay for long, for the finalizer of another controller.
    let left = context.caches.addons.get(&Key::of(&**addon));
    left.iter()
        .filter_map(|left| left.status.as_ref())
        .for_each(|status| context.metrics.reported(&key.to_string(), status));
    let recreated = gathered.cluster.as_ref().is_some_and(|cluster| !cluster.cluster.deleting());
    Ok(if recreated { Next::After(AGAIN) } else { Next::Await })
}

/// Whether a `ClusterStack` that this operator does not watch commits what the Cluster gets: the operator of that shard takes
/// it out of the repository, and lets the rest go then.
async fn is_of_another_shard(context: &Context, addon: &ClusterAddon) -> Result<bool, RequestError> {
    let Some(stack) = committing_stack(addon).filter(|_| context.is_sharded()) else {
        return Ok(false);
    };
    if context.caches.stacks.get(&stack).is_some() {
        return Ok(false);
    }
    let found: Option<ClusterStack> = context.api.get(&stack).await?;
    Ok(found.is_some())
}

/// Lets go of what a `ClusterAddon` has left to the next one, when its Cluster goes before there is one.
async fn let_rest_go(context: &Context, key: &Key) -> Result<Next, ReconcileError> {
    let Some(kind) = context.cluster_kind() else { return Ok(Next::After(AGAIN)) };
    let now: Option<ClusterObject> = context.api.get_dynamic(key, kind).await?;
    if now.is_some_and(|now| !now.cluster.deleting()) && !namespace_goes(context, &key.namespace).await? {
        return Ok(Next::After(AGAIN));
    }
    let rest = term::handed_over(key);
    let mut count = let_go_all(context, &context.caches.helm_releases, &rest).await?;
    count += let_go_all(context, &context.caches.kustomizations, &rest).await?;
    info!(objects = count, "suspended and deleted the Flux objects of the addons: nothing is uninstalled");
    Ok(Next::Await)
}

/// Takes what a Cluster has out of the repository that Flux applies it from, where it is delivered so; why that is not done
/// yet: nobody remembers it once the `ClusterAddon` is gone. Flux deletes then what it has applied, all of which is
/// suspended before.
async fn taken_out(
    context: &Context,
    key: &Key,
    addon: &ClusterAddon,
    owned: &str,
) -> Result<Option<Hold>, RequestError> {
    let stack = committing_stack(addon).and_then(|stack| Some((context.caches.stacks.get(&stack)?, stack)));
    let Some((stack, stack_key)) = stack.filter(|(stack, _)| stack.spec.delivery.git().is_some()) else {
        return Ok(None);
    };
    for object in context.caches.helm_releases.find(owned) {
        suspended(context, &context.caches.helm_releases, &object).await?;
    }
    for object in context.caches.kustomizations.find(owned) {
        suspended(context, &context.caches.kustomizations, &object).await?;
    }
    let asker = (Queue::Cluster, key.clone());
    let standing = commit(context, &stack_key, Unit::Cluster(key.clone()), Change::Gone, asker);
    Ok(match standing {
        Standing::Committed => None,
        _ if stack.spec.suspend => {
            let message = format!(
                "ClusterStack {stack_key} is suspended: the Cluster's files are not removed from the repository"
            );
            Some(Hold { reason: Reason::Suspended, message })
        }
        standing => Some(committed::hold(&standing)),
    })
}

/// Says in the status why a `ClusterAddon` is let go, and what that waits for. It goes where the status cannot be written, too.
async fn tell(
    context: &Context,
    addon: &ClusterAddon,
    why: &Hold,
    waits_for: Option<&Hold>,
) -> Result<(), RequestError> {
    let Some(addon) = context.caches.addons.get(&Key::of(addon)) else { return Ok(()) };
    let generation = addon.metadata.generation.unwrap_or_default();
    let old = addon.status.clone().unwrap_or_default();
    let before = |kind: ConditionType| {
        let found = old.conditions.iter().find(|condition| condition.type_ == kind.as_str());
        found.map(|found| found.reason.as_str())
    };
    if waits_for.is_none() && before(ConditionType::ClusterAvailable) == Some(why.reason.as_str()) {
        return Ok(());
    }
    let status = cluster_addon_that_goes(why, waits_for, &old, generation, Timestamp::now());
    status::write_deletion(context, &*addon, &status).await
}

/// Why the addons of a Cluster are let go: the Cluster is gone, another one, or going, or the `ClusterAddon` or the namespace
/// is going. As the API server says now; `None` if none of it is so.
async fn cause(context: &Context, key: &Key, addon: &ClusterAddon) -> Result<Option<Hold>, RequestError> {
    let why = |what: String| {
        let message = format!("{what}: its addons are orphaned, and nothing is uninstalled");
        Some(Hold { reason: Reason::Deleting, message })
    };
    let Some(kind) = context.cluster_kind() else { return Ok(None) };
    let now: Option<ClusterObject> = context.api.get_dynamic(key, kind).await?;
    let Some(now) = now else { return Ok(why("the Cluster is gone".to_owned())) };
    if let Some(since) = now.cluster.deleting_since() {
        return Ok(why(format!("the Cluster is being deleted since {since}")));
    }
    if identity::cluster_uid(addon).is_some_and(|uid| now.uid() != Some(uid)) {
        return Ok(why("the Cluster was deleted, and another Cluster has its name".to_owned()));
    }
    if context.is_terminating(&key.namespace) && namespace_goes(context, &key.namespace).await? {
        return Ok(why(format!("namespace {} is being deleted", key.namespace)));
    }
    let goes = is_deleted(context, addon).await?;
    Ok(if goes { why("the ClusterAddon is being deleted".to_owned()) } else { None })
}

/// Whether a `ClusterAddon` is being deleted or is gone, as the API server says now.
pub(super) async fn is_deleted(context: &Context, addon: &ClusterAddon) -> Result<bool, RequestError> {
    if addon.metadata.deletion_timestamp.is_none() {
        return Ok(false);
    }
    let now: Option<ClusterAddon> = context.api.get(&Key::of(addon)).await?;
    Ok(now.is_none_or(|now| now.uid() != addon.uid() || now.metadata.deletion_timestamp.is_some()))
}

async fn namespace_goes(context: &Context, namespace: &str) -> Result<bool, RequestError> {
    let now: Option<Namespace> = context.api.get(&Key::new("", namespace)).await?;
    Ok(now.is_none_or(|now| now.metadata.deletion_timestamp.is_some()))
}

async fn let_go_all<Status: ObservedKind>(
    context: &Context,
    cache: &Cache<Observed<Status>>,
    owned: &str,
) -> Result<usize, RequestError> {
    let mut count = 0;
    for object in cache.find(owned) {
        count += usize::from(let_go_one(context, cache, &object).await?);
    }
    Ok(count)
}

/// Suspends an object and deletes it. One that goes already is suspended all the same: its finalizer may be still there.
async fn let_go_one<Status: ObservedKind>(
    context: &Context,
    cache: &Cache<Observed<Status>>,
    object: &Arc<Observed<Status>>,
) -> Result<bool, RequestError> {
    let Some(suspended) = suspended(context, cache, object).await? else { return Ok(false) };
    if suspended.metadata.terminating {
        return Ok(false);
    }
    ownership::delete(context, cache, &suspended).await?;
    Ok(true)
}

/// The object, suspended; `None` where it is gone.
pub(super) async fn suspended<Status: ObservedKind>(
    context: &Context,
    cache: &Cache<Observed<Status>>,
    object: &Arc<Observed<Status>>,
) -> Result<Option<Arc<Observed<Status>>>, RequestError> {
    if object.suspended {
        return Ok(Some(object.clone()));
    }
    let key = Key::of(&**object);
    match suspend(context, &key, true).await {
        Ok(suspended) => Ok(Some(cache.written(suspended))),
        Err(error) if error.is_not_found() => {
            cache.gone(&key);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
