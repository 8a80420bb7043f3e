//! The existing Flux objects, indexed as in the operator's caches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde::Deserialize as _;
use serde_json::Value;

use crate::addons::adopted;
use crate::api::ClusterAddon;
use crate::foreign::capi::text;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::handed_over_to;
use crate::names::Key;
use crate::operator::objects::index;
use crate::plan::{Plan, PlannedObject};
use crate::runtime::cache::Cached as _;

/// An existing Flux object: as it was listed, and as the operator observes it.
type Existing<'a> = (&'a Value, Arc<FluxObject>);

/// The existing Flux objects.
#[derive(Default)]
pub(super) struct LiveObjects<'a> {
    by_name: BTreeMap<(FluxKind, Key), Existing<'a>>,
    /// The objects that deliver addons.
    by_index: BTreeMap<String, Vec<Arc<FluxObject>>>,
    /// The Clusters of which an earlier `ClusterAddon` left objects.
    left: BTreeSet<Key>,
}

impl<'a> LiveObjects<'a> {
    /// Reads the objects. One that an earlier `ClusterAddon` left to the next one already belongs to the next one, of which
    /// `owner` returns the reference: the operator first hands the object over.
    pub(super) fn of(
        objects: &'a [Value],
        owner: impl Fn(&Key) -> Option<OwnerReference>,
    ) -> Result<Self, serde_json::Error> {
        let mut found = Self::default();
        for value in objects {
            let Some(kind) = FluxKind::of(text(value, &["kind"])) else { continue };
            let object = FluxObject::deserialize(value)?;
            let object = Arc::new(if kind.is_source() { object } else { found.handed_over(object, &owner) });
            if !kind.is_source() {
                for key in index_keys(&object) {
                    found.by_index.entry(key).or_default().push(object.clone());
                }
            }
            found.by_name.insert((kind, Key::of(&*object)), (value, object));
        }
        Ok(found)
    }

    /// Returns an object after it was handed over, if it was left.
    fn handed_over(
        &mut self,
        object: FluxObject,
        owner: impl Fn(&Key) -> Option<OwnerReference>,
    ) -> FluxObject {
        let cluster = handed_over_to(&object.object);
        let owner = cluster.as_ref().and_then(owner);
        self.left.extend(cluster);
        match owner {
            Some(owner) => adopted(object, &owner),
            None => object,
        }
    }

    /// Returns the object of a kind.
    pub(super) fn get(&self, kind: FluxKind, key: &Key) -> Option<&Arc<FluxObject>> {
        self.by_name.get(&(kind, key.clone())).map(|(_, object)| object)
    }

    /// Returns the object with the kind and name of a planned one.
    pub(super) fn named(&self, planned: &PlannedObject) -> Option<&Arc<FluxObject>> {
        self.get(planned.kind()?, &planned.id.key())
    }

    /// Returns an object as it was listed.
    pub(super) fn listed(&self, kind: FluxKind, key: &Key) -> Option<&'a Value> {
        self.by_name.get(&(kind, key.clone())).map(|(value, _)| *value)
    }

    /// Whether an earlier `ClusterAddon` of a Cluster left objects.
    pub(super) fn has_rest(&self, cluster: &Key) -> bool {
        self.left.contains(cluster)
    }

    /// Iterates over the objects that deliver addons.
    pub(super) fn of_addons(&self) -> impl Iterator<Item = &FluxObject> {
        let all = self.by_name.iter().filter(|((kind, _), _)| !kind.is_source());
        all.map(|(_, (_, object))| &**object)
    }

    /// Returns the objects that name a `ClusterAddon` as their owner, or have the name of a planned object.
    pub(super) fn around(&self, addon: &ClusterAddon, plan: &Plan) -> Vec<Arc<FluxObject>> {
        let owned = self.by_index.get(&index::owned_by("ClusterAddon", &Key::of(addon)));
        let mut found: Vec<Arc<FluxObject>> = owned.into_iter().flatten().cloned().collect();
        for planned in plan.objects() {
            let named = FluxKind::DELIVERING.into_iter().filter_map(|kind| self.get(kind, &planned.id.key()));
            for object in named {
                let is_it =
                    |other: &Arc<FluxObject>| (other.kind(), other.name()) == (object.kind(), object.name());
                if !found.iter().any(is_it) {
                    found.push(object.clone());
                }
            }
        }
        found
    }
}

/// Returns the number of objects of each owner, by the index key of the owner.
pub(super) fn count_by_owner<'o>(objects: impl Iterator<Item = &'o FluxObject>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for key in objects.flat_map(index_keys) {
        *counts.entry(key).or_default() += 1;
    }
    counts
}

/// Returns the keys that index an object in the operator's caches.
fn index_keys(object: &FluxObject) -> BTreeSet<String> {
    object.index_keys().into_iter().collect()
}
