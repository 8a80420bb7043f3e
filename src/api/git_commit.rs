//! Author and signing key of the operator's commits, and references to Secrets.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::flux_settings::is_default;
use super::rules;

/// Commit author and signing key.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitCommit {
    /// The author and committer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub author: GitAuthor,
    /// The key that commits are signed with. By default commits are not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_key: Option<SigningKey>,
}

/// The author of commits.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitAuthor {
    /// The author's name.
    #[serde(default = "author_name")]
    #[schemars(length(max = 255))]
    #[x_kube(validation = rules::AUTHOR)]
    pub name: String,
    /// The author's email address.
    #[serde(default = "author_email")]
    #[schemars(length(max = 255))]
    #[x_kube(validation = rules::AUTHOR)]
    pub email: String,
}

impl Default for GitAuthor {
    fn default() -> Self {
        Self { name: author_name(), email: author_email() }
    }
}

/// The key that commits are signed with.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SigningKey {
    /// The Secret with the key, in the namespace of the ClusterStack: `git.asc` (a GPG key, as in Flux's
    /// `ImageUpdateAutomation`) or `identity` (an SSH key), and `passphrase` if it has one. The operator reads it.
    pub secret_ref: LocalReference,
}

/// The name of an object in the same namespace.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalReference {
    /// The name of the object.
    #[schemars(length(max = 253))]
    #[x_kube(validation = rules::OBJECT_NAME)]
    pub name: String,
}

fn author_name() -> String {
    "stackflux".to_owned()
}

fn author_email() -> String {
    "stackflux@localhost".to_owned()
}
