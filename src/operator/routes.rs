//! What has to be reconciled when something changed.
//!
//! An object's own reconcile follows every change of it that is not an answer to a write of ours: those do not come
//! here. What the write changes for others is told by the reconcile that wrote, through the same functions.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt as _;
use kube::api::PartialObjectMeta;
use tracing::info;

use super::cache::{Change, Key};
use super::objects::{ClusterObject, handed_over_to, owner_of_applied, term};
use super::release::provider_reference;
use super::world::World;
use crate::api::conditions::ConditionType;
use crate::api::{ClusterAddon, ClusterStack, ClusterStackRelease};
use crate::foreign::capi::ObjectReference;
use crate::foreign::flux::observed::{GitRepository, Observed, ObservedKind};
use crate::inputs::stack::Stack;
use crate::names::ReleaseName;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// How long a `ClusterStack` waits for more news of its clusters before it adds them up.
const GATHERING: Duration = Duration::from_secs(1);
/// How long a Cluster waits for more news of its addons: while Flux works it writes several statuses in one go.
const FLUX_GATHERING: Duration = Duration::from_millis(100);

impl World {
    /// Nothing is known of what was done before: everything is looked at.
    pub fn everything_changed(&self) {
        self.caches.stacks.all().iter().for_each(|stack| {
            self.triggers.stacks.now(Key::of(&**stack));
            self.look_upstream(stack);
        });
        self.caches.releases.all().iter().for_each(|release| self.triggers.releases.now(Key::of(&**release)));
        self.caches.clusters.all().iter().for_each(|cluster| self.triggers.clusters.now(Key::of(&**cluster)));
        // The Cluster of a ClusterAddon may be gone.
        self.caches.addons.all().iter().for_each(|addon| self.triggers.clusters.now(cluster_of(addon)));
        // So may be that of what was handed over.
        let releases = self.caches.helm_releases.all();
        let left = releases.iter().filter_map(|object| handed_over_to(&object.object));
        left.for_each(|cluster| self.triggers.clusters.now(cluster));
        let kustomizations = self.caches.kustomizations.all();
        let left = kustomizations.iter().filter_map(|object| handed_over_to(&object.object));
        left.for_each(|cluster| self.triggers.clusters.now(cluster));
    }

    /// Nothing is known of what was done for a `ClusterStack`: all of it is looked at.
    pub fn everything_of(&self, stack: &Key) {
        self.triggers.stacks.now(stack.clone());
        for release in self.caches.releases.find(&term::owned_by("ClusterStack", stack)) {
            let key = Key::of(&*release);
            let class = key.name.parse::<ReleaseName>().map(|name| name.class_name());
            let clusters = class.map(|class| self.caches.clusters.find(&term::class(&key.namespace, &class)));
            clusters.iter().flatten().for_each(|cluster| self.triggers.clusters.now(Key::of(&**cluster)));
            self.triggers.releases.now(key);
        }
    }

    /// A `ClusterStack` changed: its releases are planned anew.
    pub fn stack_changed(&self, change: &Change<ClusterStack>) {
        let Some(stack) = change.now.as_ref().or(change.before.as_ref()) else { return };
        let key = Key::of(&**stack);
        for release in self.caches.releases.find(&term::owned_by("ClusterStack", &key)) {
            self.triggers.releases.now(Key::of(&*release));
        }
        self.triggers.stacks.now(key);
        if let Some(template) = change.before.as_ref().and_then(|before| before.spec.provider_ref.as_ref()) {
            self.release_kind(&provider_reference(template));
        }
        self.look_upstream(stack);
        self.look_at_branch(stack);
        self.clones_changed(change);
        // Others of the namespace may want the same releases.
        for other in self.caches.stacks.all() {
            if other.namespace() == stack.namespace() {
                self.triggers.stacks.after(Key::of(&*other), GATHERING);
            }
        }
    }

    /// A `ClusterStackRelease` changed: its `ClusterStack` adds up.
    pub fn release_changed(&self, change: &Change<ClusterStackRelease>) {
        let Some(release) = change.now.as_ref().or(change.before.as_ref()) else { return };
        self.triggers.releases.now(Key::of(&**release));
        if let Some(object) = change.before.as_ref().and_then(|before| before.spec.provider_ref.as_ref()) {
            self.release_kind(&provider_reference(object));
        }
        self.release_status_changed(change);
    }

    /// What a `ClusterStackRelease` says of itself changed.
    pub fn release_status_changed(&self, change: &Change<ClusterStackRelease>) {
        let Some(release) = change.now.as_ref().or(change.before.as_ref()) else { return };
        let namespace = release.namespace().unwrap_or_default();
        for owner in release.owner_references().iter().filter(|owner| owner.kind == "ClusterStack") {
            self.triggers.stacks.now(Key::new(&namespace, &owner.name));
        }
    }

    /// A `ClusterAddon` changed.
    pub fn addon_changed(&self, change: &Change<ClusterAddon>) {
        let Some(addon) = change.now.as_ref().or(change.before.as_ref()) else { return };
        self.triggers.clusters.now(cluster_of(addon));
        self.addon_status_changed(change);
    }

    /// What a `ClusterAddon` says of itself changed: the `ClusterStack` adds up, where it counts.
    pub fn addon_status_changed(&self, change: &Change<ClusterAddon>) {
        let sum = |addon: Option<&ClusterAddon>| {
            let addon = addon?;
            let conditions = &addon.status.as_ref()?.conditions;
            let told = |kind: ConditionType| {
                let found = conditions.iter().find(|condition| condition.type_ == kind.as_str());
                // A condition of an earlier spec counts for nothing.
                found.map(|found: &Condition| {
                    let is_current = found.observed_generation >= addon.metadata.generation;
                    (found.status.clone(), found.reason.clone(), is_current)
                })
            };
            let told = [ConditionType::Ready, ConditionType::Delivered].map(told);
            let desired = addon.status.as_ref()?.release.as_ref().and_then(|release| release.desired.clone());
            Some((told, desired))
        };
        let is_suspended = |addon: Option<&ClusterAddon>| addon.is_some_and(|addon| addon.spec.suspend);
        let (before, now) = (change.before.as_deref(), change.now.as_deref());
        if sum(before) == sum(now) && is_suspended(before) == is_suspended(now) {
            return;
        }
        let Some(addon) = change.now.as_ref().or(change.before.as_ref()) else { return };
        if let Some(cluster) = self.caches.clusters.get(&cluster_of(addon)) {
            self.stacks_of_class(&cluster);
        }
    }

    /// A Cluster changed.
    pub fn cluster_changed(&self, change: &Change<ClusterObject>) {
        let Some(cluster) = change.now.as_ref().or(change.before.as_ref()) else { return };
        self.triggers.clusters.now(Key::of(&**cluster));
        self.release_kinds(change.before.as_deref());
        let use_of = |cluster: &ClusterObject| {
            let cluster = &cluster.cluster;
            (cluster.class(), cluster.deleting(), cluster.paused(), cluster.control_plane_initialized())
        };
        if change.before.as_deref().map(use_of) != change.now.as_deref().map(use_of) {
            change.before.iter().chain(&change.now).for_each(|cluster| self.use_changed(cluster));
        }
    }

    /// The kinds that a Cluster referred to are not watched where nothing refers to them now.
    fn release_kinds(&self, before: Option<&ClusterObject>) {
        let references =
            before.map(|before| [before.cluster.control_plane_ref(), before.cluster.infrastructure_ref()]);
        references.into_iter().flatten().flatten().for_each(|reference| self.release_kind(&reference));
    }

    /// A kind is not watched if nothing refers to it now.
    fn release_kind(&self, ObjectReference { group, kind, .. }: &ObjectReference) {
        let (caches, term) = (&self.caches, term::refers_to_kind(group, kind));
        if !(caches.clusters.has(&term) || caches.stacks.has(&term) || caches.releases.has(&term)) {
            self.related.release(group, kind);
        }
    }

    /// A Cluster began or ended to use its class.
    fn use_changed(&self, cluster: &ClusterObject) {
        let release = cluster
            .cluster
            .class()
            .and_then(|class| Some(Key::new(&class.namespace, &class.release()?.to_string())));
        if let Some(release) = release {
            self.triggers.releases.after(release, GATHERING);
        }
        self.stacks_of_class(cluster);
    }

    /// The `ClusterStack`s that may have the class of a Cluster.
    fn stacks_of_class(&self, cluster: &ClusterObject) {
        let Some(class) = cluster.cluster.class() else { return };
        for stack in self.caches.stacks.all() {
            if stack.namespace().as_deref() == Some(&class.namespace) {
                self.triggers.stacks.after(Key::of(&*stack), GATHERING);
            }
        }
    }

    /// A Namespace changed: where it goes, what its Clusters have is let go before it is deleted like all the rest.
    pub fn namespace_changed(&self, change: &Change<PartialObjectMeta<Namespace>>) {
        let Some(namespace) = &change.now else { return };
        if namespace.metadata.deletion_timestamp.is_none() {
            return;
        }
        let addons = self.caches.addons.all().into_iter();
        let addons = addons.filter(|addon| addon.namespace().as_ref() == namespace.metadata.name.as_ref());
        let clusters: Vec<Key> = addons.map(|addon| cluster_of(&addon)).collect();
        let was_going = |before: &PartialObjectMeta<Namespace>| before.metadata.deletion_timestamp.is_some();
        if !clusters.is_empty() && !change.before.as_deref().is_some_and(was_going) {
            let name = namespace.metadata.name.as_deref().unwrap_or_default();
            info!(
                namespace = name,
                clusters = clusters.len(),
                "the namespace is being deleted: the addons of its Clusters are let go, and nothing is uninstalled"
            );
        }
        for cluster in clusters {
            self.triggers.clusters.now(cluster);
        }
    }

    /// An object changed that Clusters of its namespace refer to, or that is the provider's for a release.
    pub fn related_changed(&self, namespace: &str, object: &ObjectReference) {
        let term = term::refers_to(namespace, object);
        for cluster in self.caches.clusters.find(&term) {
            self.triggers.clusters.now(Key::of(&*cluster));
        }
        for release in self.caches.releases.find(&term) {
            self.triggers.releases.now(Key::of(&*release));
        }
        for stack in self.caches.stacks.find(&term) {
            for release in self.caches.releases.find(&term::owned_by("ClusterStack", &Key::of(&*stack))) {
                self.triggers.releases.now(Key::of(&*release));
            }
        }
    }

    /// A Flux object changed that belongs to a Cluster or a release.
    pub fn flux_changed<Status: ObservedKind>(&self, change: &Change<Observed<Status>>) {
        self.note_movement(change);
        let Some(object) = change.now.as_ref().or(change.before.as_ref()) else { return };
        let namespace = object.namespace().unwrap_or_default();
        for owner in object.owner_references() {
            self.flux_changed_of(&owner.kind, Key::new(&namespace, &owner.name));
        }
        if let Some((kind, owner)) = owner_of_applied(&object.object) {
            self.flux_changed_of(kind, owner);
        }
    }

    /// A Flux object changed that belongs to this object of ours.
    fn flux_changed_of(&self, kind: &str, owner: Key) {
        match kind {
            "ClusterAddon" => {
                if let Some(addon) = self.caches.addons.get(&owner) {
                    self.triggers.clusters.after(cluster_of(&addon), FLUX_GATHERING);
                }
            }
            "ClusterStackRelease" => self.triggers.releases.now(owner),
            _ => {}
        }
    }

    /// A `GitRepository` or `HelmChart` changed: those whose releases are in another namespace have no owner.
    pub fn source_changed<Status: ObservedKind>(&self, change: &Change<Observed<Status>>) {
        self.note_movement(change);
        let Some(object) = change.now.as_ref().or(change.before.as_ref()) else { return };
        if !object.owner_references().is_empty() {
            return self.flux_changed(change);
        }
        let namespace = object.namespace().unwrap_or_default();
        for stack in self.caches.stacks.all() {
            let follows = Stack::source_key(&stack, self.settings.default_source.as_ref());
            if follows.is_some_and(|(of, _)| of == namespace) {
                for release in self.caches.releases.find(&term::owned_by("ClusterStack", &Key::of(&*stack))) {
                    self.triggers.releases.now(Key::of(&*release));
                }
            }
        }
    }

    /// A `GitRepository` changed: the `ClusterStack`s that follow it look at it.
    pub fn repository_changed(&self, change: &Change<GitRepository>) {
        let Some(repository) = change.now.as_ref().or(change.before.as_ref()) else { return };
        let key = (repository.namespace().unwrap_or_default(), repository.name_any());
        for stack in self.caches.stacks.all() {
            if Stack::source_key(&stack, self.settings.default_source.as_ref()).as_ref() == Some(&key) {
                self.triggers.stacks.now(Key::of(&*stack));
            }
        }
        self.source_changed(change);
    }
}

/// The Cluster of a `ClusterAddon`, which is in the same namespace.
#[must_use]
pub fn cluster_of(addon: &ClusterAddon) -> Key {
    let name = addon.spec.cluster_ref.name.as_deref().unwrap_or_default();
    Key::new(&addon.namespace().unwrap_or_default(), name)
}
