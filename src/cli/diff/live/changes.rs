//! What a plan changes over the objects that exist: as the operator decides it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::api::{ClusterAddon, labels};
use crate::cli::live::prepared::{Delivery, Shared};
use crate::compare::plans::{ObjectChange, Verb};
use crate::foreign::capi::{field, text};
use crate::foreign::flux::observed::{SpecDigest, metadata_of};
use crate::foreign::flux::ownership::{is_owned, other_kind};
use crate::names::Key;
use crate::plan::delivery::{
    Action, Baseline, LiveObject, action, namespace_action, waits_for_other_kind, written,
};
use crate::plan::{ObjectId, Plan, PlannedObject, Step};

/// Kind, and namespace and name.
type Place = (String, Key);

/// A Flux object that exists.
struct Existing<'a> {
    value: &'a Value,
    metadata: ObjectMeta,
    spec_digest: SpecDigest,
}

/// The Flux objects that exist, and the UIDs of the Namespaces by their names.
pub(super) struct Found<'a> {
    objects: BTreeMap<Place, Existing<'a>>,
    namespaces: &'a BTreeMap<String, String>,
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
        namespaces: &'a BTreeMap<String, String>,
    ) -> Result<Self, serde_json::Error> {
        let existing = |value| {
            let existing = Existing::new(value)?;
            let kind = text(value, &["kind"]).to_owned();
            Ok(((kind, Key::of_metadata(&existing.metadata)), existing))
        };
        Ok(Self { objects: objects.iter().map(existing).collect::<Result<_, _>>()?, namespaces })
    }

    /// What would be written of what all Clusters share.
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

    /// What would be written for one Cluster, and removed of what it has.
    pub(super) fn of_cluster(
        &self,
        plan: &Plan,
        addon: Option<&ClusterAddon>,
        by_git: bool,
    ) -> Vec<ObjectChange> {
        let change = |planned: &PlannedObject| {
            let old = self.at(other_kind(&planned.id.kind), planned).map(|old| &old.metadata);
            let is_addon = planned.step == Step::Addons && !by_git;
            if is_addon && addon.is_some_and(|addon| waits_for_other_kind(old, addon)) {
                let waits_for = Some(other_kind(&planned.id.kind).to_owned());
                let created = between(Verb::Created, &planned.id, None, Some(&planned.value));
                return Some(ObjectChange { waits_for, ..created });
            }
            let spec_digest = addon.and_then(|addon| addon.spec_digest_of(addon_of(&planned.value)));
            let spec_digest = spec_digest.map(SpecDigest::kept);
            let last_write = Baseline::LastWrite {
                spec_digest: spec_digest.as_ref(),
                owner: addon.and_then(|addon| addon.metadata.uid.as_deref()),
                namespace: self.namespace_of(planned),
            };
            let baseline = if is_addon { last_write } else { Baseline::Plan };
            let found = self.at(&planned.id.kind, planned);
            self.change(planned, action(planned, found.map(Existing::live), baseline))
        };
        plan.objects().filter_map(change).chain(self.removed(plan, addon)).collect()
    }

    /// The objects of a `ClusterAddon` that the plan has no more. What is held is not removed.
    fn removed(&self, plan: &Plan, addon: Option<&ClusterAddon>) -> Vec<ObjectChange> {
        let Some(addon) = addon else { return Vec::new() };
        let is_held = |name: &str| {
            plan.held().iter().any(|held| held.addon.as_ref().is_none_or(|addon| addon.as_str() == name))
        };
        let is_planned = |place: &Place| plan.objects().any(|planned| place_of(&planned.id) == *place);
        let gone = self.objects.iter().filter(|(place, object)| {
            is_owned(&object.metadata, addon)
                && object.metadata.deletion_timestamp.is_none()
                && !is_planned(place)
                && !is_held(addon_of(object.value))
        });
        let change = |((kind, key), object): (&Place, &Existing)| {
            let id = ObjectId {
                api_version: text(object.value, &["apiVersion"]).to_owned(),
                kind: kind.clone(),
                namespace: key.namespace.clone(),
                name: key.name.clone(),
            };
            between(Verb::Removed, &id, Some(&written(object.value)), None)
        };
        gone.map(change).collect()
    }

    /// What the diff says of what the operator does with an object.
    fn change(&self, planned: &PlannedObject, todo: Action) -> Option<ObjectChange> {
        let new = Some(&planned.value);
        match (todo, self.at(&planned.id.kind, planned)) {
            (Action::Nothing, _) => None,
            (Action::Wait, _) => {
                let created = between(Verb::Created, &planned.id, None, new);
                Some(ObjectChange { waits_for: Some(planned.id.kind.clone()), ..created })
            }
            (_, None) => Some(between(Verb::Created, &planned.id, None, new)),
            (_, Some(found)) => Some(between(Verb::Changed, &planned.id, Some(&written(found.value)), new)),
        }
    }

    /// The object of a kind that has the namespace and the name of a planned one.
    fn at(&self, kind: &str, planned: &PlannedObject) -> Option<&Existing<'a>> {
        self.objects.get(&(kind.to_owned(), Key::new(&planned.id.namespace, &planned.id.name)))
    }

    fn namespace_of(&self, planned: &PlannedObject) -> Option<&str> {
        self.namespaces.get(&planned.id.namespace).map(String::as_str)
    }
}

/// With sorted fields: what comes back from the API server has them in another order.
fn between(verb: Verb, id: &ObjectId, old: Option<&Value>, new: Option<&Value>) -> ObjectChange {
    let sorted = |object: Option<&Value>| {
        let mut object = object.cloned()?;
        object.sort_all_objects();
        Some(object)
    };
    ObjectChange::between(verb, id, sorted(old).as_ref(), sorted(new).as_ref())
}

fn place_of(id: &ObjectId) -> Place {
    (id.kind.clone(), Key::new(&id.namespace, &id.name))
}

fn addon_of(object: &Value) -> &str {
    text(object, &["metadata", "labels", labels::ADDON])
}
