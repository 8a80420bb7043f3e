//! The cached kinds, and the keys that index them.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::{Namespace, ObjectReference as Reference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use kube::api::PartialObjectMeta;
use kube::core::{ApiResource, DynamicResourceScope, GroupVersionKind};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::api::cluster_addon::ReleaseProgress;
use crate::api::{
    ClusterAddon, ClusterAddonOverride, ClusterStack, ClusterStackRelease, ClusterStackSpec, labels,
};
use crate::foreign::capi::upgrade::{UPGRADE_HOOK, other_manager};
use crate::foreign::capi::{self, Cluster, ObjectReference, text};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
pub use crate::foreign::flux::ownership::{
    addon_key, cluster_of, committing_stack, handed_over_to, is_applied_by_flux, labelled_owner,
    owner_of_applied,
};
use crate::names::ReleaseName;
use crate::plan::storage_namespace;
use crate::runtime::cache::{Cached, Key};

/// A Cluster in the version that the API server prefers.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterObject {
    metadata: ObjectMeta,
    /// The Cluster.
    pub cluster: Cluster,
    /// The other field manager that sets the annotation that delays upgrades, if any.
    pub hook_manager: Option<String>,
}

impl ClusterObject {
    /// Returns the resource of Clusters in the version of this one.
    #[must_use]
    pub fn resource_in_its_version(&self) -> ApiResource {
        let version = text(self.cluster.object(), &["apiVersion"]);
        let version = version.rsplit('/').next().unwrap_or_default();
        let kind = GroupVersionKind::gvk(capi::GROUP, version, "Cluster");
        ApiResource::from_gvk_with_plural(&kind, "clusters")
    }
}

/// An object that a Cluster refers to: whole, or only the part of it that is read.
#[derive(Clone, Debug, PartialEq)]
pub struct RelatedObject {
    metadata: ObjectMeta,
    /// The object.
    pub value: Value,
}

impl RelatedObject {
    /// Creates an object with metadata only.
    #[must_use]
    pub fn bare(mut metadata: ObjectMeta, kind: &ApiResource) -> Self {
        metadata.managed_fields = None;
        let value = json!({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata});
        Self { metadata, value }
    }

    /// Keeps only the metadata, `spec.version` and `status.version` of an object.
    #[must_use]
    pub fn versions(mut self) -> Self {
        for part in ["spec", "status"] {
            if let Some(Value::Object(fields)) = self.value.get_mut(part) {
                fields.retain(|name, _| name == "version");
            }
        }
        self
    }
}

/// Extracts the metadata of an object, and removes its unused `managedFields`, which are half of its size.
fn metadata<E: serde::de::Error>(object: &mut Value) -> Result<ObjectMeta, E> {
    let Some(metadata) = object.get_mut("metadata") else { return Err(E::missing_field("metadata")) };
    if let Value::Object(fields) = metadata {
        fields.remove("managedFields");
    }
    ObjectMeta::deserialize(&*metadata).map_err(E::custom)
}

impl<'de> Deserialize<'de> for ClusterObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        let hook_manager = other_manager(&object, UPGRADE_HOOK, labels::FIELD_MANAGER).map(str::to_owned);
        let metadata = metadata(&mut object)?;
        let cluster = Cluster::new(object).map_err(D::Error::custom)?;
        Ok(Self { metadata, cluster, hook_manager })
    }
}

impl<'de> Deserialize<'de> for RelatedObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = Value::deserialize(deserializer)?;
        let metadata = metadata(&mut value)?;
        Ok(Self { metadata, value })
    }
}

macro_rules! dynamic_resource {
    ($($kind:ty),*) => {
        $(impl Resource for $kind {
            type DynamicType = ApiResource;
            type Scope = DynamicResourceScope;

            fn kind(of: &ApiResource) -> Cow<'_, str> {
                of.kind.as_str().into()
            }

            fn group(of: &ApiResource) -> Cow<'_, str> {
                of.group.as_str().into()
            }

            fn version(of: &ApiResource) -> Cow<'_, str> {
                of.version.as_str().into()
            }

            fn plural(of: &ApiResource) -> Cow<'_, str> {
                of.plural.as_str().into()
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        })*
    };
}
dynamic_resource!(ClusterObject, RelatedObject);

/// Keys that index objects in caches.
pub mod index {
    use std::collections::BTreeSet;

    use super::{ClusterStackSpec, Key, ObjectReference, ReleaseName};
    use crate::names::CUSTOM;

    /// Finds the Clusters of a class.
    #[must_use]
    pub fn class(namespace: &str, class: &str) -> String {
        format!("class/{namespace}/{class}")
    }

    /// Finds the Clusters whose class belongs to the line of a `ClusterStack` in this namespace, whether or not the release
    /// exists.
    #[must_use]
    pub fn line(namespace: &str, spec: &ClusterStackSpec) -> String {
        let ClusterStackSpec { provider, name, kubernetes_version, channel, .. } = spec;
        format!("line/{namespace}/{provider}/{name}/{kubernetes_version}/{channel}")
    }

    /// Finds the same by a release: it may belong to a `ClusterStack` of its own channel or of `custom`.
    pub fn lines_of(namespace: &str, release: &ReleaseName) -> impl Iterator<Item = String> {
        let (provider, stack, version) = (release.provider(), release.stack(), release.version());
        let (major, minor) = release.kubernetes_minor();
        let channels = BTreeSet::from([version.channel(), CUSTOM]);
        let channels = channels.into_iter().filter(|channel| version.is_of_channel(channel));
        channels.map(move |channel| format!("line/{namespace}/{provider}/{stack}/{major}.{minor}/{channel}"))
    }

    /// Finds the Clusters of a namespace that refer to an object.
    #[must_use]
    pub fn refers_to(namespace: &str, object: &ObjectReference) -> String {
        format!("refers/{namespace}/{}/{}/{}", object.group, object.kind, object.name)
    }

    /// Finds the objects that refer to any object of a kind.
    #[must_use]
    pub fn refers_to_kind(group: &str, kind: &str) -> String {
        format!("refers-to-kind/{group}/{kind}")
    }

    /// Finds the `ClusterAddon`s whose cluster has or will have this release of the namespace. A status of an earlier
    /// version names no namespace.
    #[must_use]
    pub fn remembers(namespace: Option<&str>, release: &str) -> String {
        format!("release/{}/{release}", namespace.unwrap_or_default())
    }

    /// Finds the objects that a deleted `ClusterAddon` left to the next one of its Cluster.
    #[must_use]
    pub fn handed_over(cluster: &Key) -> String {
        format!("handed-over/{cluster}")
    }

    /// Finds the `Kustomization`s of an addon's manifests.
    #[must_use]
    pub fn manifests(addon: &str, digest: &str) -> String {
        format!("manifests/{addon}/{digest}")
    }

    /// Finds the releases whose class has Helm's storage in this Namespace.
    #[must_use]
    pub fn stores_in(namespace: &str) -> String {
        format!("storage/{namespace}")
    }

    /// Finds the objects that an object of the operator owns.
    #[must_use]
    pub fn owned_by(kind: &str, owner: &Key) -> String {
        format!("owner/{kind}/{owner}")
    }
}

impl Cached for ClusterObject {
    fn index_keys(&self) -> Vec<String> {
        let namespace = self.cluster.namespace().as_str();
        let class = self.cluster.class();
        let release = self.cluster.release();
        let lines: Vec<String> =
            release.iter().flat_map(|(namespace, release)| index::lines_of(namespace, release)).collect();
        let class = class.map(|class| index::class(&class.namespace, &class.name));
        let references = [self.cluster.control_plane_ref(), self.cluster.infrastructure_ref()];
        let index_keys = |object: ObjectReference| {
            [index::refers_to(namespace, &object), index::refers_to_kind(&object.group, &object.kind)]
        };
        let references = references.into_iter().flatten().flat_map(index_keys);
        class.into_iter().chain(lines).chain(references).collect()
    }
}

impl Cached for RelatedObject {}

impl Cached for ClusterAddonOverride {}

impl Cached for PartialObjectMeta<Namespace> {}

impl Cached for ClusterStack {
    fn index_keys(&self) -> Vec<String> {
        let template = self.spec.provider_ref.as_ref();
        template.into_iter().flat_map(|template| provider_object(self, template)).collect()
    }
}

impl Cached for ClusterStackRelease {
    fn index_keys(&self) -> Vec<String> {
        let object = self.spec.provider_ref.as_ref();
        let object = object.into_iter().flat_map(|object| provider_object(self, object));
        let release = self.metadata.name.as_deref().and_then(|name| name.parse::<ReleaseName>().ok());
        let namespace = self.metadata.namespace.as_deref().unwrap_or_default();
        let storage = release.and_then(|release| storage_namespace(namespace, &release).ok());
        let storage = storage.map(|storage| index::stores_in(storage.as_str()));
        owners(self).into_iter().chain(object).chain(storage).collect()
    }
}

/// Returns the index keys of the provider's object or template that an object refers to, and of its kind.
fn provider_object(of: &impl Resource, reference: &Reference) -> [String; 2] {
    let namespace = reference.namespace.as_ref().or(of.meta().namespace.as_ref());
    let object = provider_reference(reference);
    let namespace = namespace.map(String::as_str).unwrap_or_default();
    [index::refers_to(namespace, &object), index::refers_to_kind(&object.group, &object.kind)]
}

impl Cached for ClusterAddon {
    fn index_keys(&self) -> Vec<String> {
        let progress = self.status.iter().filter_map(|status| status.release.as_ref());
        let releases = progress.flat_map(ReleaseProgress::releases);
        let releases = releases.map(|(namespace, release)| index::remembers(namespace, release));
        owners(self).into_iter().chain(releases).collect()
    }
}

impl Cached for FluxObject {
    fn index_keys(&self) -> Vec<String> {
        let by_label = labelled_owner(self.kind(), &self.object);
        let by_label = by_label.map(|(kind, key)| index::owned_by(kind, &key));
        let handed_over = handed_over_to(&self.object).map(|cluster| index::handed_over(&cluster));
        let manifests = (self.kind() == FluxKind::Kustomization).then(|| manifests(&self.object)).flatten();
        owners(self).into_iter().chain(by_label).chain(handed_over).chain(manifests).collect()
    }
}

/// Returns an owner reference to an object of the operator, as one of several owners.
pub fn owner_reference(object: &impl Resource<DynamicType = ()>) -> OwnerReference {
    // An object from the API server has a name and a UID.
    object.owner_ref(&()).unwrap_or_default()
}

/// Returns an owner reference to an object of the operator as the controller, which alone decides on the owned object's
/// content.
pub fn controller_reference(object: &impl Resource<DynamicType = ()>) -> OwnerReference {
    OwnerReference { controller: Some(true), ..owner_reference(object) }
}

/// Converts a reference to the provider's object.
#[must_use]
pub fn provider_reference(reference: &Reference) -> ObjectReference {
    let version = reference.api_version.as_deref().unwrap_or_default();
    ObjectReference {
        group: version.split_once('/').map_or("", |(group, _)| group).to_owned(),
        kind: reference.kind.clone().unwrap_or_default(),
        name: reference.name.clone().unwrap_or_default(),
    }
}

fn manifests(object: &ObjectMeta) -> Option<String> {
    let addon = object.labels.as_ref()?.get(labels::ADDON)?;
    Some(index::manifests(addon, object.annotations.as_ref()?.get(labels::CONTENT_DIGEST)?))
}

/// Returns the index keys of the owners of an object, which are in its namespace.
fn owners(object: &impl Resource) -> Vec<String> {
    let namespace = object.meta().namespace.as_deref().unwrap_or_default();
    let owners = object.meta().owner_references.iter().flatten();
    owners.map(|owner| index::owned_by(&owner.kind, &Key::new(namespace, &owner.name))).collect()
}

#[cfg(test)]
mod tests;
