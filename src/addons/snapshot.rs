//! A snapshot of the addons of one Cluster.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use crate::api::ClusterAddon;
use crate::api::cluster_addon::{AddonObject, AddonStatus};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::is_owned;
use crate::plan::PlannedObject;
use crate::rollup::{Applier, DEADLINE, Moment};

/// The state of the addons of one Cluster at one time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The `ClusterAddon`.
    pub addon: Arc<ClusterAddon>,
    /// The Flux objects that the `ClusterAddon` owns, that its status names, or that have the name of a planned one.
    pub objects: Vec<Arc<FluxObject>>,
    /// Kind and name of the objects whose files the operator has requested to remove from the repository.
    pub without_file: BTreeSet<(FluxKind, String)>,
    /// Kind and name of the objects whose repair waits, because another client changes them again and again.
    pub unrepaired: BTreeSet<(FluxKind, String)>,
    /// The UID of the Namespace of the objects, if known.
    pub namespace: Option<String>,
    /// The state of helm-controller.
    pub helm_controller: Applier,
    /// The state of kustomize-controller.
    pub kustomize_controller: Applier,
    /// The present time.
    pub now: Timestamp,
}

impl Snapshot {
    /// Returns the object with that kind and name.
    #[must_use]
    pub fn get(&self, kind: &str, name: &str) -> Option<&Arc<FluxObject>> {
        find(&self.objects, kind, name)
    }

    /// Returns the existing object with the kind and name of a planned one.
    pub(super) fn existing(&self, planned: &PlannedObject) -> Option<&Arc<FluxObject>> {
        self.get(&planned.id.kind, &planned.id.name)
    }

    /// Whether the repair of an object waits.
    pub(super) fn is_unrepaired(&self, planned: &PlannedObject) -> bool {
        planned.kind().is_some_and(|kind| self.unrepaired.contains(&(kind, planned.id.name.clone())))
    }

    /// Returns the objects of the `ClusterAddon`, also those whose owner reference was removed.
    pub(super) fn owned(&self) -> impl Iterator<Item = &Arc<FluxObject>> {
        self.objects.iter().filter(|object| is_owned(&object.object, &self.addon))
    }

    /// Returns the addons in the status.
    pub fn addons_before(&self) -> impl Iterator<Item = &AddonStatus> {
        self.addon.status.iter().flat_map(|status| &status.addons)
    }

    /// Returns the moment of the snapshot with the state of a kind's controller.
    #[must_use]
    pub fn moment(&self, kind: &str) -> Moment {
        let is_helm = kind == FluxKind::HelmRelease.as_str();
        let applier = if is_helm { self.helm_controller } else { self.kustomize_controller };
        Moment { now: self.now, applier, deadline: DEADLINE }
    }
}

/// Returns the object with that kind and name.
pub(super) fn find<'a>(
    objects: &'a [Arc<FluxObject>],
    kind: &str,
    name: &str,
) -> Option<&'a Arc<FluxObject>> {
    objects.iter().find(|object| object.kind().as_str() == kind && object.name() == name)
}

/// Returns the object that the status of a `ClusterAddon` names.
pub(super) fn named<'a>(objects: &'a [Arc<FluxObject>], object: &AddonObject) -> Option<&'a Arc<FluxObject>> {
    find(objects, &object.kind, &object.name)
}
