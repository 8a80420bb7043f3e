//! The settings of a ClusterStack for components: addons whose content is in other repositories.

use std::fmt;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::flux_settings::is_default;
use super::git_commit::LocalReference;
use super::platform::ComponentRepository;
use super::rules;

/// Components of the platform itself, and access to the repositories of all components. A release names only their addresses.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ComponentSettings {
    /// The repositories of components that Clusters of all releases get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = rules::MAX_REPOSITORIES))]
    pub repositories: Vec<ComponentRepository>,
    /// Credentials for addresses. Of several entries for an address, the one with the longest `url` counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = rules::MAX_CREDENTIALS))]
    pub credentials: Vec<ComponentCredentials>,
    /// The signatures that Flux requires of the content behind addresses. Of several entries for an address, the one with the
    /// longest `url` counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = rules::MAX_CREDENTIALS))]
    pub verify: Vec<ComponentVerification>,
}

/// The place from which Flux fetches an addon.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddonSource {
    /// The address of the Git or OCI repository.
    pub url: String,
    /// The commit, or the digest of the manifest. If the reference can change, the version that Flux fetched last.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub revision: String,
    /// The reference that Flux follows, such as `branch main`; absent for a commit or a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
}

impl AddonSource {
    /// Returns the revision with twelve digits: `0123456789ab`, `sha256:0123456789ab`. The version of a chart stays whole.
    #[must_use]
    pub fn short_revision(&self) -> String {
        let (algorithm, digits) = self.revision.split_at(self.revision.find(':').map_or(0, |at| at + 1));
        let is_hash = digits.len() >= 40 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        format!("{algorithm}{}", digits.get(..12).filter(|_| is_hash).unwrap_or(digits))
    }
}

impl fmt::Display for AddonSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)?;
        if !self.revision.is_empty() {
            write!(f, "@{}", self.short_revision())?;
        }
        self.follows.as_ref().map_or(Ok(()), |follows| write!(f, " ({follows})"))
    }
}

/// Credentials for all repositories below an address.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = rules::CERTIFICATES_OF_OCI, validation = rules::INSECURE, validation = rules::PROVIDER_OF_ADDRESS)]
#[serde(rename_all = "camelCase")]
pub struct ComponentCredentials {
    /// The beginning of the addresses, in whole segments of the path: `https://git.example.org/team`.
    #[schemars(length(max = 2048))]
    #[x_kube(validation = rules::COMPONENT_URL)]
    pub url: String,
    /// The Secret with Flux's credentials, in the namespace of the ClusterStack. Only Flux reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalReference>,
    /// The Secret with the certificates of a registry, in the namespace of the ClusterStack. Only Flux reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<LocalReference>,
    /// The Secret with Flux's proxy settings, in the namespace of the ClusterStack. Only Flux reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_secret_ref: Option<LocalReference>,
    /// Method by which Flux authenticates. By default Flux uses the Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ComponentProvider>,
    /// Allows an address without TLS: `http://`, or plain HTTP for a registry.
    #[serde(default, skip_serializing_if = "is_default")]
    pub insecure: bool,
}

/// Method by which Flux authenticates: `generic` with the Secret, `github` as a GitHub App with the Secret (Git alone), `aws`,
/// `azure` and `gcp` (a registry alone) with the cloud's workload identity.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum ComponentProvider {
    /// With the Secret.
    Generic,
    /// With AWS' workload identity.
    Aws,
    /// With Azure's workload identity.
    Azure,
    /// With Google Cloud's workload identity.
    Gcp,
    /// With a GitHub App.
    Github,
}

/// The signatures that Flux requires of the content of all repositories below an address.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = rules::VERIFY_GIT, validation = rules::VERIFY_OCI)]
#[serde(rename_all = "camelCase")]
pub struct ComponentVerification {
    /// The beginning of the addresses, in whole segments of the path: `oci://registry.example.org/charts`.
    #[schemars(length(max = 2048))]
    #[x_kube(validation = rules::COMPONENT_URL)]
    pub url: String,
    /// The tool that artifacts of a registry are signed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ComponentSignatures>,
    /// The Secret with the public keys, in the namespace of the ClusterStack. Only Flux reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalReference>,
    /// The identities of which one must have signed an artifact of a registry without a key.
    #[serde(default, rename = "matchOIDCIdentity", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub match_oidc_identity: Vec<OidcIdentity>,
}

/// The tool that artifacts of a registry are signed with.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum ComponentSignatures {
    /// Sigstore's `cosign`.
    Cosign,
    /// The Notary Project's `notation`.
    Notation,
}

/// An identity that signs without a key.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OidcIdentity {
    /// A regular expression over the issuer.
    #[schemars(length(max = 1024))]
    pub issuer: String,
    /// A regular expression over the subject.
    #[schemars(length(max = 1024))]
    pub subject: String,
}
