//! Decides which live sources and charts the next plan keeps: those that are as the operator wrote them.
//!
//! An object counts only if a `ClusterStackRelease` of the namespace names it in its status, or if it has the claim of this
//! `ClusterStack`: the operator writes the same kinds into the same namespaces for others.
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
use crate::inputs::claim::{self, Claim};
use crate::inputs::content::{Content, Existing, Owned, Pin, release_path};
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
    for release in releases {
        let is_ours = release.metadata.namespace.as_deref() == Some(namespace);
        let name = release.metadata.name.as_deref().and_then(|name| name.parse::<ReleaseName>().ok());
        if let Some((name, pin)) = name.zip(release.pin()).filter(|_| is_ours) {
            existing.insert_pin(name, pin);
        }
        for object in release.status.iter().flat_map(|status| &status.objects) {
            let kind = FluxKind::of(&object.kind).filter(|kind| kind.is_source());
            let Some(kind) = kind else { continue };
            let key = Key::new(&object.namespace, &object.name);
            existing.names().insert(kind, &key, is_ours);
            if is_ours {
                written.entry((kind, key)).or_default().extend(object.spec_digest.as_deref());
            }
        }
    }
    for object in objects {
        let object: &FluxObject = object.borrow();
        let is_here = object.object.namespace.as_deref() == Some(sources);
        let written = written.get(&(object.kind(), Key::of_metadata(&object.object)));
        let is_left = || Claim::of(&object.object).is_some_and(|claim| claim.is_of(stack));
        let is_as_written = || written.is_some_and(|all| all.contains(&*object.spec_digest.to_string()));
        let is_known = || written.is_some() || is_left();
        let counts = || is_here && is_known() && (is_as_written() || is_as_planned(stack, object));
        if is_here {
            existing.names().insert_claim(object);
        }
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
/// It counts only with the claim of this `ClusterStack`. Any other one may have been written for a `ClusterStack` whose author
/// chose its commit.
#[must_use]
pub fn left_pin(stack: &Stack, source: &FluxObject) -> Option<(String, String)> {
    let object = &source.object;
    let is_beside = object.namespace.as_deref() == Some(stack.source_namespace(&stack.namespace).as_str());
    let is_ours = is_beside && Claim::of(object).is_some_and(|claim| claim.is_of(stack));
    let is_left = is_ours && source.kind() == FluxKind::GitRepository && !source.metadata.terminating;
    if !is_left || !is_as_planned(stack, source) {
        return None;
    }
    let digest = object.annotations.as_ref()?.get(labels::CONTENT_DIGEST)?;
    Some((source.refers_to.exact.clone(), digest.clone()))
}

/// Plans an object again with its present references.
fn planned(stack: &Stack, object: &FluxObject, digest: &str) -> Option<PlannedObject> {
    let namespace: Namespace = object.object.namespace.as_deref()?.parse().ok()?;
    let (refers_to, claim) = (&object.refers_to, Claim::of(&object.object));
    match object.kind() {
        FluxKind::GitRepository => {
            let owned = Owned { name: object.name().parse().ok()?, claim };
            let pin = Pin { revision: refers_to.exact.parse().ok()?, digest: digest.to_owned(), owned };
            sources::pinned(stack, &namespace, &claim::release_of(stack, object.name())?, &pin).ok()
        }
        FluxKind::HelmChart => {
            let release = claim::release_of(stack, &refers_to.source)?;
            let content = Content {
                release: Some(release.clone()),
                source: refers_to.source.parse().ok()?,
                path: refers_to.chart.clone(),
                chart: object.name().parse().ok()?,
                claim,
                digest: digest.parse().ok()?,
                component: None,
            };
            // The chart of another directory of the repository may be that of another ClusterStack.
            let directory = release_path(&stack.source.path, &release, "");
            let below = content.path.strip_prefix(&directory)?;
            below.starts_with('/').then(|| sources::chart(stack, &namespace, &content).ok())?
        }
        FluxKind::HelmRelease | FluxKind::Kustomization | FluxKind::OCIRepository => None,
    }
}

#[cfg(test)]
mod tests;
