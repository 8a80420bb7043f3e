//! The Flux object that delivers an addon, of either kind, and whose it is.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::api::cluster_addon::AddonObject;
use crate::api::{ClusterAddon, labels};
use crate::foreign::flux::observed::{
    HelmRelease, HelmReleaseStatus, Kustomization, KustomizationStatus, Metadata, ObservedKind as _,
};
use crate::release::Addon;

/// The Flux object of an addon.
#[derive(Clone, Debug, PartialEq)]
pub enum FluxObject {
    /// It installs a chart.
    HelmRelease(Arc<HelmRelease>),
    /// It applies manifests.
    Kustomization(Arc<Kustomization>),
}

impl FluxObject {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::HelmRelease(_) => HelmReleaseStatus::KIND,
            Self::Kustomization(_) => KustomizationStatus::KIND,
        }
    }

    /// Names, labels, annotations and owners.
    #[must_use]
    pub fn object(&self) -> &ObjectMeta {
        match self {
            Self::HelmRelease(found) => &found.object,
            Self::Kustomization(found) => &found.object,
        }
    }

    /// Deletion, requests and who wrote the spec.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        match self {
            Self::HelmRelease(found) => &found.metadata,
            Self::Kustomization(found) => &found.metadata,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.object().name.as_deref().unwrap_or_default()
    }

    /// Whether it is suspended.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        match self {
            Self::HelmRelease(found) => found.suspended,
            Self::Kustomization(found) => found.suspended,
        }
    }

    /// The value of the label that names the addon.
    #[must_use]
    pub fn addon(&self) -> Option<&str> {
        self.object().labels.as_ref()?.get(labels::ADDON).map(String::as_str)
    }

    /// The object as the status of a `ClusterAddon` names it.
    #[must_use]
    pub fn reference(&self) -> AddonObject {
        AddonObject { kind: self.kind().to_owned(), name: self.name().to_owned() }
    }

    /// Whether garbage collection deletes it with a `ClusterAddon`.
    #[must_use]
    pub fn has_owner(&self, addon: &ClusterAddon) -> bool {
        let mut owners = self.object().owner_references.iter().flatten();
        owners.any(|owner| Some(&owner.uid) == addon.metadata.uid.as_ref())
    }

    /// Whether it belongs to a `ClusterAddon`, and not to an earlier one of its name. What Flux applies from a repository has
    /// no owner; its labels name the Cluster.
    #[must_use]
    pub fn is_owned(&self, addon: &ClusterAddon) -> bool {
        self.has_owner(addon) || self.is_applied_for(addon)
    }

    fn is_applied_for(&self, addon: &ClusterAddon) -> bool {
        let object = self.object();
        let cluster = object.labels.as_ref().and_then(|labels| labels.get(labels::CLUSTER_NAME));
        is_applied_by_flux(object)
            && object.namespace == addon.metadata.namespace
            && cluster.map(|cluster| ClusterAddon::name_for(cluster)) == addon.metadata.name
    }
}

/// Whether Flux applies an object from a repository: kustomize-controller puts its labels on all that it applies.
#[must_use]
pub fn is_applied_by_flux(object: &ObjectMeta) -> bool {
    object.labels.as_ref().is_some_and(|labels| labels.contains_key(labels::APPLIED_BY_NAME))
}

/// The kind of object that delivers an addon.
#[must_use]
pub fn kind_of(addon: &Addon) -> &'static str {
    if addon.is_chart() { HelmReleaseStatus::KIND } else { KustomizationStatus::KIND }
}
