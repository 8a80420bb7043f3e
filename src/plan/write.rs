//! Decides the write that brings an object to its planned state, together with the state of the object that the write depends
//! on. The operator carries out exactly this write: the API server refuses it in any other state, and the next reconcile
//! decides by that one.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::PlannedObject;
use super::delivery::{Action, Baseline, LiveObject, action, is_kept_by_namespace};
use super::repair::{LastWrite, Wait, is_repair};
use crate::foreign::flux::observed::{FluxObject, SpecDigest};

/// The state of an object in which a write is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// No object has the name.
    Absent,
    /// The object has this UID, whatever changed since.
    Same(String),
    /// The object has this resource version: the write replaces a list to which others add.
    Unchanged(String),
}

/// The write of a planned object.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// None: the object is as planned.
    Nothing,
    /// None before the existing object is gone, because it is being deleted.
    AfterDeletion,
    /// None while an object of another client has the name.
    Taken,
    /// None before a time, because another client changes the object again and again.
    Later(Wait),
    /// The object is applied.
    Apply(Apply),
}

impl Write {
    /// Returns the action that it is.
    #[must_use]
    pub fn action(&self) -> Action {
        match self {
            Self::Nothing => Action::Nothing,
            Self::AfterDeletion => Action::Wait,
            Self::Taken => Action::Hold,
            Self::Later(_) => Action::Repair,
            Self::Apply(_) => Action::Apply,
        }
    }
}

/// An apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Apply {
    /// The state in which it is carried out.
    pub over: Precondition,
    /// The resource version before: an answer with it changed nothing.
    pub before: Option<String>,
    /// The owners of the object.
    pub owners: Vec<OwnerReference>,
    /// Whether it restores what another client changed.
    pub is_repair: bool,
    /// The field manager that changed the spec; `None` unless the spec or the labels differ from the last write.
    pub manager: Option<String>,
}

/// The repairs of an object by this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairState {
    /// The digest of the plan that was written a short time ago, if any.
    pub digest: Option<String>,
    /// The number of repairs, and the time of the next one; `None` if that is now.
    pub next: Option<(u32, Timestamp)>,
}

impl RepairState {
    /// The state of an object without repairs.
    pub const NONE: Self = Self { digest: None, next: None };
}

/// The facts about a planned object.
#[derive(Clone, Copy, Debug)]
pub struct WriteFacts<'a> {
    /// The object that has its name, also one of another client.
    pub found: Option<&'a FluxObject>,
    /// The digest of the spec as the last write returned it, if known.
    pub expected: Option<&'a SpecDigest>,
    /// The owners of the object, the first of which it is delivered for.
    pub owners: &'a [OwnerReference],
    /// The Namespace of the object, if known.
    pub namespace: Option<&'a OwnerReference>,
    /// Whether others may add owners.
    pub is_shared: bool,
    /// The repairs.
    pub repairs: &'a RepairState,
}

/// Returns the Namespace with this name and UID as an owner.
#[must_use]
pub fn namespace_owner(name: &str, uid: &str) -> OwnerReference {
    let (api_version, kind) = ("v1".to_owned(), "Namespace".to_owned());
    OwnerReference {
        api_version,
        kind,
        name: name.to_owned(),
        uid: uid.to_owned(),
        ..OwnerReference::default()
    }
}

/// Decides the write of a planned object.
#[must_use]
pub fn write(planned: &PlannedObject, facts: WriteFacts) -> Write {
    let WriteFacts { found, expected, owners, is_shared, repairs, .. } = facts;
    let state: Option<LiveObject> = found.map(Into::into);
    let keeper = keeper(planned, facts);
    let baseline = Baseline::LastWrite {
        spec_digest: expected,
        owner: owners.first().map(|owner| owner.uid.as_str()),
        namespace: keeper.map(|keeper| keeper.uid.as_str()),
    };
    let todo = action(planned, state, baseline);
    match todo {
        Action::Nothing => return Write::Nothing,
        Action::Wait => return Write::AfterDeletion,
        Action::Hold => return Write::Taken,
        Action::Apply | Action::Repair => {}
    }
    let is_known = expected.is_some() || owners.is_empty();
    let last = LastWrite { is_known, is_shared, digest: repairs.digest.as_deref() };
    let is_repair = is_repair(todo, (planned, state), last);
    let manager = found.and_then(|found| found.metadata.foreign_manager().map(str::to_owned));
    if let Some((count, until)) = repairs.next.filter(|_| is_repair) {
        return Write::Later(Wait { manager, count, until });
    }
    let changed_by = || manager.unwrap_or_else(|| "another field manager".to_owned());
    Write::Apply(Apply {
        over: precondition(found, is_shared && !owners.is_empty()),
        before: found.and_then(|found| found.object.resource_version.clone()),
        owners: owners.iter().chain(keeper).cloned().collect(),
        is_repair,
        manager: (todo == Action::Repair).then(changed_by),
    })
}

/// Returns the state in which an object is applied over `found`: any state of the same object, or of a shared one only this
/// state, which has all its owners.
fn precondition(found: Option<&FluxObject>, is_shared: bool) -> Precondition {
    let Some(object) = found.map(|found| &found.object) else { return Precondition::Absent };
    if is_shared {
        Precondition::Unchanged(object.resource_version.clone().unwrap_or_default())
    } else {
        Precondition::Same(object.uid.clone().unwrap_or_default())
    }
}

/// Returns the Namespace as an additional owner of an object [that it keeps](is_kept_by_namespace).
fn keeper<'a>(planned: &PlannedObject, facts: WriteFacts<'a>) -> Option<&'a OwnerReference> {
    facts.namespace.filter(|_| is_kept_by_namespace(&planned.id.kind) && !facts.owners.is_empty())
}

#[cfg(test)]
mod tests;
