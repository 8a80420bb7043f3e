//! The `ClusterStackRelease`s of a `ClusterStack`, each pinned to the commit where it was first read: decisions and writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt as _;

use super::super::context::Context;
use super::super::events;
use super::super::reconcile::ReconcileError;
use super::super::release::is_stack_there;
use super::releases::Releases;
use super::source::Source;
use crate::api::{ClusterStack, ClusterStackRelease, Reason, labels};
use crate::inputs::stack::Stack;
use crate::names::ReleaseName;
use crate::rollup::Verdict;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::subscription::{
    CatalogFacts, Claim, DesiredRelease, FoundRelease, ReleaseDecision, ReleaseProblem, ReleasesFacts,
    decide_releases,
};

/// Decides what to do with each release; returns no decisions while the source of the `ClusterStack` is invalid.
pub(super) async fn decide(
    context: &Context,
    stack: &ClusterStack,
    source: &Source,
    releases: &Releases,
    now: Timestamp,
) -> Result<BTreeMap<ReleaseName, ReleaseDecision>, RequestError> {
    let Some(planned) = &source.stack else { return Ok(BTreeMap::new()) };
    let objects: BTreeMap<&ReleaseName, Arc<ClusterStackRelease>> = releases
        .roles
        .keys()
        .filter_map(|name| Some((name, object(context, planned, releases, name)?)))
        .collect();
    let mut found = BTreeMap::new();
    for (name, role) in &releases.roles {
        let claim = releases.claims.get(name).cloned().unwrap_or(Claim::Ours);
        let object = objects.get(name).map(|object| &**object);
        let of_others = object.filter(|_| !matches!(claim, Claim::Theirs(_)));
        let release = FoundRelease {
            role: *role,
            claim,
            object,
            is_owned: releases.owned.contains_key(name),
            other_shard: other_shard(context, stack, of_others).await?,
            left_pin: left_pin(context, planned, name),
            clusters: releases.clusters.get(name).map_or(0, Vec::len),
        };
        found.insert(name.clone(), release);
    }
    let read = source.catalog.read.as_deref();
    let catalog = read.map(|read| CatalogFacts {
        revision: &read.revision,
        releases: &read.releases,
        is_current: source.catalog.is_current,
    });
    let silence = match &source.verdict {
        Some(Verdict::ApplierUnavailable(silence)) => Some(silence.to_string()),
        _ => None,
    };
    Ok(decide_releases(&ReleasesFacts { stack, planned, catalog, silence, releases: found, now }))
}

/// Returns the `ClusterStackRelease` of a release: one that is owned, that existed before its `ClusterStack`, or that was
/// orphaned.
fn object(
    context: &Context,
    planned: &Stack,
    releases: &Releases,
    name: &ReleaseName,
) -> Option<Arc<ClusterStackRelease>> {
    let key = || Key::new(planned.namespace.as_str(), &name.to_string());
    releases.owned.get(name).cloned().or_else(|| context.caches.releases.get(&key()))
}

/// Returns the `ClusterStack` of another shard that owns a release, if any.
async fn other_shard(
    context: &Context,
    stack: &ClusterStack,
    found: Option<&ClusterStackRelease>,
) -> Result<Option<String>, RequestError> {
    let is_sharded = context.is_sharded();
    let Some(found) = found.filter(|_| is_sharded) else { return Ok(None) };
    let namespace = stack.namespace().unwrap_or_default();
    let is_watched = |owner: &&OwnerReference| {
        Some(&owner.uid) == stack.uid().as_ref()
            || context.caches.stacks.get(&Key::new(&namespace, &owner.name)).is_some()
    };
    let Some(owner) = found.stack_owner().filter(|owner| !is_watched(owner)) else { return Ok(None) };
    Ok(is_stack_there(context, found).await?.then(|| owner.name.clone()))
}

/// Returns commit and digest of a `GitRepository` that outlived its `ClusterStackRelease`.
fn left_pin(context: &Context, planned: &Stack, name: &ReleaseName) -> Option<(String, String)> {
    let namespace = planned.source_namespace(&planned.namespace).as_str();
    let found = context.caches.git_repositories.get(&Key::new(namespace, &name.to_string()))?;
    let digest = found.object.annotations.as_ref()?.get(labels::CONTENT_DIGEST)?.clone();
    let revision = found.refers_to.commit.clone();
    let is_pin = !found.metadata.terminating && !revision.is_empty() && !digest.is_empty();
    is_pin.then_some((revision, digest))
}

/// The result of the writes.
#[derive(Debug, Default)]
pub(super) struct Receipts {
    /// The releases that were written.
    pub(super) written: BTreeMap<ReleaseName, Arc<ClusterStackRelease>>,
    /// The releases that the API server refused.
    pub(super) refused: BTreeMap<ReleaseName, ReleaseProblem>,
    /// The last refusal, to retry the reconcile.
    pub(super) failure: Option<ReconcileError>,
}

/// Writes the releases that were decided on. A refusal of one does not stop the writes of others.
pub(super) async fn act(
    context: &Context,
    stack: &Key,
    decisions: &BTreeMap<ReleaseName, ReleaseDecision>,
) -> Result<Receipts, ReconcileError> {
    let mut receipts = Receipts::default();
    for (name, decision) in decisions {
        if decision.is_unchanged {
            context.metrics.runtime.skipped("ClusterStackRelease");
        }
        let Some(desired) = &decision.apply else { continue };
        let key = Key::new(&desired.namespace, &name.to_string());
        let before = context.caches.releases.get(&key);
        if before.as_ref().and_then(|before| before.uid()) != desired.uid {
            // The object was created or replaced since the decision, and may be pinned.
            context.triggers.stacks.now(stack.clone());
            continue;
        }
        match write(context, &key, desired, before.as_deref()).await.map_err(ReconcileError::from) {
            Ok(written) => _ = receipts.written.insert(name.clone(), written),
            Err(error) if error.is_reported() => {
                let problem = ReleaseProblem { is_issue: true, hold: error.hold() };
                receipts.refused.insert(name.clone(), problem);
                receipts.failure = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(receipts)
}

async fn write(
    context: &Context,
    key: &Key,
    desired: &DesiredRelease,
    before: Option<&ClusterStackRelease>,
) -> Result<Arc<ClusterStackRelease>, RequestError> {
    let version = before.and_then(kube::ResourceExt::resource_version);
    let written = context.api.apply(key, &desired.object(), version.as_deref()).await?;
    let written = context.caches.releases.written(written);
    context.triggers.releases.now(key.clone());
    publish_changes(context, before, &written).await;
    Ok(written)
}

/// Publishes events about changes of a release.
async fn publish_changes(context: &Context, before: Option<&ClusterStackRelease>, now: &ClusterStackRelease) {
    let pin = |release: &ClusterStackRelease| release.spec.source.clone();
    if let Some(new) = pin(now).filter(|_| before.and_then(pin).is_none()) {
        let note = format!("pinned at {} ({})", new.revision, new.digest);
        events::normal(context, now, Reason::Valid, &note).await;
    }
    let retiring = |release: &ClusterStackRelease| release.annotations().contains_key(labels::RETIRING_SINCE);
    if retiring(now) && !before.is_some_and(retiring) {
        events::normal(context, now, Reason::Retiring, Reason::Retiring.meaning()).await;
    }
}
