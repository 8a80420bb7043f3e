//! Renders decided writes as changes of the existing objects.

use std::collections::BTreeMap;

use serde_json::Value;

use super::objects::LiveObjects;
use crate::addons::ObjectWrite;
use crate::cli::live::present::LiveNamespace;
use crate::compare::plans::{ChangeKind, ObjectChange};
use crate::foreign::capi::text;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::other_kind;
use crate::names::Key;
use crate::plan::delivery::{Action, NamespaceState, written};
use crate::plan::{ObjectId, PlannedObject};

/// The existing Flux objects, and the Namespaces by name.
pub(super) struct Found<'a> {
    pub(super) objects: LiveObjects<'a>,
    pub(super) namespaces: &'a BTreeMap<String, LiveNamespace>,
}

impl Found<'_> {
    /// Returns the change that the write of an object for a Cluster makes.
    pub(super) fn of_write(&self, planned: &PlannedObject, write: &ObjectWrite) -> Option<ObjectChange> {
        match write {
            ObjectWrite::ByOperator(write) => self.change(planned, write.action()),
            ObjectWrite::AppliedByFlux(_) => None,
            ObjectWrite::ByFlux(action) => self.change(planned, *action),
            ObjectWrite::AfterOtherKind => {
                Some(created_after(planned, other_kind(&planned.id.kind).as_str()))
            }
        }
    }

    /// Returns the change that an action makes.
    pub(super) fn change(&self, planned: &PlannedObject, action: Action) -> Option<ObjectChange> {
        let new = Some(&planned.value);
        match (action, self.listed(planned)) {
            (Action::Nothing, _) => None,
            (Action::Wait, _) => Some(created_after(planned, &planned.id.kind)),
            (Action::Hold, _) => {
                Some(ObjectChange { effect: None, ..between(ChangeKind::Held, &planned.id, None, new) })
            }
            (_, None) => Some(between(ChangeKind::Created, &planned.id, None, new)),
            (_, Some(found)) => Some(between(ChangeKind::Changed, &planned.id, Some(&written(found)), new)),
        }
    }

    /// Returns the removal of an object.
    pub(super) fn removal(&self, object: &FluxObject) -> Option<ObjectChange> {
        let (kind, key) = (object.kind(), Key::of(object));
        let value = self.objects.listed(kind, &key)?;
        let Key { namespace, name } = key;
        let api_version = text(value, &["apiVersion"]).to_owned();
        let id = ObjectId { api_version, kind: kind.to_string(), namespace, name };
        Some(between(ChangeKind::Removed, &id, Some(&written(value)), None))
    }

    /// Whether the spec of an object stays the same if it is applied.
    pub(super) fn keeps_spec(&self, planned: &PlannedObject) -> bool {
        self.listed(planned).is_some_and(|found| written(found).get("spec") == planned.value.get("spec"))
    }

    fn listed(&self, planned: &PlannedObject) -> Option<&Value> {
        self.objects.listed(FluxKind::of(&planned.id.kind)?, &planned.id.key())
    }

    /// Whether a Namespace is known to be terminating.
    pub(super) fn is_terminating(&self, namespace: &str) -> bool {
        self.namespaces.get(namespace).is_some_and(|found| found.is_terminating)
    }

    /// Returns the state of a Namespace. Those that were not read may exist.
    pub(super) fn namespace_state(&self, name: &str) -> NamespaceState {
        match self.namespaces.get(name) {
            Some(found) if found.is_terminating => NamespaceState::Terminating,
            Some(_) => NamespaceState::Present,
            None => NamespaceState::Unknown,
        }
    }

    /// Returns the digest of the plan from which a Namespace was applied, if known.
    pub(super) fn namespace_digest(&self, name: &str) -> Option<&str> {
        self.namespaces.get(name)?.plan_digest.as_deref()
    }

    /// Returns the UID of a Namespace, if known.
    pub(super) fn namespace_uid(&self, namespace: &str) -> Option<&str> {
        self.namespaces.get(namespace).map(|found| found.uid.as_str())
    }
}

/// Returns the creation of an object once Flux has deleted one of the same name.
fn created_after(planned: &PlannedObject, kind: &str) -> ObjectChange {
    let created = between(ChangeKind::Created, &planned.id, None, Some(&planned.value));
    ObjectChange { waits_for: Some(kind.to_owned()), ..created }
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
