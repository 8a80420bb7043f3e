//! Gathers the facts about a Cluster.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt as _;

use super::super::context::{Context, Resolution, ResolvedRelease};
use super::super::objects::{ClusterObject, addon_key, cluster_of, committing_stack, index};
use super::super::release::{stack_of, users};
use super::super::write;
use super::{flux_objects, prune, snapshot, upgrade};
use crate::addons::{
    Available, ClassState, Facts, Installation, Lack, Preparation, Target, cluster_action, course,
    decide_prepare, hold_of, is_cluster_deleted, is_orphaning, judge_waits, lack,
};
use crate::api::{ClusterAddon, ClusterStack, ClusterStackRelease};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::observed::HelmNames;
use crate::gate::{self, ClusterAction, Hold};
use crate::inputs::ClusterInputs;
use crate::names::{ObjectName, ReleaseName};
use crate::plan::delivery::delivered_elsewhere;
use crate::plan::stages::Course;
use crate::plan::{self, Plan, PlanError};
use crate::release::Release;
use crate::rollup::Report;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;
use crate::subscription;

/// The cached facts about a Cluster.
pub(super) struct Gathered {
    /// The Cluster.
    pub(super) cluster: Option<Arc<ClusterObject>>,
    /// Its `ClusterAddon`.
    pub(super) addon: Option<Arc<ClusterAddon>>,
    /// The release of its class.
    release: Option<ReleaseName>,
    /// The result of that release's reconcile.
    resolution: Option<Resolution>,
    /// Whether that release exists, and neither it nor its `ClusterStack` orphans addons.
    is_wanted: bool,
    /// The deleted `ClusterStack` that orphans the Cluster's addons, and its release.
    pub(super) orphaned_by: Option<(Key, Arc<ClusterStackRelease>)>,
    /// The objects of an earlier `ClusterAddon` that wait for the next one.
    left: Vec<Arc<FluxObject>>,
    /// Whether the `ClusterAddon` is deleted while addons that the release does not have may still have to be pruned.
    is_removing: bool,
}

/// The release of a Cluster's class.
pub(super) enum ClassRelease {
    /// The release does not matter, because the Cluster is paused.
    Paused,
    /// The release is not known yet.
    Unknown,
    /// There is no release to deliver.
    Missing(Lack),
    /// The release is invalid.
    Unusable {
        /// The release.
        desired: String,
        /// The reason.
        report: Report,
    },
    /// The release can be delivered.
    Usable(Arc<ResolvedRelease>),
}

impl ClassRelease {
    /// Returns the release if it can be delivered.
    pub(super) fn usable(&self) -> Option<&ResolvedRelease> {
        match self {
            Self::Usable(resolved) => Some(resolved),
            _ => None,
        }
    }
}

impl Gathered {
    pub(super) fn of(context: &Context, key: &Key) -> Self {
        let cluster = context.caches.clusters.get(key);
        let addon = context.caches.addons.get(&addon_key(key));
        let release = cluster.as_ref().and_then(|cluster| cluster.cluster.release_key());
        let orphaned_by = orphaned_by(context, release.as_ref(), addon.as_deref());
        let release = release.filter(|release| !is_orphaned(context, release));
        let resolution = release.as_ref().and_then(|release| context.resolution(release));
        let left = flux_objects::by_index(context, &index::handed_over(key));
        let is_owned = release.as_ref().is_some_and(|release| is_owned(context, release));
        let is_wanted = release.is_some();
        let release = cluster.as_ref().and_then(|cluster| Some(cluster.cluster.release()?.1));
        let active = cluster.as_ref().map(|cluster| &cluster.cluster).filter(|cluster| !cluster.paused());
        let deleted = addon.as_deref().filter(|addon| addon.metadata.deletion_timestamp.is_some());
        let is_removing = deleted
            .zip(active)
            .is_some_and(|of| prune::is_pending(context, of, resolution.as_ref(), is_owned));
        Self { cluster, addon, release, resolution, is_wanted, orphaned_by, left, is_removing }
    }

    /// Returns the release of the Cluster's class.
    pub(super) fn class_release(&self, context: &Context, cluster: &ClusterObject) -> ClassRelease {
        if cluster.cluster.paused() {
            return ClassRelease::Paused;
        }
        match (&self.release, &self.resolution) {
            (Some(_), Some(Resolution::Usable(resolved))) => ClassRelease::Usable(resolved.clone()),
            (Some(release), Some(Resolution::Unusable(report))) => {
                ClassRelease::Unusable { desired: release.to_string(), report: report.clone() }
            }
            _ => self.lack(context, cluster).map_or(ClassRelease::Unknown, ClassRelease::Missing),
        }
    }

    /// Decides what to write for the Cluster before its addons are planned.
    pub(super) fn preparation(
        &self,
        context: &Context,
        cluster: &ClusterObject,
        release: &ClassRelease,
    ) -> Preparation {
        let addon = self.addon.as_deref();
        let class = match release {
            ClassRelease::Paused => ClassState::Paused { is_reported: context.reports_on(cluster, addon) },
            ClassRelease::Unknown => ClassState::Unknown,
            ClassRelease::Missing(lack) => ClassState::Missing { is_certain: lack.is_certain },
            ClassRelease::Unusable { .. } | ClassRelease::Usable(_) => ClassState::Present,
        };
        decide_prepare(&cluster.cluster, addon, class, &self.left)
    }

    /// Returns the reason why there is no release to deliver to the Cluster; `None` while it is unknown.
    fn lack(&self, context: &Context, cluster: &ClusterObject) -> Option<Lack> {
        let addon = self.addon.as_deref();
        if !context.reports_on(cluster, addon) {
            return None;
        }
        let release = cluster.cluster.release();
        let release = release.map_or(Installation::NoStack, |(namespace, release)| {
            installation(context, &namespace, &release)
        });
        lack(&cluster.cluster, addon, release)
    }

    /// Decides what to do with the Cluster.
    pub(super) fn action(&self, namespace_terminating: bool) -> ClusterAction {
        let backing = match (&self.orphaned_by, self.is_wanted) {
            (Some(_), _) => gate::Backing::Orphaned,
            (None, true) => gate::Backing::Wanted,
            (None, false) => gate::Backing::None,
        };
        let around = gate::Around {
            namespace_terminating,
            backing,
            handed_over: !self.left.is_empty(),
            removing: self.is_removing,
        };
        let cluster = self.cluster.as_ref().map(|cluster| &cluster.cluster);
        cluster_action(cluster, self.addon.as_deref(), around)
    }
}

/// Returns the state of the release of a class, according to the caches and to the reconcile of its `ClusterStack`.
fn installation(context: &Context, namespace: &str, release: &ReleaseName) -> Installation {
    if context.caches.releases.get(&Key::new(namespace, &release.to_string())).is_some() {
        return Installation::Installed;
    }
    let Some(stack) = context.holder(namespace, release) else { return Installation::NoStack };
    let report = context.not_installed(&Key::of(&*stack), release);
    report.map_or(Installation::Unknown, Installation::Missing)
}

/// Returns the Clusters of a release whose addons are still to be orphaned. Asks the API server for Clusters and
/// `ClusterAddon`s that the cache lacks.
pub(in super::super) async fn to_orphan(
    context: &Context,
    namespace: &str,
    release: &ReleaseName,
) -> Result<BTreeSet<Key>, RequestError> {
    let of_class = users::of(context, namespace, release).into_iter().map(|cluster| Key::of(&*cluster));
    let remembers = index::remembers(Some(namespace), &release.to_string());
    let remember = context.caches.addons.by_index(&remembers).into_iter().map(|addon| cluster_of(&addon));
    let mut left = BTreeSet::new();
    for key in of_class.chain(remember) {
        if context.caches.addons.get(&addon_key(&key)).is_none() {
            write::refresh::<ClusterAddon>(context, &addon_key(&key)).await?;
        }
        let gathered = Gathered::of(context, &key);
        let is_left = gathered.action(context.is_terminating(&key.namespace)) == ClusterAction::Orphan;
        if is_left || (gathered.cluster.is_none() && is_there(context, &key).await?) {
            left.insert(key);
        }
    }
    Ok(left)
}

/// Whether the API server has a Cluster that is not being deleted.
async fn is_there(context: &Context, key: &Key) -> Result<bool, RequestError> {
    let Some(kind) = context.cluster_resource() else { return Ok(false) };
    let live: Option<ClusterObject> = context.api.get_dynamic(key, kind).await?;
    Ok(!is_cluster_deleted(live.as_ref().map(|live| &live.cluster)))
}

/// Gathers the facts about a Cluster and its addons; `None` while it is unknown whether the objects exist that the Cluster
/// refers to, or while the caches show the end of an upgrade that has not ended. A release that cannot be planned is a fact
/// too: the status must not stay as it was.
pub(super) async fn facts<'a>(
    context: &Context,
    cluster: &'a ClusterObject,
    addon: Arc<ClusterAddon>,
    (release, upgrade): (&'a ClassRelease, upgrade::Gathered),
) -> Result<Option<(Facts<'a>, Option<PlanError>)>, RequestError> {
    let mut failure = None;
    let upgrade::Gathered { inputs, upgrade } = upgrade;
    if upgrade::is_denied(context, cluster, (&addon, &upgrade)).await? {
        return Ok(None);
    }
    let target = match release {
        ClassRelease::Unknown => return Ok(None),
        ClassRelease::Paused => Target::Paused,
        ClassRelease::Missing(Lack { desired, report, .. }) | ClassRelease::Unusable { desired, report } => {
            Target::Unavailable { desired: desired.clone(), report: report.clone() }
        }
        ClassRelease::Usable(resolved) => {
            let Some(inputs) = inputs else { return Ok(None) };
            let inputs = inputs.with_installed(installed(context, &addon, &resolved.release).await?);
            let of = (resolved.stack.namespace.as_str(), &*resolved.release);
            let course = course(&addon, of, upgrade.phase_to_plan());
            match plan::cluster(&resolved.inputs(), &inputs, &course) {
                Ok(plan) => {
                    let available = available(context, &addon, resolved, inputs, (course, plan)).await?;
                    Target::Available(available)
                }
                Err(error) => {
                    let target = Target::without_plan(&resolved.release.name, &error);
                    failure = Some(error);
                    target
                }
            }
        }
    };
    let snapshot = snapshot::take(context, addon, &target).await?;
    let mut facts = Facts { cluster: &cluster.cluster, snapshot, target, upgrade };
    let inputs = release.usable().map(ResolvedRelease::inputs);
    let failure = failure.or(judge_waits(&mut facts, inputs.as_ref()).err());
    Ok(Some((facts, failure)))
}

/// Returns the names of the installed Helm releases, by the names of their `HelmRelease`s. One that the status names and the
/// cache lacks is fetched: under other names, Flux would uninstall it.
async fn installed(
    context: &Context,
    addon: &ClusterAddon,
    release: &Release,
) -> Result<Vec<(String, HelmNames)>, RequestError> {
    let cluster = cluster_of(addon);
    let reported = addon.status.iter().flat_map(|status| &status.addons).filter_map(|of| of.object.as_ref());
    let reported: BTreeSet<&str> = reported.map(|object| object.name.as_str()).collect();
    let mut names = Vec::new();
    for addon in release.addons.iter().filter(|addon| addon.is_chart()) {
        let Ok(name) = ObjectName::of_addon(&cluster.name, &addon.name) else { continue };
        let (kind, key) = (FluxKind::HelmRelease, Key::new(&cluster.namespace, name.as_str()));
        let known = context.caches.flux.get(kind, &key).or_else(|| context.occupants.get(kind, &key));
        let found = match known {
            None if reported.contains(name.as_str()) => {
                write::present(context, kind, &key).await?.map(Arc::new)
            }
            known => known,
        };
        names.extend(found.and_then(|found| Some((name.to_string(), found.refers_to.helm.clone()?))));
    }
    Ok(names)
}

async fn available<'a>(
    context: &Context,
    addon: &ClusterAddon,
    resolved: &'a ResolvedRelease,
    inputs: ClusterInputs,
    (course, plan): (Course, Plan),
) -> Result<Available<'a>, RequestError> {
    let is_suspended = resolved.suspended || addon.spec.suspend;
    let is_delivered = !is_suspended && hold_of(&plan).is_none();
    Ok(Available {
        stack: &resolved.stack,
        release: &resolved.release,
        versions: &resolved.versions,
        ready: &resolved.ready,
        allowed_deletions: resolved.allowed_deletions.as_deref(),
        is_suspended,
        requests: inputs.requests(&resolved.stack, &resolved.release),
        inputs: Box::new(inputs),
        course,
        plan: Arc::new(plan),
        elsewhere: if is_delivered { other_repository(context, addon, resolved).await? } else { None },
    })
}

/// Returns the hold of a plan that must not be delivered because another repository has the Cluster's files. A
/// `ClusterStack` of another shard is fetched from the API server.
async fn other_repository(
    context: &Context,
    addon: &ClusterAddon,
    resolved: &ResolvedRelease,
) -> Result<Option<Hold>, RequestError> {
    let Some(before) = committing_stack(addon).filter(|before| *before != resolved.stack_key) else {
        return Ok(None);
    };
    let stack = match context.caches.stacks.get(&before) {
        None if context.is_sharded() => context.api.get::<ClusterStack>(&before).await?.map(Arc::new),
        known => known,
    };
    let theirs = stack.as_ref().and_then(|stack| stack.spec.delivery.git());
    Ok(delivered_elsewhere((&before, theirs), (&resolved.stack_key, resolved.stack.delivery.git())))
}

/// Whether a release or its `ClusterStack` orphans the addons of its Clusters, or the release does not exist.
fn is_orphaned(context: &Context, release: &Key) -> bool {
    let Some(release) = context.caches.releases.get(release) else { return true };
    is_orphaning(&release.metadata) || orphaning_stack(context, &release).is_some()
}

/// Whether a release exists and this operator watches its `ClusterStack`.
fn is_owned(context: &Context, release: &Key) -> bool {
    context.caches.releases.get(release).is_some_and(|release| stack_of(context, &release).is_some())
}

/// Returns the `ClusterStack` that orphans the objects of a release, according to the cache. Another one of another shard may
/// keep the release, so the API server is asked before anything is orphaned.
fn orphaning_stack(context: &Context, release: &ClusterStackRelease) -> Option<Key> {
    let namespace = release.namespace().unwrap_or_default();
    let of_name = |name: &str| context.caches.stacks.get(&Key::new(&namespace, name));
    let owners: Vec<_> = release.stack_owners().filter_map(|owner| of_name(&owner.name)).collect();
    subscription::orphaning_stack(release, owners.iter().map(|stack| &**stack)).map(Key::of)
}

/// Returns the deleted `ClusterStack` that orphans a Cluster's addons, and its release: that of the Cluster's class or, if
/// this release does not exist, the applied release.
fn orphaned_by(
    context: &Context,
    release: Option<&Key>,
    addon: Option<&ClusterAddon>,
) -> Option<(Key, Arc<ClusterStackRelease>)> {
    let addon = addon?;
    let of_class = release.and_then(|release| context.caches.releases.get(release));
    let applied = || {
        let progress = addon.status.as_ref()?.release.as_ref()?;
        let key = Key::new(progress.applied_namespace.as_deref()?, progress.applied.as_deref()?);
        context.caches.releases.get(&key)
    };
    let release = of_class.or_else(applied)?;
    Some((orphaning_stack(context, &release)?, release))
}
