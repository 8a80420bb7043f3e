//! The parts of Flux objects that are read: metadata, conditions and the few status fields that the truth table of
//! [`crate::rollup`] needs.
//!
//! Everything else of an object is dropped when it is read, so that a cache of these is small. The digest of the spec is
//! taken at the same moment: nothing else is needed of an observed spec. Status fields are those of Flux 2.9:
//! helm-controller 1.6 (`helm.toolkit.fluxcd.io/v2`), kustomize-controller 1.9, source-controller 1.9.

mod metadata;
mod status;

use std::borrow::Cow;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::DynamicResourceScope;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::FluxKind;
use crate::api::DriftDetection;
use crate::api::cluster_addon::AddonObject;
use crate::api::labels::{self, ALLOWED_NAMESPACES, CONTENT_DIGEST};
use crate::foreign::capi::text;
use crate::names::Key;

use self::metadata::WireMetadata;
pub use self::metadata::{Metadata, SpecManager};
pub use self::status::{
    Artifact, Attempt, AttemptMetadata, Condition, Conditions, Entry, HelmChartStatus, HelmReleaseStatus,
    Inventory, KindStatus, KustomizationStatus, RepositoryStatus, Snapshot, Status,
};

/// A Flux object as the API server returned it: what all kinds have, and the status of its kind.
///
/// Deserialises from the whole object. Fields without a counterpart here are ignored, `null` is the same as absent, and
/// another kind or a field of the wrong type is an error of the deserialiser.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Object")]
pub struct FluxObject {
    /// Names, labels, annotations and owners, without `managedFields`.
    pub object: ObjectMeta,
    /// Generation, deletion, and the managers of the spec.
    pub metadata: Metadata,
    /// The references of the spec.
    pub refers_to: References,
    /// `spec.suspend`.
    pub suspended: bool,
    /// The digest of the spec without `suspend`.
    pub spec_digest: SpecDigest,
    /// `status.observedGeneration`; -1 (the default in Flux's CRDs) if Flux has not answered yet.
    pub observed_generation: i64,
    /// `status.conditions`.
    pub conditions: Conditions,
    /// `status.lastHandledReconcileAt`: the last value of the annotation
    /// [`REQUESTED_AT`](crate::api::labels::REQUESTED_AT) that Flux handled.
    pub last_handled_reconcile_at: Option<String>,
    /// The status fields of the kind.
    pub status: KindStatus,
    /// The reason why the status cannot be read: it then counts as absent.
    pub unreadable_status: Option<String>,
}

impl FluxObject {
    /// Returns the kind of the object.
    #[must_use]
    pub fn kind(&self) -> FluxKind {
        self.status.kind()
    }

    /// Returns the name of the object.
    #[must_use]
    pub fn name(&self) -> &str {
        self.object.name.as_deref().unwrap_or_default()
    }

    /// Returns the value of the label that names the addon.
    #[must_use]
    pub fn addon(&self) -> Option<&str> {
        self.object.labels.as_ref()?.get(labels::ADDON).map(String::as_str)
    }

    /// Returns the value of an annotation.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.object.annotations.as_ref()?.get(name).map(String::as_str)
    }

    /// Creates the reference for the status of a `ClusterAddon`.
    #[must_use]
    pub fn reference(&self) -> AddonObject {
        AddonObject { kind: self.kind().to_string(), name: self.name().to_owned() }
    }

    /// Returns the key of the source of a `HelmChart`, `Kustomization` or `HelmRelease`.
    #[must_use]
    pub fn source(&self) -> Key {
        let References { source, source_namespace, .. } = &self.refers_to;
        let own = self.object.namespace.as_deref().unwrap_or_default();
        Key::new(if source_namespace.is_empty() { own } else { source_namespace }, source)
    }

    /// Returns the condition of this type, unless it names another generation of the spec as observed.
    #[must_use]
    pub fn current(&self, condition: &str) -> Option<&Condition> {
        self.conditions.get(condition).filter(|condition| {
            condition.observed_generation.is_none_or(|seen| seen == self.metadata.generation)
        })
    }

    /// Returns the condition as [`Observed::current`] does, if it has this status.
    #[must_use]
    pub fn current_with(&self, condition: &str, status: Status) -> Option<&Condition> {
        self.current(condition).filter(|condition| condition.status == status)
    }

    /// Whether Flux has written the status since the object was like `before`.
    #[must_use]
    pub fn is_answered_since(&self, before: &Self) -> bool {
        (&self.status, self.observed_generation, &self.conditions, &self.last_handled_reconcile_at)
            != (
                &before.status,
                before.observed_generation,
                &before.conditions,
                &before.last_handled_reconcile_at,
            )
    }

    /// Whether Flux has failed to install the object of an addon before it installed anything: its deletion uninstalls nothing.
    #[must_use]
    pub fn is_never_installed(&self) -> bool {
        // Ready is unknown while Flux installs, and there is no history before the end.
        self.conditions.with("Ready", Status::False).is_some()
            && match &self.status {
                KindStatus::HelmRelease(status) => status.history.is_empty(),
                KindStatus::Kustomization(status) => {
                    !status.has_inventory && status.last_applied_revision.is_none()
                }
                KindStatus::GitRepository(_) | KindStatus::OCIRepository(_) | KindStatus::HelmChart(_) => {
                    false
                }
            }
    }

    /// Whether Flux has completed a reconciliation of this generation.
    #[must_use]
    pub fn is_observed(&self) -> bool {
        self.observed_generation == self.metadata.generation
    }

    /// Reduces the object to the address of its repository, the access to it, and the namespaces that may use it.
    #[must_use]
    pub fn to_source(&self) -> Value {
        let (name, namespace) = (&self.object.name, &self.object.namespace);
        let annotations = json!({ALLOWED_NAMESPACES: self.annotation(ALLOWED_NAMESPACES)});
        let metadata = json!({"name": name, "namespace": namespace, "annotations": annotations});
        json!({"kind": self.kind(), "metadata": metadata, "spec": self.refers_to.remote})
    }
}

/// The references of a spec; each is empty if the kind does not have such a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// The commit that a `GitRepository` is pinned to, or the digest that an `OCIRepository` is.
    pub exact: String,
    /// The directory that a `GitRepository` is limited to.
    pub directory: String,
    /// The directory that a `HelmChart` packages.
    pub chart: String,
    /// The directory that a `Kustomization` applies.
    pub path: String,
    /// The digest of the content of a `HelmRelease`'s chart, from its `commonMetadata`.
    pub content: String,
    /// The name of the source of a `HelmChart`, `Kustomization` or `HelmRelease`.
    pub source: String,
    /// The kind of that source.
    pub source_kind: Option<FluxKind>,
    /// The namespace of that source; empty if it is the object's own.
    pub source_namespace: String,
    /// Interval at which a source is fetched, as a Go duration.
    pub interval: String,
    /// Whether a `Kustomization` deletes what its source no longer has.
    pub prunes: bool,
    /// Whether a `HelmRelease` names the content of its chart: the values by
    /// [its digest](crate::api::labels::CONTENT_DIGEST), or the version of a chart of an `OCIRepository`.
    pub names_content: bool,
    /// Flux's reaction to drift of a `HelmRelease`.
    pub drift_detection: Option<DriftDetection>,
    /// URL and access of a repository, from its spec. Derived repositories copy them.
    pub remote: Map<String, Value>,
    /// The names of the Helm release of a `HelmRelease`.
    pub helm: Option<HelmNames>,
}

/// The names by which Helm knows a release in its cluster. Flux uninstalls a release whose names change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelmNames {
    /// `spec.releaseName`.
    pub release: String,
    /// `spec.targetNamespace`.
    pub target_namespace: String,
    /// `spec.storageNamespace`.
    pub storage_namespace: String,
}

impl HelmNames {
    /// Reads the names in the spec of a `HelmRelease`; `None` if one is absent.
    #[must_use]
    pub fn of(spec: &Value) -> Option<Self> {
        let name = |field: &str| Some(text(spec, &[field]).to_owned()).filter(|name| !name.is_empty());
        Some(Self {
            release: name("releaseName")?,
            target_namespace: name("targetNamespace")?,
            storage_namespace: name("storageNamespace")?,
        })
    }
}

/// The fields of [`References::remote`].
const REMOTE: [&str; 6] = ["url", "secretRef", "proxySecretRef", "provider", "verify", "serviceAccountName"];

impl References {
    /// Whether the spec of a source or chart names the same content.
    #[must_use]
    pub fn is_content_of(&self, spec: &Value) -> bool {
        let other = Self::of(spec);
        let content = |of: &'_ Self| [&of.exact, &of.directory, &of.chart, &of.source].map(String::clone);
        content(self) == content(&other) && self.remote.get("url") == other.remote.get("url")
    }

    /// Whether the spec of a `HelmRelease` names the same chart with the same content.
    #[must_use]
    pub fn is_chart_of(&self, other: &Self) -> bool {
        (&self.source, &self.content) == (&other.source, &other.content)
    }

    /// Reads the references in a spec.
    #[must_use]
    pub fn of(spec: &Value) -> Self {
        let own = |path: &[&str]| text(spec, path).to_owned();
        let reference = if spec.get("chartRef").is_some() { "chartRef" } else { "sourceRef" };
        let remote = |name: &&str| Some(((*name).to_owned(), spec.get(*name)?.clone()));
        let has_remote = spec.get("url").is_some();
        let source_kind = FluxKind::of(text(spec, &[reference, "kind"]));
        Self {
            remote: REMOTE.iter().filter(|_| has_remote).filter_map(remote).collect(),
            names_content: source_kind == Some(FluxKind::OCIRepository)
                || spec.get("values").is_some_and(|values| values.get(CONTENT_DIGEST).is_some()),
            drift_detection: spec
                .pointer("/driftDetection/mode")
                .and_then(|mode| DriftDetection::deserialize(mode).ok()),
            exact: [own(&["ref", "commit"]), own(&["ref", "digest"])].concat(),
            directory: spec
                .pointer("/sparseCheckout/0")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            chart: own(&["chart"]),
            interval: own(&["interval"]),
            prunes: spec.get("prune") == Some(&Value::Bool(true)),
            path: own(&["path"]),
            content: own(&["commonMetadata", "annotations", CONTENT_DIGEST]),
            source: own(&[reference, "name"]),
            source_kind,
            source_namespace: own(&[reference, "namespace"]),
            helm: HelmNames::of(spec),
        }
    }
}

/// Reads the metadata of an object as the API server returned it, without its `managedFields`, and reads what those
/// say.
pub fn metadata_of(object: &Value) -> Result<(ObjectMeta, Metadata), serde_json::Error> {
    let metadata = object.get("metadata").map(Option::<WireMetadata>::deserialize).transpose()?;
    Ok(metadata.flatten().unwrap_or_default().into())
}

/// The controllers of Flux whose answers stackflux awaits.
pub const CONTROLLERS: [&str; 3] = ["source-controller", "kustomize-controller", "helm-controller"];

impl Resource for FluxObject {
    type DynamicType = FluxKind;
    type Scope = DynamicResourceScope;

    fn kind(of: &FluxKind) -> Cow<'_, str> {
        of.as_str().into()
    }

    fn group(of: &FluxKind) -> Cow<'_, str> {
        of.group().into()
    }

    fn version(of: &FluxKind) -> Cow<'_, str> {
        of.version().into()
    }

    fn plural(of: &FluxKind) -> Cow<'_, str> {
        of.plural().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.object
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.object
    }
}

/// SHA-256 over a spec without its `suspend`, with sorted keys. It distinguishes our own spec from an edited one.
///
/// `suspend` is left out because a user may set it, which must not look like a foreign edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecDigest(String);

impl SpecDigest {
    /// Creates a digest from the text in a status.
    #[must_use]
    pub fn kept(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Computes the digest of `spec` as the API server returned it.
    #[must_use]
    pub fn of(mut spec: Value) -> Self {
        if let Value::Object(fields) = &mut spec {
            fields.remove("suspend");
        }
        spec.sort_all_objects();
        let digest = Sha256::digest(spec.to_string().as_bytes());
        Self(digest.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}")))
    }
}

impl fmt::Display for SpecDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The shape of the object on the wire.
#[derive(Deserialize)]
struct Object {
    kind: FluxKind,
    #[serde(default, deserialize_with = "null_as_default")]
    metadata: WireMetadata,
    #[serde(default)]
    spec: Value,
    #[serde(default)]
    status: Value,
}

/// The fields that all kinds have in their status.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommonStatus {
    observed_generation: Option<i64>,
    #[serde(default, deserialize_with = "null_as_default")]
    conditions: Conditions,
    last_handled_reconcile_at: Option<String>,
}

impl TryFrom<Object> for FluxObject {
    type Error = serde_json::Error;

    fn try_from(object: Object) -> Result<Self, Self::Error> {
        let Object { kind, metadata, spec, status } = object;
        let (object, metadata) = metadata.into();
        let read = null_as_default(&status)
            .and_then(|common: CommonStatus| Ok((common, KindStatus::read(kind, &status, &object)?)));
        // A status that cannot be read says nothing: the object is as one that Flux has not reconciled yet. An error would
        // hide all other objects of the list.
        let ((common, status), unreadable_status) = match read {
            Ok(read) => (read, None),
            Err(error) => {
                let nothing = KindStatus::read(kind, &Value::Null, &object)?;
                ((CommonStatus::default(), nothing), Some(error.to_string()))
            }
        };
        Ok(Self {
            status,
            unreadable_status,
            object,
            metadata,
            refers_to: References::of(&spec),
            suspended: spec.get("suspend").and_then(Value::as_bool).unwrap_or_default(),
            spec_digest: SpecDigest::of(spec),
            observed_generation: common.observed_generation.unwrap_or(-1),
            conditions: common.conditions,
            last_handled_reconcile_at: common.last_handled_reconcile_at,
        })
    }
}

/// Reads `null` as an absent field, as Kubernetes does.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests;
