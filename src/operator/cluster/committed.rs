//! The addons of one Cluster through Git: committed as one, and looked at as Flux has applied them.

use std::sync::Arc;

use super::super::context::{Context, Prepared};
use super::super::deliver::applied;
use super::super::git_delivery::commit;
use super::super::git_delivery::outbox::{Change, Standing, Unit};
use super::super::metrics::Queue;
use super::super::objects::{cluster_of, committing_stack};
use super::addons;
use super::delivered::{Delivered, addon_of};
use crate::addons::committed_by;
use crate::api::{ClusterAddon, ClusterStack, Reason};
use crate::foreign::flux::observed::{HelmReleaseStatus, Observed, ObservedKind, SpecDigest};
use crate::gate::Hold;
use crate::plan::delivery::delivered_elsewhere;
use crate::plan::{Plan, PlannedObject, Step};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Cache, Key};

/// Why a plan may not be delivered: the files of the Cluster are in the repository of another `ClusterStack`.
pub(super) async fn elsewhere(
    context: &Context,
    addon: &ClusterAddon,
    prepared: &Prepared,
) -> Result<Option<Hold>, RequestError> {
    let Some(before) = committing_stack(addon).filter(|before| *before != prepared.stack_key) else {
        return Ok(None);
    };
    let stack = match context.caches.stacks.get(&before) {
        None if context.is_sharded() => context.api.get(&before).await?.map(Arc::new),
        known => known,
    };
    let theirs = stack.as_ref().and_then(|stack: &Arc<ClusterStack>| stack.spec.delivery.git());
    Ok(delivered_elsewhere((&before, theirs), (&prepared.stack_key, prepared.stack.delivery.git())))
}

/// Wants all objects of a plan in the repository, and finds which of them Flux has applied. The status says first by whom
/// they are committed: whoever deletes the Cluster later has to know. The plan is shared, not copied: most reconciles find
/// that nothing changed.
pub(super) async fn deliver(
    context: &Context,
    addon: &ClusterAddon,
    prepared: &Prepared,
    plan: &Arc<Plan>,
) -> Delivered {
    let cluster = cluster_of(addon);
    let by = Some(prepared.stack_key.to_string());
    let standing = if committed_by(addon) == by {
        let change = Change::Planned(plan.clone());
        let asker = (Queue::Cluster, cluster.clone());
        commit(context, &prepared.stack_key, Unit::Cluster(cluster), change, asker)
    } else {
        Standing::Pending
    };
    let mut delivered = Delivered { committed_by: by, ..Delivered::default() };
    for planned in plan.objects().filter(|object| object.step == Step::Addons) {
        let (name, caches) = (addon_of(planned).to_owned(), &context.caches);
        let suspend = addons::is_suspended(prepared, planned);
        let found = if planned.id.kind == HelmReleaseStatus::KIND {
            find(context, &caches.helm_releases, addon, planned, suspend).await
        } else {
            find(context, &caches.kustomizations, addon, planned, suspend).await
        };
        match found {
            Ok(Some(digest)) => _ = delivered.expected.insert(name, digest),
            Ok(None) => _ = delivered.committed.insert(name, hold(&standing)),
            Err(error) => _ = delivered.failures.insert(name, error),
        }
    }
    delivered
}

/// The digest of the spec of an addon's object as Flux has applied it; `None` while it has not.
async fn find<Status: ObservedKind>(
    context: &Context,
    cache: &Cache<Observed<Status>>,
    addon: &ClusterAddon,
    planned: &PlannedObject,
    suspend: bool,
) -> Result<Option<SpecDigest>, RequestError> {
    let key = Key::new(&planned.id.namespace, &planned.id.name);
    // Flux uninstalls the addon of an object that it deletes, unless the object stays suspended.
    if let Some(object) = cache.get(&key).filter(|object| !object.metadata.terminating) {
        addons::look_after(context, cache, addon, &object, suspend).await?;
    }
    Ok(applied(cache, planned))
}

/// Why an object is not as planned yet.
pub(super) fn hold(standing: &Standing) -> Hold {
    let (reason, message) = match standing {
        Standing::Held(hold) => return hold.clone(),
        Standing::Pending => (Reason::Committing, "it waits for the next commit"),
        Standing::Committed => (Reason::CommitNotApplied, "it is committed, and Flux has not applied it yet"),
    };
    Hold { reason, message: message.to_owned() }
}
