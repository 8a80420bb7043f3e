//! A snapshot of the addons of one Cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::api::ClusterAddon;
use crate::api::cluster_addon::{AddonObject, AddonStatus};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::definition::Renaming;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::is_owned;
use crate::names::Key;
use crate::plan::existing::is_ours;
use crate::plan::write::{RepairState, WriteFacts};
use crate::plan::{ObjectId, PlannedObject};
use crate::rollup::{Applier, DEADLINE, Moment};

/// The state of the addons of one Cluster at one time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The `ClusterAddon`.
    pub addon: Arc<ClusterAddon>,
    /// Whether a later status of it, whose request had no answer, may still arrive.
    pub is_status_under_way: bool,
    /// The Flux objects that the `ClusterAddon` owns, that its status names, or that have the name of a planned one.
    pub objects: Vec<Arc<FluxObject>>,
    /// The objects of other clients that have the names of planned ones and that no watch reports.
    pub occupants: Vec<Arc<FluxObject>>,
    /// Kind and name of the objects whose files the operator has requested to remove from the repository.
    pub without_file: BTreeSet<(FluxKind, String)>,
    /// The sources that have the names of planned ones.
    pub sources: Vec<Arc<FluxObject>>,
    /// The repairs of planned objects, if there were any a short time ago.
    pub repairs: BTreeMap<ObjectId, RepairState>,
    /// The Namespace of the objects as an owner, if known.
    pub namespace: Option<OwnerReference>,
    /// The state of helm-controller.
    pub helm_controller: Applier,
    /// The state of kustomize-controller.
    pub kustomize_controller: Applier,
    /// What helm-controller does with a chart that gets another name.
    pub renaming: Renaming,
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
    #[must_use]
    pub fn existing(&self, planned: &PlannedObject) -> Option<&Arc<FluxObject>> {
        self.get(&planned.id.kind, &planned.id.name)
    }

    /// Returns that object unless it is one of another client.
    #[must_use]
    pub fn ours(&self, planned: &PlannedObject) -> Option<&Arc<FluxObject>> {
        self.existing(planned).filter(|found| is_ours((&***found).into(), planned))
    }

    /// Returns the existing source with the kind, namespace and name of a planned one.
    #[must_use]
    pub fn source(&self, planned: &PlannedObject) -> Option<&Arc<FluxObject>> {
        named_as(&self.sources, planned)
    }

    /// Returns the object of another client that has the name of a planned one, and that no watch reports.
    #[must_use]
    pub(super) fn occupant(&self, planned: &PlannedObject) -> Option<&Arc<FluxObject>> {
        named_as(&self.occupants, planned)
    }

    /// Returns the facts for the write of an object with these owners, without its present state.
    pub(super) fn write_facts<'a>(
        &'a self,
        planned: &PlannedObject,
        owners: &'a [OwnerReference],
    ) -> WriteFacts<'a> {
        WriteFacts {
            found: None,
            expected: None,
            owners,
            namespace: self.namespace.as_ref(),
            is_shared: false,
            repairs: self.repairs.get(&planned.id).unwrap_or(&RepairState::NONE),
        }
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

/// Returns the object with the kind, namespace and name of a planned one.
fn named_as<'a>(objects: &'a [Arc<FluxObject>], planned: &PlannedObject) -> Option<&'a Arc<FluxObject>> {
    let key = planned.id.key();
    objects.iter().find(|found| Some(found.kind()) == planned.kind() && Key::of(&***found) == key)
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
