//! Computes the changes from the existing objects to a plan, by the decisions of the operator.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::addon_objects::AddonObjects;
use crate::api::{ClusterAddon, labels};
use crate::cli::live::prepared::{Delivery, Shared};
use crate::cli::live::present::LiveNamespace;
use crate::compare::plans::{ChangeKind, ObjectChange};
use crate::foreign::capi::{field, text};
use crate::foreign::flux::observed::{FluxObject, References, SpecDigest, metadata_of};
use crate::foreign::flux::ownership::other_kind;
use crate::names::Key;
use crate::plan::delivery::{
    Action, Baseline, LiveObject, NamespaceState, action, digest_of_shared, namespace_action,
    waits_for_other_kind, written,
};
use crate::plan::existing::is_ours;
use crate::plan::{ObjectId, Plan, PlannedObject, Step};

/// The kind, and the namespace and name.
type Place = (String, Key);

/// A Flux object that exists.
struct Existing<'a> {
    value: &'a Value,
    metadata: ObjectMeta,
    spec_digest: SpecDigest,
    has_our_fields: bool,
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
        let (metadata, managers) = metadata_of(value)?;
        Ok(Self { value, metadata, spec_digest, has_our_fields: managers.has_our_fields() })
    }

    fn live(&self) -> LiveObject<'_> {
        LiveObject {
            metadata: &self.metadata,
            spec_digest: &self.spec_digest,
            has_our_fields: self.has_our_fields,
        }
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
        let todo = |planned: &PlannedObject| {
            let todo = |delivery: &Delivery| self.shared_action(planned, delivery, shared.by_git);
            shared.deliveries(&planned.id).map(todo).max()
        };
        let last = last_step(shared.plan.objects().map(|planned| (planned.step, todo(planned))));
        let objects = shared.plan.objects().filter(|planned| planned.step <= last);
        objects.filter_map(|planned| self.change(planned, todo(planned)?)).collect()
    }

    fn shared_action(&self, planned: &PlannedObject, delivery: &Delivery, by_git: bool) -> Action {
        let (spec_digest, owner) = (delivery.spec_digest.as_ref(), delivery.owner.as_deref());
        if planned.id.kind == "Namespace" {
            return namespace_action(planned, self.namespace_state(&planned.id.name), spec_digest);
        }
        let namespace = self.namespace_uid(&planned.id.namespace);
        let last_write = Baseline::LastWrite { spec_digest, owner, namespace };
        let baseline = if by_git { Baseline::Plan } else { last_write };
        action(planned, self.at(&planned.id.kind, planned).map(Existing::live), baseline)
    }

    /// Returns the changes of one Cluster's objects.
    pub(super) fn of_cluster(&self, plan: &Plan, addon: &ClusterAddon, by_git: bool) -> Vec<ObjectChange> {
        let change = |planned: &PlannedObject| {
            let other = other_kind(&planned.id.kind);
            let old = self.addons.get(other, &planned.id.key()).map(|old| &old.object);
            let is_addon = planned.step == Step::Addons && !by_git;
            if is_addon && !self.is_taken(planned) && waits_for_other_kind(old, addon) {
                let waits_for = Some(other.to_string());
                let created = between(ChangeKind::Created, &planned.id, None, Some(&planned.value));
                return Some(ObjectChange { waits_for, ..created });
            }
            let spec_digest = addon.spec_digest_of(addon_of(&planned.value));
            let spec_digest = spec_digest.map(SpecDigest::kept);
            let found = self.at(&planned.id.kind, planned);
            let baseline = match planned.step {
                _ if by_git => Baseline::Plan,
                Step::Addons => {
                    let namespace = self.namespace_uid(&planned.id.namespace);
                    Baseline::of_addon(addon, spec_digest.as_ref(), namespace)
                }
                _ => {
                    let digest = found.and_then(|found| {
                        let refers_to = References::of(found.value.get("spec")?);
                        digest_of_shared(&refers_to, &found.spec_digest, planned)
                    });
                    Baseline::LastWrite { spec_digest: digest, owner: None, namespace: None }
                }
            };
            self.change(planned, action(planned, found.map(Existing::live), baseline))
        };
        let is_source_taken = !by_git && self.is_source_taken(plan);
        let objects = plan.objects().filter(|planned| planned.step == Step::Sources || !is_source_taken);
        objects.filter_map(change).collect()
    }

    /// Whether objects of other clients have the names of sources of a plan, so that nothing else is written or removed.
    pub(super) fn is_source_taken(&self, plan: &Plan) -> bool {
        plan.objects().any(|planned| planned.step == Step::Sources && self.is_taken(planned))
    }

    /// Returns the removal of an object.
    pub(super) fn removal(&self, object: &FluxObject) -> Option<ObjectChange> {
        let (kind, key) = (object.kind().to_string(), Key::of(object));
        let object = self.objects.get(&(kind.clone(), key.clone()))?;
        let Key { namespace, name } = key;
        let api_version = text(object.value, &["apiVersion"]).to_owned();
        let id = ObjectId { api_version, kind, namespace, name };
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
            (Action::Hold, _) => {
                Some(ObjectChange { effect: None, ..between(ChangeKind::Held, &planned.id, None, new) })
            }
            (_, None) => Some(between(ChangeKind::Created, &planned.id, None, new)),
            (_, Some(found)) => {
                Some(between(ChangeKind::Changed, &planned.id, Some(&written(found.value)), new))
            }
        }
    }

    /// Whether an object of another client has the name of a planned one.
    fn is_taken(&self, planned: &PlannedObject) -> bool {
        self.at(&planned.id.kind, planned).is_some_and(|found| !is_ours(found.live(), planned))
    }

    /// Finds the existing object of a kind with the namespace and name of a planned one.
    fn at(&self, kind: &str, planned: &PlannedObject) -> Option<&Existing<'a>> {
        self.objects.get(&(kind.to_owned(), planned.id.key()))
    }

    /// Whether a Namespace is known to be terminating.
    pub(super) fn is_terminating(&self, namespace: &str) -> bool {
        self.namespaces.get(namespace).is_some_and(|found| found.is_terminating)
    }

    /// Returns the state of a Namespace. Those that were not read may exist.
    fn namespace_state(&self, name: &str) -> NamespaceState {
        match self.namespaces.get(name) {
            Some(found) if found.is_terminating => NamespaceState::Terminating,
            Some(_) => NamespaceState::Present,
            None => NamespaceState::Unknown,
        }
    }

    /// Returns the UID of a Namespace, if known.
    pub(super) fn namespace_uid(&self, namespace: &str) -> Option<&str> {
        self.namespaces.get(namespace).map(|found| found.uid.as_str())
    }
}

/// The last step of delivery: one with an object whose name one of another client has.
fn last_step(actions: impl Iterator<Item = (Step, Option<Action>)>) -> Step {
    let held = actions.filter(|(_, todo)| *todo == Some(Action::Hold));
    held.map(|(step, _)| step).min().unwrap_or(Step::Addons)
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
