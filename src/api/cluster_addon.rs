//! `ClusterAddon`: the addons of one cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cluster_stack::Pruned;
use super::components::AddonSource;
use super::flux_settings::is_default;
use super::schema;

/// The cluster that the addons belong to.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "clusterstack.x-k8s.io",
    version = "v1alpha1",
    kind = "ClusterAddon",
    doc = "The addons of one cluster: their release, their state, and what keeps them from being ready. Written by stackflux, one per Cluster, named `cluster-addon-<cluster>`.",
    namespaced,
    status = "ClusterAddonStatus",
    derive = "PartialEq",
    shortname = "caddon",
    category = "stackflux",
    category = "all",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterRef.name"),
    printcolumn(name = "Release", type_ = "string", json_path = ".status.release.applied")
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAddonSpec {
    /// The Cluster whose addons these are.
    #[x_kube(merge_strategy = StructMerge::Atomic)]
    pub cluster_ref: ObjectReference,
    /// Stops the operator from changing anything in this cluster. The status is still updated.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspend: bool,
    /// Unused. Written by the cluster-stack-operator; see `status.release` instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_stack: Option<String>,
    /// Unused. Written by the cluster-stack-operator; see `status.addons` instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Unused. Written by the cluster-stack-operator; see `status.hook` instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
}

/// The observed state of the addons of one cluster.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAddonStatus {
    /// The desired, the applied and the last known good release of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseProgress>,
    /// The hook whose stages run; absent while none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// The upgrade to another Kubernetes version; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<UpgradeStatus>,
    /// The stages of that hook for the desired release. They are what the operator remembers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageStatus>,
    /// The addons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub addons: Vec<AddonStatus>,
    /// The inputs that the values were rendered from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<RenderedInputs>,
    /// The ClusterStack that commits the cluster's objects to a Git repository, as `<namespace>/<name>`; absent if the
    /// operator applies the objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed_by: Option<String>,
    /// Number of objects of removed addons that were deleted in the current hour. They count in the budget of the
    /// ClusterStack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned: Option<Pruned>,
    /// Whether all addons of the desired release are ready.
    #[serde(default)]
    pub ready: bool,
    /// The generation of the spec that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The last value of the annotation `reconcile.fluxcd.io/requestedAt` that was acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
    /// `ClusterAvailable`, `ReleaseReady`, `ValuesRendered`, `Delivered`, `AddonsReady`, `UpgradeGate`, and in sum `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// The desired, the applied and the last known good release of a cluster.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseProgress {
    /// The release that the Cluster's class asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired: Option<String>,
    /// The namespace of that class, and so of the desired release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_namespace: Option<String>,
    /// The release whose addons were delivered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<String>,
    /// The namespace of the applied release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_namespace: Option<String>,
    /// The last release with which all addons were ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_known_good: Option<String>,
}

impl ReleaseProgress {
    /// Returns the releases that the cluster has or is to have, each with its namespace. A status that an earlier
    /// version wrote names no namespace.
    pub fn releases(&self) -> impl Iterator<Item = (Option<&str>, &str)> {
        let desired = self.desired.as_deref().map(|name| (self.desired_namespace.as_deref(), name));
        let applied = self.applied.as_deref().map(|name| (self.applied_namespace.as_deref(), name));
        desired.into_iter().chain(applied)
    }
}

/// The upgrade of a cluster to another Kubernetes version.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeStatus {
    /// The version of the control plane before.
    pub from: String,
    /// The version of the Cluster.
    pub to: String,
    /// The progress: `Requested` until Cluster API waits for the addons, `Waiting` until they are upgraded, `Open` until
    /// Cluster API begins, `Upgrading` until all nodes have the version, and `Steady` until the rest of the addons has moved.
    pub phase: String,
    /// Time since which the upgrade is in this phase.
    pub since: Time,
}

/// One stage of the hook whose stages run.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StageStatus {
    /// The addon's name.
    pub name: String,
    /// The action on the addon: `apply` or `delete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Progress of the action: `Pending`, `applyingOrDeleting` or `done`.
    pub phase: String,
}

/// One addon in one cluster.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddonStatus {
    /// The addon's name.
    pub name: String,
    /// The Flux object that delivers it, in the namespace of the Cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<AddonObject>,
    /// The state of the addon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The reason for the state, as one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The reason for the state, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The repository of a component; absent for an addon whose files are in the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<AddonSource>,
    /// Name of the chart that is installed: the only dependency of the addon's chart, otherwise that chart itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<String>,
    /// Version of that chart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `appVersion` of that chart, if the release has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_version: Option<String>,
    /// The state that Flux has to reach before the addon counts as applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<AddonState>,
    /// The state that Flux has reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<AddonState>,
    /// The last revision of the Helm release from before its content was changed: only another deployed revision has the
    /// expected content. Absent once that is deployed, and if the values of the HelmRelease name the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision_before: Option<RevisionBefore>,
    /// The digest of the rendered values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values_digest: Option<String>,
    /// Time since which the addon is settled, or is on its way to the expected state. Deadlines count from this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// A revision of a Helm release from before a change of its content.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RevisionBefore {
    /// Helm's number of the revision.
    pub number: i64,
    /// The last generation of the HelmRelease with another content than planned. A revision counts once Flux has attempted a
    /// later generation.
    pub generation: i64,
    /// The HelmChart whose content the revision has, if known. If the HelmRelease gets it back, no other revision is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<String>,
}

/// The Flux object that delivers an addon.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddonObject {
    /// `HelmRelease` or `Kustomization`.
    pub kind: String,
    /// The object's name.
    pub name: String,
}

/// The expected or the reported state of an addon.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddonState {
    /// The digest of the Flux object's spec, without `suspend`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_digest: Option<String>,
    /// The version of the chart that Flux packaged, or the commit that manifests come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The inputs that the values of a cluster's addons were rendered from.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenderedInputs {
    /// The digest of each field that a template reads, by the path of the field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
}

/// The beginning of the names of all `ClusterAddon`s.
const NAME_PREFIX: &str = "cluster-addon-";

impl ClusterAddon {
    /// Returns the name of a Cluster's `ClusterAddon`, which is in the Cluster's namespace.
    #[must_use]
    pub fn name_for(cluster: &str) -> String {
        format!("{NAME_PREFIX}{cluster}")
    }

    /// Returns the name of the Cluster of a `ClusterAddon` with [that name](Self::name_for); `None` for another name.
    #[must_use]
    pub fn cluster_for(name: &str) -> Option<&str> {
        name.strip_prefix(NAME_PREFIX).filter(|cluster| !cluster.is_empty())
    }

    /// Returns the digest of the spec of an addon's object, as it was when the status was written last.
    #[must_use]
    pub fn spec_digest_of(&self, addon: &str) -> Option<&str> {
        let mut addons = self.status.iter().flat_map(|status| &status.addons);
        addons.find(|kept| kept.name == addon)?.expected.as_ref()?.spec_digest.as_deref()
    }
}
