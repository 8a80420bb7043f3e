//! Reports why a release that Clusters name is not installed.

use super::report::{ConditionStatus, Report};
use crate::api::{ClusterStack, Reason};
use crate::names::{Key, ReleaseName};
use crate::subscription::{CatalogFacts, short};

/// A release in the stack repository of a `ClusterStack`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InRepository<'a> {
    /// The stack repository was not read yet.
    NotRead,
    /// It does not have the release at this commit.
    Absent(&'a str),
    /// It has the release, valid or not.
    Present,
}

impl<'a> InRepository<'a> {
    /// Looks up a release in the stack repository; `catalog` is its content, if it was read.
    #[must_use]
    pub fn of(catalog: Option<CatalogFacts<'a>>, name: &ReleaseName) -> Self {
        match catalog {
            None => Self::NotRead,
            Some(read) if !read.releases.contains_key(name) => Self::Absent(read.revision.as_str()),
            Some(_) => Self::Present,
        }
    }
}

/// Returns the report for the Clusters of a release that is not installed. `is_wanted` is whether the `ClusterStack` offers
/// the release or Clusters of its namespace use it.
#[must_use]
pub fn missing_release(
    stack: &ClusterStack,
    repository: InRepository,
    is_wanted: bool,
    name: &ReleaseName,
) -> Report {
    let key = Key::of(stack);
    let unknown =
        |reason: Reason, message: &str| Report::new(ConditionStatus::Unknown, reason.as_str(), message);
    let not_found =
        |message: &str| Report::new(ConditionStatus::False, Reason::ReleaseNotFound.as_str(), message);
    match repository {
        InRepository::NotRead => unknown(
            Reason::NotYetReported,
            &format!(
                "the stack repository of ClusterStack {key} was not read yet, so it is unknown whether {name} exists"
            ),
        ),
        InRepository::Absent(revision) => not_found(&format!(
            "the stack repository of ClusterStack {key} has no release {name} at {}: set the Cluster's class to a \
             release that exists, or publish {name}",
            short(revision)
        )),
        InRepository::Present if stack.spec.suspend => {
            let message = format!("ClusterStack {key} is suspended, so {name} is not installed");
            unknown(Reason::Suspended, &message)
        }
        InRepository::Present if !is_wanted => Report::new(
            ConditionStatus::False,
            Reason::ReleaseNotOffered.as_str(),
            &format!(
                "ClusterStack {key} does not offer {name}, and a Cluster of another namespace cannot have it installed: \
                 set the Cluster's class to a release that is offered, or ask the owner of ClusterStack {key} to add the \
                 version to spec.versions"
            ),
        ),
        InRepository::Present => {
            unknown(Reason::NotYetReported, &format!("ClusterStack {key} is about to install {name}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::inputs::content::CatalogEntry;
    use crate::names::Revision;
    use crate::release::{Digest, Findings};

    #[test]
    fn missing_release_has_the_first_reason_that_applies() {
        let revision: Revision = "c0ffee0000000000000000000000000000000000".parse().unwrap();
        let name: ReleaseName = "docker-demo-1-34-v1".parse().unwrap();
        let digest = Digest::of_bytes(b"one");
        let entry = CatalogEntry { revision: revision.clone(), digest, addons: BTreeMap::new() };
        let (with, without) = (BTreeMap::from([(name.clone(), Ok(entry))]), BTreeMap::new());
        let broken = BTreeMap::from([(name.clone(), Err(Findings::default()))]);
        for (releases, is_suspended, is_wanted, expected) in [
            (
                None,
                true,
                false,
                "Unknown NotYetReported: the stack repository of ClusterStack stacks/demo was not read",
            ),
            (
                Some(&without),
                true,
                false,
                "False ReleaseNotFound: the stack repository of ClusterStack stacks/demo has no",
            ),
            (Some(&with), true, false, "Unknown Suspended: ClusterStack stacks/demo is suspended"),
            (Some(&with), false, false, "False ReleaseNotOffered: ClusterStack stacks/demo does not offer"),
            (
                Some(&with),
                false,
                true,
                "Unknown NotYetReported: ClusterStack stacks/demo is about to install",
            ),
            // The ClusterStack reports that it is invalid.
            (
                Some(&broken),
                false,
                true,
                "Unknown NotYetReported: ClusterStack stacks/demo is about to install",
            ),
        ] {
            let stack = serde_json::from_value(json!({
                "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
                "metadata": {"name": "demo", "namespace": "stacks"},
                "spec": {"provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "suspend": is_suspended},
            }));
            let catalog =
                releases.map(|releases| CatalogFacts { revision: &revision, releases, is_current: false });
            let repository = InRepository::of(catalog, &name);
            let Report { status, reason, message } =
                missing_release(&stack.unwrap(), repository, is_wanted, &name);
            let found = format!("{} {reason}: {message}", status.as_str());
            assert!(found.starts_with(expected), "{found}");
        }
    }
}
