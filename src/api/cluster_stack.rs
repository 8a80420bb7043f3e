//! `ClusterStack`: a stack, and the releases of it to offer.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::flux_settings::is_default;
use super::{ComponentSettings, Delivery, FluxSettings, StackSource, rules, schema};

/// The cluster stack, the releases to offer, and how their addons are delivered.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "clusterstack.x-k8s.io",
    version = "v1alpha1",
    kind = "ClusterStack",
    doc = "A cluster stack: a ClusterClass, the addons of every cluster of that class, and the node images, for one Kubernetes minor version. The spec says which releases of the stack are offered; the status shows the state of the releases and of their clusters.",
    namespaced,
    status = "ClusterStackStatus",
    derive = "PartialEq",
    shortname = "csk",
    category = "stackflux",
    category = "all",
    printcolumn(name = "Provider", type_ = "string", json_path = ".spec.provider"),
    printcolumn(name = "ClusterStack", type_ = "string", json_path = ".spec.name"),
    printcolumn(name = "K8s", type_ = "string", json_path = ".spec.kubernetesVersion"),
    printcolumn(name = "Channel", type_ = "string", json_path = ".spec.channel"),
    printcolumn(name = "Autosubscribe", type_ = "string", json_path = ".spec.autoSubscribe"),
    printcolumn(name = "Usable", type_ = "string", json_path = ".status.usableVersions"),
    printcolumn(name = "Latest", type_ = "string", json_path = ".status.latestRelease")
)]
#[x_kube(validation = rules::PROVIDER_REFERENCE, validation = rules::VERSIONS_OF_CHANNEL)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStackSpec {
    /// The provider of the stack, such as `openstack`: the first part of its releases' names. Cannot be changed.
    #[schemars(length(max = 63))]
    #[x_kube(validation = rules::PROVIDER, validation = rules::PROVIDER_IMMUTABLE)]
    pub provider: String,
    /// The name of the stack, such as `scs2`: the second part of its releases' names. Cannot be changed.
    #[schemars(length(max = 63))]
    #[x_kube(validation = rules::NAME, validation = rules::NAME_IMMUTABLE)]
    pub name: String,
    /// The Kubernetes minor version, such as `"1.34"` (quote it: YAML reads 1.30 as 1.3). Cannot be changed.
    #[schemars(length(max = 15))]
    #[x_kube(validation = rules::KUBERNETES_VERSION, validation = rules::KUBERNETES_VERSION_IMMUTABLE)]
    pub kubernetes_version: String,
    /// The release channel: `stable` for versions such as v1, `custom` for versions with any suffix, otherwise the word in
    /// versions such as v0-beta.1. Cannot be changed.
    #[serde(default = "stable")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = rules::CHANNEL, validation = rules::CHANNEL_IMMUTABLE)]
    pub channel: String,
    /// The versions to offer: `v<number>` in the channel stable, `v<number>-<word>.<patch>` in the channel custom, otherwise
    /// `v<number>-<channel>.<patch>`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = rules::MAX_VERSIONS), inner(length(max = 63)))]
    #[x_kube(validation = rules::VERSIONS)]
    pub versions: Vec<String>,
    /// Offers the latest version of the channel as well, as soon as it appears in the stack repository. Off by default
    /// (in the cluster-stack-operator it was on). No effect in the channel custom, whose versions have no order.
    #[serde(default)]
    pub auto_subscribe: bool,
    /// The stack has no provider integration: no node images or other work by an operator of the provider.
    #[serde(default)]
    pub no_provider: bool,
    /// The `…ClusterStackReleaseTemplate` of the provider integration. Required unless `noProvider` is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = StructMerge::Atomic)]
    pub provider_ref: Option<ObjectReference>,
    /// The source of the releases. Defaults to the operator's default source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<StackSource>,
    /// Settings of the Flux objects that deliver the stack.
    #[serde(default, skip_serializing_if = "is_default")]
    pub flux: FluxSettings,
    /// Access to the repositories of components, which are addons that releases name instead of containing them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub components: ComponentSettings,
    /// Delivery of the Flux objects to the API server. By default the operator applies them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub delivery: Delivery,
    /// Whether Cluster API has to wait with the upgrade of a cluster to another Kubernetes version until the addons that
    /// belong before it are upgraded (`Enforce`), or does not wait (`Off`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub upgrade_gate: UpgradeGate,
    /// Stops the operator from changing anything for this stack and its clusters, but for the annotation that delays upgrades
    /// of Clusters. The status is still updated.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspend: bool,
    /// Maximum number of releases to keep that are neither offered nor in use, the latest first.
    #[serde(default = "two")]
    #[x_kube(validation = rules::REVISION_HISTORY)]
    pub revision_history_limit: u32,
}

/// Whether upgrades of clusters wait for their addons.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(inline)]
pub enum UpgradeGate {
    /// They wait.
    #[default]
    Enforce,
    /// They do not wait.
    Off,
}

impl ClusterStack {
    /// Returns the digest of the spec of the followed `GitRepository`, `<namespace>/<name>`, as it was when the status was
    /// written last.
    #[must_use]
    pub fn spec_digest_of(&self, repository: &str) -> Option<&str> {
        let source = self.status.as_ref()?.source.as_ref()?;
        source.spec_digest.as_deref().filter(|_| source.git_repository == repository)
    }
}

/// The observed state of a stack, and a summary of its clusters. Never a list of clusters.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStackStatus {
    /// The latest release in the channel, ready or not. None in the channel custom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_release: Option<String>,
    /// The versions that clusters can use now, as a comma-separated list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable_versions: Option<String>,
    /// The state of each release that is offered or in use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub summary: Vec<ReleaseSummary>,
    /// Numbers of releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub releases: Option<ReleaseCounts>,
    /// Numbers of Clusters that have a class of the stack, in all namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<ClusterCounts>,
    /// The observed state of the stack repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<FollowedSource>,
    /// Progress of delivery through Git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<CommittedDelivery>,
    /// Number of releases that were deleted in the current hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned: Option<Pruned>,
    /// Number of objects of addons that were deleted in the current hour, because a release does not have them, in all
    /// clusters. It counts them also after the `ClusterAddon`s that counted them are lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned_addons: Option<Pruned>,
    /// The generation of the spec that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The last value of the annotation `reconcile.fluxcd.io/requestedAt` that was acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
    /// `SourceReady`, `ReleasesSynced`, `ClusterClassesReady`, with components `ComponentsReady`, with delivery through Git `Delivered`, with `source.upstream`
    /// `ReleasesPublished`, and in sum `Ready`; beside them `ClustersReady`, which `Ready` does not include.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// The stack repository that Flux follows.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowedSource {
    /// The Flux `GitRepository`, as `<namespace>/<name>`.
    pub git_repository: String,
    /// The revision whose releases were read last, as Flux spells it: `main@sha1:<commit>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The state of the GitRepository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// The digest of the GitRepository's spec, without `suspend`, as stackflux wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_digest: Option<String>,
    /// Time at which the GitRepository was last written, or last entered or left its expected state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// Progress of the commits of Flux objects.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommittedDelivery {
    /// The commit that contains everything that was committed so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The Flux `Kustomization` that applies the commit, as `<namespace>/<name>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kustomization: Option<String>,
    /// The `status.lastAppliedRevision` of the Kustomization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<String>,
}

/// Deletions of unused releases, or of objects of addons that a release no longer has.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pruned {
    /// Time of the first deletion. The hour begins at this time.
    pub since: Time,
    /// Number of deletions.
    pub count: u32,
}

/// The state of one release.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseSummary {
    /// The name of the release.
    pub name: String,
    /// Whether clusters can use the release.
    pub ready: bool,
    /// The reason why the release is not ready, or `done`.
    pub phase: String,
    /// Message about what the release waits for, or why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The full Kubernetes version of the release, such as `v1.34.2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// Time of the last change of `phase`; absent while the release is `done`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// Numbers of the releases of a stack.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseCounts {
    /// Releases of the channel in the stack repository.
    pub available: u32,
    /// Releases that a cluster uses.
    pub used: u32,
    /// Releases that are kept, but that no cluster uses.
    pub unused: u32,
}

/// Numbers of Clusters that have a class of a stack. Each Cluster counts in `total` and in one other number.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterCounts {
    /// All Clusters.
    pub total: u32,
    /// Clusters that are ready.
    pub ready: u32,
    /// Clusters that are not ready.
    pub not_ready: u32,
    /// Clusters whose readiness is unknown.
    pub unknown: u32,
    /// Clusters that are being deleted. They do not count in `ClustersReady`.
    pub deleting: u32,
    /// Paused Clusters. They do not count in `ClustersReady`.
    pub paused: u32,
    /// Suspended Clusters. They do not count in `ClustersReady`.
    pub suspended: u32,
    /// Clusters without an initialized control plane. They do not count in `ClustersReady`.
    pub not_initialized: u32,
    /// Clusters of other namespaces that name a release which is neither offered nor installed. They do not count in
    /// `ClustersReady`.
    #[serde(default)]
    pub not_offered: u32,
}

fn stable() -> String {
    "stable".to_owned()
}

fn two() -> u32 {
    2
}

#[cfg(test)]
mod tests {
    //! Statuses in a cluster that the cluster-stack-operator wrote can be read.

    use serde_json::{Value, json};

    use crate::api::{ClusterAddon, ClusterStack, ClusterStackRelease};

    /// Returns Cluster API's conditions of v1beta1: without reason and message if they are true.
    fn conditions() -> Value {
        json!([
            {"type": "Ready", "status": "True", "lastTransitionTime": "2024-05-01T10:00:00Z"},
            {"type": "ReleasesSynced", "status": "False", "severity": "Warning", "reason": "FailedToSync",
                "message": "no", "lastTransitionTime": "2024-05-01T10:00:00Z"},
        ])
    }

    #[test]
    fn cluster_stack_of_go_operator_is_read() {
        let stack: ClusterStack = serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1",
        "kind": "ClusterStack",
        "metadata": {"name": "clusterstack", "namespace": "cluster"},
        "spec": {"provider": "docker", "name": "ferrol", "kubernetesVersion": "1.27", "noProvider": true},
        "status": {
            "latestRelease": "docker-ferrol-1-27-v2 | v1.27.7",
            "summary": [{"name": "docker-ferrol-1-27-v2", "ready": false, "phase": "downloading release assets"}],
            "conditions": conditions(),
        },
    }))
    .unwrap();
        assert!(stack.validate().is_empty());
        let status = stack.status.unwrap();
        assert_eq!(status.summary[0].phase, "downloading release assets");
        assert_eq!(
            (status.conditions[0].reason.as_str(), status.conditions[1].reason.as_str()),
            ("", "FailedToSync")
        );
    }

    #[test]
    fn release_and_addon_of_go_operator_are_read() {
        let release: ClusterStackRelease = serde_json::from_value(json!({
        "metadata": {"name": "docker-ferrol-1-27-v2"},
        "spec": {},
        "status": {"kubernetesVersion": "1.27.7", "resources": [{"kind": "Pod"}], "conditions": conditions()},
    }))
    .unwrap();
        assert!(!release.status.unwrap().ready);
        let addon: ClusterAddon = serde_json::from_value(json!({
        "metadata": {"name": "cluster-addon-prod"},
        "spec": {"clusterRef": {"kind": "Cluster", "name": "prod"}, "hook": "AfterControlPlaneInitialized"},
        "status": {"ready": true, "stages": [{"name": "cni", "action": "apply", "phase": "done"}]},
    }))
    .unwrap();
        assert_eq!(addon.spec.cluster_ref.name.as_deref(), Some("prod"));
        assert_eq!(addon.status.unwrap().stages[0].phase, "done");
    }
}
