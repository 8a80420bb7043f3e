//! Delivery of Flux objects to the API server: applied by the operator, or committed to a repository that Flux applies.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::flux_settings::is_default;
use super::git_commit::{GitCommit, LocalReference};
use super::rules;

/// Delivery of the Flux objects of a `ClusterStack` and its clusters to the API server.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = rules::GIT_DELIVERY)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// The component that applies the objects: the operator (`Cluster`), or Flux from a repository that the operator
    /// commits the objects to (`Git`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub mode: DeliveryMode,
    /// The repository that the operator commits the objects to. Required with the mode `Git`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitDelivery>,
}

impl GitDelivery {
    /// Whether both are one directory of one branch.
    #[must_use]
    pub fn is_same_place(&self, other: &Self) -> bool {
        let path = |git: &Self| git.path.trim_start_matches("./").trim_matches('/').to_owned();
        (&self.url, &self.branch) == (&other.url, &other.branch) && path(self) == path(other)
    }
}

impl Delivery {
    /// Returns the repository that objects are committed to; `None` if the operator applies them.
    #[must_use]
    pub fn git(&self) -> Option<&GitDelivery> {
        self.git.as_ref().filter(|_| self.mode == DeliveryMode::Git)
    }
}

/// The component that applies the Flux objects: the operator (`Cluster`), or Flux from a Git repository (`Git`).
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(inline)]
pub enum DeliveryMode {
    /// The operator.
    #[default]
    Cluster,
    /// Flux, from a Git repository.
    Git,
}

/// The repository that Flux objects are committed to, and the settings of the commits.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitDelivery {
    /// The address of the repository: `https://`, `http://` or `ssh://`, without credentials.
    #[schemars(length(max = 2048))]
    #[x_kube(validation = rules::URL, validation = rules::CREDENTIALS)]
    pub url: String,
    /// The branch that the operator pushes to, never with force.
    #[serde(default = "main")]
    #[schemars(length(max = 255))]
    #[x_kube(validation = rules::BRANCH)]
    pub branch: String,
    /// The directory that the operator writes, relative to the repository's root. A Flux `Kustomization` has to apply
    /// this directory.
    #[schemars(length(max = 256))]
    #[x_kube(validation = rules::PATH)]
    pub path: String,
    /// The Secret with credentials that may push, in the namespace of the ClusterStack, with the keys of Flux's Git
    /// credentials. The operator reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalReference>,
    /// Commit author and signing key.
    #[serde(default, skip_serializing_if = "is_default")]
    pub commit: GitCommit,
    /// Makes the operator push to a separate branch and open a pull request, instead of pushing to `branch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullRequests>,
}

/// Settings of pull requests.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PullRequests {
    /// The software that the repository's host runs. Detected by default if the host's name is well known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge: Option<ForgeKind>,
    /// The address of the host's API. Defaults to the usual one for the repository's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    #[x_kube(validation = rules::HTTP_URL, validation = rules::CREDENTIALS)]
    pub api: Option<String>,
    /// The Secret with a token for the host's API at the key `token`, in the namespace of the ClusterStack. The operator
    /// reads it.
    pub secret_ref: LocalReference,
}

/// The software that a Git host runs: GitHub, GitLab, or Gitea (Forgejo as well).
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum ForgeKind {
    /// GitHub, the public one or an Enterprise Server.
    Github,
    /// GitLab.
    Gitlab,
    /// Gitea or Forgejo.
    Gitea,
}

pub(super) fn main() -> String {
    "main".to_owned()
}
