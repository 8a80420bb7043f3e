//! Conditions, and the status fields of each kind.

use std::borrow::Cow;
use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::null_as_default;
pub use crate::api::conditions::ConditionStatus as Status;
use crate::api::labels;
use crate::foreign::flux::FluxKind;
use crate::names::credentials;

/// The part of a `metav1.Condition` from Flux that is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The type, such as `Ready`.
    #[serde(rename = "type", default, deserialize_with = "null_as_default")]
    pub kind: String,
    /// True, false or unknown.
    #[serde(default, deserialize_with = "null_as_default")]
    pub status: Status,
    /// One `PascalCase` word.
    #[serde(default, deserialize_with = "null_as_default")]
    pub reason: String,
    /// The text for readers; may have many lines. Addresses in it are without credentials.
    #[serde(default, deserialize_with = "masked")]
    pub message: String,
    /// The generation of the object that the condition is about.
    pub observed_generation: Option<i64>,
    /// Time of the last change of the status.
    pub last_transition_time: Option<Time>,
}

/// Removes credentials: Flux repeats an address with its password, if it has one.
fn masked<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let message: String = null_as_default(from)?;
    let masked = match credentials::masked(&message) {
        Cow::Owned(masked) => Some(masked),
        Cow::Borrowed(_) => None,
    };
    Ok(masked.unwrap_or(message))
}

/// The conditions of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Conditions(Vec<Condition>);

impl Conditions {
    /// Returns the condition of this type.
    #[must_use]
    pub fn get(&self, kind: &str) -> Option<&Condition> {
        self.0.iter().find(|condition| condition.kind == kind)
    }

    /// Returns the condition of this type, if it has this status.
    #[must_use]
    pub fn with(&self, kind: &str, status: Status) -> Option<&Condition> {
        self.get(kind).filter(|condition| condition.status == status)
    }
}

/// Status fields of a `HelmRelease`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmReleaseStatus {
    /// The generation whose chart and values were last handed to Helm.
    pub last_attempted_generation: Option<i64>,
    /// Helm releases, the latest first.
    #[serde(default, deserialize_with = "null_as_default")]
    pub history: Vec<Snapshot>,
    /// Number of failures of the present spec.
    #[serde(default, deserialize_with = "null_as_default")]
    pub failures: i64,
    /// The last value of the annotation [`FORCE_AT`](crate::api::labels::FORCE_AT) for which Flux upgraded.
    pub last_handled_force_at: Option<String>,
    /// The objects of a cluster class that Helm applied. Those of addons are not kept: there are thousands of them.
    #[serde(default, deserialize_with = "null_as_default")]
    pub inventory: Inventory,
}

fn has_entries<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    #[derive(Default, Deserialize)]
    struct Counted {
        #[serde(default, deserialize_with = "null_as_default")]
        entries: Vec<IgnoredAny>,
    }
    let counted: Counted = null_as_default(from)?;
    Ok(!counted.entries.is_empty())
}

/// The objects that Flux has applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Inventory {
    /// The objects.
    #[serde(default, deserialize_with = "null_as_default")]
    pub entries: BTreeSet<Entry>,
}

/// One object that Flux has applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Entry {
    /// `<namespace>_<name>_<group>_<kind>`.
    #[serde(default, deserialize_with = "null_as_default")]
    pub id: String,
}

/// One Helm release of a `HelmRelease`'s history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Helm's revision of the release, which counts its installation and every upgrade and rollback.
    #[serde(default, deserialize_with = "null_as_default")]
    pub version: i64,
    /// Helm's status: `deployed`, `failed`, `superseded`…
    #[serde(default, deserialize_with = "null_as_default")]
    pub status: String,
    /// The name of the release's chart.
    #[serde(default, deserialize_with = "null_as_default")]
    pub chart_name: String,
    /// The version of the release's chart.
    #[serde(default, deserialize_with = "null_as_default")]
    pub chart_version: String,
    /// The digest of the OCI artifact with the chart, `sha256:<hex>`; empty for a chart of another source.
    #[serde(default, deserialize_with = "null_as_default")]
    pub oci_digest: String,
    /// The digest of the release's values.
    #[serde(default, deserialize_with = "null_as_default")]
    pub config_digest: String,
    /// The action that made the release: `install`, `upgrade` or `rollback`.
    #[serde(default, deserialize_with = "null_as_default")]
    pub action: String,
}

impl Snapshot {
    /// Whether the release's chart has this version, which is the digest of its artifact for a chart of an OCI repository:
    /// helm-controller adds only a part of that to the chart's own version.
    #[must_use]
    pub fn has_version(&self, version: &str) -> bool {
        self.version_like(version) == version
    }

    /// Returns the version in the form of another one: the digest of the artifact, or the version of the chart.
    #[must_use]
    pub fn version_like(&self, other: &str) -> &str {
        if other.contains(':') { &self.oci_digest } else { &self.chart_version }
    }
}

/// Status fields of a `Kustomization`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KustomizationStatus {
    /// The last revision that was applied and healthy.
    pub last_applied_revision: Option<String>,
    /// The last revision that was attempted.
    pub last_attempted_revision: Option<String>,
    /// Whether Flux has applied any object. Which ones is not kept: there may be thousands of them.
    #[serde(rename = "inventory", default, deserialize_with = "has_entries")]
    pub has_inventory: bool,
    /// The results of attempts, the latest first.
    #[serde(default, deserialize_with = "null_as_default")]
    pub history: Vec<Attempt>,
}

/// The result of the latest attempt at one content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// The reason of `Ready` at that time: `ReconciliationSucceeded`, `HealthCheckFailed`…
    #[serde(default, deserialize_with = "null_as_default")]
    pub last_reconciled_status: String,
    /// What it was an attempt at.
    #[serde(default, deserialize_with = "null_as_default")]
    pub metadata: AttemptMetadata,
}

/// What an attempt was made at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct AttemptMetadata {
    /// The revision of the source.
    pub revision: Option<String>,
}

/// Status fields of a `GitRepository` or `OCIRepository`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RepositoryStatus {
    /// The artifact that was fetched last.
    pub artifact: Option<Artifact>,
}

/// Status fields of a `HelmChart`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmChartStatus {
    /// The packaged chart; its revision is the chart's version.
    pub artifact: Option<Artifact>,
    /// The revision of the source that the artifact was packaged from.
    pub observed_source_artifact_revision: Option<String>,
}

/// A file that source-controller serves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// `<branch>@sha1:<commit>` or `sha1:<commit>` of a `GitRepository`, `<tag>@sha256:<digest>` or `sha256:<digest>` of an
    /// `OCIRepository`, the chart's version of a `HelmChart`.
    #[serde(default, deserialize_with = "null_as_default")]
    pub revision: String,
    /// `sha256:<hex>` over the file behind the URL.
    #[serde(default, deserialize_with = "null_as_default")]
    pub digest: String,
    /// The URL at which source-controller serves the file.
    #[serde(default, deserialize_with = "null_as_default")]
    pub url: String,
    /// The size in bytes.
    pub size: Option<u64>,
}

/// The status fields of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KindStatus {
    /// The status of a `HelmRelease`.
    HelmRelease(HelmReleaseStatus),
    /// The status of a `Kustomization`.
    Kustomization(KustomizationStatus),
    /// The status of a `GitRepository`.
    GitRepository(Box<RepositoryStatus>),
    /// The status of an `OCIRepository`.
    OCIRepository(Box<RepositoryStatus>),
    /// The status of a `HelmChart`.
    HelmChart(Box<HelmChartStatus>),
}

impl KindStatus {
    /// Reads the status of an object of this kind with this metadata.
    pub(super) fn read(
        kind: FluxKind,
        status: &Value,
        object: &ObjectMeta,
    ) -> Result<Self, serde_json::Error> {
        Ok(match kind {
            FluxKind::HelmRelease => {
                let mut status: HelmReleaseStatus = null_as_default(status)?;
                if object.labels.as_ref().is_some_and(|of| of.contains_key(labels::ADDON)) {
                    status.inventory = Inventory::default();
                }
                Self::HelmRelease(status)
            }
            FluxKind::Kustomization => Self::Kustomization(null_as_default(status)?),
            FluxKind::GitRepository => Self::GitRepository(null_as_default(status)?),
            FluxKind::OCIRepository => Self::OCIRepository(null_as_default(status)?),
            FluxKind::HelmChart => Self::HelmChart(null_as_default(status)?),
        })
    }

    pub(super) fn kind(&self) -> FluxKind {
        match self {
            Self::HelmRelease(_) => FluxKind::HelmRelease,
            Self::Kustomization(_) => FluxKind::Kustomization,
            Self::GitRepository(_) => FluxKind::GitRepository,
            Self::OCIRepository(_) => FluxKind::OCIRepository,
            Self::HelmChart(_) => FluxKind::HelmChart,
        }
    }

    /// Returns the artifact of a source.
    #[must_use]
    pub fn artifact(&self) -> Option<&Artifact> {
        match self {
            Self::GitRepository(status) | Self::OCIRepository(status) => status.artifact.as_ref(),
            Self::HelmChart(status) => status.artifact.as_ref(),
            Self::HelmRelease(_) | Self::Kustomization(_) => None,
        }
    }

    /// Returns the latest Helm release of a `HelmRelease`.
    #[must_use]
    pub fn helm_release(&self) -> Option<&Snapshot> {
        if let Self::HelmRelease(status) = self { status.history.first() } else { None }
    }

    /// Returns the objects that Helm applied for a `HelmRelease`.
    #[must_use]
    pub fn inventory(&self) -> Option<&BTreeSet<Entry>> {
        if let Self::HelmRelease(status) = self { Some(&status.inventory.entries) } else { None }
    }

    /// Returns the last revision that a `Kustomization` has applied.
    #[must_use]
    pub fn applied_revision(&self) -> Option<&str> {
        if let Self::Kustomization(status) = self { status.last_applied_revision.as_deref() } else { None }
    }
}
