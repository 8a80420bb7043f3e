//! Tables of the decisions about the addons of a Cluster.

mod budget;
mod cluster_addon;
mod course;
mod decision;
mod deletion;
mod dependents;
mod file_removal;
mod forced_upgrade;
mod handover;
mod lack;
mod pruning;
mod renamed;
mod requests;
mod revision;
mod roll_up;
mod taken_back;
mod upgrade;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::api::cluster_addon::ClusterAddonStatus;
use crate::api::{ClusterAddon, ClusterAddonOverride, Reason, labels};
use crate::foreign::capi::Cluster;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::definition::Renaming;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::is_owned;
use crate::gate::Hold;
use crate::gate::upgrade::{Gate, Phase};
use crate::inputs::ClusterInputs;
use crate::names::AddonName;
use crate::plan::stages::Course;
use crate::plan::tests::fixture::Fixture;
use crate::plan::write::{RepairState, namespace_owner};
use crate::plan::{ObjectId, PlannedObject};
use crate::release::Release;
use crate::rollup::{Applier, ConditionStatus, Report};

const NOW: &str = "2026-11-23T02:00:00Z";

/// Applies a JSON merge patch to an object.
fn merge(object: &mut Value, changes: &Value) {
    let (Value::Object(object), Value::Object(changes)) = (&mut *object, changes) else {
        *object = changes.clone();
        return;
    };
    for (name, value) in changes {
        if value.is_null() {
            object.remove(name);
        } else {
            merge(object.entry(name.as_str()).or_insert(Value::Null), value);
        }
    }
}

/// Returns the `ClusterAddon` of Cluster `c1` with these changes.
fn cluster_addon(changes: &Value) -> ClusterAddon {
    let mut object = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddon",
        "metadata": {
            "name": "cluster-addon-c1", "namespace": "work", "uid": "addon", "generation": 1,
            "finalizers": [labels::FINALIZER],
            "ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c1", "uid": "c"}],
        },
        "spec": {"clusterRef": {"name": "c1", "uid": "c"}},
    });
    merge(&mut object, changes);
    serde_json::from_value(object).unwrap()
}

/// Returns Cluster `c1` with these changes.
fn cluster(changes: &Value) -> Cluster {
    let mut object = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "c1", "namespace": "work", "uid": "c"},
        "spec": {"topology": {"classRef": {"name": "openstack-scs-1-32-v2", "namespace": "stacks"}}},
        "status": {"initialization": {"controlPlaneInitialized": true}},
    });
    merge(&mut object, changes);
    Cluster::new(object).unwrap()
}

/// Returns a Flux object of an addon of Cluster `c1` with these changes.
fn flux_object(kind: &str, addon: &str, changes: &Value) -> Arc<FluxObject> {
    let mut object = json!({
        "kind": kind,
        "metadata": {
            "name": format!("c1.{addon}"), "namespace": "work", "uid": format!("{kind} {addon}"),
            "labels": {labels::ADDON: addon, labels::CLUSTER_NAME: "c1"},
            "ownerReferences": [{
                "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddon", "name": "cluster-addon-c1",
                "uid": "addon",
            }],
        },
        "spec": {},
    });
    merge(&mut object, changes);
    Arc::new(serde_json::from_value(object).unwrap())
}

fn suspended() -> Value {
    json!({"spec": {"suspend": true}})
}

fn deleted() -> Value {
    json!({"metadata": {"deletionTimestamp": NOW}})
}

#[test]
fn object_is_owned_by_uid_or_by_labels_of_flux() {
    let addon = cluster_addon(&json!({}));
    let applied = |cluster: &str, by: &str| json!({"metadata": {"ownerReferences": null, "labels": {labels::CLUSTER_NAME: cluster, by: "stack"}}});
    let other = json!({"metadata": {"ownerReferences": [
        {"apiVersion": "v1", "kind": "ClusterAddon", "name": "cluster-addon-c1", "uid": "earlier"},
    ]}});
    let elsewhere = json!({"metadata": {"namespace": "other"}});
    let mut applied_elsewhere = applied("c1", labels::APPLIED_BY_NAME);
    merge(&mut applied_elsewhere, &elsewhere);
    for (changes, expected, why) in [
        (json!({}), true, "its owner reference"),
        (other, false, "that of an earlier ClusterAddon of its name"),
        (applied("c1", labels::APPLIED_BY_NAME), true, "Flux applies it for the Cluster"),
        (applied("c2", labels::APPLIED_BY_NAME), false, "Flux applies it for another Cluster"),
        (applied_elsewhere, false, "Flux applies it for a Cluster of another namespace"),
        (applied("c1", "app"), false, "a label alone proves nothing"),
    ] {
        assert_eq!(is_owned(&flux_object("HelmRelease", "cni", &changes).object, &addon), expected, "{why}");
    }
}

/// A Cluster `c1` of release `docker-demo-1-34-v1`, whose addons are `cni`, `ccm` and `policies`.
struct Scene {
    fixture: Fixture,
    release: Release,
    versions: BTreeMap<AddonName, String>,
    ready: Report,
    cluster: Cluster,
    addon: Value,
    objects: Vec<Arc<FluxObject>>,
    sources: Vec<Arc<FluxObject>>,
    occupants: Vec<Arc<FluxObject>>,
    repairs: BTreeMap<ObjectId, RepairState>,
    is_suspended: bool,
    is_status_under_way: bool,
    elsewhere: Option<Hold>,
    /// The version of the control plane.
    control_plane: Option<&'static str>,
    renaming: Renaming,
}

impl Scene {
    fn new() -> Self {
        let fixture = Fixture::new();
        Self {
            release: fixture.release("v1"),
            fixture,
            versions: BTreeMap::new(),
            ready: Report::new(ConditionStatus::True, "Applied", ""),
            cluster: cluster(&json!({})),
            addon: json!({}),
            objects: Vec::new(),
            sources: Vec::new(),
            occupants: Vec::new(),
            repairs: BTreeMap::new(),
            is_suspended: false,
            is_status_under_way: false,
            elsewhere: None,
            control_plane: None,
            renaming: Renaming::InPlace,
        }
    }

    fn facts_of<'a>(&'a self, target: Target<'a>) -> Facts<'a> {
        let snapshot = Snapshot {
            addon: Arc::new(cluster_addon(&self.addon)),
            is_status_under_way: self.is_status_under_way,
            objects: self.objects.clone(),
            without_file: BTreeSet::new(),
            sources: self.sources.clone(),
            occupants: self.occupants.clone(),
            repairs: self.repairs.clone(),
            namespace: Some(namespace_owner("work", "namespace")),
            helm_controller: Applier::unknown(),
            kustomize_controller: Applier::unknown(),
            renaming: self.renaming.clone(),
            now: NOW.parse().unwrap(),
        };
        let control_plane =
            self.control_plane.map_or(ControlPlane::Unnamed, |it| ControlPlane::Version(it.to_owned()));
        let upgrade = Upgrade::new(&self.cluster, Gate::Enforced, control_plane);
        Facts { cluster: &self.cluster, snapshot, target, upgrade }
    }

    /// The course that the status has recorded.
    fn course(&self) -> Course {
        course(&cluster_addon(&self.addon), ("stacks", &self.release), self.fixture.phase)
    }

    fn facts(&self) -> Facts<'_> {
        let inputs =
            ClusterInputs::new(self.cluster.clone(), |_| None).with_requested(self.fixture.requested.clone());
        self.facts_of(Target::Available(Available {
            stack: &self.fixture.stack,
            release: &self.release,
            versions: &self.versions,
            ready: &self.ready,
            allowed_deletions: None,
            is_suspended: self.is_suspended,
            requests: inputs.requests(&self.fixture.stack, &self.release),
            inputs: Box::new(inputs),
            course: self.course(),
            plan: Arc::new(self.fixture.plan("v1", &["c1"])),
            elsewhere: self.elsewhere.clone(),
        }))
    }

    /// Delivers all addons of the release: the API server has their objects with these owners, and the status has the
    /// digests of their specs.
    fn deliver(&mut self, owners: &[&str]) {
        let owner = |uid: &&str| json!({"apiVersion": "v1", "kind": "Owner", "name": uid, "uid": uid});
        let owners: Vec<Value> = owners.iter().map(owner).collect();
        let mut addons = Vec::new();
        for planned in self.fixture.plan("v1", &["c1"]).addons() {
            let mut object = planned.value.clone();
            merge(&mut object, &json!({"metadata": {"uid": planned.id.name, "ownerReferences": owners}}));
            let object: FluxObject = serde_json::from_value(object).unwrap();
            let expected = json!({"specDigest": object.spec_digest.to_string()});
            addons
                .push(json!({"name": addon_of(planned), "object": object.reference(), "expected": expected}));
            self.objects.push(Arc::new(object));
        }
        self.addon = json!({"status": {"addons": addons}});
    }

    /// Returns the facts about the same Cluster if the class has no release to deliver.
    fn facts_without_release(&self) -> Facts<'_> {
        let report = Report::new(ConditionStatus::False, Reason::ClassUnknown.as_str(), "no class");
        self.facts_of(Target::Unavailable { desired: "docker-demo-1-34-v2".to_owned(), report })
    }
}

/// Returns the condition `ClusterAvailable` with this reason.
fn available_because(reason: Reason) -> Value {
    let condition = json!({
        "type": "ClusterAvailable", "status": "False", "reason": reason.as_str(), "message": "",
        "lastTransitionTime": NOW,
    });
    json!({"status": {"conditions": [condition]}})
}
