//! The addons of one Cluster: their objects delivered, and what became of them.

use futures::future::join_all;
use jiff::Timestamp;

use super::super::context::{Context, Prepared};
use super::super::deliver::Wanted;
use super::super::objects::ClusterObject;
use super::super::{annotations, deliver, events, ownership, request};
use super::delivered::{Delivered, addon_of};
use crate::addons::{committed_by, requested_at};
use crate::api::cluster_addon::{AddonObject, AddonState, AddonStatus, ClusterAddonStatus};
use crate::api::{ClusterAddon, Reason};
use crate::foreign::flux::observed::{
    GitRepositoryStatus, HelmReleaseStatus, KustomizationStatus, Observed, ObservedKind, SpecDigest,
};
use crate::gate::{self, Hold};
use crate::names::AddonName;
use crate::plan::delivery::waits_for_other_kind;
use crate::plan::{self, Plan, PlannedObject, Step};
use crate::release::{Chart, Digest, KnownAs};
use crate::rollup::{
    AddonFacts, ClusterFacts, ConditionStatus, Expected, Report, Verdict, expected_since, helm_release,
    kustomization,
};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Cache, Key};
use crate::runtime::queue::{Next, at};

/// Delivers all objects of a plan: sources first, then the addons at once. One that fails keeps no other one back.
pub(super) async fn deliver(
    context: &Context,
    addon: &ClusterAddon,
    prepared: &Prepared,
    plan: &Plan,
) -> Delivered {
    let mut delivered = Delivered::nothing(addon);
    for source in plan.objects().filter(|object| object.step == Step::Sources) {
        if let Err(error) = deliver_source(context, source).await {
            return Delivered { without_source: Some(error), ..delivered };
        }
    }
    let owners = [ownership::owner(addon)];
    let addons = plan.objects().filter(|object| object.step == Step::Addons).map(|planned| {
        let expected = delivered.expected.get(addon_of(planned));
        let wanted = Wanted { planned, expected, owners: &owners, shared: false };
        let suspend = is_suspended(prepared, planned);
        async move { (addon_of(planned), deliver_addon(context, addon, wanted, suspend).await) }
    });
    for (name, result) in join_all(addons).await {
        match result {
            Ok(Some(digest)) => _ = delivered.expected.insert(name.to_owned(), digest),
            Ok(None) => {
                delivered.expected.remove(name);
                delivered.waiting.insert(name.to_owned());
            }
            Err(error) => _ = delivered.failures.insert(name.to_owned(), error),
        }
    }
    delivered
}

/// Whether the settings suspend the addon that an object delivers.
pub(super) fn is_suspended(prepared: &Prepared, planned: &PlannedObject) -> bool {
    prepared.stack.flux.addons.get(addon_of(planned)).is_some_and(|settings| settings.suspend)
}

/// A source beside its users. It has many users, so it has no owner, and what it is now counts as what we wrote.
async fn deliver_source(context: &Context, planned: &PlannedObject) -> Result<(), RequestError> {
    let key = Key::new(&planned.id.namespace, &planned.id.name);
    if planned.id.kind == GitRepositoryStatus::KIND {
        let found = context.caches.git_repositories.get(&key).map(|found| found.spec_digest.clone());
        let wanted = Wanted { planned, expected: found.as_ref(), owners: &[], shared: false };
        deliver::deliver(context, &context.caches.git_repositories, wanted).await?;
    } else {
        let found = context.caches.helm_charts.get(&key).map(|found| found.spec_digest.clone());
        let wanted = Wanted { planned, expected: found.as_ref(), owners: &[], shared: false };
        deliver::deliver(context, &context.caches.helm_charts, wanted).await?;
    }
    Ok(())
}

/// The digest of the spec that is in the API server now; `None` while an old object has to go first, one of the other kind
/// included.
async fn deliver_addon(
    context: &Context,
    addon: &ClusterAddon,
    wanted: Wanted<'_>,
    suspend: bool,
) -> Result<Option<SpecDigest>, RequestError> {
    let (id, caches) = (&wanted.planned.id, &context.caches);
    let key = Key::new(&id.namespace, &id.name);
    match id.kind.as_str() {
        HelmReleaseStatus::KIND if waits_for(&caches.kustomizations, &key, addon) => Ok(None),
        HelmReleaseStatus::KIND => deliver_to(context, &caches.helm_releases, addon, wanted, suspend).await,
        _ if waits_for(&caches.helm_releases, &key, addon) => Ok(None),
        _ => deliver_to(context, &caches.kustomizations, addon, wanted, suspend).await,
    }
}

/// Whether an addon waits for its object of this kind, which the plan does not have.
fn waits_for<Status: ObservedKind>(cache: &Cache<Observed<Status>>, key: &Key, addon: &ClusterAddon) -> bool {
    waits_for_other_kind(cache.get(key).as_deref().map(|object| &object.object), addon)
}

async fn deliver_to<Status: ObservedKind>(
    context: &Context,
    cache: &Cache<Observed<Status>>,
    addon: &ClusterAddon,
    wanted: Wanted<'_>,
    suspend: bool,
) -> Result<Option<SpecDigest>, RequestError> {
    let delivery = deliver::deliver(context, cache, wanted).await?;
    if let Some(manager) = &delivery.repaired {
        events::repaired(context, addon, &wanted.planned.id, manager).await;
    }
    if let Some(object) = delivery.object {
        look_after(context, cache, addon, &object, suspend).await?;
    }
    Ok(delivery.expected)
}

/// What is no part of a plan: a request to reconcile is handed on, and the object is suspended as the settings say.
pub(super) async fn look_after<Status: ObservedKind>(
    context: &Context,
    cache: &Cache<Observed<Status>>,
    addon: &ClusterAddon,
    object: &Observed<Status>,
    suspend: bool,
) -> Result<(), RequestError> {
    let handled = addon.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_deref());
    request::forward(context, cache, &Key::of(object), addon, handled).await?;
    let lift = !suspend && object.suspended && object.metadata.suspended_by_settings;
    if (suspend && !object.suspended) || lift {
        let key = Key::of(object);
        cache.written(annotations::suspend(context, &key, suspend).await?);
    }
    Ok(())
}

/// The addons of a release as they are now.
pub(super) fn facts(
    context: &Context,
    addon: &ClusterAddon,
    prepared: &Prepared,
    plan: &Plan,
    delivered: &Delivered,
) -> Vec<AddonFacts> {
    let namespace = addon.metadata.namespace.as_deref().unwrap_or_default();
    let old = |name: &AddonName| {
        addon.status.iter().flat_map(|status| &status.addons).find(|addon| addon.name == name.as_str())
    };
    let facts = prepared.release.addons.iter().map(|of| {
        let planned =
            plan.objects().find(|object| object.step == Step::Addons && addon_of(object) == of.name.as_str());
        let before = old(&of.name);
        let object = planned
            .map(|object| AddonObject { kind: object.id.kind.clone(), name: object.id.name.clone() })
            .or_else(|| before?.object.clone());
        if let Some(object) = object.as_ref().filter(|_| delivered.suspended.contains(of.name.as_str())) {
            let hold = delivered.hold(of, plan);
            return AddonFacts { hold, ..as_it_is(context, addon, &of.name, object) };
        }
        let hold = delivered.hold(of, plan);
        // What is held is as it was delivered last, and is measured by that.
        let is_kept = hold.is_some() && !delivered.is_on_its_way(&of.name);
        if let Some(object) = object.as_ref().filter(|_| is_kept && before.is_some()) {
            return AddonFacts { hold, ..as_it_is(context, addon, &of.name, object) };
        }
        let spec_digest = delivered.expected.get(of.name.as_str()).map(ToString::to_string);
        let expected = spec_digest.map(|digest| AddonState {
            spec_digest: Some(digest),
            version: prepared.versions.get(&of.name).cloned(),
        });
        let values = planned.and_then(|object| plan::rendered_values(&object.value));
        let judged = judge(context, namespace, object.as_ref(), expected.as_ref(), before);
        AddonFacts {
            name: of.name.clone(),
            chart: of.chart().map(Chart::known_as),
            hold,
            object,
            expected,
            observed: judged.as_ref().map(|(_, observed)| observed.clone()),
            verdict: judged.map(|(verdict, _)| verdict),
            values_digest: values.map(|values| Digest::of_bytes(values.to_string().as_bytes()).short()),
        }
    });
    facts.collect()
}

/// What an addon's object says, and what Flux has done; `None` where nothing is expected of it yet.
fn judge(
    context: &Context,
    namespace: &str,
    object: Option<&AddonObject>,
    expected: Option<&AddonState>,
    before: Option<&AddonStatus>,
) -> Option<(Verdict, AddonState)> {
    let (object, expected, now) = (object?, expected?, Timestamp::now());
    let since = expected_since(before, expected.spec_digest.as_deref()?, now);
    let expected = Expected::kept(expected, since)?;
    let (key, moment) = (Key::new(namespace, &object.name), context.moment(&object.kind, now));
    if object.kind == HelmReleaseStatus::KIND {
        let found = context.caches.helm_releases.get(&key)?;
        let deployed = found.status.history.first().filter(|snapshot| snapshot.status == "deployed");
        let version = deployed.map(|snapshot| snapshot.chart_version.clone());
        Some((helm_release(&found, &expected, &moment), AddonState { spec_digest: None, version }))
    } else if object.kind == KustomizationStatus::KIND {
        let found = context.caches.kustomizations.get(&key)?;
        let version = found.status.last_applied_revision.clone();
        Some((kustomization(&found, &expected, &moment), AddonState { spec_digest: None, version }))
    } else {
        None
    }
}

/// The facts of a Cluster whose release cannot be used now: what it has stays as it is, and is looked at.
pub(super) fn as_they_are(
    context: &Context,
    addon: &ClusterAddon,
    cluster: &ClusterObject,
    desired: &str,
    report: Report,
) -> ClusterFacts {
    ClusterFacts {
        generation: addon.metadata.generation.unwrap_or_default(),
        requested_at: requested_at(addon),
        hold: gate::cluster_alone(&cluster.cluster),
        desired: desired.to_owned(),
        namespace: cluster.cluster.class().map(|class| class.namespace),
        release: report,
        of_desired: false,
        pruned: None,
        committed_by: committed_by(addon),
        addons: kept(context, addon),
        delivered: false,
        inputs: None,
    }
}

/// Says of what the release does not have, and what is left, that it is none of its addons.
pub(super) fn mark_dropped(prepared: &Prepared, addons: &mut [AddonFacts]) {
    let is_of_release = |name: &AddonName| prepared.release.addons.iter().any(|of| of.name == *name);
    for addon in addons.iter_mut().filter(|addon| addon.hold.is_none() && !is_of_release(&addon.name)) {
        let message = "not in the release: Flux uninstalls it when all addons of the release are delivered";
        addon.hold = Some(Hold { reason: Reason::AddonRemoved, message: message.to_owned() });
    }
}

/// Says of addons that are removed, or wait for it, that the deleted `ClusterAddon` waits for them.
pub(super) fn mark_before_deletion(addons: &mut [AddonFacts]) {
    for hold in addons.iter_mut().filter_map(|addon| addon.hold.as_mut()) {
        if matches!(hold.reason, Reason::AddonRemoved | Reason::PruneBudgetExceeded) {
            hold.message.push_str("; the ClusterAddon is deleted after that");
        }
    }
}

/// The addons that were delivered last, as they are now.
pub(super) fn kept(context: &Context, addon: &ClusterAddon) -> Vec<AddonFacts> {
    let namespace = addon.metadata.namespace.as_deref().unwrap_or_default();
    let old = addon.status.iter().flat_map(|status| &status.addons);
    // What has no addon's name was not put into the status by us.
    old.filter_map(|before| Some(unchanged(context, namespace, before.name.parse().ok()?, before))).collect()
}

/// The facts of a paused Cluster: nothing is looked at until it is resumed.
pub(super) fn paused(addon: &ClusterAddon, cluster: &ClusterObject) -> Option<ClusterFacts> {
    let hold = gate::cluster_alone(&cluster.cluster)?;
    let status = addon.status.as_ref()?;
    let release = status.release.as_ref();
    let desired = release.and_then(|release| release.desired.clone());
    let silent = |before: &AddonStatus| {
        Some(AddonFacts {
            name: before.name.parse().ok()?,
            chart: known_as(before),
            hold: None,
            object: before.object.clone(),
            expected: before.expected.clone(),
            observed: before.observed.clone(),
            verdict: None,
            values_digest: before.values_digest.clone(),
        })
    };
    Some(ClusterFacts {
        generation: addon.metadata.generation.unwrap_or_default(),
        requested_at: None,
        desired: desired.unwrap_or_default(),
        namespace: release.and_then(|release| release.desired_namespace.clone()),
        release: Report::new(ConditionStatus::Unknown, hold.reason.as_str(), &hold.message),
        hold: Some(hold),
        of_desired: false,
        pruned: None,
        committed_by: committed_by(addon),
        addons: status.addons.iter().filter_map(silent).collect(),
        delivered: false,
        inputs: None,
    })
}

/// An addon that is not planned now, as the status before and its object say.
pub(super) fn as_it_is(
    context: &Context,
    addon: &ClusterAddon,
    name: &AddonName,
    object: &AddonObject,
) -> AddonFacts {
    let namespace = addon.metadata.namespace.as_deref().unwrap_or_default();
    let mut old = addon.status.iter().flat_map(|status| &status.addons);
    let before = old.find(|before| before.name == name.as_str() && before.object.as_ref() == Some(object));
    let bare =
        || AddonStatus { name: name.to_string(), object: Some(object.clone()), ..AddonStatus::default() };
    unchanged(context, namespace, name.clone(), &before.cloned().unwrap_or_else(bare))
}

/// The chart of an addon, as the status keeps it.
fn known_as(before: &AddonStatus) -> Option<KnownAs> {
    let (name, version) = before.chart.clone().zip(before.version.clone())?;
    Some(KnownAs { name, version, app_version: before.app_version.clone() })
}

fn unchanged(context: &Context, namespace: &str, name: AddonName, before: &AddonStatus) -> AddonFacts {
    let judged = judge(context, namespace, before.object.as_ref(), before.expected.as_ref(), Some(before));
    AddonFacts {
        name,
        chart: known_as(before),
        hold: None,
        object: before.object.clone(),
        expected: before.expected.clone(),
        observed: judged.as_ref().map(|(_, observed)| observed.clone()),
        verdict: judged.map(|(verdict, _)| verdict),
        values_digest: before.values_digest.clone(),
    }
}

/// When a verdict may change though no object does.
pub(super) fn next_limit(
    context: &Context,
    verdicts: &[(AddonName, String, Verdict)],
    status: &ClusterAddonStatus,
    now: Timestamp,
) -> Next {
    let limits = verdicts.iter().filter_map(|(name, kind, verdict)| {
        let addon = status.addons.iter().find(|addon| addon.name == name.as_str())?;
        context.moment(kind, now).next_limit(verdict, addon.since.as_ref()?.0)
    });
    limits.min().map_or(Next::Await, |limit| at(limit, now))
}
