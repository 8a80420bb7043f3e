//! `ClusterStack`: which stack, and which of its releases.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::flux_settings::is_default;
use super::{Delivery, FluxSettings, StackSource, Upstream, rules, schema};

/// Which cluster stack, which of its releases, and how their addons are delivered.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "clusterstack.x-k8s.io",
    version = "v1alpha1",
    kind = "ClusterStack",
    doc = "A cluster stack: a ClusterClass, the addons of every cluster of that class, and the node images, for one Kubernetes minor version. It says which releases of the stack are offered, and shows how they and their clusters are.",
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
    /// The Kubernetes minor version, such as `"1.34"` (quote it: unquoted, YAML makes 1.3 of 1.30). Cannot be changed.
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
    /// Offer the latest version of the channel as well, as soon as it appears in the stack repository. Off unless set
    /// (the cluster-stack-operator had it on). No effect in the channel custom, whose versions have no order.
    #[serde(default)]
    pub auto_subscribe: bool,
    /// The stack has no provider integration: no node images or other work by an operator of the provider.
    #[serde(default)]
    pub no_provider: bool,
    /// The `…ClusterStackReleaseTemplate` of the provider integration. Required unless `noProvider` is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = StructMerge::Atomic)]
    pub provider_ref: Option<ObjectReference>,
    /// Where the releases are; the operator's default source when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<StackSource>,
    /// Settings of the Flux objects that deliver the stack.
    #[serde(default, skip_serializing_if = "is_default")]
    pub flux: FluxSettings,
    /// How the Flux objects get to the API server: applied by the operator unless set.
    #[serde(default, skip_serializing_if = "is_default")]
    pub delivery: Delivery,
    /// Change nothing for this stack and its clusters until it is unset; the status still follows.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspend: bool,
    /// How many releases that no cluster uses are kept, the latest first.
    #[serde(default = "two")]
    #[x_kube(validation = rules::REVISION_HISTORY)]
    pub revision_history_limit: u32,
}

impl ClusterStack {
    /// Where the operator brings releases from into the stack repository.
    #[must_use]
    pub fn upstream(&self) -> Option<&Upstream> {
        self.spec.source.as_ref()?.upstream.as_ref()
    }
}

/// What is known about a stack and, in sum, about its clusters. Never a list of clusters.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStackStatus {
    /// The latest release in the channel, ready or not. None in the channel custom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_release: Option<String>,
    /// The versions that clusters can use now, as a comma-separated list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable_versions: Option<String>,
    /// How each release in use or offered is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub summary: Vec<ReleaseSummary>,
    /// How many releases there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub releases: Option<ReleaseCounts>,
    /// How many Clusters have a class of the stack, in all namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<ClusterCounts>,
    /// What is known of the stack repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<FollowedSource>,
    /// How far delivery through Git is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<CommittedDelivery>,
    /// The releases that were deleted in the present hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned: Option<Pruned>,
    /// The generation of the spec that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The last value of the annotation `reconcile.fluxcd.io/requestedAt` that was acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
    /// `SourceReady`, `ReleasesSynced`, `ClusterClassesReady`, with delivery through Git `Delivered`, with `source.upstream`
    /// `ReleasesPublished`, and in sum `Ready`; beside them `ClustersReady`, which `Ready` does not include.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// The stack repository as it is followed.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowedSource {
    /// The Flux `GitRepository`, as `<namespace>/<name>`.
    pub git_repository: String,
    /// The revision whose releases were read last, as Flux spells it: `main@sha1:<commit>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// How the GitRepository is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// The digest of its spec, without `suspend`, as stackflux wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_digest: Option<String>,
    /// When it was last written, or began or ended to be as it should.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// Commits of Flux objects, and what Flux has applied of them.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommittedDelivery {
    /// The commit that has all that is planned, as far as it is committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The Flux `Kustomization` that applies it, as `<namespace>/<name>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kustomization: Option<String>,
    /// Its `status.lastAppliedRevision`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<String>,
}

/// What was deleted because nothing wanted it: releases, or objects of addons that a release does not have any more.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pruned {
    /// When the first of them was deleted: the hour begins there.
    pub since: Time,
    /// How many they are.
    pub count: u32,
}

/// How one release is.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseSummary {
    /// The name of the release.
    pub name: String,
    /// Whether clusters can use it.
    pub ready: bool,
    /// What it is being prepared with, or `done`.
    pub phase: String,
    /// What it waits for, or why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its full Kubernetes version, such as `v1.34.2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// When `phase` became what it is; absent while the release is `done`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// How many releases a stack has.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseCounts {
    /// In the stack repository, in this channel.
    pub available: u32,
    /// Used by a cluster.
    pub used: u32,
    /// Kept, but used by none.
    pub unused: u32,
}

/// How many Clusters have a class of a stack. Each is in one of the numbers below `total`.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterCounts {
    /// All of them.
    pub total: u32,
    /// Ready.
    pub ready: u32,
    /// Not ready.
    pub not_ready: u32,
    /// Not known to be ready.
    pub unknown: u32,
    /// Being deleted: not in `ClustersReady`.
    pub deleting: u32,
    /// Paused: not in `ClustersReady`.
    pub paused: u32,
    /// Suspended: not in `ClustersReady`.
    pub suspended: u32,
    /// Without an initialized control plane: not in `ClustersReady`.
    pub not_initialized: u32,
}

fn stable() -> String {
    "stable".to_owned()
}

fn two() -> u32 {
    2
}

#[cfg(test)]
mod tests;
