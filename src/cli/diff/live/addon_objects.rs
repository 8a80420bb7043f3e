//! The existing objects of addons, indexed as in the operator's caches.

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
use crate::plan::Plan;
use crate::runtime::cache::Cached as _;

/// The objects that deliver addons.
#[derive(Default)]
pub(super) struct AddonObjects {
    by_name: BTreeMap<Key, Vec<Arc<FluxObject>>>,
    by_index: BTreeMap<String, Vec<Arc<FluxObject>>>,
    /// The Clusters of which an earlier `ClusterAddon` left objects.
    left: BTreeSet<Key>,
}

impl AddonObjects {
    /// Reads the objects of the two kinds. An object that an earlier `ClusterAddon` left to the next one already belongs to
    /// the next one, of which `owner` returns the reference: the operator first hands the object over.
    pub(super) fn of(
        objects: &[Value],
        owner: impl Fn(&Key) -> Option<OwnerReference>,
    ) -> Result<Self, serde_json::Error> {
        let mut found = Self::default();
        for value in objects {
            if FluxKind::of(text(value, &["kind"])).is_none_or(FluxKind::is_source) {
                continue;
            }
            let object = FluxObject::deserialize(value)?;
            let cluster = handed_over_to(&object.object);
            let object = Arc::new(match cluster.as_ref().and_then(&owner) {
                Some(owner) => adopted(object, &owner),
                None => object,
            });
            found.left.extend(cluster);
            for key in index_keys(&object) {
                found.by_index.entry(key).or_default().push(object.clone());
            }
            found.by_name.entry(Key::of(&*object)).or_default().push(object);
        }
        Ok(found)
    }

    /// Returns the object of a kind.
    pub(super) fn get(&self, kind: FluxKind, key: &Key) -> Option<&Arc<FluxObject>> {
        self.by_name.get(key)?.iter().find(|object| object.kind() == kind)
    }

    /// Whether an earlier `ClusterAddon` of a Cluster left objects.
    pub(super) fn has_rest(&self, cluster: &Key) -> bool {
        self.left.contains(cluster)
    }

    /// Iterates over all objects.
    pub(super) fn all(&self) -> impl Iterator<Item = &FluxObject> {
        self.by_name.values().flatten().map(|object| &**object)
    }

    /// Returns the objects that name a `ClusterAddon` as their owner, or have the name of a planned object.
    pub(super) fn around(&self, addon: &ClusterAddon, plan: &Plan) -> Vec<Arc<FluxObject>> {
        let owned = self.by_index.get(&index::owned_by("ClusterAddon", &Key::of(addon)));
        let mut found: Vec<Arc<FluxObject>> = owned.into_iter().flatten().cloned().collect();
        for planned in plan.objects() {
            let named = self.by_name.get(&planned.id.key());
            for object in named.into_iter().flatten() {
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
