//! Decides which `ClusterStackRelease`s a `ClusterStack` has, their content, and their problems.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource as _, ResourceExt as _};
use serde_json::{Map, Value, json};

use super::{Claim, Role};
use crate::api::cluster_stack_release::PinnedSource;
use crate::api::{self, ClusterStack, ClusterStackRelease, ClusterStackReleaseSpec, Reason, labels};
use crate::gate::Hold;
use crate::inputs::content::{CatalogEntry, release_path};
use crate::inputs::stack::Stack;
use crate::names::{ReleaseName, Revision};
use crate::release::Findings;

/// The stack repository at one commit.
#[derive(Clone, Copy, Debug)]
pub struct CatalogFacts<'a> {
    /// The commit.
    pub revision: &'a Revision,
    /// Each release, or the findings that make it unusable.
    pub releases: &'a BTreeMap<ReleaseName, Result<CatalogEntry, Findings>>,
    /// Whether this is what Flux fetched last for the present source of the `ClusterStack`.
    pub is_current: bool,
}

/// The facts about one release.
#[derive(Clone, Debug)]
pub struct FoundRelease<'a> {
    /// The role of the release for the `ClusterStack`.
    pub role: Role,
    /// The claim on the release.
    pub claim: Claim,
    /// Its `ClusterStackRelease`, independent of the owning `ClusterStack`.
    pub object: Option<&'a ClusterStackRelease>,
    /// Whether this `ClusterStack` owns the `ClusterStackRelease`.
    pub is_owned: bool,
    /// The `ClusterStack` that owns the `ClusterStackRelease`, if this operator does not watch it, or no watch has reported it.
    pub unwatched_owner: Option<String>,
    /// Commit and digest of a pinned `GitRepository` that outlived its `ClusterStackRelease`.
    pub left_pin: Option<(String, String)>,
    /// Number of Clusters that have its class.
    pub clusters: usize,
}

/// The facts about the releases of a `ClusterStack`.
#[derive(Clone, Debug)]
pub struct ReleasesFacts<'a> {
    /// The `ClusterStack`.
    pub stack: &'a ClusterStack,
    /// The `ClusterStack` as the input of plans.
    pub planned: &'a Stack,
    /// The releases in the stack repository; `None` before it was read.
    pub catalog: Option<CatalogFacts<'a>>,
    /// The report that source-controller is overdue, if it is.
    pub silence: Option<String>,
    /// The releases that are offered, in use, or existing.
    pub releases: BTreeMap<ReleaseName, FoundRelease<'a>>,
    /// The present time.
    pub now: Timestamp,
}

/// A problem of one release to report to users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseProblem {
    /// Whether the problem prevents the delivery of the release.
    pub is_issue: bool,
    /// The reason and the message.
    pub hold: Hold,
}

/// The decision about one release.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReleaseDecision {
    /// The `ClusterStackRelease` to write, if it is missing or differs.
    pub apply: Option<DesiredRelease>,
    /// Whether the existing object is as desired.
    pub is_unchanged: bool,
    /// The problem, if any.
    pub problem: Option<ReleaseProblem>,
}

/// A desired `ClusterStackRelease`.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredRelease {
    /// The release.
    pub name: ReleaseName,
    /// The namespace.
    pub namespace: String,
    /// The `ClusterStack`.
    pub owner: OwnerReference,
    /// Time since which it is unused, if it is retiring.
    pub retiring_since: Option<String>,
    /// The pin and the provider's object.
    pub spec: ClusterStackReleaseSpec,
    /// The UID of the object in the decision; `None` if there was none.
    pub uid: Option<String>,
}

/// Decides what to do with each release.
#[must_use]
pub fn decide_releases(facts: &ReleasesFacts) -> BTreeMap<ReleaseName, ReleaseDecision> {
    facts.releases.iter().map(|(name, found)| (name.clone(), decide_release(facts, name, found))).collect()
}

fn decide_release(facts: &ReleasesFacts, name: &ReleaseName, found: &FoundRelease) -> ReleaseDecision {
    let problem = problem(facts, name, found);
    if matches!(found.claim, Claim::Theirs(_)) {
        return ReleaseDecision { problem, ..ReleaseDecision::default() };
    }
    if let Some(other) = &found.unwatched_owner {
        let message = format!(
            "it belongs to ClusterStack {other}, which is in another shard, or which the API server has not reported to \
             this operator yet"
        );
        let problem = Some(issue(Reason::ReleaseClaimed, message));
        return ReleaseDecision { problem, ..ReleaseDecision::default() };
    }
    let Some(desired) = desired(facts, name, found) else {
        return ReleaseDecision { problem, ..ReleaseDecision::default() };
    };
    let is_unchanged = found.object.is_some_and(|object| desired.is_written(object));
    let is_deleted = found.object.is_some_and(|object| object.metadata.deletion_timestamp.is_some());
    let apply = (!is_unchanged && !is_deleted).then_some(desired);
    ReleaseDecision { apply, is_unchanged, problem }
}

fn issue(reason: Reason, message: String) -> ReleaseProblem {
    ReleaseProblem { is_issue: true, hold: Hold { reason, message } }
}

fn note(reason: Reason, message: String) -> ReleaseProblem {
    ReleaseProblem { is_issue: false, hold: Hold { reason, message } }
}

/// Returns the problem of a release, if any.
fn problem(facts: &ReleasesFacts, name: &ReleaseName, found: &FoundRelease) -> Option<ReleaseProblem> {
    match &found.claim {
        Claim::Theirs(other) => {
            return Some(issue(Reason::ReleaseClaimed, format!("it belongs to ClusterStack {other}")));
        }
        Claim::Disputed(other) => {
            return Some(note(Reason::ReleaseClaimed, format!("ClusterStack {other} claims it, too")));
        }
        Claim::Ours => {}
    }
    let pin = found.object.filter(|_| found.is_owned).and_then(ClusterStackRelease::pin);
    let catalog = facts.catalog.as_ref()?;
    let at = catalog.revision.as_str();
    match (catalog.releases.get(name), pin) {
        (None, None) if found.role <= Role::Used => Some(not_in_repository(facts, found, at)),
        (Some(Ok(entry)), Some(pin)) if entry.digest.to_string() != pin.digest => Some(mutated(pin, at)),
        (Some(Err(_)), Some(pin)) => Some(mutated(pin, at)),
        (None, Some(pin)) if catalog.is_current => {
            let message = format!(
                "the stack repository no longer has the release at {}; the content of {} stays in use",
                short(at),
                short(&pin.revision)
            );
            Some(note(Reason::ReleaseNotFound, message))
        }
        (Some(Err(findings)), None) => Some(issue(Reason::Invalid, first_error(findings))),
        _ => None,
    }
}

/// Returns the problem of a release that is offered or used, but missing from the stack repository.
fn not_in_repository(facts: &ReleasesFacts, found: &FoundRelease, revision: &str) -> ReleaseProblem {
    let clusters = match found.clusters {
        0 => String::new(),
        1 => "; 1 Cluster has its class".to_owned(),
        count => format!("; {count} Clusters have its class"),
    };
    let message = format!("the stack repository has no such release at {}{clusters}", short(revision));
    // If source-controller does not fetch, the repository may have the release.
    let hold = match &facts.silence {
        Some(silence) => {
            Hold { reason: Reason::ApplierUnavailable, message: format!("{message}; {silence}") }
        }
        None => Hold { reason: Reason::ReleaseNotFound, message },
    };
    // If the ClusterStack does not offer the release, its Clusters report that it is missing.
    ReleaseProblem { is_issue: found.role == Role::Offered, hold }
}

/// Returns the problem of a release that changed after it was pinned.
fn mutated(pin: &PinnedSource, revision: &str) -> ReleaseProblem {
    let message = format!(
        "the stack repository has other content at {}; the content of {} stays in use: publish the change as a new \
         release",
        short(revision),
        short(&pin.revision)
    );
    issue(Reason::ReleaseMutated, message)
}

/// Returns the first twelve digits of a commit.
#[must_use]
pub fn short(revision: &str) -> &str {
    revision.get(..12).unwrap_or(revision)
}

/// Formats the first error in one line, with its position.
#[must_use]
pub fn first_error(findings: &Findings) -> String {
    let mut errors = findings.errors();
    let Some(error) = errors.next() else { return Reason::Invalid.meaning().to_owned() };
    let numbers = [error.line, error.column].into_iter().flatten().map(|number| number.to_string());
    let place: Vec<String> = std::iter::once(error.file.clone()).chain(numbers).collect();
    let place = place.join(":");
    match errors.count() {
        0 => format!("{place}: {}", error.message),
        more => format!("{place}: {} (and {more} more, see `stackflux lint`)", error.message),
    }
}

/// Returns the desired `ClusterStackRelease`; `None` if it does not exist and cannot be created.
fn desired(facts: &ReleasesFacts, name: &ReleaseName, found: &FoundRelease) -> Option<DesiredRelease> {
    let pin = found
        .object
        .and_then(|object| object.pin().cloned())
        .or_else(|| left_pin(facts, name, found))
        .or_else(|| new_pin(facts, name));
    let is_known = facts.catalog.is_some_and(|catalog| catalog.releases.contains_key(name));
    if found.object.is_none() && (found.role > Role::Used || (pin.is_none() && !is_known)) {
        return None;
    }
    let since = found.object.and_then(|object| object.annotations().get(labels::RETIRING_SINCE).cloned());
    let retiring_since =
        (found.role == Role::Retiring).then(|| since.unwrap_or_else(|| facts.now.to_string()));
    let namespace = facts.planned.namespace.to_string();
    let provider_ref = provider_object(facts.stack, name, &namespace);
    let spec = ClusterStackReleaseSpec { provider_ref, source: pin };
    let (name, owner) = (name.clone(), owner(facts.stack));
    let uid = found.object.and_then(kube::ResourceExt::uid);
    Some(DesiredRelease { name, namespace, owner, retiring_since, spec, uid })
}

fn owner(stack: &ClusterStack) -> OwnerReference {
    // An object from the API server has a name and a UID.
    OwnerReference { controller: Some(true), ..stack.owner_ref(&()).unwrap_or_default() }
}

/// Returns the pin of a `GitRepository` that outlived its `ClusterStackRelease`.
fn left_pin(facts: &ReleasesFacts, name: &ReleaseName, found: &FoundRelease) -> Option<PinnedSource> {
    let (revision, digest) = found.left_pin.clone()?;
    Some(PinnedSource { revision, digest, path: directory(facts.planned, name) })
}

/// Pins the present content of the stack repository; `None` if it is unusable, which the release itself reports.
fn new_pin(facts: &ReleasesFacts, name: &ReleaseName) -> Option<PinnedSource> {
    let catalog = facts.catalog.filter(|catalog| catalog.is_current)?;
    let entry = catalog.releases.get(name)?.as_ref().ok()?;
    let (revision, digest) = (entry.revision.to_string(), entry.digest.to_string());
    Some(PinnedSource { revision, digest, path: directory(facts.planned, name) })
}

fn directory(planned: &Stack, name: &ReleaseName) -> String {
    release_path(&planned.source.path, name, "").trim_start_matches("./").to_owned()
}

/// Returns the provider's object for a release. Its kind is that of the template without the suffix `Template`.
fn provider_object(stack: &ClusterStack, name: &ReleaseName, namespace: &str) -> Option<ObjectReference> {
    let template = stack.spec.provider_ref.as_ref().filter(|_| !stack.spec.no_provider)?;
    let kind = template.kind.as_deref()?;
    Some(ObjectReference {
        api_version: template.api_version.clone(),
        kind: Some(kind.strip_suffix("Template").unwrap_or(kind).to_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_string()),
        ..ObjectReference::default()
    })
}

impl DesiredRelease {
    /// Whether an object matches the desired one.
    fn is_written(&self, found: &ClusterStackRelease) -> bool {
        found.spec == self.spec
            && found.annotations().get(labels::RETIRING_SINCE) == self.retiring_since.as_ref()
            && labels::has_finalizer(found)
            && found.owner_references().iter().any(|owner| owner.uid == self.owner.uid)
    }

    /// Returns the object to apply.
    #[must_use]
    pub fn object(&self) -> Value {
        let since = self.retiring_since.as_ref();
        let annotations: Map<String, Value> =
            since.map(|since| (labels::RETIRING_SINCE.to_owned(), json!(since))).into_iter().collect();
        json!({
            "apiVersion": format!("{}/{}", api::GROUP, api::VERSION),
            "kind": "ClusterStackRelease",
            "metadata": {
                "name": self.name.to_string(),
                "namespace": self.namespace,
                "labels": {labels::MANAGED_BY: labels::FIELD_MANAGER, labels::RELEASE: self.name.to_string()},
                "annotations": annotations,
                "finalizers": [labels::FINALIZER],
                "ownerReferences": [self.owner],
            },
            "spec": self.spec,
        })
    }
}
