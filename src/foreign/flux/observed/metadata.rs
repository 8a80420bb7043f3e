//! The metadata of an object that Flux answers on.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use serde_json::{Map, Value};

use crate::api::labels::{FIELD_MANAGER, REQUESTED_AT, SUSPEND_FIELD_MANAGER};

/// What is read of `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// `generation`: counts changes of the spec.
    pub generation: i64,
    /// Whether `deletionTimestamp` is set.
    pub terminating: bool,
    /// The value of the annotation [`REQUESTED_AT`].
    pub requested_at: Option<String>,
    /// Who wrote fields of the spec besides `suspend`, from `managedFields`.
    pub spec_managers: Vec<SpecManager>,
    /// Whether the settings suspended the object, and no person.
    pub suspended_by_settings: bool,
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

impl From<&ObjectMeta> for Metadata {
    fn from(metadata: &ObjectMeta) -> Self {
        let annotation = |name| metadata.annotations.as_ref()?.get(name).cloned();
        let writers =
            metadata.managed_fields.iter().flatten().filter_map(|entry| Some((entry, spec_fields(entry)?)));
        let (mut spec_managers, mut suspended_by_settings) = (Vec::new(), false);
        for (entry, fields) in writers {
            let name = entry.manager.clone().unwrap_or_default();
            suspended_by_settings |= name == SUSPEND_FIELD_MANAGER && fields.contains_key("f:suspend");
            if fields.keys().any(|field| field != "f:suspend") {
                spec_managers.push(SpecManager { name, time: entry.time.as_ref().map(|time| time.0) });
            }
        }
        Self {
            generation: metadata.generation.unwrap_or_default(),
            terminating: metadata.deletion_timestamp.is_some(),
            requested_at: annotation(REQUESTED_AT),
            spec_managers,
            suspended_by_settings,
        }
    }
}

/// The fields of the spec that an entry of `managedFields` names (`FieldsV1`: a key `f:<name>` for each field).
fn spec_fields(entry: &ManagedFieldsEntry) -> Option<&Map<String, Value>> {
    entry.fields_v1.as_ref()?.0.get("f:spec")?.as_object()
}
