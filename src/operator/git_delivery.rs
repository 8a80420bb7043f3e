//! Delivery through Git: gathers the changes that reconciles request for a `ClusterStack`, and commits them together.
//!
//! ```text
//! reconciles ─▶ pending commits ─ pass: fetch, write files, commit, push ─▶ branch ─ Flux ─▶ objects ─ watch ─▶ reconciles
//!      ▲                                          │ committed or held
//!      └──────────────────────────────────────────┘
//! ```
//! Reconciles decide as they do without Git, but send nothing to the API server: they request objects or their removal, and
//! observe the objects that Flux applied. The digest annotation of an object shows whether it is as planned.

pub mod clone;
mod job;
mod missing;
pub mod pass;
pub mod pending_commits;
pub mod progress;
mod pull_request;
pub mod state;
pub mod threads;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt as _};

use super::context::Context;
use super::metrics::Queue;
use super::objects::{cluster_of, committing_stack, owner_of_applied};
use crate::api::{ClusterStack, ClusterStackRelease};
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::is_applied_by_flux;
use crate::inputs::claim::Claim;
use crate::names::ReleaseName;
use crate::plan::ObjectId;
use crate::runtime::cache::{Change as CacheChange, Key};
use crate::subscription;
use pending_commits::{Change, CommitState, Requester, Subject};
use state::clone_name;

/// Delay in which a pass gathers requests: a change of a class is requested by each of its Clusters.
const BATCH_DELAY: Duration = Duration::from_millis(300);

/// Returns the clones that a `ClusterStack` needs: of the repository that it is delivered to, and of the one that releases
/// are published to.
fn clones_of(stack: &ClusterStack) -> impl Iterator<Item = String> {
    let namespace = stack.namespace().unwrap_or_default();
    let source = stack.spec.source.as_ref().filter(|source| source.upstream.is_some());
    let published = source.and_then(|source| source.git.as_ref()).map(|git| git.url.as_str());
    let delivered = stack.spec.delivery.git().map(|git| git.url.as_str());
    let names: Vec<_> =
        published.into_iter().chain(delivered).map(|url| clone_name(&namespace, url)).collect();
    names.into_iter()
}

/// Returns the clones that a change leaves unused, given the `ClusterStack`s after it.
fn unused(before: &ClusterStack, in_use: &[Arc<ClusterStack>]) -> BTreeSet<String> {
    let in_use: BTreeSet<String> = in_use.iter().flat_map(|stack| clones_of(stack)).collect();
    clones_of(before).filter(|name| !in_use.contains(name)).collect()
}

/// Handles a change of a `ClusterStack`: removes the clones that are unused now.
pub fn remove_unused_clones(context: &Context, change: &CacheChange<ClusterStack>) {
    let Some(before) = &change.before else { return };
    for name in unused(before, &context.caches.stacks.all()) {
        context.git.remove(&name);
    }
}

/// Requests a commit for a `ClusterStack`, and returns its state.
pub fn commit(
    context: &Context,
    stack: &Key,
    subject: Subject,
    change: Change,
    requester: Requester,
) -> CommitState {
    let state = context.git.pending_commits.enqueue(stack, subject, change, requester);
    if state == CommitState::Pending {
        context.triggers.commits.after(stack.clone(), BATCH_DELAY);
    }
    state
}

/// Cancels the request of a plan, and has the `ClusterStack`s that had the request report so.
pub fn cancel(context: &Context, subject: &Subject) {
    enqueue_stacks(context, context.git.pending_commits.cancel(subject));
}

/// Like [`cancel`], for one `ClusterStack`.
pub fn cancel_of(context: &Context, stack: &Key, subject: &Subject) {
    enqueue_stacks(context, context.git.pending_commits.cancel_of(stack, subject));
}

/// Forgets a Cluster that no reconcile will request again, and has the `ClusterStack`s that had requests of it report so.
pub fn forget_cluster(context: &Context, cluster: &Key) {
    enqueue_stacks(context, context.git.pending_commits.forget_cluster(cluster));
}

/// Enqueues `ClusterStack`s with fewer requests: no pass reports that nothing waits any longer.
fn enqueue_stacks(context: &Context, stacks: Vec<Key>) {
    for stack in stacks {
        context.triggers.stacks.now(stack);
    }
}

/// Enqueues a pass for the branch that a `ClusterStack` is or was committed to, even while it waits after a failure: the
/// change may have fixed the cause.
pub fn enqueue_pass(context: &Context, stack: &ClusterStack) {
    let key = Key::of(stack);
    if stack.spec.delivery.git().is_some() || context.git.progress.get(&key).is_some() {
        context.triggers.commits.after(key, BATCH_DELAY);
    }
}

/// Handles a change of a `GitRepository`: enqueues the passes for the branch that it follows if Flux has fetched another
/// revision, which may lack the commit.
pub fn on_repository_event(context: &Context, change: &CacheChange<FluxObject>) {
    let revision =
        |object: Option<&FluxObject>| object?.status.artifact().map(|found| found.revision.clone());
    let Some(now) =
        change.now.as_deref().filter(|now| revision(Some(now)) != revision(change.before.as_deref()))
    else {
        return;
    };
    let repository = Key::of(now);
    for stack in context.caches.stacks.all() {
        let key = Key::of(&*stack);
        let progress = context.git.progress.get(&key);
        if progress.is_some_and(|progress| progress.fetched.contains_key(&repository)) {
            context.triggers.commits.now(key);
        }
    }
}

/// Requests the removal of an object from the repository that Flux applies it from; `false` if the object is not applied
/// from a repository of the operator.
pub fn remove_from_git<K: Resource>(context: &Context, object: &K, kind: &K::DynamicType) -> bool {
    let (id, meta) = (id_of(object, kind), object.meta());
    match owner_of_applied(meta) {
        Some(("ClusterAddon", owner)) => {
            let Some(addon) = context.caches.addons.get(&owner) else { return false };
            let (stack, cluster) = (committing_stack(&addon), cluster_of(&addon));
            let stacks: Vec<Key> = stack.into_iter().collect();
            remove_from_git_of(context, &id, &stacks, Some(&cluster), &(Queue::Cluster, cluster.clone()))
        }
        Some((_, owner)) => {
            let stacks = stacks_of_shared(context, meta, &owner);
            remove_from_git_of(context, &id, &stacks, None, &(Queue::ClusterStackRelease, owner))
        }
        None => {
            let Some(stack) = committing_stack_of_source(meta) else { return false };
            let requester = (Queue::ClusterStack, stack.clone());
            remove_from_git_of(context, &id, &[stack], None, &requester)
        }
    }
}

/// Whether [`remove_from_git`] removed an object of a Cluster from the repository and Flux did not delete it yet.
pub fn is_removed_from_git(context: &Context, object: &FluxObject) -> bool {
    let Some(("ClusterAddon", owner)) = owner_of_applied(object.meta()) else { return false };
    let Some(addon) = context.caches.addons.get(&owner) else { return false };
    let subject = Subject::Object(id_of(object, &object.kind()), Some(cluster_of(&addon)));
    committing_stack(&addon)
        .is_some_and(|stack| context.git.pending_commits.is_removal_requested(&stack, &subject))
}

/// Whether [`remove_from_git`] removed the source or chart of a component from the repository and Flux did not delete it yet.
pub fn is_source_removed_from_git(context: &Context, object: &FluxObject) -> bool {
    let Some(stack) = committing_stack_of_source(&object.object) else { return false };
    let subject = Subject::Object(id_of(object, &object.kind()), None);
    context.git.pending_commits.is_removal_requested(&stack, &subject)
}

/// Returns the `ClusterStack` that commits the source or chart of a component. No label names a release, because several have
/// it.
fn committing_stack_of_source(object: &ObjectMeta) -> Option<Key> {
    let claim = Claim::of(object).filter(|_| is_applied_by_flux(object))?;
    Some(Key::new(&claim.namespace, &claim.name))
}

/// Like [`remove_from_git`], for a cluster-scoped object that was made for this release.
pub fn remove_from_git_for(context: &Context, object: &Namespace, release: &ClusterStackRelease) -> bool {
    let stacks: Vec<Key> = release.stack_key().into_iter().collect();
    let (id, requester) = (id_of(object, &()), (Queue::ClusterStackRelease, Key::of(release)));
    is_applied_by_flux(object.meta()) && remove_from_git_of(context, &id, &stacks, None, &requester)
}

/// Returns the `ClusterStack`s that may have committed the objects that Clusters of a release share. The release in the
/// object's labels may be deleted while a later one of its line has the same content.
fn stacks_of_shared(context: &Context, object: &ObjectMeta, release: &Key) -> Vec<Key> {
    if let Some(stack) = context.caches.releases.get(release).and_then(|release| release.stack_key()) {
        return vec![stack];
    }
    let Ok(name) = release.name.parse::<ReleaseName>() else { return Vec::new() };
    let is_of = |stack: &Arc<ClusterStack>| subscription::is_of(&stack.spec, &name);
    let (here, elsewhere): (Vec<_>, Vec<_>) = { context.caches.stacks.all() }
        .into_iter()
        .filter(is_of)
        .partition(|stack| stack.namespace() == object.namespace);
    let stacks = if here.is_empty() { elsewhere } else { here };
    stacks.iter().map(|stack| Key::of(&**stack)).collect()
}

fn remove_from_git_of(
    context: &Context,
    id: &ObjectId,
    stacks: &[Key],
    cluster: Option<&Key>,
    requester: &Requester,
) -> bool {
    let commits = |stack: &&Key| {
        context.caches.stacks.get(stack).is_some_and(|stack| stack.spec.delivery.git().is_some())
    };
    let stacks: Vec<&Key> = stacks.iter().filter(commits).collect();
    for stack in &stacks {
        commit(
            context,
            stack,
            Subject::Object(id.clone(), cluster.cloned()),
            Change::Gone,
            requester.clone(),
        );
    }
    !stacks.is_empty()
}

fn id_of<K: Resource>(object: &K, kind: &K::DynamicType) -> ObjectId {
    ObjectId {
        api_version: K::api_version(kind).into_owned(),
        kind: K::kind(kind).into_owned(),
        namespace: object.meta().namespace.clone().unwrap_or_default(),
        name: object.name_any(),
    }
}

#[cfg(test)]
mod tests;
