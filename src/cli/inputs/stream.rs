//! The inputs of plans as a stream of YAML documents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api::{
    self, ClusterAddon, ClusterAddonOverride, ClusterStack, ClusterStackRelease, SourcePlacement,
};
use crate::cli::clusters;
use crate::cli::error::CliError;
use crate::cli::live::present::Present;
use crate::cli::objects::{self, Sourced};
use crate::foreign::capi::{field, text};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::HelmNames;
use crate::inputs::ClusterInputs;
use crate::inputs::defaults::Defaults;
use crate::inputs::stack::Stack;
use crate::names::Key;
use crate::plan::canonical;

/// The annotation in which kubectl keeps a second copy of an object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Reduces `present` to the inputs of one `ClusterStack`, and sets the operator's defaults if it has none. Clusters of
/// other classes are kept without the objects that they refer to.
pub(super) fn restrict_to(present: &mut Present, key: &Key, defaults: &Defaults) {
    let Some(mut stack) = present.stacks.remove(key) else { return };
    defaults.fill(&mut stack.spec);
    let is_kept = |release: &ClusterStackRelease| {
        release.is_owned_by(&stack) && release.metadata.deletion_timestamp.is_none()
    };
    present.releases.retain(|_, release| is_kept(release));
    let beside = Stack::source_key(&stack, None).map(|(namespace, _)| namespace);
    let is_everywhere = stack.spec.flux.sources == SourcePlacement::PerNamespace;
    present.flux.retain(|object| {
        let namespace = text(object, &["metadata", "namespace"]);
        let is_near = namespace == key.namespace || beside.as_deref() == Some(namespace);
        FluxKind::of(text(object, &["kind"])).is_some_and(FluxKind::is_source) && (is_everywhere || is_near)
    });
    let mut planned = BTreeSet::new();
    for cluster in &mut present.clusters {
        let release = cluster.cluster.release_key();
        if release.is_some_and(|release| present.releases.contains_key(&release)) {
            planned.insert(cluster.cluster.key());
        } else {
            *cluster = ClusterInputs::new(cluster.cluster.clone(), |_| None);
        }
    }
    present.addons.retain(|cluster, _| planned.contains(cluster));
    present.stacks = BTreeMap::from([(key.clone(), stack)]);
}

/// Writes the stream. Leaves out what no plan depends on: managed fields, and the statuses of stackflux's own kinds and
/// of charts.
pub(super) fn write(present: &Present) -> Result<String, CliError> {
    let mut objects = Vec::new();
    for stack in present.stacks.values() {
        objects.push(ours(stack, "ClusterStack")?);
    }
    for release in present.releases.values() {
        objects.push(ours(release, "ClusterStackRelease")?);
    }
    for addon in present.addons.values() {
        objects.push(ours(addon, "ClusterAddon")?);
    }
    objects.extend(present.flux.iter().cloned().map(source));
    objects.extend(present.clusters.iter().map(|cluster| stripped(cluster.cluster.object().clone())));
    for cluster in &present.clusters {
        let related =
            ["ControlPlane", "InfraCluster"].into_iter().filter_map(|root| cluster.data().get(root));
        objects.extend(related.cloned().map(stripped));
        if let Some(requested) = cluster.requested() {
            objects.push(requests(requested)?);
        }
        objects.extend(cluster.all_installed().map(|(name, names)| installed(cluster, name, names)));
    }
    Ok(canonical::documents(objects.iter()))
}

/// Serializes an object of stackflux's own kinds without its status.
fn ours(object: &impl Serialize, kind: &str) -> Result<Value, CliError> {
    let mut value = serde_json::to_value(object)?;
    if let Some(object) = value.as_object_mut() {
        object.shift_remove("status");
        object.insert("apiVersion".to_owned(), json!(version()));
        object.insert("kind".to_owned(), json!(kind));
    }
    Ok(stripped(value))
}

/// Serializes the requests for the addons of a Cluster with what the plan reads of the status: what was accepted before.
fn requests(requested: &ClusterAddonOverride) -> Result<Value, CliError> {
    let mut value = ours(requested, "ClusterAddonOverride")?;
    let in_effect = requested.spec.addons.keys().map(|addon| (addon, requested.in_effect(addon)));
    let in_effect = in_effect.filter(|(_, fields)| !fields.is_empty());
    let in_effect: Vec<Value> =
        in_effect.map(|(addon, fields)| json!({"name": addon, "inEffect": fields})).collect();
    if let (false, Some(object)) = (in_effect.is_empty(), value.as_object_mut()) {
        object.insert("status".to_owned(), json!({"addons": in_effect}));
    }
    Ok(value)
}

fn version() -> String {
    format!("{}/{}", api::GROUP, api::VERSION)
}

/// Reduces the status of a source or chart to the artifact that Flux serves.
fn source(object: Value) -> Value {
    let artifact = field(&object, &["status", "artifact"]).cloned();
    let mut source = stripped(object);
    if let Some(source) = source.as_object_mut() {
        source.shift_remove("status");
        source.extend(artifact.map(|artifact| ("status".to_owned(), json!({"artifact": artifact}))));
    }
    source
}

/// Reduces an installed `HelmRelease` to the names of its Helm release.
fn installed(cluster: &ClusterInputs, name: &str, names: &HelmNames) -> Value {
    let kind = FluxKind::HelmRelease;
    json!({
        "apiVersion": format!("{}/{}", kind.group(), kind.version()), "kind": kind.as_str(),
        "metadata": {"name": name, "namespace": cluster.cluster.namespace().as_str()},
        "spec": {
            "releaseName": names.release, "targetNamespace": names.target_namespace,
            "storageNamespace": names.storage_namespace,
        },
    })
}

fn stripped(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.shift_remove(LAST_APPLIED);
        }
    }
    object
}

/// Reads a stream.
pub(in crate::cli) fn read(file: &Path) -> Result<Present, CliError> {
    let objects = objects::read(&[PathBuf::from(file)])?;
    let addons = typed::<ClusterAddon>(&objects, "ClusterAddon", |addon| &addon.metadata)?;
    let addons = addons.into_iter().map(|(Key { namespace, .. }, addon)| {
        let name = addon.spec.cluster_ref.name.clone().unwrap_or_default();
        (Key { namespace, name }, addon)
    });
    // A plan depends on the sources, in any version.
    let is_source = |object: &Value| {
        let kind = FluxKind::of(text(object, &["kind"])).filter(|kind| kind.is_source());
        let group = text(object, &["apiVersion"]).split_once('/').map(|(group, _)| group);
        kind.is_some_and(|kind| group == Some(kind.group()))
    };
    Ok(Present {
        stacks: typed::<ClusterStack>(&objects, "ClusterStack", |stack| &stack.metadata)?,
        releases: typed::<ClusterStackRelease>(&objects, "ClusterStackRelease", |release| &release.metadata)?,
        addons: addons.collect(),
        clusters: clusters::among(&objects)?,
        flux: objects.into_iter().map(|sourced| sourced.object).filter(is_source).collect(),
    })
}

/// Returns the objects of one of stackflux's own kinds, by namespace and name.
fn typed<T: DeserializeOwned>(
    objects: &[Sourced],
    kind: &str,
    metadata: impl Fn(&T) -> &ObjectMeta,
) -> Result<BTreeMap<Key, T>, CliError> {
    let version = version();
    let is_it =
        |object: &Value| (text(object, &["apiVersion"]), text(object, &["kind"])) == (&*version, kind);
    let mut found = BTreeMap::new();
    for Sourced { file, object } in objects.iter().filter(|sourced| is_it(&sourced.object)) {
        let typed = T::deserialize(object)
            .map_err(|error| CliError::usage(format!("{}: {kind}: {error}", file.display())))?;
        let of = metadata(&typed);
        let namespace = of.namespace.clone().unwrap_or_else(|| "default".to_owned());
        found.insert(Key { namespace, name: of.name.clone().unwrap_or_default() }, typed);
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
