//! The settings of a ClusterStack for its Flux objects.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::flux_fields::{CLUSTER, Decryption, PostRenderer, ValuesReference};
use super::{Duration, rules, schema};

/// Settings of the generated Flux objects.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FluxSettings {
    /// The kubeconfig that Flux reaches a workload cluster with. stackflux never reads it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kube_config: KubeConfig,
    /// Placement of the sources of addons: once beside the ClusterStack's own source (`Shared`), or copied into every
    /// namespace with Clusters (`PerNamespace`), for a Flux that runs with `--no-cross-namespace-refs`. A Secret
    /// named by the source must then exist in each of these namespaces.
    #[serde(default)]
    pub sources: SourcePlacement,
    /// The `ServiceAccount` that Flux applies the cluster class and the node images as. Defaults to Flux's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = rules::OBJECT_NAME)]
    pub service_account_name: Option<String>,
    /// Interval at which Flux compares an addon with what is in the workload cluster.
    #[serde(default = "default_interval")]
    pub interval: Duration,
    /// Time that Flux waits for an upgrade of an addon. Installations time out after two minutes and are retried, so
    /// that an installation that waits for another addon does not block Flux's workers.
    #[serde(default = "default_timeout")]
    pub timeout: Duration,
    /// Handling of failures, unless an addon has its own setting: `infrastructure` never uninstalls, `stateless` may.
    #[serde(default)]
    pub preset: Preset,
    /// Settings of single addons, by the addon's name (its directory in the release).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = rules::MAX_ADDONS))]
    #[x_kube(validation = rules::ADDON_NAMES, validation = rules::NO_SELF_DEPENDENCY)]
    pub addons: BTreeMap<String, AddonSettings>,
    /// Takes over the Helm releases that the cluster-stack-operator installed: addons keep the release name
    /// `cluster-addon`, with one Helm storage namespace each.
    #[serde(default, skip_serializing_if = "is_default")]
    pub adopt: bool,
    /// Handling of releases whose `clusteraddon.yaml` names conditions to wait for, none of which is ever checked: `Refuse`
    /// does not use them, `Ignore` uses them as if the conditions were absent, and the status of each cluster says so.
    #[serde(default, skip_serializing_if = "is_default")]
    pub waits: WaitHandling,
}

impl Default for FluxSettings {
    fn default() -> Self {
        Self {
            kube_config: KubeConfig::default(),
            sources: SourcePlacement::default(),
            service_account_name: None,
            interval: default_interval(),
            timeout: default_timeout(),
            preset: Preset::default(),
            addons: BTreeMap::new(),
            adopt: false,
            waits: WaitHandling::default(),
        }
    }
}

/// The Secret with the kubeconfig of a workload cluster, in the namespace of its Cluster.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeConfig {
    /// The name of the Secret; `{cluster}` stands for the name of the Cluster. Defaults to the Secret that Cluster API
    /// creates.
    #[serde(default = "default_secret_name")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = rules::SECRET_NAME)]
    pub secret_name: String,
    /// The key in the Secret.
    #[serde(default = "default_secret_key")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = rules::SECRET_KEY)]
    pub key: String,
}

impl KubeConfig {
    /// Placeholder for the name of the Cluster in [`KubeConfig::secret_name`].
    pub const CLUSTER: &str = CLUSTER;

    /// Returns the name of the Secret for one Cluster.
    #[must_use]
    pub fn secret_name_for(&self, cluster: &str) -> String {
        self.secret_name.replace(Self::CLUSTER, cluster)
    }
}

impl Default for KubeConfig {
    fn default() -> Self {
        Self { secret_name: default_secret_name(), key: default_secret_key() }
    }
}

/// Placement of the sources of addons: once beside the ClusterStack's own source (`Shared`), or copied into every
/// namespace with Clusters (`PerNamespace`).
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(inline)]
pub enum SourcePlacement {
    /// Once, beside the ClusterStack's own source; used across namespaces.
    #[default]
    Shared,
    /// A copy in every namespace with Clusters.
    PerNamespace,
}

/// Handling of releases whose `clusteraddon.yaml` names conditions to wait for: `Refuse` does not use them, `Ignore` uses
/// them as if the conditions were absent.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(inline)]
pub enum WaitHandling {
    /// Do not use the release.
    #[default]
    Refuse,
    /// Use it without the conditions.
    Ignore,
}

/// Handling of failures: with `infrastructure`, a failed installation is retried and never uninstalled, and a
/// failed upgrade is rolled back; with `stateless`, a failed installation is uninstalled before it is retried.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// For what a cluster cannot live without: nothing is ever uninstalled.
    #[default]
    Infrastructure,
    /// For what may be removed and installed again.
    Stateless,
}

/// Flux's reaction to an object in the workload cluster that differs from the chart: `enabled` corrects the object,
/// `warn` reports the drift, `disabled` ignores it. Defaults to `enabled`.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum DriftDetection {
    /// Correct it.
    Enabled,
    /// Report it.
    Warn,
    /// Nothing.
    Disabled,
}

/// Settings of one addon. For what is absent, the settings of all addons apply.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddonSettings {
    /// Handling of failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// Time that Flux waits for an upgrade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Flux's reaction to an object in the workload cluster that differs from the chart. Flux corrects it by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_detection: Option<DriftDetection>,
    /// Suspends the Flux object of the addon in all clusters of the stack. A suspension that a person set is kept.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspend: bool,
    /// Addons that must be ready, at the same release, before this one is installed or upgraded. The order in
    /// `clusteraddon.yaml` alone makes no addon wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = rules::MAX_ADDONS), inner(length(max = 63)))]
    #[x_kube(validation = rules::ADDON_NAMES)]
    pub depends_on: Vec<String>,
    /// Whether the addon counts as installed only when its workloads are ready. Defaults to true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<bool>,
    /// Values of the chart in all clusters: above the chart's own and a component's, below those of a `ClusterAddonOverride` and
    /// those that a values template renders. Maps are merged, lists are replaced, and null removes a key of the chart, as in Helm. At most 64 KiB as JSON.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "schema::any_object")]
    pub values: Map<String, Value>,
    /// Secrets and `ConfigMaps` with values of the chart, in the namespace of each Cluster: below all other values but the
    /// chart's own, and with `targetPath` above them. stackflux writes the reference and never reads the object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = rules::MAX_VALUES_FROM))]
    pub values_from: Vec<ValuesReference>,
    /// Changes of the chart's objects after Helm has rendered them, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = rules::MAX_POST_RENDERERS))]
    pub post_renderers: Vec<PostRenderer>,
    /// The way in which Flux decrypts the files of an addon of manifests. stackflux never reads the Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decryption: Option<Decryption>,
    /// What the owner of a single cluster may request of the addon in a `ClusterAddonOverride`. By default nothing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub overridable: Overridable,
}

/// What the owner of a single cluster may request of an addon. A chart's values can be as strong as the administrator of the
/// cluster.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overridable {
    /// Whether the addon may be switched off.
    #[serde(default, skip_serializing_if = "is_default")]
    pub enabled: bool,
    /// Whether the addon may be suspended.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspend: bool,
    /// The paths of the values that may be set, each with all that is below it: dotted as for `helm --set`, such as
    /// `cilium.hubble`, with `\.` for a dot within a key. The path `*` stands for all values. A list is one value, and `*` within
    /// a path is not supported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = rules::MAX_PATHS), inner(length(max = rules::MAX_PATH)))]
    #[x_kube(validation = rules::VALUE_PATHS)]
    pub values: Vec<String>,
}

/// Whether a value is its type's default. Such a value is not written, and the schema does not fill it in.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn default_interval() -> Duration {
    Duration::minutes(10)
}

fn default_timeout() -> Duration {
    Duration::minutes(5)
}

fn default_secret_name() -> String {
    format!("{}-kubeconfig", KubeConfig::CLUSTER)
}

fn default_secret_key() -> String {
    "value".to_owned()
}
