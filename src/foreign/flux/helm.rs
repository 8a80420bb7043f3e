//! helm-controller's kind: `HelmRelease`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::api::flux_fields::{PostRenderer, ValuesReference};

use super::{FluxKind, Kind, KubeConfig, Reference};

/// A `HelmRelease`'s desired state. `suspend` is not here: no plan ever owns it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmReleaseSpec<'a> {
    /// The chart.
    pub chart_ref: Reference<'a>,
    /// Helm's name of the release, at most 53 characters.
    pub release_name: &'a str,
    /// The namespace of the chart's objects.
    pub target_namespace: &'a str,
    /// The namespace of Helm's record; it must exist.
    pub storage_namespace: &'a str,
    /// The workload cluster; absent for the management cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_config: Option<KubeConfig<'a>>,
    /// The `ServiceAccount` in the management cluster that Flux impersonates to apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<&'a str>,
    /// Interval at which to check for drift.
    pub interval: &'a str,
    /// Maximum duration of a Helm action other than an install.
    pub timeout: &'a str,
    /// Number of revisions that Helm keeps.
    pub max_history: u32,
    /// `HelmRelease`s of the same namespace that must be ready first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency>,
    /// The settings of the first install.
    pub install: Install<'a>,
    /// The settings of an upgrade.
    pub upgrade: Upgrade,
    /// The handling of changes that other writers make to the chart's objects.
    pub drift_detection: DriftDetection,
    /// The metadata for all objects of the chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common_metadata: Option<CommonMetadata>,
    /// The values, merged over the chart's own by Helm.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub values: Map<String, Value>,
    /// The objects with more values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values_from: Vec<ValuesReference>,
    /// The changes of the chart's objects.
    #[serde(skip_serializing_if = "<[PostRenderer]>::is_empty")]
    pub post_renderers: &'a [PostRenderer],
}

impl Kind for HelmReleaseSpec<'_> {
    const KIND: FluxKind = FluxKind::HelmRelease;
}

/// A `HelmRelease` of the same namespace that must be ready first.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// The name of the `HelmRelease`.
    pub name: String,
    /// The test for readiness: a CEL expression over `dep` that replaces Flux's own check.
    pub ready_expr: String,
}

/// The metadata for all objects of a chart.
#[derive(Clone, Debug, Serialize)]
pub struct CommonMetadata {
    /// Annotations.
    pub annotations: BTreeMap<&'static str, String>,
}

/// The settings of the first install.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Install<'a> {
    /// The handling of the chart's `crds/`.
    pub crds: &'static str,
    /// Maximum duration of one attempt, which holds a worker of helm-controller.
    pub timeout: &'a str,
    /// The retry in place after a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// The uninstall after a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remediation: Option<InstallRemediation>,
    /// Whether the target namespace is created.
    #[serde(skip_serializing_if = "is_false")]
    pub create_namespace: bool,
    /// Whether the release is ready as soon as its objects are applied.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_wait: bool,
}

/// The reaction to a failed action.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Strategy {
    /// `RetryOnFailure`.
    pub name: &'static str,
    /// Time until the next attempt.
    pub retry_interval: &'static str,
}

/// Number of times that a failed install is uninstalled and retried.
#[derive(Clone, Debug, Serialize)]
pub struct InstallRemediation {
    /// Attempts after the first.
    pub retries: u32,
}

/// The settings of an upgrade.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Upgrade {
    /// The handling of the chart's `crds/`.
    pub crds: &'static str,
    /// Whether objects that a failed upgrade created are removed.
    pub cleanup_on_fail: bool,
    /// Whether a chart with another name replaces the release or upgrades it.
    pub chart_name_change_strategy: &'static str,
    /// The reaction to a failed upgrade.
    pub remediation: UpgradeRemediation,
    /// Whether the release is ready as soon as its objects are applied.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_wait: bool,
}

/// The reaction to a failed upgrade.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeRemediation {
    /// Attempts after the first.
    pub retries: u32,
    /// `rollback`.
    pub strategy: &'static str,
    /// Whether the last failure is remedied too.
    pub remediate_last_failure: bool,
}

/// The handling of changes that other writers make to the chart's objects.
#[derive(Clone, Debug, Serialize)]
pub struct DriftDetection {
    /// `enabled`, `warn` or `disabled`.
    pub mode: &'static str,
    /// The fields that may differ.
    #[serde(skip_serializing_if = "<[Ignore]>::is_empty")]
    pub ignore: &'static [Ignore],
}

/// Fields that may differ, and the objects in which they may.
#[derive(Clone, Debug, Serialize)]
pub struct Ignore {
    /// JSON pointers (RFC 6901).
    pub paths: &'static [&'static str],
    /// The objects.
    pub target: Target,
}

/// Objects selected by their kind.
#[derive(Clone, Debug, Serialize)]
pub struct Target {
    /// The kind.
    pub kind: &'static str,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}
