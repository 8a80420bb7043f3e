//! The metadata of an object that Flux answers on.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::null_as_default;
use crate::api::labels::{FIELD_MANAGER, REQUESTED_AT, SUSPEND_FIELD_MANAGER};

/// What is read of `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Wire")]
pub struct Metadata {
    /// `generation`: counts changes of the spec.
    pub generation: i64,
    /// Whether `deletionTimestamp` is set.
    pub terminating: bool,
    /// The value of the annotation [`REQUESTED_AT`].
    pub requested_at: Option<String>,
    /// Who wrote fields of the spec, from `managedFields`. Empty where the cache dropped them.
    pub spec_managers: Vec<SpecManager>,
}

/// A field manager that owns something in the spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecManager {
    /// The manager's name, such as `kubectl-edit`.
    pub name: String,
    /// When it last wrote.
    pub time: Option<Timestamp>,
}

impl Metadata {
    /// The manager other than stackflux that wrote to the spec last.
    #[must_use]
    pub fn foreign_manager(&self) -> Option<&str> {
        self.spec_managers
            .iter()
            .filter(|manager| manager.name != FIELD_MANAGER && manager.name != SUSPEND_FIELD_MANAGER)
            .max_by_key(|manager| manager.time)
            .map(|manager| manager.name.as_str())
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(default, deserialize_with = "null_as_default")]
    generation: i64,
    deletion_timestamp: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    annotations: BTreeMap<String, Option<String>>,
    #[serde(default, deserialize_with = "null_as_default")]
    managed_fields: Vec<ManagedFields>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManagedFields {
    #[serde(default, deserialize_with = "null_as_default")]
    manager: String,
    time: Option<Timestamp>,
    #[serde(default)]
    fields_v1: Value,
}

impl From<Wire> for Metadata {
    fn from(mut wire: Wire) -> Self {
        let spec_managers = wire
            .managed_fields
            .into_iter()
            .filter(|entry| entry.fields_v1.get("f:spec").is_some())
            .map(|entry| SpecManager { name: entry.manager, time: entry.time })
            .collect();
        Self {
            generation: wire.generation,
            terminating: wire.deletion_timestamp.is_some(),
            requested_at: wire.annotations.remove(REQUESTED_AT).flatten(),
            spec_managers,
        }
    }
}
