//! The Flux object of an addon, of either kind, and its owner.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::api::cluster_addon::AddonObject;
use crate::api::{ClusterAddon, labels};
use crate::foreign::flux::observed::{
    HelmRelease, HelmReleaseStatus, Kustomization, KustomizationStatus, Metadata, ObservedKind as _,
};
use crate::foreign::flux::ownership;
use crate::plan::delivery::LiveObject;
use crate::release::Addon;

/// The Flux object of an addon.
#[derive(Clone, Debug, PartialEq)]
pub enum FluxObject {
    /// An object that installs a chart.
    HelmRelease(Arc<HelmRelease>),
    /// An object that applies manifests.
    Kustomization(Arc<Kustomization>),
}

impl FluxObject {
    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::HelmRelease(_) => HelmReleaseStatus::KIND,
            Self::Kustomization(_) => KustomizationStatus::KIND,
        }
    }

    /// Returns the API group.
    #[must_use]
    pub fn group(&self) -> &'static str {
        match self {
            Self::HelmRelease(_) => HelmReleaseStatus::GROUP,
            Self::Kustomization(_) => KustomizationStatus::GROUP,
        }
    }

    /// Returns names, labels, annotations and owners.
    #[must_use]
    pub fn object(&self) -> &ObjectMeta {
        match self {
            Self::HelmRelease(found) => &found.object,
            Self::Kustomization(found) => &found.object,
        }
    }

    /// Returns deletion, requests and the writers of the spec.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        match self {
            Self::HelmRelease(found) => &found.metadata,
            Self::Kustomization(found) => &found.metadata,
        }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.object().name.as_deref().unwrap_or_default()
    }

    /// Whether the object is suspended.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        match self {
            Self::HelmRelease(found) => found.suspended,
            Self::Kustomization(found) => found.suspended,
        }
    }

    /// Returns the value of the label that names the addon.
    #[must_use]
    pub fn addon(&self) -> Option<&str> {
        self.object().labels.as_ref()?.get(labels::ADDON).map(String::as_str)
    }

    /// Returns the reference for the status of a `ClusterAddon`.
    #[must_use]
    pub fn reference(&self) -> AddonObject {
        AddonObject { kind: self.kind().to_owned(), name: self.name().to_owned() }
    }

    /// Whether garbage collection deletes the object with a `ClusterAddon`.
    #[must_use]
    pub fn has_owner(&self, addon: &ClusterAddon) -> bool {
        ownership::is_owner(addon, self.object())
    }

    /// Whether the object belongs to a `ClusterAddon`, and not to an earlier one of the same name.
    #[must_use]
    pub fn is_owned(&self, addon: &ClusterAddon) -> bool {
        ownership::is_owned(self.object(), addon)
    }
}

impl<'a> From<&'a FluxObject> for LiveObject<'a> {
    fn from(object: &'a FluxObject) -> Self {
        match object {
            FluxObject::HelmRelease(found) => (&**found).into(),
            FluxObject::Kustomization(found) => (&**found).into(),
        }
    }
}

/// Returns the kind of the object that delivers an addon.
#[must_use]
pub fn kind_of(addon: &Addon) -> &'static str {
    if addon.is_chart() { HelmReleaseStatus::KIND } else { KustomizationStatus::KIND }
}
