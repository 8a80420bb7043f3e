//! Computes the changes from the existing objects to a plan, by the decisions of the operator.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::addon_objects::AddonObjects;
use crate::addons::FluxObject;
use crate::api::{ClusterAddon, labels};
use crate::cli::live::prepared::{Delivery, Shared};
use crate::cli::live::present::LiveNamespace;
use crate::compare::plans::{ChangeKind, ObjectChange};
use crate::foreign::capi::{field, text};
use crate::foreign::flux::observed::{SpecDigest, metadata_of};
use crate::foreign::flux::ownership::other_kind;
use crate::names::Key;
use crate::plan::delivery::{
    Action, Baseline, LiveObject, action, namespace_action, waits_for_other_kind, written,
};
use crate::plan::{ObjectId, Plan, PlannedObject, Step};

/// The kind, and the namespace and name.
type Place = (String, Key);

/// A Flux object that exists.
struct Existing<'a> {
    value: &'a Value,
    metadata: ObjectMeta,
    spec_digest: SpecDigest,
}

/// The existing Flux objects, and the Namespaces by name.
pub(super) struct Found<'a> {
    objects: BTreeMap<Place, Existing<'a>>,
    /// The objects of the two kinds that deliver addons.
    pub(super) addons: AddonObjects,
    namespaces: &'a BTreeMap<String, LiveNamespace>,
}

impl<'a> Existing<'a> {
    fn new(value: &'a Value) -> Result<Self, serde_json::Error> {
        let spec_digest = SpecDigest::of(field(value, &["spec"]).cloned().unwrap_or_default());
        Ok(Self { value, metadata: metadata_of(value)?, spec_digest })
    }

    fn live(&self) -> LiveObject<'_> {
        LiveObject { metadata: &self.metadata, spec_digest: &self.spec_digest }
    }
}

impl<'a> Found<'a> {
    pub(super) fn of(
        objects: &'a [Value],
        namespaces: &'a BTreeMap<String, LiveNamespace>,
        addons: AddonObjects,
    ) -> Result<Self, serde_json::Error> {
        let existing = |value| {
            let existing = Existing::new(value)?;
            let kind = text(value, &["kind"]).to_owned();
            Ok(((kind, Key::of_metadata(&existing.metadata)), existing))
        };
        Ok(Self { objects: objects.iter().map(existing).collect::<Result<_, _>>()?, addons, namespaces })
    }

    /// Returns the changes of the objects that all Clusters share.
    pub(super) fn shared(&self, shared: &Shared) -> Vec<ObjectChange> {
        let change = |planned: &PlannedObject| {
            let todo = |delivery: &Delivery| self.shared_action(planned, delivery, shared.by_git);
            self.change(planned, shared.deliveries(&planned.id).map(todo).max()?)
        };
        shared.plan.objects().filter_map(change).collect()
    }

    fn shared_action(&self, planned: &PlannedObject, delivery: &Delivery, by_git: bool) -> Action {
        let (spec_digest, owner) = (delivery.spec_digest.as_ref(), delivery.owner.as_deref());
        if planned.id.kind == "Namespace" {
            return namespace_action(planned, spec_digest);
        }
        let namespace = self.namespace_of(planned);
        let last_write = Baseline::LastWrite { spec_digest, owner, namespace };
        let baseline = if by_git { Baseline::Plan } else { last_write };
        action(planned, self.at(&planned.id.kind, planned).map(Existing::live), baseline)
    }

    /// Returns the changes of one Cluster's objects.
    pub(super) fn of_cluster(&self, plan: &Plan, addon: &ClusterAddon, by_git: bool) -> Vec<ObjectChange> {
        let change = |planned: &PlannedObject| {
            let key = Key::new(&planned.id.namespace, &planned.id.name);
            let old = self.addons.get(other_kind(&planned.id.kind), &key).map(FluxObject::object);
            let is_addon = planned.step == Step::Addons && !by_git;
            if is_addon && waits_for_other_kind(old, addon) {
                let waits_for = Some(other_kind(&planned.id.kind).to_owned());
                let created = between(ChangeKind::Created, &planned.id, None, Some(&planned.value));
                return Some(ObjectChange { waits_for, ..created });
            }
            let spec_digest = addon.spec_digest_of(addon_of(&planned.value));
            let spec_digest = spec_digest.map(SpecDigest::kept);
            let last_write = Baseline::LastWrite {
                spec_digest: spec_digest.as_ref(),
                owner: addon.metadata.uid.as_deref(),
                namespace: self.namespace_of(planned),
            };
            let baseline = if is_addon { last_write } else { Baseline::Plan };
            let found = self.at(&planned.id.kind, planned);
            self.change(planned, action(planned, found.map(Existing::live), baseline))
        };
        plan.objects().filter_map(change).collect()
    }

    /// Returns the removal of an object.
    pub(super) fn removal(&self, kind: &str, key: &Key) -> Option<ObjectChange> {
        let object = self.objects.get(&(kind.to_owned(), key.clone()))?;
        let id = ObjectId {
            api_version: text(object.value, &["apiVersion"]).to_owned(),
            kind: kind.to_owned(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
        };
        Some(between(ChangeKind::Removed, &id, Some(&written(object.value)), None))
    }

    /// Returns the change that an action of the operator makes.
    fn change(&self, planned: &PlannedObject, todo: Action) -> Option<ObjectChange> {
        let new = Some(&planned.value);
        match (todo, self.at(&planned.id.kind, planned)) {
            (Action::Nothing, _) => None,
            (Action::Wait, _) => {
                let created = between(ChangeKind::Created, &planned.id, None, new);
                Some(ObjectChange { waits_for: Some(planned.id.kind.clone()), ..created })
            }
            (_, None) => Some(between(ChangeKind::Created, &planned.id, None, new)),
            (_, Some(found)) => {
                Some(between(ChangeKind::Changed, &planned.id, Some(&written(found.value)), new))
            }
        }
    }

    /// Finds the existing object of a kind with the namespace and name of a planned one.
    fn at(&self, kind: &str, planned: &PlannedObject) -> Option<&Existing<'a>> {
        self.objects.get(&(kind.to_owned(), Key::new(&planned.id.namespace, &planned.id.name)))
    }

    /// Whether a Namespace is known to be terminating.
    pub(super) fn is_terminating(&self, namespace: &str) -> bool {
        self.namespaces.get(namespace).is_some_and(|found| found.is_terminating)
    }

    fn namespace_of(&self, planned: &PlannedObject) -> Option<&str> {
        self.namespaces.get(&planned.id.namespace).map(|found| found.uid.as_str())
    }
}

/// Compares two states with sorted fields, because the API server returns fields in another order.
fn between(change: ChangeKind, id: &ObjectId, old: Option<&Value>, new: Option<&Value>) -> ObjectChange {
    let sorted = |object: Option<&Value>| {
        let mut object = object.cloned()?;
        object.sort_all_objects();
        Some(object)
    };
    ObjectChange::between(change, id, sorted(old).as_ref(), sorted(new).as_ref())
}

fn addon_of(object: &Value) -> &str {
    text(object, &["metadata", "labels", labels::ADDON])
}
