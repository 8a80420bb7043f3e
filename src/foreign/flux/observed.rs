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

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::api::DriftDetection;
use crate::api::labels::CONTENT_DIGEST;
use crate::foreign::capi::text;

use self::metadata::WireMetadata;
pub use self::metadata::{Metadata, SpecManager};
pub use self::status::{
    Artifact, Attempt, Condition, Conditions, Entry, GitRepositoryStatus, HelmChartStatus, HelmReleaseStatus,
    Inventory, KustomizationStatus, Snapshot, Status, controller_of,
};

/// A Flux object as the API server returned it.
///
/// Deserialises from the whole object. Fields without a counterpart here are ignored, `null` is the same as absent, and
/// a field of the wrong type is an error of the deserialiser.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "Object<KindStatus>", bound(deserialize = "KindStatus: ObservedKind"))]
pub struct Observed<KindStatus> {
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
}

/// `helm.toolkit.fluxcd.io/v2` `HelmRelease`.
pub type HelmRelease = Observed<HelmReleaseStatus>;
/// `kustomize.toolkit.fluxcd.io/v1` `Kustomization`.
pub type Kustomization = Observed<KustomizationStatus>;
/// `source.toolkit.fluxcd.io/v1` `GitRepository`.
pub type GitRepository = Observed<GitRepositoryStatus>;
/// `source.toolkit.fluxcd.io/v1` `HelmChart`.
pub type HelmChart = Observed<HelmChartStatus>;

impl<KindStatus> Observed<KindStatus> {
    /// The condition of this type, unless it names another generation of the spec as observed.
    #[must_use]
    pub fn current(&self, condition: &str) -> Option<&Condition> {
        self.conditions.get(condition).filter(|condition| {
            condition.observed_generation.is_none_or(|seen| seen == self.metadata.generation)
        })
    }

    /// Like [`Observed::current`], if the condition has this status.
    #[must_use]
    pub fn current_with(&self, condition: &str, status: Status) -> Option<&Condition> {
        self.current(condition).filter(|condition| condition.status == status)
    }

    /// Whether Flux has written the status since the object was like `before`.
    #[must_use]
    pub fn is_answered_since(&self, before: &Self) -> bool
    where
        KindStatus: PartialEq,
    {
        (&self.status, self.observed_generation, &self.conditions, &self.last_handled_reconcile_at)
            != (
                &before.status,
                before.observed_generation,
                &before.conditions,
                &before.last_handled_reconcile_at,
            )
    }

    /// Whether Flux has completed a reconciliation of this generation.
    #[must_use]
    pub fn is_observed(&self) -> bool {
        self.observed_generation == self.metadata.generation
    }
}

/// The references of a spec; each is empty if the kind does not have such a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// The commit that a `GitRepository` is pinned to.
    pub commit: String,
    /// The directory that a `HelmChart` packages.
    pub chart: String,
    /// The directory that a `Kustomization` applies.
    pub path: String,
    /// The name of the source of a `HelmChart` or `Kustomization`, and of the `HelmChart` of a `HelmRelease`.
    pub source: String,
    /// The namespace of that source; empty if it is the object's own.
    pub source_namespace: String,
    /// Interval at which a source is fetched, as a Go duration.
    pub interval: String,
    /// Whether a `Kustomization` deletes what its source no longer has.
    pub prunes: bool,
    /// Whether the values of a `HelmRelease` name the content of its chart by
    /// [its digest](crate::api::labels::CONTENT_DIGEST).
    pub names_content: bool,
    /// Flux's reaction to drift of a `HelmRelease`.
    pub drift_detection: Option<DriftDetection>,
    /// URL and access of a `GitRepository`, from its spec. Derived repositories copy them.
    pub remote: Map<String, Value>,
}

/// The fields of [`References::remote`].
const REMOTE: [&str; 6] = ["url", "secretRef", "proxySecretRef", "provider", "verify", "serviceAccountName"];

impl References {
    fn of(spec: &Value) -> Self {
        let own = |path: &[&str]| text(spec, path).to_owned();
        let reference = if spec.get("chartRef").is_some() { "chartRef" } else { "sourceRef" };
        let remote = |name: &&str| Some(((*name).to_owned(), spec.get(*name)?.clone()));
        let has_remote = spec.get("url").is_some();
        Self {
            remote: REMOTE.iter().filter(|_| has_remote).filter_map(remote).collect(),
            names_content: spec.get("values").is_some_and(|values| values.get(CONTENT_DIGEST).is_some()),
            drift_detection: spec
                .pointer("/driftDetection/mode")
                .and_then(|mode| DriftDetection::deserialize(mode).ok()),
            commit: own(&["ref", "commit"]),
            chart: own(&["chart"]),
            interval: own(&["interval"]),
            prunes: spec.get("prune") == Some(&Value::Bool(true)),
            path: own(&["path"]),
            source: own(&[reference, "name"]),
            source_namespace: own(&[reference, "namespace"]),
        }
    }
}

impl Observed<GitRepositoryStatus> {
    /// The object, reduced to the address of the repository and the access to it.
    #[must_use]
    pub fn to_source(&self) -> Value {
        let (name, namespace) = (&self.object.name, &self.object.namespace);
        let metadata = json!({"name": name, "namespace": namespace});
        json!({"kind": GitRepositoryStatus::KIND, "metadata": metadata, "spec": self.refers_to.remote})
    }
}

/// The metadata of an object as the API server returned it, without its `managedFields`.
pub fn metadata_of(object: &Value) -> Result<ObjectMeta, serde_json::Error> {
    let metadata = object.get("metadata").map(Option::<WireMetadata>::deserialize).transpose()?;
    let (metadata, _): (ObjectMeta, Metadata) = metadata.flatten().unwrap_or_default().into();
    Ok(metadata)
}

/// A status of which only parts are kept.
pub trait Shrink {
    /// Drops the unread parts of the status of an object with this metadata.
    fn shrink(&mut self, _: &ObjectMeta) {}
}

/// A kind of Flux, identified by its status type, with its names in the API.
pub trait ObservedKind:
    Clone + fmt::Debug + Default + PartialEq + Shrink + for<'de> Deserialize<'de> + Send + Sync + 'static
{
    /// The API group; all kinds but `HelmRelease` (`v2`) are served as `v1`.
    const GROUP: &'static str;
    /// The version.
    const VERSION: &'static str;
    /// The kind.
    const KIND: &'static str;
    /// The plural in URLs.
    const PLURAL: &'static str;
    /// The controller that acts on objects of the kind.
    const CONTROLLER: &'static str;
}

/// The controllers of Flux whose answers stackflux awaits.
pub const CONTROLLERS: [&str; 3] = ["source-controller", "kustomize-controller", "helm-controller"];

impl<Status: ObservedKind> Resource for Observed<Status> {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        Status::KIND.into()
    }

    fn group((): &()) -> Cow<'_, str> {
        Status::GROUP.into()
    }

    fn version((): &()) -> Cow<'_, str> {
        Status::VERSION.into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        Status::PLURAL.into()
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
    /// A digest that was kept in a status.
    #[must_use]
    pub fn kept(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The digest of `spec` as the API server returned it.
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
#[serde(bound(deserialize = "KindStatus: Deserialize<'de> + Default"))]
struct Object<KindStatus> {
    #[serde(default, deserialize_with = "null_as_default")]
    metadata: WireMetadata,
    #[serde(default)]
    spec: Value,
    #[serde(default, deserialize_with = "null_as_default")]
    status: CommonStatus<KindStatus>,
}

/// The fields that all four kinds have in their status, and the rest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "KindStatus: Deserialize<'de> + Default"))]
struct CommonStatus<KindStatus> {
    observed_generation: Option<i64>,
    #[serde(default, deserialize_with = "null_as_default")]
    conditions: Conditions,
    last_handled_reconcile_at: Option<String>,
    #[serde(flatten)]
    kind: KindStatus,
}

impl<KindStatus: Default> Default for CommonStatus<KindStatus> {
    fn default() -> Self {
        Self {
            observed_generation: None,
            conditions: Conditions::default(),
            last_handled_reconcile_at: None,
            kind: KindStatus::default(),
        }
    }
}

impl<KindStatus: ObservedKind> From<Object<KindStatus>> for Observed<KindStatus> {
    fn from(object: Object<KindStatus>) -> Self {
        let Object { metadata, spec, mut status } = object;
        let (object, metadata) = metadata.into();
        status.kind.shrink(&object);
        Self {
            object,
            metadata,
            refers_to: References::of(&spec),
            suspended: spec.get("suspend").and_then(Value::as_bool).unwrap_or_default(),
            spec_digest: SpecDigest::of(spec),
            observed_generation: status.observed_generation.unwrap_or(-1),
            conditions: status.conditions,
            last_handled_reconcile_at: status.last_handled_reconcile_at,
            status: status.kind,
        }
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
