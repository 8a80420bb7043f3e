//! What there is of one Cluster.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;

use super::super::cache::Key;
use super::super::objects::{ClusterObject, RelatedObject};
use super::super::related::{Depth, NotListed};
use super::super::world::{Preparation, Prepared, World};
use super::identity;
use crate::api::{ClusterAddon, Reason, labels};
use crate::foreign::capi::ObjectReference;
use crate::gate::{self, Course};
use crate::inputs::ClusterInputs;
use crate::names::ReleaseName;
use crate::release::Release;
use crate::rollup::{ConditionStatus, Report};

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
    pub(super) fn of(world: &World, key: &Key) -> Self {
        let cluster = world.caches.clusters.get(key);
        let addon = world.caches.addons.get(&identity::addon_key(key));
        let class = cluster.as_ref().and_then(|cluster| cluster.cluster.class());
        let named = class.and_then(|class| Some((class.release()?, class.namespace)));
        let release = named.as_ref().map(|(release, namespace)| Key::new(namespace, &release.to_string()));
        let release = release.filter(|release| !is_let_go(world, release));
        let preparation = release.and_then(|release| world.preparation(&release));
        Self { cluster, addon, release: named.map(|(release, _)| release), preparation }
    }

    /// Why there is no release to deliver to the Cluster; `None` while that is not known.
    pub(super) fn lack(&self, world: &World) -> Option<Lack> {
        let cluster = self.cluster.as_ref()?;
        let stays = "what the cluster has stays as it is";
        if !world.speaks_of(cluster, self.addon.as_deref()) {
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
        if world.caches.releases.get(&Key::new(namespace, &release.to_string())).is_some() {
            return None;
        }
        let Some(stack) = world.holder(namespace, release) else {
            let message =
                format!("no ClusterStack in namespace {namespace} has the Cluster's class {name}: {stays}");
            return Some(Lack::class(release.to_string(), &message));
        };
        let report = world.not_installed(&Key::of(&*stack), release)?;
        let message = format!("{}; {stays}", report.message);
        let report = Report::new(report.status, &report.reason, &message);
        let is_certain = report.status == ConditionStatus::False;
        Some(Lack { desired: release.to_string(), report, is_certain })
    }

    /// What to do with the Cluster.
    pub(super) fn course(&self, namespace_goes: bool) -> Course {
        let uid = |uid: Option<String>| uid.unwrap_or_default();
        let cluster = self
            .cluster
            .as_ref()
            .map(|cluster| gate::Present { uid: uid(cluster.uid()), deleting: cluster.cluster.deleting() });
        let addon = self.addon.as_ref().map(|addon| gate::Owned {
            cluster_uid: identity::cluster_uid(addon),
            deleting: addon.metadata.deletion_timestamp.is_some(),
        });
        gate::course(cluster.as_ref(), addon.as_ref(), namespace_goes)
    }
}

/// The Cluster with the objects that it refers to.
pub(super) fn related(world: &World, cluster: &ClusterObject, prepared: &Prepared) -> Related {
    let namespace = cluster.cluster.namespace().as_str();
    let find = |reference: Option<ObjectReference>, root: &str| -> Result<_, NotListed> {
        let Some(reference) = reference else { return Ok(None) };
        let found = world.related.get(namespace, &reference, depth(&prepared.release, root))?;
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

/// Whether a release or its `ClusterStack` is being let go of: then what its Clusters have is nobody's.
fn is_let_go(world: &World, release: &Key) -> bool {
    let is_orphan = |object: &ObjectMeta| {
        let told = object.annotations.as_ref().and_then(|annotations| annotations.get(labels::ON_DELETE));
        object.deletion_timestamp.is_some() && told.is_some_and(|value| value == labels::ORPHAN)
    };
    let Some(release) = world.caches.releases.get(release) else { return true };
    let namespace = release.namespace().unwrap_or_default();
    let stacks = release.owner_references().iter().filter(|owner| owner.kind == "ClusterStack");
    let mut stacks = stacks.filter_map(|owner| world.caches.stacks.get(&Key::new(&namespace, &owner.name)));
    is_orphan(&release.metadata) || stacks.any(|stack| is_orphan(&stack.metadata))
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
