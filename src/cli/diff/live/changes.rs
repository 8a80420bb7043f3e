//! What a plan changes over the objects that are there.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::{ClusterAddon, labels};
use crate::compare::plans::{ObjectChange, Verb};
use crate::foreign::capi::{field, text};
use crate::foreign::flux::observed::SpecDigest;
use crate::plan::delivery::written;
use crate::plan::{ObjectId, Plan, PlannedObject, Step};

/// Kind, namespace and name.
type Place = (String, String, String);

/// The Flux objects that are there.
pub(super) struct Found<'a>(BTreeMap<Place, &'a Value>);

impl<'a> Found<'a> {
    pub(super) fn of(objects: &'a [Value]) -> Self {
        Self(objects.iter().map(|object| (place(object), object)).collect())
    }

    /// What would be written of what all Clusters share. `kept` are the digests of specs as they were written.
    pub(super) fn shared(&self, plan: &Plan, kept: &BTreeMap<Place, SpecDigest>) -> Vec<ObjectChange> {
        let change = |planned: &PlannedObject| {
            let kept = kept.get(&place_of(&planned.id));
            if planned.id.kind == "Namespace" {
                // It is not looked at: what was written is in the status.
                let is_there = kept.is_some_and(|kept| kept.to_string() == planned.digest());
                return (!is_there).then(|| between(Verb::Created, &planned.id, None, Some(&planned.value)));
            }
            self.change(planned, kept)
        };
        plan.objects().filter_map(change).collect()
    }

    /// What would be written for one Cluster, and removed of what it has.
    pub(super) fn of_cluster(&self, plan: &Plan, addon: Option<&ClusterAddon>) -> Vec<ObjectChange> {
        let status =
            || addon.iter().filter_map(|addon| addon.status.as_ref()).flat_map(|status| &status.addons);
        let change = |planned: &PlannedObject| {
            let name = addon_of(&planned.value);
            let kept = status().find(|kept| planned.step == Step::Addons && kept.name == name);
            let kept = kept.and_then(|kept| kept.expected.as_ref()?.spec_digest.as_deref());
            self.change(planned, kept.map(SpecDigest::kept).as_ref())
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
        let gone = self.0.iter().filter(|(place, object)| {
            is_owned(object, addon) && !is_going(object) && !is_planned(place) && !is_held(addon_of(object))
        });
        let change = |(place, object): (&Place, &&Value)| {
            let id = ObjectId {
                api_version: text(object, &["apiVersion"]).to_owned(),
                kind: place.0.clone(),
                namespace: place.1.clone(),
                name: place.2.clone(),
            };
            between(Verb::Removed, &id, Some(&written(object)), None)
        };
        gone.map(change).collect()
    }

    /// What becomes of one object; nothing where it is as planned, and as it was written.
    fn change(&self, planned: &PlannedObject, kept: Option<&SpecDigest>) -> Option<ObjectChange> {
        let Some(object) = self.0.get(&place_of(&planned.id)).filter(|object| !is_going(object)) else {
            return Some(between(Verb::Created, &planned.id, None, Some(&planned.value)));
        };
        let is_planned = text(object, &["metadata", "annotations", labels::PLAN_DIGEST]) == planned.digest();
        let spec = field(object, &["spec"]).cloned().unwrap_or_default();
        let is_ours = kept.is_none_or(|kept| *kept == SpecDigest::of(spec));
        if is_planned && is_ours {
            return None;
        }
        Some(between(Verb::Changed, &planned.id, Some(&written(object)), Some(&planned.value)))
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

fn place(object: &Value) -> Place {
    let at = |path: &[&str]| text(object, path).to_owned();
    (at(&["kind"]), at(&["metadata", "namespace"]), at(&["metadata", "name"]))
}

fn place_of(id: &ObjectId) -> Place {
    (id.kind.clone(), id.namespace.clone(), id.name.clone())
}

fn addon_of(object: &Value) -> &str {
    text(object, &["metadata", "labels", labels::ADDON])
}

/// Whether an object belongs to a `ClusterAddon`: by its owner, or where Flux applied it from a repository, by its labels.
fn is_owned(object: &Value, addon: &ClusterAddon) -> bool {
    let uid = addon.metadata.uid.as_deref().unwrap_or_default();
    let owners = field(object, &["metadata", "ownerReferences"]).and_then(Value::as_array);
    let label = |name| text(object, &["metadata", "labels", name]);
    let is_its_cluster = || {
        !label(labels::APPLIED_BY_NAME).is_empty()
            && Some(text(object, &["metadata", "namespace"])) == addon.metadata.namespace.as_deref()
            && Some(label(labels::CLUSTER_NAME)) == addon.spec.cluster_ref.name.as_deref()
    };
    owners.into_iter().flatten().any(|owner| text(owner, &["uid"]) == uid) || is_its_cluster()
}

fn is_going(object: &Value) -> bool {
    field(object, &["metadata", "deletionTimestamp"]).is_some()
}
