//! Decides about all steps of a release at once, for a reader who does not wait for the reconciles that write them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize as _;
use serde_json::{Value, json};

use super::delivery::WrittenSteps;
use super::release_delivery::{DeliveryFacts, ObjectState, ReleaseWrite, decide_delivery};
use crate::api::labels;
use crate::foreign::flux::observed::{FluxObject, SpecDigest};
use crate::plan::delivery::NamespaceState;
use crate::plan::{ObjectId, PlannedObject};

/// The writes of a release until nothing is left to write.
#[derive(Clone, Debug)]
pub struct AllSteps {
    /// The first write of each object that is not as planned, or that waits.
    pub writes: BTreeMap<ObjectId, ReleaseWrite>,
    /// The object whose name an object of another client has, if any: nothing that follows is written.
    pub taken: Option<ObjectId>,
    /// The steps that are written in the end.
    pub written: WrittenSteps,
}

/// Decides about a release again and again, as if the API server accepted each write and Flux did nothing in between.
/// `is_ready_after` returns whether an object is ready after its write, because the write leaves its spec as it is.
#[must_use]
pub fn decide_all_steps(facts: &DeliveryFacts, is_ready_after: impl Fn(&PlannedObject) -> bool) -> AllSteps {
    let mut states = facts.objects.to_vec();
    let mut writes = BTreeMap::new();
    loop {
        let delivery = decide_delivery(&DeliveryFacts { objects: &states, ..*facts });
        let mut accepted = BTreeMap::new();
        for object in delivery.objects {
            let planned = object.planned;
            if object.write.is_written() {
                accepted.insert(planned.id.clone(), object.state.accepted(planned, is_ready_after(planned)));
            }
            if object.write != ReleaseWrite::InItsTurn && !object.write.is_nothing() {
                writes.entry(planned.id.clone()).or_insert(object.write);
            }
        }
        let (written, taken) = (delivery.written, delivery.taken.map(|taken| taken.id.clone()));
        if accepted.is_empty() {
            return AllSteps { writes, taken, written };
        }
        for (planned, state) in facts.plan.objects().zip(&mut states) {
            if let Some(accepted) = accepted.remove(&planned.id) {
                *state = accepted;
            }
        }
    }
}

impl ObjectState {
    /// Returns the state after the API server has accepted the write of the object.
    fn accepted(&self, planned: &PlannedObject, is_ready: bool) -> Self {
        if planned.kind().is_none() {
            let expected = Some(SpecDigest::kept(planned.digest()));
            return Self { namespace_state: NamespaceState::Present, expected, is_ready, ..self.clone() };
        }
        let found = FluxObject::deserialize(self.applied(planned)).ok().map(Arc::new);
        let expected = found.as_ref().map(|found| found.spec_digest.clone());
        Self { found, occupant: None, expected, is_ready, ..self.clone() }
    }

    /// Returns the planned object as the API server has it after the apply.
    fn applied(&self, planned: &PlannedObject) -> Value {
        let mut object = planned.value.clone();
        let uid = self.found.as_ref().and_then(|found| found.object.uid.as_deref()).unwrap_or("created");
        let owners: Vec<_> = self.owners.iter().chain(&self.namespace).collect();
        let written = json!({"manager": labels::FIELD_MANAGER, "fieldsV1": {"f:spec": {"f:interval": {}}}});
        if let Some(metadata) = object.get_mut("metadata") {
            metadata["uid"] = json!(uid);
            metadata["ownerReferences"] = json!(owners);
            metadata["managedFields"] = json!([written]);
        }
        object
    }
}
