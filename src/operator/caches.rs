//! The watched objects of the API server. Each kind has a cache; an operation finds that of its object by the object's
//! kind, so that no operation exists once per kind.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::PartialObjectMeta;
use kube::core::ApiResource;

use super::objects::ClusterObject;
use crate::api::{ClusterAddon, ClusterAddonOverride, ClusterStack, ClusterStackRelease};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::runtime::api_server::Kind;
use crate::runtime::cache::{Cache, Cached, Key};

/// The watched objects of the API server.
#[derive(Debug, Default)]
pub struct Caches {
    /// `ClusterStack`s.
    pub stacks: Cache<ClusterStack>,
    /// `ClusterStackRelease`s.
    pub releases: Cache<ClusterStackRelease>,
    /// `ClusterAddon`s.
    pub addons: Cache<ClusterAddon>,
    /// `ClusterAddonOverride`s, which have the names of their Clusters.
    pub overrides: Cache<ClusterAddonOverride>,
    /// Clusters.
    pub clusters: Cache<ClusterObject>,
    /// Namespaces.
    pub namespaces: Cache<PartialObjectMeta<Namespace>>,
    /// Flux objects.
    pub flux: FluxStore,
}

/// The Flux objects of the operator, and all `GitRepository`s, because `ClusterStack`s may refer to any.
#[derive(Debug, Default)]
pub struct FluxStore {
    helm_releases: Cache<FluxObject>,
    kustomizations: Cache<FluxObject>,
    git_repositories: Cache<FluxObject>,
    oci_repositories: Cache<FluxObject>,
    helm_charts: Cache<FluxObject>,
}

impl FluxStore {
    /// Returns the cache of a kind.
    #[must_use]
    pub fn of(&self, kind: FluxKind) -> &Cache<FluxObject> {
        match kind {
            FluxKind::HelmRelease => &self.helm_releases,
            FluxKind::Kustomization => &self.kustomizations,
            FluxKind::GitRepository => &self.git_repositories,
            FluxKind::OCIRepository => &self.oci_repositories,
            FluxKind::HelmChart => &self.helm_charts,
        }
    }

    /// Returns the object with this kind and key.
    #[must_use]
    pub fn get(&self, kind: FluxKind, key: &Key) -> Option<Arc<FluxObject>> {
        self.of(kind).get(key)
    }

    /// Returns the newest state of an object: what the operator sets beside its decisions is set there.
    #[must_use]
    pub fn newest(&self, object: &Arc<FluxObject>) -> Arc<FluxObject> {
        let found = self.get(object.kind(), &Key::of(&**object));
        let found = found.filter(|found| found.object.uid == object.object.uid);
        found.unwrap_or_else(|| object.clone())
    }

    /// Returns all objects of these kinds, in the order of the kinds.
    #[must_use]
    pub fn all(&self, kinds: &[FluxKind]) -> Vec<Arc<FluxObject>> {
        kinds.iter().flat_map(|kind| self.of(*kind).all()).collect()
    }

    /// Returns the objects of these kinds with an index key, in the order of the kinds.
    #[must_use]
    pub fn by_index(&self, kinds: &[FluxKind], index_key: &str) -> Vec<Arc<FluxObject>> {
        kinds.iter().flat_map(|kind| self.of(*kind).by_index(index_key)).collect()
    }
}

/// An object that the operator writes, and whose state it caches.
pub trait Stored: Kind + Cached {
    /// Returns the object's kind.
    fn resource(&self) -> Self::DynamicType;

    /// Returns the cache of a kind.
    fn cache<'c>(caches: &'c Caches, kind: &Self::DynamicType) -> &'c Cache<Self>;
}

impl Stored for FluxObject {
    fn resource(&self) -> FluxKind {
        self.kind()
    }

    fn cache<'c>(caches: &'c Caches, kind: &FluxKind) -> &'c Cache<Self> {
        caches.flux.of(*kind)
    }
}

impl Stored for ClusterObject {
    fn resource(&self) -> ApiResource {
        self.resource_in_its_version()
    }

    fn cache<'c>(caches: &'c Caches, _: &ApiResource) -> &'c Cache<Self> {
        &caches.clusters
    }
}

macro_rules! stored {
    ($($kind:ty: $cache:ident),*) => {
        $(impl Stored for $kind {
            fn resource(&self) {}

            fn cache<'c>(caches: &'c Caches, (): &()) -> &'c Cache<Self> {
                &caches.$cache
            }
        })*
    };
}
stored!(ClusterStack: stacks, ClusterStackRelease: releases, ClusterAddon: addons, ClusterAddonOverride: overrides);
