//! helm-controller's kind: `HelmRelease`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Kind, KubeConfig, Reference};

/// A `HelmRelease`'s desired state. `suspend` is not here: no plan ever owns it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmReleaseSpec<'a> {
    /// The chart.
    pub chart_ref: Reference<'a>,
    /// Helm's name of the release, at most 53 characters.
    pub release_name: &'a str,
    /// Where the chart's objects go.
    pub target_namespace: &'a str,
    /// Where Helm keeps its record; it must exist.
    pub storage_namespace: &'a str,
    /// The workload cluster; absent for the management cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_config: Option<KubeConfig<'a>>,
    /// The account in the management cluster that applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<&'a str>,
    /// How often drift is looked for.
    pub interval: &'a str,
    /// How long a Helm action other than an install may take.
    pub timeout: &'a str,
    /// How many revisions Helm keeps.
    pub max_history: u32,
    /// Releases of the same namespace that must be ready first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency>,
    /// How the first install is done.
    pub install: Install<'a>,
    /// How an upgrade is done.
    pub upgrade: Upgrade,
    /// What happens with changes that others make to the chart's objects.
    pub drift_detection: DriftDetection,
    /// What is put on all objects of the chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common_metadata: Option<CommonMetadata>,
    /// The values, merged over the chart's own by Helm.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub values: Map<String, Value>,
}

impl Kind for HelmReleaseSpec<'_> {
    const API_VERSION: &'static str = "helm.toolkit.fluxcd.io/v2";
    const KIND: &'static str = "HelmRelease";
}

/// A release of the same namespace that must be ready first.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// Its `HelmRelease`.
    pub name: String,
    /// When it counts as ready: a CEL expression over `dep` that replaces Flux's own check.
    pub ready_expr: String,
}

/// What is put on all objects of a chart.
#[derive(Clone, Debug, Serialize)]
pub struct CommonMetadata {
    /// Annotations.
    pub annotations: BTreeMap<&'static str, String>,
}

/// How the first install is done.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Install<'a> {
    /// What happens with the chart's `crds/`.
    pub crds: &'static str,
    /// How long one attempt may take, and hold a worker of helm-controller.
    pub timeout: &'a str,
    /// What follows a failure when it is to be tried again in place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// What follows a failure when it is to be remedied by an uninstall.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remediation: Option<InstallRemediation>,
    /// Ready as soon as the objects are applied.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_wait: bool,
}

/// What follows a failed action.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Strategy {
    /// `RetryOnFailure`.
    pub name: &'static str,
    /// How long until the next attempt.
    pub retry_interval: &'static str,
}

/// How often a failed install is undone and done again.
#[derive(Clone, Debug, Serialize)]
pub struct InstallRemediation {
    /// Attempts after the first.
    pub retries: u32,
}

/// How an upgrade is done.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Upgrade {
    /// What happens with the chart's `crds/`.
    pub crds: &'static str,
    /// Whether objects that a failed upgrade created are removed.
    pub cleanup_on_fail: bool,
    /// Whether a chart with another name replaces the release or upgrades it.
    pub chart_name_change_strategy: &'static str,
    /// What follows a failed upgrade.
    pub remediation: UpgradeRemediation,
    /// Ready as soon as the objects are applied.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_wait: bool,
}

/// What follows a failed upgrade.
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

/// What happens with changes that others make to the chart's objects.
#[derive(Clone, Debug, Serialize)]
pub struct DriftDetection {
    /// `enabled`, `warn` or `disabled`.
    pub mode: &'static str,
    /// What may differ.
    #[serde(skip_serializing_if = "<[Ignore]>::is_empty")]
    pub ignore: &'static [Ignore],
}

/// Fields that may differ, and in which objects.
#[derive(Clone, Debug, Serialize)]
pub struct Ignore {
    /// JSON pointers (RFC 6901).
    pub paths: &'static [&'static str],
    /// The objects.
    pub target: Target,
}

/// Objects by their kind.
#[derive(Clone, Debug, Serialize)]
pub struct Target {
    /// The kind.
    pub kind: &'static str,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}
