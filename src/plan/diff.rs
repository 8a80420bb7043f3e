//! The changes from the existing objects to a plan.

use std::collections::{BTreeMap, BTreeSet};

use super::{ObjectId, Plan, PlannedObject};

/// The existing objects, with the digest that each was written with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory(BTreeMap<ObjectId, String>);

impl Inventory {
    /// Creates the inventory that exists after the plan was delivered.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        plan.objects().map(|object| (object.id.clone(), object.digest().to_owned())).collect()
    }
}

impl FromIterator<(ObjectId, String)> for Inventory {
    fn from_iter<I: IntoIterator<Item = (ObjectId, String)>>(objects: I) -> Self {
        Self(objects.into_iter().collect())
    }
}

/// The change of one object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change<'a> {
    /// The object is new.
    Created(&'a PlannedObject),
    /// The object exists with another digest.
    Changed(&'a PlannedObject),
    /// The object exists and is not in the plan.
    Removed(&'a ObjectId),
}

/// Lists the changes of the plan over the inventory: created and changed objects in the plan's order, then removed
/// ones.
#[must_use]
pub fn diff<'a>(plan: &'a Plan, inventory: &'a Inventory) -> Vec<Change<'a>> {
    let written = plan.objects().filter_map(|object| match inventory.0.get(&object.id) {
        None => Some(Change::Created(object)),
        Some(digest) => (digest != object.digest()).then_some(Change::Changed(object)),
    });
    let planned: BTreeSet<&ObjectId> = plan.objects().map(|object| &object.id).collect();
    let removed = inventory.0.keys().filter(|id| !planned.contains(id)).map(Change::Removed);
    written.chain(removed).collect()
}
