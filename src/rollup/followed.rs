//! Derives a `ClusterStack`'s status of its stack repository.

use std::fmt::Display;

use jiff::Timestamp;

use super::cluster_stack_release::{ObjectFacts, expected_since};
use super::judge;
use super::report::{ConditionStatus, Report};
use super::verdict::{Expected, Moment, Verdict};
use crate::api::cluster_stack::FollowedSource;
use crate::api::cluster_stack_release::GeneratedObject;
use crate::error::{Class, Classify};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{FluxObject, SpecDigest};
use crate::names::Key;
use crate::plan::{ObjectId, Step};

/// The facts about the `GitRepository` that a `ClusterStack` follows.
#[derive(Clone, Debug)]
pub struct SourceFacts<'a> {
    /// The key of the `GitRepository`.
    pub key: Key,
    /// The object, if it exists.
    pub found: Option<&'a FluxObject>,
    /// Whether stackflux writes the object. Any other counts as its owner planned it.
    pub is_ours: bool,
    /// The digest of the spec as the last write returned it.
    pub expected: Option<SpecDigest>,
    /// The part of the status about it.
    pub old: Option<&'a FollowedSource>,
    /// Whether the latest releases were read from it.
    pub is_read: bool,
    /// The time, with source-controller.
    pub moment: Moment,
}

/// Computes the status of the followed `GitRepository`, and the verdict on it.
#[must_use]
pub fn followed_source(facts: SourceFacts) -> (FollowedSource, Option<Verdict>) {
    let (name, now, found) = (facts.key.to_string(), facts.moment.now, facts.found);
    let found_digest = || found.map(|found| found.spec_digest.clone());
    let spec_digest = if facts.is_ours { facts.expected } else { found_digest() };
    let old = facts.old.filter(|old| old.git_repository == name);
    let id = ObjectId {
        api_version: FluxKind::GitRepository.api_version().to_owned(),
        kind: FluxKind::GitRepository.to_string(),
        namespace: facts.key.namespace,
        name: facts.key.name,
    };
    let before: Vec<GeneratedObject> = old.map(|old| recorded(&id, old)).into_iter().collect();
    let verdict = found.zip(spec_digest.as_ref()).map(|(found, digest)| {
        let since = expected_since(before.first(), &digest.to_string(), now);
        verdict(found, digest, since, &facts.moment)
    });
    let object = ObjectFacts { id, step: Step::Sources, expected: spec_digest, verdict: verdict.clone() };
    let recorded = object.into_status(&before, now);
    let revision = found.and_then(|found| Some(found.status.artifact()?.revision.clone()));
    let revision = revision.filter(|_| facts.is_read).or_else(|| old.and_then(|old| old.revision.clone()));
    let source = FollowedSource {
        git_repository: name,
        revision,
        verdict: recorded.verdict,
        spec_digest: recorded.spec_digest,
        since: recorded.since,
    };
    (source, verdict)
}

fn recorded(id: &ObjectId, old: &FollowedSource) -> GeneratedObject {
    GeneratedObject {
        kind: id.kind.clone(),
        namespace: id.namespace.clone(),
        name: id.name.clone(),
        verdict: old.verdict.clone(),
        reason: None,
        spec_digest: old.spec_digest.clone(),
        since: old.since.clone(),
    }
}

/// Judges a `GitRepository`. A branch moves, so the commit that was fetched last is the expected one: another fetch
/// always follows, and waits for source-controller.
fn verdict(found: &FluxObject, digest: &SpecDigest, since: Timestamp, moment: &Moment) -> Verdict {
    let commit = found.status.artifact().and_then(|artifact| artifact.revision.rsplit(':').next());
    let expected = Expected {
        spec_digest: digest.clone(),
        version: commit.map(str::to_owned),
        revision_before: None,
        since,
    };
    match (judge(found, &expected, moment), moment.dead()) {
        (Verdict::Fetched, Some(silence)) => Verdict::ApplierUnavailable(silence),
        (verdict, _) => verdict,
    }
}

/// Whether the stack repository is followed and was read. `error` is the reason why its latest releases cannot be read.
#[must_use]
pub fn source_ready(verdict: Option<&Verdict>, error: Option<&(impl Classify + Display)>) -> Report {
    let Some(verdict) = verdict else { return Report::not_yet_reported() };
    match error {
        Some(error) if *verdict == Verdict::Fetched => {
            let status = match error.class() {
                Class::Terminal => ConditionStatus::False,
                Class::Transient => ConditionStatus::Unknown,
            };
            Report::new(status, error.reason(), &error.to_string())
        }
        _ => verdict.report(),
    }
}
