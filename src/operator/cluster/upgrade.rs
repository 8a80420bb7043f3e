//! Gathers the facts about the upgrade of a Cluster to another Kubernetes version, and writes the annotation that delays it.
//! Nothing else of a Cluster is written anywhere.

use std::sync::Arc;

use kube::ResourceExt as _;
use tracing::info;

use super::super::context::{Context, Resolution};
use super::super::objects::{ClusterObject, RelatedObject};
use super::super::related::{Depth, NotListed};
use super::super::release::stack_of;
use super::super::{annotations, write};
use super::prune;
use crate::addons::{
    ControlPlane, Decision, Facts, HookChange, Target, Upgrade, addon_of, has_release, is_opening_confirmed,
    is_orphaning, needed_before_upgrade,
};
use crate::api::{ClusterAddon, ClusterStackRelease};
use crate::foreign::capi::upgrade::UPGRADE_HOOK;
use crate::foreign::capi::{Cluster, ObjectReference};
use crate::gate::upgrade::Gate;
use crate::inputs::ClusterInputs;
use crate::names::ReleaseName;
use crate::plan::PlannedObject;
use crate::release::Release;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;

/// A Cluster with the objects that it refers to, as far as they are needed, and its upgrade.
pub(super) struct Gathered {
    /// The inputs of the values; `None` unless there is a release to deliver.
    pub(super) inputs: Option<ClusterInputs>,
    /// The upgrade, before the addons are judged.
    pub(super) upgrade: Upgrade,
}

/// Gathers the facts. `release` is the release to deliver, if there is one. Fails while it is unknown whether the objects exist
/// that the Cluster refers to.
pub(super) fn gather(
    context: &Context,
    cluster: &ClusterObject,
    addon: Option<&ClusterAddon>,
    release: Option<&Release>,
) -> Result<Gathered, NotListed> {
    let gate = gate(context, &cluster.cluster);
    // The kinds that a Cluster of others refers to are not watched. One with the annotation was ours, and waits for it.
    let is_gated = match gate {
        Gate::Enforced => true,
        Gate::Unknown => cluster.cluster.annotation(UPGRADE_HOOK).is_some(),
        Gate::Off | Gate::NotOurs => false,
    };
    if cluster.cluster.paused() || (release.is_none() && !is_gated) {
        let upgrade = Upgrade::new(&cluster.cluster, gate, ControlPlane::Unnamed);
        return Ok(Gathered { inputs: None, upgrade });
    }
    let inputs = related(context, cluster, release)?;
    let applied =
        if inputs.control_plane_version().is_none() { applied_version(context, addon)? } else { None };
    let control_plane = ControlPlane::of(&inputs, applied.as_deref());
    let upgrade = Upgrade::new(&cluster.cluster, gate, control_plane);
    let offered =
        release.filter(|_| upgrade.depends_on_addons()).and_then(|it| offered(context, &cluster.cluster, it));
    let upgrade = Upgrade { hook_manager: cluster.hook_manager.clone(), offered, ..upgrade };
    Ok(Gathered { inputs: release.map(|_| inputs), upgrade })
}

/// Returns the newest release of the same line for the version of a Cluster, if that of its class is for another one.
fn offered(context: &Context, cluster: &Cluster, release: &Release) -> Option<ReleaseName> {
    let wanted = cluster.kubernetes_version().filter(|wanted| *wanted != release.kubernetes)?;
    let (namespace, _) = cluster.release()?;
    let is_for_it = |found: &&Arc<ClusterStackRelease>| {
        let status = found.status.as_ref().filter(|status| status.ready);
        let version = status.and_then(|status| status.kubernetes_version.as_deref());
        found.metadata.namespace.as_ref() == Some(&namespace) && version == Some(wanted.to_string().as_str())
    };
    let releases = context.caches.releases.all();
    let names = releases.iter().filter(is_for_it).filter_map(|found| found.name_any().parse().ok());
    names.filter(|name: &ReleaseName| name.same_line(&release.name)).max()
}

/// Returns whether upgrades of a Cluster wait, by the `ClusterStack` of its class.
fn gate(context: &Context, cluster: &Cluster) -> Gate {
    let Some((namespace, release)) = cluster.release() else { return Gate::NotOurs };
    match context.holder(&namespace, &release) {
        None => Gate::Unknown,
        Some(stack) if is_orphaning(&stack.metadata) => Gate::NotOurs,
        Some(stack) => stack.spec.upgrade_gate.into(),
    }
}

/// Returns the Kubernetes version of the release that was applied last; `None` if it is not known. Fails before the first
/// reconcile of that release, if this operator reconciles it.
fn applied_version(context: &Context, addon: Option<&ClusterAddon>) -> Result<Option<String>, NotListed> {
    let progress = addon.and_then(|addon| addon.status.as_ref()?.release.as_ref());
    let applied = progress.and_then(|it| Some((it.applied_namespace.as_deref()?, it.applied.as_deref()?)));
    let Some((namespace, name)) = applied else { return Ok(None) };
    let key = Key::new(namespace, name);
    let resolution = context.resolution(&key);
    if let Some(Resolution::Usable(resolved)) = resolution {
        return Ok(Some(resolved.release.kubernetes.to_string()));
    }
    let Some(release) = context.caches.releases.get(&key) else { return Ok(None) };
    let recorded = release.status.as_ref().and_then(|status| status.kubernetes_version.clone());
    if recorded.is_none() && resolution.is_none() && stack_of(context, &release).is_some() {
        return Err(NotListed);
    }
    Ok(recorded)
}

/// Whether the API server denies that the upgrade has ended that the caches show as ended.
pub(super) async fn is_denied(
    context: &Context,
    cluster: &ClusterObject,
    (addon, upgrade): (&ClusterAddon, &Upgrade),
) -> Result<bool, RequestError> {
    let applied = applied_version(context, Some(addon)).unwrap_or_default();
    if !has_release(addon) || !upgrade.seems_ended(&cluster.cluster, applied.as_deref()) {
        return Ok(false);
    }
    let Some(kind) = context.cluster_resource() else { return Ok(true) };
    let live: Option<ClusterObject> = context.api.get_dynamic(&Key::of(cluster), kind).await?;
    Ok(!Upgrade::is_end_confirmed(&cluster.cluster, live.as_ref().map(|live| &live.cluster)))
}

/// Returns the Cluster with the objects that it refers to.
pub(super) fn related(
    context: &Context,
    cluster: &ClusterObject,
    release: Option<&Release>,
) -> Result<ClusterInputs, NotListed> {
    let namespace = cluster.cluster.namespace().as_str();
    let find = |reference: Option<ObjectReference>, (root, least): (&str, Depth)| -> Result<_, NotListed> {
        let Some(reference) = reference else { return Ok(None) };
        let depth = release.map_or(least, |release| least.max(depth(release, root)));
        let found = context.related.get(namespace, &reference, depth)?;
        Ok(found.map(|object| (reference, object)))
    };
    let control_plane = find(cluster.cluster.control_plane_ref(), ("ControlPlane", Depth::Versions));
    let infrastructure = find(cluster.cluster.infrastructure_ref(), ("InfraCluster", Depth::Metadata));
    // Evaluate both lookups first: each starts a watch, even if the other kind is not listed yet.
    let (control_plane, infrastructure) = (control_plane?, infrastructure?);
    let found: Vec<(ObjectReference, Arc<RelatedObject>)> =
        control_plane.into_iter().chain(infrastructure).collect();
    let inputs = ClusterInputs::new(cluster.cluster.clone(), |wanted| {
        found.iter().find(|(reference, _)| reference == wanted).map(|(_, object)| &object.value)
    });
    Ok(inputs.with_requested(context.caches.overrides.get(&Key::of(cluster))))
}

/// Returns the part of an object that the templates of a release read.
fn depth(release: &Release, root: &str) -> Depth {
    let mut fields = release
        .addons
        .iter()
        .filter_map(|addon| addon.template.as_ref())
        .flat_map(|source| source.template.fields());
    let is_read = fields.any(|field| field.segments().first().is_none_or(|first| first == root));
    if is_read { Depth::Whole } else { Depth::Metadata }
}

/// The result of a change of the annotation.
#[derive(Default)]
pub(super) struct Changed {
    /// The Cluster, if the annotation was written.
    pub(super) cluster: Option<Arc<ClusterObject>>,
    /// The API server's refusal.
    pub(super) refusal: Option<RequestError>,
}

/// Carries out the change of the annotation that does not depend on addons.
pub(super) async fn prepare(
    context: &Context,
    cluster: &ClusterObject,
    upgrade: &Upgrade,
) -> Result<Changed, RequestError> {
    if cluster.cluster.paused() || upgrade.depends_on_addons() {
        return Ok(Changed::default());
    }
    change(context, cluster, upgrade, upgrade.hook_change(&cluster.cluster)).await
}

/// Carries out the change of the annotation that a decision requires. Before the addons open the gate, the Cluster and their
/// objects are judged again as the API server has them now. Returns the API server's refusal, if any.
pub(super) async fn act(
    context: &Context,
    cluster: &ClusterObject,
    facts: &Facts<'_>,
    decision: &Decision,
) -> Result<Option<RequestError>, RequestError> {
    let live;
    let mut cluster = cluster;
    if decision.hook == Some(HookChange::Remove) && facts.upgrade.is_opened_by_addons() {
        let Some(found) = confirmed(context, cluster, facts).await? else { return Ok(None) };
        live = found;
        cluster = &live;
    }
    Ok(change(context, cluster, &facts.upgrade, decision.hook).await?.refusal)
}

async fn change(
    context: &Context,
    cluster: &ClusterObject,
    upgrade: &Upgrade,
    change: Option<HookChange>,
) -> Result<Changed, RequestError> {
    match change {
        Some(HookChange::Set) => set_hook(context, cluster, upgrade).await,
        Some(HookChange::Remove) => remove_hook(context, cluster).await,
        None => Ok(Changed::default()),
    }
}

/// Returns the Cluster as the API server has it, if the addons still open its gate.
async fn confirmed(
    context: &Context,
    cluster: &ClusterObject,
    facts: &Facts<'_>,
) -> Result<Option<ClusterObject>, RequestError> {
    let Some(kind) = context.cluster_resource() else { return Ok(None) };
    let live: Option<ClusterObject> = context.api.get_dynamic(&Key::of(cluster), kind).await?;
    let Some(live) = live else { return Ok(None) };
    let Target::Available(available) = &facts.target else { return Ok(None) };
    if !prune::are_requests_present(context, &available.inputs).await? {
        return Ok(None);
    }
    let mut snapshot = facts.snapshot.clone();
    let is_needed = |planned: &&PlannedObject| {
        needed_before_upgrade(available).any(|it| it.name.as_str() == addon_of(planned))
    };
    for planned in available.planned().filter(is_needed) {
        let Some(kind) = planned.kind() else { continue };
        let key = planned.id.key();
        let found = write::present(context, kind, &key).await?;
        snapshot.objects.retain(|object| (object.kind(), object.name()) != (kind, key.name.as_str()));
        snapshot.objects.extend(found.map(Arc::new));
    }
    let upgrade = Upgrade::new(&live.cluster, facts.upgrade.gate, facts.upgrade.control_plane.clone());
    let now = Facts { cluster: &live.cluster, snapshot, target: facts.target.clone(), upgrade };
    Ok(is_opening_confirmed(facts.cluster, &now).then_some(live))
}

/// Adds the annotation, if the Cluster did not change since it was read.
async fn set_hook(
    context: &Context,
    cluster: &ClusterObject,
    upgrade: &Upgrade,
) -> Result<Changed, RequestError> {
    let value = upgrade.hook_value(&cluster.cluster);
    let written = annotations::annotate_unchanged(context, cluster, &[(UPGRADE_HOOK, value)]).await;
    changed(written, "upgrades of the Cluster wait for its addons from now on")
}

/// Removes the annotation, if the Cluster did not change since it was read.
pub(super) async fn remove_hook(context: &Context, cluster: &ClusterObject) -> Result<Changed, RequestError> {
    let written = annotations::remove_unchanged(context, cluster, UPGRADE_HOOK).await;
    changed(written, "upgrades of the Cluster do not wait for its addons now")
}

/// Returns the result of a write; fails if there was no answer, or the Cluster changed meanwhile.
fn changed(written: Result<Arc<ClusterObject>, RequestError>, done: &str) -> Result<Changed, RequestError> {
    match written {
        Ok(cluster) => {
            info!("{done}");
            Ok(Changed { cluster: Some(cluster), refusal: None })
        }
        Err(error) if error.is_not_found() => Ok(Changed::default()),
        Err(refusal) if refusal.is_refused_or_failed() => {
            Ok(Changed { cluster: None, refusal: Some(refusal) })
        }
        Err(error) => Err(error),
    }
}
