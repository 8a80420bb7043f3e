//! Enqueues the objects that a change affects.
//!
//! An object's own reconcile follows each change, except the result of a write by the operator. For such a write, the
//! reconcile that wrote calls the same functions to enqueue other objects.

mod relevant;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt as _;
use kube::api::PartialObjectMeta;
use tracing::{info, warn};

use super::context::Context;
use super::git_delivery::{enqueue_pass, on_repository_event, remove_unused_clones};
use super::objects::{ClusterObject, cluster_of, handed_over_to, index, labelled_owner, provider_reference};
use super::publisher::{enqueue_builtin, enqueue_publish};
use crate::addons::is_orphaning;
use crate::api::{ClusterAddon, ClusterAddonOverride, ClusterStack, ClusterStackRelease};
use crate::foreign::capi::ObjectReference;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::inputs::claim::Claim;
use crate::names::ReleaseName;
use crate::runtime::cache::{Change, Key};
use crate::subscription::is_of;
use relevant::{concerns_publication, counted, is_of_status, is_progress};

/// Delay in which a `ClusterStack` gathers changes of its clusters, and the progress of its releases, before it counts them.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// Delay in which a release gathers statuses of its Flux objects, because Flux fetches its charts one after the other. Its Clusters
/// learn as much later that it can be used.
const RELEASE_BATCH_DELAY: Duration = Duration::from_millis(500);
/// Delay in which a Cluster gathers changes of its addons, because Flux writes several statuses at once.
const FLUX_BATCH_DELAY: Duration = Duration::from_millis(100);

/// Enqueues everything, because earlier results are unknown.
pub fn enqueue_all(context: &Context) {
    for stack in context.caches.stacks.all() {
        context.triggers.stacks.now(Key::of(&*stack));
        enqueue_publish(context, &stack);
    }
    context.triggers.releases.each(&context.caches.releases.all());
    context.triggers.clusters.each(&context.caches.clusters.all());
    // The Cluster of a ClusterAddonOverride may not exist.
    context.triggers.clusters.each(&context.caches.overrides.all());
    // The Cluster of a ClusterAddon may be deleted.
    context.caches.addons.all().iter().for_each(|addon| context.triggers.clusters.now(cluster_of(addon)));
    // The Cluster of objects that were handed over may be deleted, too.
    let objects = context.caches.flux.all(&FluxKind::DELIVERING);
    let left = objects.iter().filter_map(|object| handed_over_to(&object.object));
    left.for_each(|cluster| context.triggers.clusters.now(cluster));
}

/// Enqueues everything of a `ClusterStack`, because earlier results are unknown.
pub fn enqueue_all_of(context: &Context, stack: &Key) {
    context.triggers.stacks.now(stack.clone());
    for release in context.caches.releases.by_index(&index::owned_by("ClusterStack", stack)) {
        let key = Key::of(&*release);
        if let Ok(name) = key.name.parse::<ReleaseName>() {
            context.enqueue_clusters(&key.namespace, &name.class_name());
        }
        context.triggers.releases.now(key);
    }
}

/// Handles a change of a `ClusterStack`: its releases are planned again.
pub fn on_stack_event(context: &Context, change: &Change<ClusterStack>) {
    let Some(stack) = change.now.as_ref().or(change.before.as_ref()) else { return };
    let key = Key::of(&**stack);
    enqueue_releases(context, &key, Duration::ZERO);
    context.triggers.stacks.now(key);
    if let Some(template) = change.before.as_ref().and_then(|before| before.spec.provider_ref.as_ref()) {
        unwatch_kind(context, &provider_reference(template));
    }
    if concerns_publication(change.before.as_deref(), change.now.as_deref()) {
        enqueue_publish(context, stack);
    }
    enqueue_pass(context, stack);
    enqueue_gated(context, change);
    remove_unused_clones(context, change);
    // Other ClusterStacks of the namespace may offer the same releases.
    for other in context.caches.stacks.all() {
        if other.namespace() == stack.namespace() {
            context.triggers.stacks.after(Key::of(&*other), BATCH_DELAY);
        }
    }
}

/// Enqueues the Clusters of a `ClusterStack` if it begins or stops delaying their upgrades. They need no release for that.
fn enqueue_gated(context: &Context, change: &Change<ClusterStack>) {
    let gate = |stack: &ClusterStack| (stack.spec.upgrade_gate, is_orphaning(&stack.metadata));
    let Some(stack) = change.now.as_ref() else { return };
    if change.before.as_deref().map(gate) != Some(gate(stack)) {
        let line = index::line(&stack.namespace().unwrap_or_default(), &stack.spec);
        context.triggers.clusters.each(&context.caches.clusters.by_index(&line));
    }
}

/// Handles a change of a `ClusterStackRelease`, which its `ClusterStack`s count.
pub fn on_release_event(context: &Context, change: &Change<ClusterStackRelease>) {
    let Some(release) = change.now.as_ref().or(change.before.as_ref()) else { return };
    let key = Key::of(&**release);
    // The reconcile of a Cluster does nothing while the cache lacks its release.
    if let (None, Ok(name)) = (&change.before, key.name.parse::<ReleaseName>()) {
        context.enqueue_clusters(&key.namespace, &name.class_name());
    }
    context.triggers.releases.now(key);
    if let Some(object) = change.before.as_ref().and_then(|before| before.spec.provider_ref.as_ref()) {
        unwatch_kind(context, &provider_reference(object));
    }
    on_release_status(context, change);
}

/// Enqueues the `ClusterStack`s that may offer a release: one of them may wait until the release of another owner is gone.
fn enqueue_stacks_of_release(context: &Context, release: &Key) {
    let Ok(name) = release.name.parse::<ReleaseName>() else { return };
    for stack in context.caches.stacks.all() {
        if stack.namespace().as_ref() == Some(&release.namespace) && is_of(&stack.spec, &name) {
            context.triggers.stacks.now(Key::of(&*stack));
        }
    }
}

/// Handles a change of the status of a `ClusterStackRelease`: its `ClusterStack`s follow at once, unless only its progress changed.
pub fn on_release_status(context: &Context, change: &Change<ClusterStackRelease>) {
    let Some(release) = change.now.as_ref().or(change.before.as_ref()) else { return };
    let namespace = release.namespace().unwrap_or_default();
    let can_wait = is_progress(change.before.as_deref(), change.now.as_deref());
    let delay = if can_wait { BATCH_DELAY } else { Duration::ZERO };
    for owner in release.stack_owners() {
        context.triggers.stacks.after(Key::new(&namespace, &owner.name), delay);
    }
    if change.now.is_none() {
        enqueue_stacks_of_release(context, &Key::of(&**release));
    }
}

/// Handles a change of a `ClusterAddon`.
pub fn on_addon_event(context: &Context, change: &Change<ClusterAddon>) {
    let clusters: BTreeSet<Key> =
        change.before.iter().chain(&change.now).map(|addon| cluster_of(addon)).collect();
    for cluster in clusters {
        context.triggers.clusters.now(cluster);
    }
    on_addon_status(context, change);
}

/// Handles a change of a `ClusterAddonOverride`: enqueues the Cluster with its name, which may not exist.
pub fn on_override_event(context: &Context, change: &Change<ClusterAddonOverride>) {
    if let Some(found) = change.now.as_ref().or(change.before.as_ref()) {
        context.triggers.clusters.now(Key::of(&**found));
    }
}

/// Enqueues the releases that a `ClusterAddon` that is gone had kept from their deletion.
fn enqueue_kept_releases(context: &Context, addon: &ClusterAddon) {
    let Some(progress) = addon.status.as_ref().and_then(|status| status.release.as_ref()) else { return };
    let desired = progress.desired_namespace.as_deref().zip(progress.desired.as_deref());
    let applied = progress.applied_namespace.as_deref().zip(progress.applied.as_deref());
    for (namespace, name) in desired.into_iter().chain(applied) {
        context.triggers.releases.now(Key::new(namespace, name));
    }
}

/// Handles a change of the status of a `ClusterAddon`: enqueues the `ClusterStack` if its counts change, and the releases of one
/// that is gone.
pub fn on_addon_status(context: &Context, change: &Change<ClusterAddon>) {
    if let (Some(before), None) = (&change.before, &change.now) {
        enqueue_kept_releases(context, before);
    }
    let is_suspended = |addon: Option<&ClusterAddon>| addon.is_some_and(|addon| addon.spec.suspend);
    let (before, now) = (change.before.as_deref(), change.now.as_deref());
    if before.and_then(counted) == now.and_then(counted) && is_suspended(before) == is_suspended(now) {
        return;
    }
    let Some(addon) = change.now.as_ref().or(change.before.as_ref()) else { return };
    if let Some(cluster) = context.caches.clusters.get(&cluster_of(addon)) {
        enqueue_stacks_of_class(context, &cluster);
    }
}

/// Handles a change of a Cluster.
pub fn on_cluster_event(context: &Context, change: &Change<ClusterObject>) {
    let Some(cluster) = change.now.as_ref().or(change.before.as_ref()) else { return };
    context.triggers.clusters.now(Key::of(&**cluster));
    unwatch_kinds(context, change.before.as_deref());
    let use_of = |cluster: &ClusterObject| {
        let cluster = &cluster.cluster;
        (cluster.class(), cluster.deleting(), cluster.paused(), cluster.control_plane_initialized())
    };
    if change.before.as_deref().map(use_of) != change.now.as_deref().map(use_of) {
        change.before.iter().chain(&change.now).for_each(|cluster| on_use_change(context, cluster));
    }
}

/// Stops watching the kinds that a Cluster referred to if no object refers to them now.
fn unwatch_kinds(context: &Context, before: Option<&ClusterObject>) {
    let references =
        before.map(|before| [before.cluster.control_plane_ref(), before.cluster.infrastructure_ref()]);
    references.into_iter().flatten().flatten().for_each(|reference| unwatch_kind(context, &reference));
}

/// Stops watching a kind if no object refers to it now.
fn unwatch_kind(context: &Context, ObjectReference { group, kind, .. }: &ObjectReference) {
    let (caches, index_key) = (&context.caches, index::refers_to_kind(group, kind));
    if !(caches.clusters.has_index_key(&index_key)
        || caches.stacks.has_index_key(&index_key)
        || caches.releases.has_index_key(&index_key))
    {
        context.related.release(group, kind);
    }
}

/// Handles a Cluster that began or stopped using its class.
fn on_use_change(context: &Context, cluster: &ClusterObject) {
    if let Some(release) = cluster.cluster.release_key() {
        context.triggers.releases.after(release, BATCH_DELAY);
    }
    enqueue_stacks_of_class(context, cluster);
}

/// Enqueues the `ClusterStack`s that may have the class of a Cluster.
fn enqueue_stacks_of_class(context: &Context, cluster: &ClusterObject) {
    let Some(class) = cluster.cluster.class() else { return };
    for stack in context.caches.stacks.all() {
        if stack.namespace().as_deref() == Some(&class.namespace) {
            context.triggers.stacks.after(Key::of(&*stack), BATCH_DELAY);
        }
    }
}

/// Handles a change of a Namespace: enqueues the releases whose class has Helm's storage there. If the Namespace was unknown,
/// enqueues its Clusters and releases, whose Flux objects it owns too. If it is being deleted, enqueues its Clusters, whose Flux
/// objects are suspended before Kubernetes deletes them.
pub fn on_namespace_event(context: &Context, change: &Change<PartialObjectMeta<Namespace>>) {
    if let Some(namespace) = change.now.as_ref().or(change.before.as_ref()) {
        let releases = context.caches.releases.by_index(&index::stores_in(&namespace.name_any()));
        context.triggers.releases.each(&releases);
    }
    let Some(namespace) = &change.now else { return };
    // Before the first list is complete, nothing reconciles.
    let is_new = change.before.is_none() && context.caches.namespaces.is_synced();
    if is_new {
        let is_in = |other: Option<String>| other == namespace.metadata.name;
        let releases = context.caches.releases.all().into_iter();
        let releases: Vec<_> = releases.filter(|release| is_in(release.namespace())).collect();
        context.triggers.releases.each(&releases);
    }
    if namespace.metadata.deletion_timestamp.is_none() && !is_new {
        return;
    }
    let addons = context.caches.addons.all().into_iter();
    let addons = addons.filter(|addon| addon.namespace().as_ref() == namespace.metadata.name.as_ref());
    let clusters: Vec<Key> = addons.map(|addon| cluster_of(&addon)).collect();
    let is_going = |found: &PartialObjectMeta<Namespace>| found.metadata.deletion_timestamp.is_some();
    if is_going(namespace) && !clusters.is_empty() && !change.before.as_deref().is_some_and(is_going) {
        let name = namespace.metadata.name.as_deref().unwrap_or_default();
        info!(
            namespace = name,
            clusters = clusters.len(),
            "the namespace is being deleted: the Flux objects of its Clusters' addons are deleted, and nothing is \
             uninstalled"
        );
    }
    for cluster in clusters {
        context.triggers.clusters.now(cluster);
    }
}

/// Handles a change of an object that Clusters of its namespace refer to, or of a release's provider object.
pub fn on_related_event(context: &Context, namespace: &str, object: &ObjectReference) {
    let index_key = index::refers_to(namespace, object);
    context.triggers.clusters.each(&context.caches.clusters.by_index(&index_key));
    context.triggers.releases.each(&context.caches.releases.by_index(&index_key));
    for stack in context.caches.stacks.by_index(&index_key) {
        enqueue_releases(context, &Key::of(&*stack), Duration::ZERO);
    }
}

/// Handles a change of a Flux object: enqueues the Cluster or the release that it belongs to, and the `ClusterStack`s that
/// follow it.
pub fn on_flux_event(context: &Context, change: &Change<FluxObject>) {
    context.note_movement(change);
    let Some(object) = change.now.as_ref().or(change.before.as_ref()) else { return };
    if let Some(why) = &object.unreadable_status {
        warn!(kind = %object.kind(), object = %Key::of(&**object), "its status cannot be read, and counts as none: {why}");
    }
    if object.kind() == FluxKind::GitRepository {
        enqueue_followers(context, object, change);
        on_repository_event(context, change);
    }
    let can_wait = is_of_status(change.before.as_deref(), change.now.as_deref());
    let delay = if can_wait { RELEASE_BATCH_DELAY } else { Duration::ZERO };
    if object.kind().is_source() && object.owner_references().is_empty() {
        return enqueue_users(context, object, delay);
    }
    // Another client may have changed what names the owner.
    let owners: BTreeSet<(String, Key)> =
        change.before.iter().chain(&change.now).flat_map(|object| owners_of(object)).collect();
    for (kind, owner) in owners {
        on_flux_event_of(context, &kind, owner, delay);
    }
    // The ClusterAddon of objects that were handed over is deleted, and their Cluster may be, too.
    if let Some(cluster) = change.now.as_ref().and_then(|object| handed_over_to(&object.object)) {
        context.triggers.clusters.after(cluster, FLUX_BATCH_DELAY);
    }
}

/// Returns the objects that a Flux object belongs to by its owner references or its labels, each with its kind.
fn owners_of(object: &FluxObject) -> impl Iterator<Item = (String, Key)> {
    let namespace = object.namespace().unwrap_or_default();
    let by_label =
        labelled_owner(object.kind(), &object.object).map(|(kind, owner)| (kind.to_owned(), owner));
    let owners = object.owner_references().iter();
    let owners = owners.map(move |owner| (owner.kind.clone(), Key::new(&namespace, &owner.name)));
    owners.chain(by_label)
}

/// Handles a change of a Flux object that belongs to this object of the operator. A release waits for others until `delay`.
fn on_flux_event_of(context: &Context, kind: &str, owner: Key, delay: Duration) {
    match kind {
        "ClusterAddon" => {
            if let Some(addon) = context.caches.addons.get(&owner) {
                context.triggers.clusters.after(cluster_of(&addon), FLUX_BATCH_DELAY);
            }
        }
        "ClusterStackRelease" => context.triggers.releases.after(owner, delay),
        _ => {}
    }
}

/// Enqueues the releases of a `ClusterStack`, after `delay` at the latest.
fn enqueue_releases(context: &Context, stack: &Key, delay: Duration) {
    for release in context.caches.releases.by_index(&index::owned_by("ClusterStack", stack)) {
        context.triggers.releases.after(Key::of(&*release), delay);
    }
}

/// Enqueues the releases that may use a source without an owner: it has none if its release is in another namespace, or if Flux
/// applies it from a repository. That of a component names its `ClusterStack`.
fn enqueue_users(context: &Context, source: &FluxObject, delay: Duration) {
    let namespace = source.namespace().unwrap_or_default();
    if let Some(claim) = Claim::of(&source.object).filter(|claim| !claim.name.is_empty()) {
        enqueue_releases(context, &Key::new(&claim.namespace, &claim.name), delay);
    }
    for stack in context.caches.stacks.all() {
        if context.source_key(&stack).is_some_and(|key| key.namespace == namespace) {
            enqueue_releases(context, &Key::of(&*stack), delay);
        }
    }
}

/// Enqueues the `ClusterStack`s that follow a `GitRepository`.
fn enqueue_followers(context: &Context, repository: &FluxObject, change: &Change<FluxObject>) {
    let key = Key::of(repository);
    let revision =
        |object: &Option<Arc<FluxObject>>| Some(object.as_ref()?.status.artifact()?.revision.clone());
    let is_fetched = revision(&change.before) != revision(&change.now);
    let requested = |object: &Option<Arc<FluxObject>>| object.as_ref()?.metadata.requested_at.clone();
    let is_asked = !context.api.may_write() && requested(&change.before) != requested(&change.now);
    for stack in context.caches.stacks.all() {
        if context.source_key(&stack).as_ref() == Some(&key) {
            context.triggers.stacks.now(Key::of(&*stack));
            // Flux may have fetched from a replica that has more, and the leader asks when it has.
            if is_fetched || is_asked {
                enqueue_builtin(context, &stack);
            }
        }
    }
}
