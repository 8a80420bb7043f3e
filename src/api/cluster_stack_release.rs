//! `ClusterStackRelease`: one release that is in use or offered.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, OwnerReference, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::components::AddonSource;
use super::{ClusterStack, rules, schema};
use crate::names::Key;

/// The content of the release, and the provider's object that prepares the release.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "clusterstack.x-k8s.io",
    version = "v1alpha1",
    kind = "ClusterStackRelease",
    doc = "One release of a cluster stack that is offered or in use. Written by stackflux, named after the release.",
    namespaced,
    validation = rules::PIN_IMMUTABLE,
    status = "ClusterStackReleaseStatus",
    derive = "PartialEq",
    derive = "Default",
    shortname = "cskr",
    category = "stackflux",
    category = "all",
    printcolumn(name = "K8s Version", type_ = "string", json_path = ".status.kubernetesVersion")
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStackReleaseSpec {
    /// The provider's object that prepares this release, such as its node images; absent with `noProvider`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = StructMerge::Atomic)]
    pub provider_ref: Option<ObjectReference>,
    /// The content that the release was first read with, and to which it stays pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PinnedSource>,
}

impl ClusterStackRelease {
    /// Returns the `ClusterStack` that owns the release: the first, if a restored object has several.
    #[must_use]
    pub fn stack_owner(&self) -> Option<&OwnerReference> {
        self.stack_owners().next()
    }

    /// Returns the key of that `ClusterStack`.
    #[must_use]
    pub fn stack_key(&self) -> Option<Key> {
        let namespace = self.metadata.namespace.as_deref().unwrap_or_default();
        self.stack_owner().map(|owner| Key::new(namespace, &owner.name))
    }

    /// All `ClusterStack`s among the owners.
    pub fn stack_owners(&self) -> impl Iterator<Item = &OwnerReference> {
        self.metadata.owner_references.iter().flatten().filter(|owner| owner.kind == "ClusterStack")
    }

    /// Whether the release belongs to this `ClusterStack`, and not to an earlier one of its name.
    #[must_use]
    pub fn is_owned_by(&self, stack: &ClusterStack) -> bool {
        let mut owners = self.metadata.owner_references.iter().flatten();
        owners.any(|owner| Some(&owner.uid) == stack.metadata.uid.as_ref())
    }

    /// Returns the content that the release is pinned to: that of the status, which only the operator writes, or that of a
    /// spec which no status has recorded yet.
    #[must_use]
    pub fn pin(&self) -> Option<&PinnedSource> {
        let recorded = self.status.as_ref().and_then(|status| status.source.as_ref());
        recorded.or(self.spec.source.as_ref())
    }

    /// Returns the digest of the spec of one of the release's objects, as it was when the status was written last.
    #[must_use]
    pub fn spec_digest_of(&self, kind: &str, namespace: &str, name: &str) -> Option<&str> {
        let mut objects = self.status.iter().flat_map(|status| &status.objects);
        let object =
            objects.find(|kept| (&*kept.kind, &*kept.namespace, &*kept.name) == (kind, namespace, name));
        object?.spec_digest.as_deref()
    }
}

/// The commit and directory that a release is read from.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedSource {
    /// The commit in the stack repository.
    pub revision: String,
    /// The digest of the release's files.
    pub digest: String,
    /// The release's directory, relative to the repository's root.
    pub path: String,
}

/// The content of the release, and the state of the objects made from it.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStackReleaseStatus {
    /// The full Kubernetes version, such as `v1.34.2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// Whether clusters can use the release.
    #[serde(default)]
    pub ready: bool,
    /// The digest of the release's files, as they were first read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The content that the release is pinned to. A change of `spec.source` is put back to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PinnedSource>,
    /// The addons in the release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub addons: Vec<ReleaseAddon>,
    /// The objects that were made from the release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["kind".into(), "namespace".into(), "name".into()]))]
    pub objects: Vec<GeneratedObject>,
    /// Up to five of the Clusters that used the release last, as `<namespace>/<name>`. The operator checks them again
    /// before it deletes the release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_users: Vec<String>,
    /// The generation of the spec that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The last value of the annotation `reconcile.fluxcd.io/requestedAt` that was acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
    /// `ReleaseValid`, `SourcesReady` (with components), `ProviderReady`, `NodeImagesReady`, `ClusterClassReady`, `InUse`, and in sum `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// One addon of a release.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseAddon {
    /// The addon's name: its directory in the release, or the component of `components.yaml`.
    pub name: String,
    /// `Chart` or `Manifests`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The repository of a component; absent for an addon whose files are in the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<AddonSource>,
    /// Version of the addon: that of the chart's only dependency, otherwise that of the chart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `appVersion` of that chart, if the release has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_version: Option<String>,
    /// The chart's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart_name: Option<String>,
    /// The chart's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart_version: Option<String>,
    /// The chart that the addon's chart wraps, as `<name> <version>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependency: Option<String>,
    /// The digest of the addon's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The lifecycle moments at which the addon is applied or deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
    /// The fields of the cluster's objects that the addon's values template reads, such as `.Cluster.metadata.name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub template: Vec<String>,
}

/// One object that was made from a release.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratedObject {
    /// The object's kind.
    pub kind: String,
    /// The object's namespace; empty for kinds that have none.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// The state of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// The reason for the state, as one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The digest of the object's spec, without `suspend`, as stackflux wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_digest: Option<String>,
    /// Time at which the object was last written, or last entered or left its expected state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}
