//! The source of releases that the operator publishes to the stack repository.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::flux_settings::is_default;
use super::git_commit::{GitCommit, LocalReference};
use super::{Duration, rules};

/// The source of new releases. If the ClusterStack offers a release, the operator publishes it to the stack repository.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Upstream {
    /// The address: `oci://<host>/<repository>` or `github://<owner>/<repository>`, without tag, release or digest.
    #[schemars(length(max = 2048))]
    #[x_kube(validation = rules::UPSTREAM_URL)]
    pub url: String,
    /// Interval at which to check for new releases.
    #[serde(default = "default_interval")]
    pub interval: Duration,
    /// The Secret with credentials for reading, in the namespace of the ClusterStack: a docker config
    /// (`.dockerconfigjson`) or `username` and `password` for a registry, `token` for GitHub. The operator reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalReference>,
    /// The Secret with the certificates (`ca.crt`) of the private authority that issued the host's certificate, in the
    /// namespace of the ClusterStack. The operator reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<LocalReference>,
    /// Uses HTTP without TLS for the registry.
    #[serde(default, skip_serializing_if = "is_default")]
    pub insecure: bool,
    /// Makes the operator refuse releases that are not signed with a known key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<UpstreamVerification>,
    /// The Secret with credentials that may push to the stack repository, in the namespace of the ClusterStack, with the
    /// keys of Flux's Git credentials. Defaults to that of `source.git`. The operator reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_secret_ref: Option<LocalReference>,
    /// Commit author and signing key.
    #[serde(default, skip_serializing_if = "is_default")]
    pub commit: GitCommit,
}

impl Upstream {
    /// Returns the settings of an address that has none.
    #[must_use]
    pub fn at(url: String) -> Self {
        Self {
            url,
            interval: default_interval(),
            secret_ref: None,
            cert_secret_ref: None,
            insecure: false,
            verify: None,
            push_secret_ref: None,
            commit: GitCommit::default(),
        }
    }
}

/// The keys of which one must have signed a release.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpstreamVerification {
    /// The tool that signatures are made with.
    #[serde(default)]
    pub provider: SignatureProvider,
    /// The Secret with the public keys, in the namespace of the ClusterStack, at keys that end in `.pub`: one of them must
    /// have signed. The operator reads it.
    pub secret_ref: LocalReference,
}

/// The tool that signatures are made with.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum SignatureProvider {
    /// Sigstore's `cosign`, with a key.
    #[default]
    Cosign,
}

fn default_interval() -> Duration {
    Duration::minutes(10)
}
