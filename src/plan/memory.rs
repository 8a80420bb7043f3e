//! Decides which live sources and charts the next plan keeps: those that are as the operator wrote them.
//!
//! Users may edit these objects, and the annotation with the digest of the content stays as it was. So an object counts
//! only if its spec is the one of the last write, which the status of a `ClusterStackRelease` has, or if the digest of the
//! plan in its annotation is that of a plan with the same commit, or source and path: no status has the spec of an object
//! that outlived its `ClusterStackRelease`, whose status is not stored yet, or to which Flux added a default. The commit of
//! a release is that of its `ClusterStackRelease`.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{PlannedObject, sources};
use crate::api::{ClusterStackRelease, labels};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::inputs::content::{Content, Existing, Pin, release_path};
use crate::inputs::stack::Stack;
use crate::names::{Key, Namespace, ReleaseName};

/// The digests of an object's spec in the statuses of all releases, by kind and key.
type Written<'a> = BTreeMap<(FluxKind, Key), BTreeSet<&'a str>>;

/// Returns the sources and charts that the plan of a release of `stack` keeps, and the pins of the other releases.
/// `releases` may be of any namespace: only those of the `ClusterStack`'s count.
pub fn existing<'a>(
    stack: &Stack,
    releases: impl IntoIterator<Item = &'a ClusterStackRelease>,
    objects: impl IntoIterator<Item = impl Borrow<FluxObject>>,
) -> Existing {
    let (mut existing, mut written) = (Existing::default(), Written::new());
    let namespace = stack.namespace.as_str();
    let sources = stack.source_namespace(&stack.namespace).as_str();
    let is_ours = |release: &&ClusterStackRelease| release.metadata.namespace.as_deref() == Some(namespace);
    for release in releases.into_iter().filter(is_ours) {
        let name = release.metadata.name.as_deref().and_then(|name| name.parse::<ReleaseName>().ok());
        if let Some((name, pin)) = name.zip(release.spec.source.as_ref()) {
            existing.insert_pin(name, pin);
        }
        for object in release.status.iter().flat_map(|status| &status.objects) {
            let kind = FluxKind::of(&object.kind).filter(|kind| kind.is_source());
            if let Some((kind, digest)) = kind.zip(object.spec_digest.as_deref()) {
                let key = (kind, Key::new(&object.namespace, &object.name));
                written.entry(key).or_default().insert(digest);
            }
        }
    }
    for object in objects {
        let object: &FluxObject = object.borrow();
        let is_here = object.object.namespace.as_deref() == Some(sources);
        let is_as_written = || {
            let written = written.get(&(object.kind(), Key::of_metadata(&object.object)));
            written.is_some_and(|all| all.contains(&*object.spec_digest.to_string()))
        };
        let counts = || is_here && (is_as_written() || is_as_planned(stack, object));
        if !object.kind().is_source() || counts() {
            existing.insert_observed(object);
        }
    }
    existing
}

/// Whether the digest of the plan in the annotation of a pinned source or a chart is that of an object of `stack` with the
/// commit, or the source and path, that the object has now. The access of a source may be an earlier one of `stack`.
#[must_use]
pub fn is_as_planned(stack: &Stack, object: &FluxObject) -> bool {
    let annotation = |name: &str| object.object.annotations.as_ref()?.get(name).map(String::as_str);
    let Some(content) = annotation(labels::CONTENT_DIGEST) else { return false };
    let is_plan_of = |stack: &Stack| {
        let planned = planned(stack, object, content);
        planned.is_some_and(|planned| annotation(labels::PLAN_DIGEST) == Some(planned.digest()))
    };
    is_plan_of(stack) || with_access_of(stack, object).is_some_and(|stack| is_plan_of(&stack))
}

/// Returns the `ClusterStack` with the access that a source of its repository has now.
fn with_access_of(stack: &Stack, source: &FluxObject) -> Option<Stack> {
    let remote = &source.refers_to.remote;
    if remote.get("url")?.as_str()? != stack.source.url {
        return None;
    }
    let access = serde_json::from_value(Value::Object(remote.clone())).ok()?;
    let mut stack = stack.clone();
    stack.source.access = access;
    Some(stack)
}

/// Returns commit and digest of a pinned source that outlived its `ClusterStackRelease`, such as one that was orphaned: the
/// new `ClusterStackRelease` gets the same pin.
///
/// It counts only beside the `ClusterStack`. In another namespace, any `ClusterStack` that refers to the same repository may
/// have written it.
#[must_use]
pub fn left_pin(stack: &Stack, source: &FluxObject) -> Option<(String, String)> {
    let object = &source.object;
    let is_ours = object.namespace.as_deref() == Some(stack.namespace.as_str())
        && stack.source_namespace(&stack.namespace) == &stack.namespace;
    let is_left = is_ours && source.kind() == FluxKind::GitRepository && !source.metadata.terminating;
    if !is_left || !is_as_planned(stack, source) {
        return None;
    }
    let digest = object.annotations.as_ref()?.get(labels::CONTENT_DIGEST)?;
    Some((source.refers_to.commit.clone(), digest.clone()))
}

/// Returns commit and digest of the release with the same name in another namespace, if its source is beside the repository
/// that `stack` refers to there, and is one of that repository and directory. Releases with the same content share it.
#[must_use]
pub fn shared_pin<'a>(
    stack: &Stack,
    source: &FluxObject,
    releases: impl IntoIterator<Item = &'a ClusterStackRelease>,
) -> Option<(String, String)> {
    let (here, beside) = (&stack.namespace, stack.source_namespace(&stack.namespace));
    let name: ReleaseName = source.name().parse().ok()?;
    if here == beside || source.object.namespace.as_deref() != Some(beside.as_str()) {
        return None;
    }
    let has = |release: &&ClusterStackRelease| {
        release.metadata.name.as_deref() == Some(source.name())
            && release.metadata.namespace.as_deref() != Some(here.as_str())
            && release
                .spec_digest_of(FluxKind::GitRepository.as_str(), beside.as_str(), source.name())
                .is_some()
    };
    let mut pins = releases.into_iter().filter(has).filter_map(|release| release.spec.source.as_ref());
    let found = pins.find(|pin| {
        let revision = pin.revision.parse().ok();
        let pin = revision.map(|revision| Pin { revision, digest: pin.digest.clone() });
        let planned = pin.and_then(|pin| sources::pinned(stack, beside, &name, &pin).ok());
        planned.is_some_and(|planned| {
            planned.value.get("spec").is_some_and(|spec| source.refers_to.is_content_of(spec))
        })
    })?;
    Some((found.revision.clone(), found.digest.clone()))
}

/// Plans an object again with its present references.
fn planned(stack: &Stack, object: &FluxObject, digest: &str) -> Option<PlannedObject> {
    let namespace: Namespace = object.object.namespace.as_deref()?.parse().ok()?;
    let refers_to = &object.refers_to;
    match object.kind() {
        FluxKind::GitRepository => {
            let pin = Pin { revision: refers_to.commit.parse().ok()?, digest: digest.to_owned() };
            sources::pinned(stack, &namespace, &object.name().parse().ok()?, &pin).ok()
        }
        FluxKind::HelmChart => {
            let content = Content {
                release: refers_to.source.parse().ok()?,
                path: refers_to.chart.clone(),
                chart: object.name().parse().ok()?,
                digest: digest.parse().ok()?,
            };
            // The chart of another directory of the repository may be that of another ClusterStack.
            let directory = release_path(&stack.source.path, &content.release, "");
            let below = content.path.strip_prefix(&directory)?;
            below.starts_with('/').then(|| sources::chart(&namespace, &content).ok())?
        }
        FluxKind::HelmRelease | FluxKind::Kustomization => None,
    }
}

#[cfg(test)]
mod tests;
