//! The components of a `ClusterStack`: addons that a platform adds to the Clusters of all releases.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::flux_settings::is_default;
use super::{Duration, rules, schema};

/// A repository, and the components that are in it.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = rules::EITHER_REPOSITORY, validation = rules::OCI_CHART, validation = rules::EXACT_HOOK)]
#[serde(rename_all = "camelCase")]
pub struct ComponentRepository {
    /// A name for the repository in this list.
    #[schemars(length(max = 63))]
    #[x_kube(validation = rules::NAMESPACE)]
    pub name: String,
    /// A Git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<ComponentGit>,
    /// An OCI repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oci: Option<ComponentOci>,
    /// Interval at which Flux looks for another revision, if the reference can change.
    #[serde(default = "default_interval")]
    pub interval: Duration,
    /// The components in the repository.
    #[schemars(length(min = 1, max = rules::MAX_COMPONENTS))]
    pub components: Vec<PlatformComponent>,
}

/// A Git repository with components.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ComponentGit {
    /// The address of the repository: `https://`, `ssh://` or `http://`, without credentials.
    #[schemars(length(max = 2048))]
    #[x_kube(validation = rules::GIT_COMPONENT)]
    pub url: String,
    /// The reference. Defaults to the branch `master`, as in Flux.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<ComponentGitReference>,
}

/// A reference of a Git repository: one field, or a branch and a commit.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = rules::COMPONENT_REFERENCE)]
#[serde(rename_all = "camelCase")]
pub struct ComponentGitReference {
    /// A branch, which Flux follows; beside a commit, the branch that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub branch: Option<String>,
    /// A tag, which Flux follows if it is moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub tag: Option<String>,
    /// The highest tag in a range of semantic versions, such as `>=1.0.0 <2.0.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub semver: Option<String>,
    /// A full reference name, such as `refs/heads/main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub name: Option<String>,
    /// A commit, which does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = rules::COMMIT)]
    pub commit: Option<String>,
}

/// An OCI repository with components: at most one of `digest`, `tag` and `semver`. Defaults to the tag `latest`, as in Flux.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = rules::OCI_REFERENCE)]
#[serde(rename_all = "camelCase")]
pub struct ComponentOci {
    /// The address of the repository: `oci://`, without credentials, tag or digest.
    #[schemars(length(max = 2048))]
    #[x_kube(validation = rules::OCI_COMPONENT)]
    pub url: String,
    /// The digest of a manifest, which does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 71))]
    #[x_kube(validation = rules::MANIFEST_DIGEST)]
    pub digest: Option<String>,
    /// A tag, which Flux follows if it is moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub tag: Option<String>,
    /// The highest tag in a range of semantic versions, such as `>=1.0.0 <2.0.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub semver: Option<String>,
}

/// A moment of the life of a Cluster at which a component of a `ClusterStack` can be upgraded besides the usual one.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(inline)]
pub enum ComponentHook {
    /// Cluster API is about to upgrade the control plane, and waits.
    BeforeClusterUpgrade,
}

/// An addon for the Clusters of all releases of a `ClusterStack`: a Helm chart (`chart`), or plain manifests (`manifests`).
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = rules::EITHER_CONTENT, validation = rules::CHART_ALONE, validation = rules::SUBSTITUTE_ALONE)]
#[x_kube(validation = rules::REPLACES_ALL, validation = rules::OPTIONAL_ALONE)]
#[serde(rename_all = "camelCase")]
pub struct PlatformComponent {
    /// The name of the addon. Settings of `spec.flux.addons` with this name hold for it.
    #[schemars(length(max = 53))]
    #[x_kube(validation = rules::ADDON_NAME)]
    pub name: String,
    /// The directory of a Helm chart from the root of the repository; `.` for the root, and for the chart of an OCI repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    #[x_kube(validation = rules::PATH)]
    pub chart: Option<String>,
    /// The directory of manifests from the root of the repository; `.` for the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    #[x_kube(validation = rules::PATH)]
    pub manifests: Option<String>,
    /// A values template of the chart, with the roots `.Cluster`, `.ControlPlane` and `.InfraCluster`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = rules::MAX_TEMPLATE))]
    pub template: Option<String>,
    /// A values template that gives the texts for Flux's `postBuild.substitute` of the manifests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = rules::MAX_TEMPLATE))]
    pub substitute: Option<String>,
    /// The values of the chart below the rendered ones.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "schema::any_object")]
    pub values: Map<String, Value>,
    /// The addons that must be ready first. Only charts, for a chart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = rules::MAX_NEEDED), inner(length(max = 53)))]
    #[x_kube(validation = rules::ADDON_NAMES)]
    pub depends_on: Vec<String>,
    /// Leaves the component off until the `ClusterAddonOverride` of a Cluster says `enabled: true`, which its owner may always do.
    #[serde(default, skip_serializing_if = "is_default")]
    pub optional: bool,
    /// What the component is for: the status of a `ClusterAddonOverride` and `stackflux addons` show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = rules::MAX_DESCRIPTION))]
    pub description: Option<String>,
    /// A page about the component, which they show too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = rules::MAX_HOMEPAGE))]
    #[x_kube(validation = rules::HOMEPAGE)]
    pub homepage: Option<String>,
    /// A JSON schema for the values that a `ClusterAddonOverride` may set without further permission: what it does not name must
    /// not be set. It may have `type`, `properties`, `items`, `enum`, `pattern`, and limits of numbers, lengths and items.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "schema::any_object")]
    pub schema: Map<String, Value>,
    /// The labels of the Clusters that have the component. By default all Clusters have it. From a Cluster that no longer has
    /// these labels it is uninstalled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<LabelSelector>,
    /// Takes the place of the addon of this name in each release that has one. Otherwise such a name is refused.
    #[serde(default, skip_serializing_if = "is_default")]
    pub replaces: bool,
    /// Upgrades the component also before an upgrade of Kubernetes, which waits for it. Only for a commit or a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<ComponentHook>,
    /// The namespace of the chart's objects. Defaults to `kube-system`. It is taken when the chart is installed, and a later
    /// change has no effect, because Flux would uninstall the chart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = rules::NAMESPACE)]
    pub target_namespace: Option<String>,
    /// Creates that namespace if it does not exist.
    #[serde(default, skip_serializing_if = "is_default")]
    pub create_namespace: bool,
}

/// Default interval at which Flux follows a reference.
fn default_interval() -> Duration {
    Duration::minutes(5)
}
