//! Decides which `ClusterStacks` follow a stage: those whose source is its directory, on its branch, in its repository.

use serde::Deserialize as _;
use serde_json::Value;

use super::stages::Stage;
use crate::api::{ClusterStack, GitReference, GitRepositoryReference};
use crate::foreign::capi::{field, text};
use crate::foreign::flux::source::git_repository;

/// The branch that Flux follows by default.
const DEFAULT_BRANCH: &str = "master";

/// A stage, with the branch and the repository that it is in.
#[derive(Clone, Copy, Debug)]
pub struct StageTarget<'a> {
    /// The stage.
    pub stage: &'a Stage,
    /// The branch of its directory.
    pub branch: &'a str,
    /// The URL or the path of the repository.
    pub repository: &'a str,
}

/// The URL and the reference that a `GitRepository` follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// Its `spec.url`.
    pub url: String,
    /// Its `spec.ref`.
    pub reference: GitReference,
}

/// The reason why a `ClusterStack` does not follow a stage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// It uses the operator's default source.
    #[error("it has no spec.source of its own")]
    NoSource,
    /// It has a stack repository of its own, which the operator serves.
    #[error("its stack repository is built in: it takes its releases from {0}")]
    BuiltIn(String),
    /// It follows another directory.
    #[error("it follows the directory {0}")]
    Directory(String),
    /// It refers to a `GitRepository` that is not among the known objects.
    #[error("its GitRepository {namespace}/{name} is not known here")]
    Unknown {
        /// The namespace of the `GitRepository`.
        namespace: String,
        /// The name of the `GitRepository`.
        name: String,
    },
    /// It follows another branch.
    #[error("it follows the branch {0}")]
    Branch(String),
    /// It follows a reference that no promotion moves, such as a tag or a commit.
    #[error("it follows the {kind} {name}, which is not a branch")]
    NoBranch {
        /// The kind of the reference.
        kind: &'static str,
        /// The name of the reference.
        name: String,
    },
    /// It follows another repository.
    #[error("it follows the repository {0}")]
    Repository(String),
}

impl Followed {
    /// Reads a `GitRepository`; `None` if its reference does not have the form of Flux's API.
    #[must_use]
    pub fn of(object: &Value) -> Option<Self> {
        let reference = match field(object, &["spec", "ref"]) {
            Some(reference) => GitReference::deserialize(reference).ok()?,
            None => GitReference::default(),
        };
        Some(Self { url: text(object, &["spec", "url"]).to_owned(), reference })
    }

    /// Finds the `GitRepository` with this namespace and name among objects.
    #[must_use]
    pub fn among(objects: &[Value], namespace: &str, name: &str) -> Option<Self> {
        Self::of(git_repository(objects, namespace, name)?)
    }
}

/// Returns the reason why a `ClusterStack` does not follow the stage; `None` if it does. `known` looks up a
/// `GitRepository` by namespace and name.
#[must_use]
pub fn mismatch(
    stack: &ClusterStack,
    place: &StageTarget,
    known: impl Fn(&str, &str) -> Option<Followed>,
) -> Option<Mismatch> {
    let Some(source) = &stack.spec.source else { return Some(Mismatch::NoSource) };
    if let Some(upstream) = source.upstream.as_ref().filter(|_| source.is_builtin()) {
        return Some(Mismatch::BuiltIn(upstream.url.clone()));
    }
    let path = source.release_path().trim_start_matches("./").trim_end_matches('/');
    if path != place.stage.path {
        return Some(Mismatch::Directory(path.to_owned()));
    }
    let followed = match (&source.git, &source.git_repository_ref) {
        (Some(git), _) => {
            Followed { url: git.url.clone(), reference: git.reference.clone().unwrap_or_default() }
        }
        (None, Some(GitRepositoryReference { name, namespace })) => {
            let own = stack.metadata.namespace.as_deref().unwrap_or("default");
            let namespace = namespace.as_deref().unwrap_or(own);
            let Some(followed) = known(namespace, name) else {
                let (namespace, name) = (namespace.to_owned(), name.clone());
                return Some(Mismatch::Unknown { namespace, name });
            };
            followed
        }
        (None, None) => return Some(Mismatch::NoSource),
    };
    of_branch(&followed.reference, place.branch).or_else(|| of_repository(&followed.url, place.repository))
}

/// Compares a Flux reference with a branch. Of several fields, the one that Flux uses counts.
fn of_branch(reference: &GitReference, branch: &str) -> Option<Mismatch> {
    let GitReference { commit, name, semver, tag, branch: named } = reference;
    let no_branch = |kind, name: &String| Some(Mismatch::NoBranch { kind, name: name.clone() });
    let named = match (commit, name, semver, tag) {
        (Some(commit), ..) => return no_branch("commit", commit),
        (_, Some(name), ..) => match name.strip_prefix("refs/heads/") {
            Some(named) => named,
            None => return no_branch("reference", name),
        },
        (_, _, Some(range), _) => return no_branch("version range", range),
        (.., Some(tag)) => return no_branch("tag", tag),
        (None, None, None, None) => named.as_deref().unwrap_or(DEFAULT_BRANCH),
    };
    (named != branch).then(|| Mismatch::Branch(named.to_owned()))
}

/// Compares a URL with a repository by their names on the server (`owner/name`), because one repository has several
/// addresses: by HTTPS, by SSH, from inside a cluster. A URL without such a name, for example a directory, matches any
/// repository.
fn of_repository(url: &str, repository: &str) -> Option<Mismatch> {
    let (one, other) = name_on_server(url).zip(name_on_server(repository))?;
    // No forge has two repositories whose names differ only in case.
    (!one.eq_ignore_ascii_case(other)).then(|| Mismatch::Repository(one.to_owned()))
}

/// Returns `owner/name` of `https://host/owner/name.git`, `ssh://git@host:22/owner/name` or `git@host:owner/name.git`.
fn name_on_server(url: &str) -> Option<&str> {
    let path = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split_once('/')?.1,
        None => url.split_once(':')?.1,
    };
    let path = path.trim_matches('/');
    Some(path.strip_suffix(".git").unwrap_or(path))
}

#[cfg(test)]
mod tests;
