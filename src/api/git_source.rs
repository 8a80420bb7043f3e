//! The source of a stack's releases: a Git repository that Flux follows.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::git_commit::LocalReference;
use super::upstream::Upstream;
use super::{Duration, rules};

/// The stack repository that releases are read from: one that stackflux makes Flux follow (`git`), a `GitRepository` that
/// exists already (`gitRepositoryRef`), or only `upstream`: then the operator serves the stack repository itself.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = rules::EITHER_SOURCE, validation = rules::PATH_OF_REFERENCE, validation = rules::UPSTREAM,
    validation = rules::PUSH, validation = rules::BUILTIN_SECRET)]
#[serde(rename_all = "camelCase")]
pub struct StackSource {
    /// A Git repository to follow. stackflux creates a Flux `GitRepository` named `<clusterstack>-catalog` for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitSource>,
    /// An existing Flux `GitRepository`, which stackflux does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_repository_ref: Option<GitRepositoryReference>,
    /// The directory in the referenced `GitRepository` that holds one directory per release. Defaults to `releases`.
    /// Only with `gitRepositoryRef`; with `git`, set `git.path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    #[x_kube(validation = rules::PATH)]
    pub path: Option<String>,
    /// The source from which the operator publishes releases to the stack repository: those that the ClusterStack offers,
    /// that is, the latest of the channel with `autoSubscribe`, and those that `versions` names. Without `git`, the operator
    /// serves the stack repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Upstream>,
    /// The Secret for the stack repository that the operator serves, in the namespace of the ClusterStack: `username` and
    /// `password`, which Flux sends and the operator requires, and `ca.crt` if the operator has a certificate of a private
    /// authority. Required if `upstream.secretRef` is set. The operator reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalReference>,
}

impl StackSource {
    /// Returns the directory that holds one directory per release, relative to the repository's root.
    #[must_use]
    pub fn release_path(&self) -> &str {
        self.git.as_ref().map(|git| git.path.as_str()).or(self.path.as_deref()).unwrap_or(DEFAULT_PATH)
    }

    /// Whether the operator serves the stack repository: the source names only where releases are published.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        self.upstream.is_some() && self.git.is_none() && self.git_repository_ref.is_none()
    }
}

/// A Git repository to follow; the fields are those of Flux's `GitRepository` and are copied to it.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitSource {
    /// The address of the repository: `https://`, `http://` or `ssh://`, without credentials.
    #[schemars(length(max = 2048))]
    #[x_kube(validation = rules::URL, validation = rules::CREDENTIALS)]
    pub url: String,
    /// The reference to follow. Defaults to the branch `master`, as in Flux.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<GitReference>,
    /// The directory that holds one directory per release, relative to the repository's root.
    #[serde(default = "default_path")]
    #[schemars(length(max = 256))]
    #[x_kube(validation = rules::PATH)]
    pub path: String,
    /// Interval at which Flux checks for new commits.
    #[serde(default = "default_interval")]
    pub interval: Duration,
    /// The Secret with Flux's Git credentials, in the namespace of the ClusterStack. Flux reads it; the operator reads
    /// it only if `source.upstream` has no `pushSecretRef`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalReference>,
    /// Makes Flux refuse commits or tags that are not signed with a known key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<GitVerification>,
    /// Method by which Flux authenticates. By default Flux uses the Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<GitProvider>,
    /// The Secret with Flux's proxy settings, in the namespace of the ClusterStack. Only Flux reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_secret_ref: Option<LocalReference>,
}

/// The reference that Flux follows in a Git repository: at most one of the fields.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = rules::ONE_REFERENCE)]
#[serde(rename_all = "camelCase")]
pub struct GitReference {
    /// A branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// A tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// A commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The highest tag in a range of semantic versions, such as `>=1.0.0 <2.0.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semver: Option<String>,
    /// A full reference name, such as `refs/heads/main` or `refs/pull/420/head`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// An existing Flux `GitRepository`.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitRepositoryReference {
    /// The name of the `GitRepository`.
    #[schemars(length(max = 253))]
    #[x_kube(validation = rules::OBJECT_NAME)]
    pub name: String,
    /// The namespace of the `GitRepository`. Defaults to that of the ClusterStack. In another namespace, the annotation
    /// `clusterstack.x-k8s.io/allowed-namespaces` of the `GitRepository` has to name that of the ClusterStack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = rules::NAMESPACE)]
    pub namespace: Option<String>,
}

/// The Git objects that must be signed, and the keys that may have signed them.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitVerification {
    /// The objects that must be signed: the commit (`HEAD`), the tag (`Tag`), or both (`TagAndHEAD`).
    #[serde(default)]
    pub mode: GitVerificationMode,
    /// The Secret with the public keys of the authors, in the namespace of the ClusterStack. Only Flux reads it.
    pub secret_ref: LocalReference,
}

/// The Git objects that must be signed.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(inline)]
pub enum GitVerificationMode {
    /// The commit.
    #[default]
    #[serde(rename = "HEAD")]
    Head,
    /// The tag.
    Tag,
    /// The tag and the commit.
    #[serde(rename = "TagAndHEAD")]
    TagAndHead,
}

/// Method by which Flux authenticates to a Git server: `generic` with the Secret, `github` as a GitHub App with the
/// Secret, `aws` and `azure` with the cloud's workload identity.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum GitProvider {
    /// With the Secret.
    Generic,
    /// With AWS' workload identity.
    Aws,
    /// With Azure's workload identity.
    Azure,
    /// With a GitHub App.
    Github,
}

/// Default directory of releases.
const DEFAULT_PATH: &str = "releases";

fn default_path() -> String {
    DEFAULT_PATH.to_owned()
}

fn default_interval() -> Duration {
    Duration::minutes(1)
}
