//! A planned object: its identity, its bytes and its digest.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use super::PlanError;
use crate::api::labels;
use crate::foreign::flux::definition::Renaming;
use crate::foreign::flux::{Authored, FluxKind, Kind, Metadata};
use crate::names::{Key, Namespace, ObjectName};
use crate::release::Digest;

/// Kind, namespace and name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectId {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectId {
    /// Returns namespace and name.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(&self.namespace, &self.name)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.namespace.is_empty() { "" } else { "/" };
        write!(f, "{} {}{separator}{}", self.kind, self.namespace, self.name)
    }
}

/// The step of delivery that an object belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Sources and charts.
    Sources,
    /// Node images, which the class needs.
    NodeImages,
    /// The cluster class.
    ClusterClass,
    /// The addons of a cluster.
    Addons,
}

/// The order within a step: an object comes after those that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Namespace,
    Source,
    Chart,
    Applied,
}

impl Rank {
    pub(super) fn of(id: &ObjectId) -> Self {
        match FluxKind::of(&id.kind) {
            None => Self::Namespace,
            Some(FluxKind::GitRepository | FluxKind::OCIRepository) => Self::Source,
            Some(FluxKind::HelmChart) => Self::Chart,
            Some(FluxKind::HelmRelease | FluxKind::Kustomization) => Self::Applied,
        }
    }
}

/// A planned object.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedObject {
    /// The step of its delivery.
    pub step: Step,
    /// The identity of the object.
    pub id: ObjectId,
    /// The whole object, its digest annotation included.
    pub value: Value,
}

impl PlannedObject {
    /// Creates a Flux object.
    pub(super) fn flux<Spec: Kind>(step: Step, metadata: Metadata, spec: Spec) -> Result<Self, PlanError> {
        Self::of_kind(step, Spec::KIND, metadata, spec)
    }

    /// Creates a Flux object of a kind whose spec is this.
    pub(super) fn of_kind(
        step: Step,
        kind: FluxKind,
        metadata: Metadata,
        spec: impl Serialize,
    ) -> Result<Self, PlanError> {
        let id = ObjectId {
            api_version: kind.api_version().to_owned(),
            kind: kind.to_string(),
            namespace: metadata.namespace.to_string(),
            name: metadata.name.to_string(),
        };
        let value = serde_json::to_value(Authored { api_version: kind.api_version(), kind, metadata, spec })?;
        Ok(Self { step, id, value: with_digest(value) })
    }

    /// Returns the object without the field that the CRD of `HelmRelease` does not have.
    #[must_use]
    pub fn known_to(&self, renaming: &Renaming) -> Cow<'_, Self> {
        if self.kind() != Some(FluxKind::HelmRelease) || !matches!(renaming, Renaming::Uninstall { .. }) {
            return Cow::Borrowed(self);
        }
        let mut known = self.clone();
        renaming.without_unknown_field(&mut known.value);
        Cow::Owned(known)
    }

    /// Creates a Namespace.
    pub(super) fn namespace(step: Step, name: &Namespace) -> Self {
        let value = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name.as_str(), "labels": {labels::MANAGED_BY: labels::FIELD_MANAGER}},
        });
        let id = ObjectId {
            api_version: "v1".to_owned(),
            kind: "Namespace".to_owned(),
            namespace: String::new(),
            name: name.to_string(),
        };
        Self { step, id, value: with_digest(value) }
    }

    /// Returns the kind of a Flux object; `None` for a Namespace.
    #[must_use]
    pub fn kind(&self) -> Option<FluxKind> {
        FluxKind::of(&self.id.kind)
    }

    /// Returns the addon that the object delivers; empty if it delivers none.
    #[must_use]
    pub fn addon(&self) -> &str {
        crate::foreign::capi::text(&self.value, &["metadata", "labels", labels::ADDON])
    }

    /// Returns the digest of the object's canonical bytes, from its annotation.
    #[must_use]
    pub fn digest(&self) -> &str {
        let path = ["metadata", "annotations", labels::PLAN_DIGEST];
        crate::foreign::capi::text(&self.value, &path)
    }

    /// Whether an object in this namespace can own it: no object has an owner in another namespace.
    #[must_use]
    pub fn can_be_owned_in(&self, namespace: &str) -> bool {
        self.id.namespace == namespace
    }
}

/// Creates the metadata that every object has, with more labels and annotations.
pub(super) fn metadata(
    namespace: &Namespace,
    name: ObjectName,
    labels: impl IntoIterator<Item = (&'static str, String)>,
    annotations: impl IntoIterator<Item = (&'static str, String)>,
) -> Metadata {
    let managed_by = (labels::MANAGED_BY, labels::FIELD_MANAGER.to_owned());
    Metadata {
        name,
        namespace: namespace.clone(),
        labels: labels.into_iter().chain([managed_by]).collect(),
        annotations: annotations.into_iter().collect::<BTreeMap<_, _>>(),
    }
}

/// Adds the digest of the object's canonical bytes as an annotation. It shows whether an existing object is the planned
/// one without a comparison of the whole.
fn with_digest(mut value: Value) -> Value {
    let digest = Digest::of_bytes(super::canonical::to_yaml(&value).as_bytes());
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(labels::PLAN_DIGEST.to_owned(), json!(digest.to_string()));
        }
    }
    value
}
