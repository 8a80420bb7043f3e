//! What there is of one Cluster.

use std::sync::Arc;

use kube::ResourceExt as _;

use super::super::context::{Context, Preparation, Prepared};
use super::super::objects::{ClusterObject, RelatedObject, addon_key, cluster_of, term};
use super::super::related::{Depth, NotListed};
use super::super::release::{stack_of, users};
use super::prune;
use crate::addons::{cluster_uid, committed_by, has_finalizer, is_orphaning};
use crate::api::{ClusterAddon, ClusterStackRelease, Reason};
use crate::foreign::capi::ObjectReference;
use crate::gate::{self, ClusterAction};
use crate::inputs::ClusterInputs;
use crate::names::ReleaseName;
use crate::release::Release;
use crate::rollup::{ConditionStatus, Report};
use crate::runtime::cache::Key;

/// What there is of one Cluster in the caches.
pub(super) struct Gathered {
    /// The Cluster.
    pub(super) cluster: Option<Arc<ClusterObject>>,
    /// Its `ClusterAddon`.
    pub(super) addon: Option<Arc<ClusterAddon>>,
    /// The release that its class is of.
    pub(super) release: Option<ReleaseName>,
    /// What is known of that release.
    pub(super) preparation: Option<Preparation>,
    /// Whether that release is there, and does not orphan its addons.
    is_wanted: bool,
    /// The deleted `ClusterStack` that leaves the Cluster's addons to themselves.
    pub(super) orphaned_by: Option<Key>,
    /// Whether something of an earlier `ClusterAddon` waits for the next one.
    has_rest: bool,
    /// Whether the deleted `ClusterAddon` has an addon that the release does not have, or that is not known yet.
    is_removing: bool,
}

/// Why there is no release to deliver to a Cluster.
pub(super) struct Lack {
    /// The release that the class is of, otherwise the name of the class; empty if the Cluster has none.
    pub(super) desired: String,
    /// What is said of the release.
    pub(super) report: Report,
    /// Whether a `ClusterStack` that the Cluster belongs to does not have the release: then this is said also of a Cluster
    /// that nothing was delivered to.
    pub(super) is_certain: bool,
}

impl Lack {
    fn class(desired: String, message: &str) -> Self {
        let report = Report::new(ConditionStatus::False, Reason::ClassUnknown.as_str(), message);
        Self { desired, report, is_certain: false }
    }
}

/// What a Cluster refers to.
pub(super) enum Related {
    /// It is not known yet whether all of it is there.
    NotListed,
    /// All that is there is in the inputs.
    Found(Box<ClusterInputs>),
}

impl Gathered {
    pub(super) fn of(context: &Context, key: &Key) -> Self {
        let cluster = context.caches.clusters.get(key);
        let addon = context.caches.addons.get(&addon_key(key));
        let class = cluster.as_ref().and_then(|cluster| cluster.cluster.class());
        let named = class.and_then(|class| Some((class.release()?, class.namespace)));
        let release = named.as_ref().map(|(release, namespace)| Key::new(namespace, &release.to_string()));
        let orphaned_by = orphaned_by(context, release.as_ref(), addon.as_deref());
        let release = release.filter(|release| !is_orphaned(context, release));
        let preparation = release.as_ref().and_then(|release| context.preparation(release));
        let rest = term::handed_over(key);
        let has_rest = !context.caches.helm_releases.find(&rest).is_empty()
            || !context.caches.kustomizations.find(&rest).is_empty();
        let is_owned = release.as_ref().is_some_and(|release| is_owned(context, release));
        let (is_wanted, release) = (release.is_some(), named.map(|(release, _)| release));
        let is_paused = cluster.as_ref().is_some_and(|cluster| cluster.cluster.paused());
        let deleted = addon.as_deref().filter(|addon| addon.metadata.deletion_timestamp.is_some());
        let is_removing = deleted
            .filter(|_| !is_paused)
            .is_some_and(|addon| prune::is_pending(context, addon, preparation.as_ref(), is_owned));
        Self { cluster, addon, release, preparation, is_wanted, orphaned_by, has_rest, is_removing }
    }

    /// Why there is no release to deliver to the Cluster; `None` while that is not known.
    pub(super) fn lack(&self, context: &Context) -> Option<Lack> {
        let cluster = self.cluster.as_ref()?;
        let stays = "the installed addons stay as they are";
        if !context.speaks_of(cluster, self.addon.as_deref()) {
            return None;
        }
        let Some(class) = cluster.cluster.class() else {
            let message =
                format!("the Cluster has no class (spec.topology), so nothing is delivered to it: {stays}");
            return Some(Lack::class(String::new(), &message));
        };
        let (name, namespace) = (&class.name, &class.namespace);
        let Some(release) = &self.release else {
            let message = format!("the Cluster's class {name:?} is not a class of a release: {stays}");
            return Some(Lack::class(class.name, &message));
        };
        if context.caches.releases.get(&Key::new(namespace, &release.to_string())).is_some() {
            return None;
        }
        let Some(stack) = context.holder(namespace, release) else {
            let message =
                format!("no ClusterStack in namespace {namespace} has the Cluster's class {name}: {stays}");
            return Some(Lack::class(release.to_string(), &message));
        };
        let report = context.not_installed(&Key::of(&*stack), release)?;
        let message = format!("{}; {stays}", report.message);
        let report = Report::new(report.status, &report.reason, &message);
        let is_certain = report.status == ConditionStatus::False;
        Some(Lack { desired: release.to_string(), report, is_certain })
    }

    /// What to do with the Cluster.
    pub(super) fn action(&self, namespace_terminating: bool) -> ClusterAction {
        let uid = |uid: Option<String>| uid.unwrap_or_default();
        let cluster = self
            .cluster
            .as_ref()
            .map(|cluster| gate::Present { uid: uid(cluster.uid()), deleting: cluster.cluster.deleting() });
        let addon = self.addon.as_ref().map(|addon| gate::Owned {
            cluster_uid: cluster_uid(addon).map(str::to_owned),
            deleting: addon.metadata.deletion_timestamp.is_some(),
            held: has_finalizer(addon),
            committed: committed_by(addon).is_some(),
        });
        let backing = match (&self.orphaned_by, self.is_wanted) {
            (Some(_), _) => gate::Backing::Orphaned,
            (None, true) => gate::Backing::Wanted,
            (None, false) => gate::Backing::None,
        };
        let around = gate::Around {
            namespace_terminating,
            backing,
            handed_over: self.has_rest,
            removing: self.is_removing,
        };
        gate::cluster_action(cluster.as_ref(), addon.as_ref(), around)
    }
}

/// The Clusters of a release whose addons are to be orphaned.
pub(in super::super) fn to_orphan(context: &Context, namespace: &str, release: &ReleaseName) -> Vec<Key> {
    let of_class = users::of(context, namespace, release).into_iter().map(|cluster| Key::of(&*cluster));
    let remembers = term::remembers(Some(namespace), &release.to_string());
    let remember = context.caches.addons.find(&remembers).into_iter().map(|addon| cluster_of(&addon));
    let is_left = |key: &Key| {
        Gathered::of(context, key).action(context.is_terminating(&key.namespace)) == ClusterAction::Orphan
    };
    of_class.chain(remember).filter(is_left).collect()
}

/// The Cluster with the objects that it refers to.
pub(super) fn related(context: &Context, cluster: &ClusterObject, prepared: &Prepared) -> Related {
    let namespace = cluster.cluster.namespace().as_str();
    let find = |reference: Option<ObjectReference>, root: &str| -> Result<_, NotListed> {
        let Some(reference) = reference else { return Ok(None) };
        let found = context.related.get(namespace, &reference, depth(&prepared.release, root))?;
        Ok(found.map(|object| (reference, object)))
    };
    let control_plane = find(cluster.cluster.control_plane_ref(), "ControlPlane");
    let infrastructure = find(cluster.cluster.infrastructure_ref(), "InfraCluster");
    let (Ok(control_plane), Ok(infrastructure)) = (control_plane, infrastructure) else {
        return Related::NotListed;
    };
    let found: Vec<(ObjectReference, Arc<RelatedObject>)> =
        control_plane.into_iter().chain(infrastructure).collect();
    let inputs = ClusterInputs::new(cluster.cluster.clone(), |wanted| {
        found.iter().find(|(reference, _)| reference == wanted).map(|(_, object)| &object.value)
    });
    Related::Found(Box::new(inputs))
}

/// Whether a release or its `ClusterStack` orphans what its Clusters have; also if there is no such release.
fn is_orphaned(context: &Context, release: &Key) -> bool {
    let Some(release) = context.caches.releases.get(release) else { return true };
    is_orphaning(&release.metadata) || orphaning_stack(context, &release).is_some()
}

/// Whether a `ClusterStack` that this operator watches has a release.
fn is_owned(context: &Context, release: &Key) -> bool {
    context.caches.releases.get(release).is_some_and(|release| stack_of(context, &release).is_some())
}

/// The `ClusterStack` of a release that is deleted and leaves everything as it is.
fn orphaning_stack(context: &Context, release: &ClusterStackRelease) -> Option<Key> {
    let namespace = release.namespace().unwrap_or_default();
    let stack = context.caches.stacks.get(&Key::new(&namespace, &release.stack_owner()?.name))?;
    is_orphaning(&stack.metadata).then(|| Key::of(&*stack))
}

/// The deleted `ClusterStack` that leaves a Cluster's addons to themselves: that of the release of its class; of the release
/// that the Cluster has where its class is of no release that is there.
fn orphaned_by(context: &Context, release: Option<&Key>, addon: Option<&ClusterAddon>) -> Option<Key> {
    let addon = addon?;
    let of_class = release.and_then(|release| context.caches.releases.get(release));
    let applied = || {
        let progress = addon.status.as_ref()?.release.as_ref()?;
        let key = Key::new(progress.applied_namespace.as_deref()?, progress.applied.as_deref()?);
        context.caches.releases.get(&key)
    };
    orphaning_stack(context, &*of_class.or_else(applied)?)
}

/// How much of an object the templates of a release read.
fn depth(release: &Release, root: &str) -> Depth {
    let mut fields = release
        .addons
        .iter()
        .filter_map(|addon| addon.template.as_ref())
        .flat_map(|source| source.template.fields());
    let is_read = fields.any(|field| field.segments().first().is_none_or(|first| first == root));
    if is_read { Depth::Whole } else { Depth::Metadata }
}
