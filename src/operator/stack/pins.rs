//! The `ClusterStackRelease`s of a `ClusterStack`, each pinned to the commit where it was first read: facts and writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::ResourceExt as _;
use serde_json::json;

use super::super::context::Context;
use super::super::events;
use super::super::reconcile::ReconcileError;
use super::super::release::unwatched_stack;
use super::super::write::{ABSENT, refresh};
use super::releases::Releases;
use crate::api::{ClusterStackRelease, Reason, labels};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::inputs::claim;
use crate::inputs::stack::Stack;
use crate::names::ReleaseName;
use crate::plan::memory;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::subscription::{Claim, DesiredRelease, FoundRelease, ReleaseDecision, ReleaseProblem};

/// The objects of releases that have a role for a `ClusterStack`.
#[derive(Default)]
pub(super) struct Pins {
    /// The `ClusterStackRelease`s, independent of the owning `ClusterStack`.
    objects: BTreeMap<ReleaseName, Arc<ClusterStackRelease>>,
    /// The `ClusterStack`s that own a `ClusterStackRelease`, and that this operator does not watch or does not know yet.
    unwatched_owners: BTreeMap<ReleaseName, String>,
    /// Commit and digest of pinned `GitRepository`s that outlived their `ClusterStackRelease`.
    left: BTreeMap<ReleaseName, (String, String)>,
}

/// Gathers the objects of releases; none while the source of the `ClusterStack` is invalid.
pub(super) async fn gather(
    context: &Context,
    planned: Option<&Stack>,
    releases: &Releases,
) -> Result<Pins, RequestError> {
    let mut pins = Pins::default();
    let Some(planned) = planned else { return Ok(pins) };
    for name in releases.roles.keys() {
        let left = sources(context, planned, name).find_map(|source| memory::left_pin(planned, &source));
        pins.left.extend(left.map(|pin| (name.clone(), pin)));
        let Some(object) = object(context, planned, releases, name) else { continue };
        if !matches!(releases.claims.get(name), Some(Claim::Theirs(_)))
            && let Some(other) = unwatched_stack(context, &object).await?
        {
            pins.unwatched_owners.insert(name.clone(), other);
        }
        pins.objects.insert(name.clone(), object);
    }
    Ok(pins)
}

impl Pins {
    /// Returns the facts about releases for decisions.
    pub(super) fn found(&self, releases: &Releases) -> BTreeMap<ReleaseName, FoundRelease<'_>> {
        let found = releases.roles.iter().map(|(name, role)| {
            let found = FoundRelease {
                role: *role,
                claim: releases.claims.get(name).cloned().unwrap_or(Claim::Ours),
                object: self.objects.get(name).map(|object| &**object),
                is_owned: releases.owned.contains_key(name),
                unwatched_owner: self.unwatched_owners.get(name).cloned(),
                left_pin: self.left.get(name).cloned(),
                clusters: releases.clusters.get(name).map_or(0, Vec::len),
            };
            (name.clone(), found)
        });
        found.collect()
    }
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

/// Returns the `GitRepository`s beside the source that may pin a release: with a name of its own, and with the plain one.
fn sources(context: &Context, planned: &Stack, name: &ReleaseName) -> impl Iterator<Item = Arc<FluxObject>> {
    let namespace = planned.source_namespace(&planned.namespace).as_str();
    let names = claim::names(planned, &name.to_string()).into_iter();
    names
        .filter_map(move |name| context.caches.flux.get(FluxKind::GitRepository, &Key::new(namespace, &name)))
}

/// The results of the writes of releases.
#[derive(Debug, Default)]
pub(super) struct PinReceipts {
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
) -> Result<PinReceipts, ReconcileError> {
    let mut receipts = PinReceipts::default();
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

/// Writes a release over the state that the cache has; without one, creates it. If the release is another one by now, or
/// changed, caches it and fails with the conflict: the next reconcile decides again.
async fn write(
    context: &Context,
    key: &Key,
    desired: &DesiredRelease,
    before: Option<&ClusterStackRelease>,
) -> Result<Arc<ClusterStackRelease>, RequestError> {
    let version = before.and_then(kube::ResourceExt::resource_version);
    let mut object = desired.object();
    if let Some(metadata) = object.get_mut("metadata") {
        metadata["resourceVersion"] = json!(version.as_deref().unwrap_or(ABSENT));
    }
    let written = match context.api.apply(key, &object, version.as_deref()).await {
        Err(conflict) if conflict.is_conflict() => {
            refresh::<ClusterStackRelease>(context, key).await?;
            return Err(conflict);
        }
        written => context.caches.releases.written(written?),
    };
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
