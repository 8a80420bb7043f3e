//! `ClusterAddonOverride`: what the owner of one cluster requests of its addons.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::flux_settings::is_default;
use super::{rules, schema};

/// The requests for the addons of one cluster.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "clusterstack.x-k8s.io",
    version = "v1alpha1",
    kind = "ClusterAddonOverride",
    doc = "What the owner of one cluster requests of its addons: to switch them on or off, to suspend them, and values. It has the name and the namespace of the Cluster. The ClusterStack says what may be requested; the status says what is accepted.",
    namespaced,
    status = "ClusterAddonOverrideStatus",
    derive = "Default",
    derive = "PartialEq",
    shortname = "caoverride",
    category = "stackflux",
    category = "all"
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAddonOverrideSpec {
    /// The requests by the name of the addon. Each is accepted or refused as a whole; an addon whose request is refused stays
    /// as it is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = rules::MAX_ADDONS))]
    #[x_kube(validation = rules::ADDON_NAMES)]
    pub addons: BTreeMap<String, AddonRequest>,
}

/// The request for one addon.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AddonRequest {
    /// Whether the cluster has the addon. `false` uninstalls it. Defaults to true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Whether Flux leaves the addon as it is. The upgrade gate stays closed meanwhile. Defaults to false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// Values of the chart, at most 64 KiB: above those of the chart, of `valuesFrom` without `targetPath`, of a component and
    /// of the `ClusterStack`; below those that a values template renders and those at the `targetPath` of a `valuesFrom`. Maps
    /// are merged, lists are replaced, and null removes a key of the chart, as in Helm.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "schema::any_object")]
    pub values: Map<String, Value>,
}

/// What is accepted of the requests.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAddonOverrideStatus {
    /// The answer to each request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub addons: Vec<RequestStatus>,
    /// The addons that the stack and the platform offer to the cluster, and what may be requested of them; at most 128 entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub available: Vec<AvailableAddon>,
    /// The generation of the spec that `addons` and `available` are about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Accepted`, and in sum `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

impl ClusterAddonOverride {
    /// Returns the fields of the request for an addon that made a difference when it was last accepted.
    #[must_use]
    pub fn in_effect(&self, addon: &str) -> &[String] {
        let mut answers = self.status.iter().flat_map(|status| &status.addons);
        answers.find(|answer| answer.name == addon).map_or(&[], |answer| &answer.in_effect)
    }
}

/// The answer to the request for one addon.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestStatus {
    /// The addon's name.
    pub name: String,
    /// Whether the request is accepted.
    #[serde(default)]
    pub accepted: bool,
    /// What is refused; at most 16 entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedField>,
    /// The fields of an accepted request that make a difference to what the cluster has without it: `enabled`, `suspend`, `values`.
    /// They stay while the request is refused later, so that the addon is kept as it is. A request that was never accepted makes
    /// no difference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_effect: Vec<String>,
    /// The paths of values without effect, because a values template renders them, or the platform sets them with a
    /// `targetPath`; at most 16 entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_effect: Vec<String>,
}

/// A part of a request that is refused.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusedField {
    /// The field of the object, such as `spec.addons.cni.values.cilium.hubble`.
    pub field: String,
    /// The rule that it breaks.
    pub rule: String,
}

/// An addon that is offered to a cluster.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AvailableAddon {
    /// The addon's name.
    pub name: String,
    /// The version of its chart, or the revision of its content, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether the cluster has it.
    #[serde(default)]
    pub enabled: bool,
    /// Whether it is a component of the catalog: off until the request says `enabled: true`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub optional: bool,
    /// What the owner of the platform says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A page about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// What may be requested of it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub overridable: AllowedRequest,
}

/// What may be requested of an addon.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AllowedRequest {
    /// Whether it may be switched on and off.
    #[serde(default, skip_serializing_if = "is_default")]
    pub enabled: bool,
    /// Whether it may be suspended.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspend: bool,
    /// The paths of the values that may be set; at most 16 entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// The number of further paths.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more_values: u32,
}
