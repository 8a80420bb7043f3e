//! The metadata of an object that Flux reconciles.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::api::labels::{FIELD_MANAGER, REQUESTED_AT, SUSPEND_FIELD_MANAGER};

/// The part of `metadata` that is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// `generation`: counts changes of the spec.
    pub generation: i64,
    /// Whether `deletionTimestamp` is set.
    pub terminating: bool,
    /// The value of the annotation [`REQUESTED_AT`].
    pub requested_at: Option<String>,
    /// The managers of fields of the spec other than `suspend`, from `managedFields`.
    pub spec_managers: Vec<SpecManager>,
    /// Whether the settings suspended the object, not a user.
    pub suspended_by_settings: bool,
}

/// A field manager that owns a field of the spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecManager {
    /// The manager's name, such as `kubectl-edit`.
    pub name: String,
    /// Time of the last write.
    pub time: Option<Timestamp>,
}

impl Metadata {
    /// Whether stackflux has written a field of the spec that it still has.
    #[must_use]
    pub fn has_our_fields(&self) -> bool {
        self.spec_managers.iter().any(|manager| manager.name == FIELD_MANAGER)
    }

    /// Finds the manager other than stackflux that wrote to the spec last.
    #[must_use]
    pub fn foreign_manager(&self) -> Option<&str> {
        self.spec_managers
            .iter()
            .filter(|manager| manager.name != FIELD_MANAGER && manager.name != SUSPEND_FIELD_MANAGER)
            .max_by_key(|manager| manager.time)
            .map(|manager| manager.name.as_str())
    }
}

/// The metadata of an object on the wire, as far as it is kept. No tree is built of `managedFields`, which is half of an
/// object: only the names of the fields directly below the spec matter.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireMetadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    finalizers: Option<Vec<String>>,
    owner_references: Option<Vec<OwnerReference>>,
    managed_fields: Option<Vec<FieldsOfManager>>,
}

/// An entry of `managedFields`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FieldsOfManager {
    manager: Option<String>,
    time: Option<Time>,
    fields_v1: Option<Fields>,
}

/// The fields that an entry names (`FieldsV1`: a key `f:<name>` for each field).
#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    #[serde(rename = "f:spec")]
    #[expect(clippy::zero_sized_map_values, reason = "on the wire it is a map, of which the names matter")]
    spec: Option<BTreeMap<String, IgnoredAny>>,
}

impl From<WireMetadata> for (ObjectMeta, Metadata) {
    fn from(wire: WireMetadata) -> Self {
        let (mut spec_managers, mut suspended_by_settings) = (Vec::new(), false);
        for entry in wire.managed_fields.into_iter().flatten() {
            let Some(fields) = entry.fields_v1.and_then(|fields| fields.spec) else { continue };
            let name = entry.manager.unwrap_or_default();
            suspended_by_settings |= name == SUSPEND_FIELD_MANAGER && fields.contains_key("f:suspend");
            if fields.keys().any(|field| field != "f:suspend") {
                spec_managers.push(SpecManager { name, time: entry.time.map(|time| time.0) });
            }
        }
        let metadata = Metadata {
            generation: wire.generation.unwrap_or_default(),
            terminating: wire.deletion_timestamp.is_some(),
            requested_at: wire.annotations.as_ref().and_then(|found| found.get(REQUESTED_AT).cloned()),
            spec_managers,
            suspended_by_settings,
        };
        let object = ObjectMeta {
            name: wire.name,
            namespace: wire.namespace,
            uid: wire.uid,
            resource_version: wire.resource_version,
            generation: wire.generation,
            creation_timestamp: wire.creation_timestamp,
            deletion_timestamp: wire.deletion_timestamp,
            labels: wire.labels,
            annotations: wire.annotations,
            finalizers: wire.finalizers,
            owner_references: wire.owner_references,
            ..ObjectMeta::default()
        };
        (object, metadata)
    }
}
