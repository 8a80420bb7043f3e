//! The objects of a release in its status.

use std::collections::BTreeSet;
use std::ops::Deref;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::api::ClusterStackRelease;
use crate::api::cluster_addon::AddonState;
use crate::api::cluster_stack_release::GeneratedObject;
use crate::api::conditions::Reason;
use crate::foreign::capi::text;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{FluxObject, KindStatus, SpecDigest};
use crate::inputs::ReleaseInputs;
use crate::names::Key;
use crate::plan::{ObjectId, PlannedObject, Step};
use crate::rollup::{Expected, Verdict};

/// The facts about one object of a release.
#[derive(Clone, Debug)]
pub struct ObjectFacts {
    /// The identity of the object.
    pub id: ObjectId,
    /// The step of its delivery.
    pub step: Step,
    /// The digest of the spec as our last write returned it.
    pub expected: Option<SpecDigest>,
    /// The verdict on the object's status.
    pub verdict: Option<Verdict>,
}

impl ObjectFacts {
    /// Creates the entry of the object in the status. Its time changes only if another field does.
    #[must_use]
    pub fn into_status(self, old: &[GeneratedObject], now: Timestamp) -> GeneratedObject {
        let before = kept(old, &self.id);
        let verdict = self.verdict.as_ref().map(|verdict| verdict.phase().to_string());
        let spec_digest = self.expected.map(|digest| digest.to_string());
        let is_settled = self.verdict.as_ref().is_some_and(Verdict::is_settled);
        let since = spec_digest.as_deref().map(|digest| match before {
            Some(before) if is_settled && before.verdict == verdict => {
                before.since.as_ref().map_or(now, |since| since.0)
            }
            _ if is_settled => now,
            _ => expected_since(before, digest, now),
        });
        let reported = self.verdict.as_ref().map(|verdict| verdict.report().reason);
        GeneratedObject {
            kind: self.id.kind,
            namespace: self.id.namespace,
            name: self.id.name,
            reason: reported.filter(|reason| Some(reason) != verdict.as_ref()),
            verdict,
            spec_digest,
            since: since.map(Time),
        }
    }
}

/// Adds the earlier objects that the present ones lack. A status names an object by kind, namespace and name, without
/// its version: the API server refuses a status that has one object twice.
#[must_use]
pub fn with_rest(mut present: Vec<ObjectFacts>, before: Vec<ObjectFacts>) -> Vec<ObjectFacts> {
    let name = |facts: &ObjectFacts| {
        let ObjectId { kind, namespace, name, .. } = facts.id.clone();
        (kind, namespace, name)
    };
    let names: BTreeSet<_> = present.iter().map(name).collect();
    present.extend(before.into_iter().filter(|facts| !names.contains(&name(facts))));
    present
}

/// Finds the entry of an object in a status.
#[must_use]
pub fn kept<'a>(objects: &'a [GeneratedObject], id: &ObjectId) -> Option<&'a GeneratedObject> {
    objects
        .iter()
        .find(|object| (&object.kind, &object.namespace, &object.name) == (&id.kind, &id.namespace, &id.name))
}

/// Returns what is expected of an object in the status of a release if it is to deliver this version; `None` before its
/// first write.
#[must_use]
pub fn recorded_expectation(
    kept: &GeneratedObject,
    version: Option<String>,
    now: Timestamp,
) -> Option<Expected> {
    let since = expected_since(Some(kept), kept.spec_digest.as_deref()?, now);
    Expected::kept(&AddonState { spec_digest: kept.spec_digest.clone(), version }, since)
}

/// Returns the version that an object delivers as it is now, for objects whose planned version is unknown. `find` returns
/// another existing object.
pub fn present_version<Found: Deref<Target = FluxObject>>(
    object: &FluxObject,
    find: impl Fn(FluxKind, &Key) -> Option<Found>,
) -> Option<String> {
    match &object.status {
        KindStatus::GitRepository(status) | KindStatus::OCIRepository(status) => {
            let pinned = Some(&object.refers_to.exact).filter(|commit| !commit.is_empty()).cloned();
            pinned.or_else(|| fetched_version(&status.artifact.as_ref()?.revision))
        }
        KindStatus::HelmChart(_) | KindStatus::Kustomization(_) => {
            let source = find(object.refers_to.source_kind?, &object.source())?;
            packaged_version(object, &source).or_else(|| present_version(&source, find))
        }
        KindStatus::HelmRelease(status) => {
            let chart = object.refers_to.source_kind.and_then(|kind| find(kind, &object.source()));
            let version = match chart {
                Some(chart) if chart.kind() == FluxKind::HelmChart => {
                    chart.status.artifact().map(|artifact| artifact.revision.clone())
                }
                Some(repository) => present_version(&repository, find),
                None => None,
            };
            version.or_else(|| status.history.first().map(|latest| latest.chart_version.clone()))
        }
    }
}

/// Returns the commit, or the digest with its algorithm, of a revision: `main@sha1:<commit>`, `1.2.3@sha256:<digest>`.
fn fetched_version(revision: &str) -> Option<String> {
    let name = revision.rsplit('@').next()?;
    name.strip_prefix("sha1:").or(Some(name)).map(str::to_owned)
}

/// Returns the version that a chart was packaged from, if Flux may have fetched another one since.
fn packaged_version(chart: &FluxObject, source: &FluxObject) -> Option<String> {
    let KindStatus::HelmChart(status) = &chart.status else { return None };
    let can_move = source.refers_to.exact.is_empty() && status.artifact.is_some();
    fetched_version(status.observed_source_artifact_revision.as_deref().filter(|_| can_move)?)
}

/// Returns the expected state of a planned object of a release whose spec has this digest. `fetched` is the version that it has,
/// which is that to have if its content can change.
#[must_use]
pub fn expected_object(
    release: &ClusterStackRelease,
    inputs: &ReleaseInputs,
    planned: &PlannedObject,
    (digest, fetched): (&SpecDigest, Option<&str>),
    now: Timestamp,
) -> Option<Expected> {
    let before = release.status.as_ref().and_then(|status| kept(&status.objects, &planned.id));
    let since = expected_since(before, &digest.to_string(), now);
    let version = complete_version(inputs, planned).or_else(|| fetched.map(str::to_owned));
    Expected::kept(&AddonState { spec_digest: Some(digest.to_string()), version }, since)
}

/// Returns the version that completes an object: the commit of a source, the commit of the source of a chart or of manifests,
/// or the version of the class's chart. `None` if the content can change.
fn complete_version(inputs: &ReleaseInputs, planned: &PlannedObject) -> Option<String> {
    let exact = |field: &str| {
        let version = text(&planned.value, &["spec", "ref", field]);
        (!version.is_empty()).then(|| version.to_owned())
    };
    match planned.kind() {
        Some(FluxKind::GitRepository) => exact("commit"),
        Some(FluxKind::OCIRepository) => exact("digest"),
        Some(FluxKind::HelmRelease) => Some(inputs.release.cluster_class.version.clone()),
        _ => {
            let source = text(&planned.value, &["spec", "sourceRef", "name"]);
            let mut pins = inputs.contents.pins.values();
            let pinned = pins.find(|pin| pin.owned.name.as_str() == source);
            pinned.map(|pin| pin.revision.to_string()).or_else(|| inputs.contents.component_version(source))
        }
    }
}

/// Returns the time since which an object is expected to have its current state; deadlines count from it. `old` is the
/// entry in the status. Deadlines do not run while an object is settled.
#[must_use]
pub fn expected_since(old: Option<&GeneratedObject>, spec_digest: &str, now: Timestamp) -> Timestamp {
    let settled = [Reason::Applied, Reason::Drifted, Reason::Fetched, Reason::Suspended];
    let is_settled = |phase: &str| settled.iter().any(|reason| reason.as_str() == phase);
    let same = old.filter(|old| {
        old.spec_digest.as_deref() == Some(spec_digest) && !old.verdict.as_deref().is_some_and(is_settled)
    });
    same.and_then(|old| old.since.as_ref()).map_or(now, |since| since.0)
}
