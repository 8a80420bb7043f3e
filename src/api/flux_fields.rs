//! Fields of Flux's own kinds that a `ClusterStack` sets for an addon. They have Flux's names and meaning; the limits are ours.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules;

/// Placeholder for the name of the Cluster in the name of an object.
pub const CLUSTER: &str = "{cluster}";

/// A Secret or `ConfigMap` with values of a chart, in the namespace of the Cluster. Only Flux reads it.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ValuesReference {
    /// The kind.
    pub kind: ValuesKind,
    /// The name; `{cluster}` stands for the name of the Cluster.
    #[schemars(length(max = 253))]
    #[x_kube(validation = rules::NAME_FOR_CLUSTER)]
    pub name: String,
    /// The key. Defaults to `values.yaml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = rules::SECRET_KEY)]
    pub values_key: Option<String>,
    /// The path of the one value that the key has, as in `helm --set`. Without it the key has a YAML document of values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 250))]
    #[x_kube(validation = rules::TARGET_PATH)]
    pub target_path: Option<String>,
    /// Whether the object or the key may be missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Whether the value for `targetPath` is taken as it is, as by `helm --set-literal`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub literal: bool,
}

impl ValuesReference {
    /// Returns the reference for one Cluster.
    #[must_use]
    pub fn for_cluster(&self, cluster: &str) -> Self {
        Self { name: self.name.replace(CLUSTER, cluster), ..self.clone() }
    }
}

/// The kind of an object with values.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(inline)]
pub enum ValuesKind {
    /// A Secret.
    Secret,
    /// A `ConfigMap`.
    ConfigMap,
}

impl ValuesKind {
    /// Returns the kind as Kubernetes names it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
        }
    }
}

/// A change of the objects of a chart after Helm has rendered them.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PostRenderer {
    /// The changes, as Kustomize makes them.
    pub kustomize: Kustomize,
}

/// Changes that Kustomize makes.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kustomize {
    /// The patches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = rules::MAX_PATCHES))]
    pub patches: Vec<Patch>,
    /// The images whose name, tag or digest is replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = rules::MAX_PATCHES))]
    pub images: Vec<Image>,
}

/// A patch, and the objects that it is for.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Patch {
    /// A strategic merge patch, or the operations of a JSON patch (RFC 6902), as YAML.
    #[schemars(length(max = rules::MAX_PATCH))]
    pub patch: String,
    /// The objects. Without it a strategic merge patch names its object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<PatchTarget>,
}

/// Objects: those that have all that is given.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchTarget {
    /// The API group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub group: Option<String>,
    /// The version of the API group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub version: Option<String>,
    /// The kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub kind: Option<String>,
    /// The namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub namespace: Option<String>,
    /// The name, a regular expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub name: Option<String>,
    /// A selector over annotations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub annotation_selector: Option<String>,
    /// A selector over labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub label_selector: Option<String>,
}

/// An image, and what replaces it.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// The name of the image, without a tag.
    #[schemars(length(max = 512))]
    pub name: String,
    /// The new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub new_name: Option<String>,
    /// The new tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub new_tag: Option<String>,
    /// The new digest, which takes precedence over the tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub digest: Option<String>,
}

/// The way in which Flux decrypts manifests.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decryption {
    /// The tool that the manifests are encrypted with.
    pub provider: DecryptionProvider,
    /// The Secret with the keys, in the namespace of the Cluster. Only Flux reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<DecryptionSecret>,
    /// The `ServiceAccount` in the namespace of the Cluster that Flux authenticates as at the key service of a cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = rules::OBJECT_NAME)]
    pub service_account_name: Option<String>,
}

/// The tool that manifests are encrypted with.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum DecryptionProvider {
    /// SOPS.
    Sops,
}

/// The Secret with the keys of encrypted manifests.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecryptionSecret {
    /// The name; `{cluster}` stands for the name of the Cluster.
    #[schemars(length(max = 253))]
    #[x_kube(validation = rules::NAME_FOR_CLUSTER)]
    pub name: String,
}

impl Decryption {
    /// Returns the decryption for one Cluster.
    #[must_use]
    pub fn for_cluster(&self, cluster: &str) -> Self {
        let secret_ref = self.secret_ref.as_ref();
        let named =
            |secret: &DecryptionSecret| DecryptionSecret { name: secret.name.replace(CLUSTER, cluster) };
        Self { secret_ref: secret_ref.map(named), ..self.clone() }
    }
}
