//! What plans are made of, as a stream of YAML documents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api::{self, ClusterAddon, ClusterStack, ClusterStackRelease};
use crate::cli::clusters;
use crate::cli::error::CliError;
use crate::cli::live::prepared::Defaults;
use crate::cli::live::present::Present;
use crate::cli::objects::{self, Sourced};
use crate::foreign::capi::{field, text};
use crate::inputs::ClusterInputs;
use crate::inputs::stack::Stack;
use crate::names::ReleaseName;
use crate::plan::canonical;

/// Namespace and name.
type Key = (String, String);

/// The kinds of Flux's that a plan depends on.
const SOURCES: [&str; 2] = ["GitRepository", "HelmChart"];

/// The annotation in which kubectl keeps a second copy of an object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Leaves what one `ClusterStack` is planned from, with what the operator was told where it says nothing.
pub(super) fn only(present: &mut Present, key: &Key, defaults: &Defaults) {
    present.stacks.retain(|other, _| other == key);
    let mut uid = None;
    for stack in present.stacks.values_mut() {
        uid.clone_from(&stack.metadata.uid);
        stack.spec.source = stack.spec.source.take().or_else(|| defaults.source.clone());
        let account = &mut stack.spec.flux.service_account_name;
        *account = account.take().or_else(|| defaults.account.clone());
    }
    let is_owned = |release: &ClusterStackRelease| {
        release.metadata.owner_references.iter().flatten().any(|owner| Some(&owner.uid) == uid.as_ref())
    };
    present.releases.retain(|_, release| is_owned(release) && release.metadata.deletion_timestamp.is_none());
    let followed: BTreeSet<Key> =
        present.stacks.values().filter_map(|stack| Stack::source_key(stack, None)).collect();
    let namespaces: BTreeSet<&String> = followed.iter().map(|(namespace, _)| namespace).collect();
    let is_beside = |object: &Value| {
        let namespace = text(object, &["metadata", "namespace"]);
        namespace == key.0 || namespaces.iter().any(|beside| *beside == namespace)
    };
    let per_namespace =
        present.stacks.values().any(|stack| stack.spec.flux.sources != api::SourcePlacement::Shared);
    present
        .flux
        .retain(|object| SOURCES.contains(&text(object, &["kind"])) && (per_namespace || is_beside(object)));
    let has_class = |cluster: &ClusterInputs| {
        let class = cluster.cluster.class();
        class
            .and_then(|class| Some((class.release()?, class.namespace)))
            .is_some_and(|(release, namespace)| is_release(&present.releases, &namespace, &release))
    };
    for cluster in &mut present.clusters {
        if !has_class(cluster) {
            *cluster = ClusterInputs::new(cluster.cluster.clone(), |_| None);
        }
    }
}

fn is_release(
    releases: &std::collections::BTreeMap<Key, ClusterStackRelease>,
    namespace: &str,
    release: &ReleaseName,
) -> bool {
    releases.contains_key(&(namespace.to_owned(), release.to_string()))
}

/// The stream. What no plan depends on is left out: managed fields, statuses of our own kinds and of charts.
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
    for source in &present.flux {
        let artifact = field(source, &["status", "artifact"]).cloned();
        let mut source = stripped(source.clone());
        if let Some(source) = source.as_object_mut() {
            source.remove("status");
            source.extend(artifact.map(|artifact| ("status".to_owned(), json!({"artifact": artifact}))));
        }
        objects.push(source);
    }
    for ClusterInputs { cluster, .. } in &present.clusters {
        objects.push(stripped(cluster.object().clone()));
    }
    for cluster in &present.clusters {
        let related =
            ["ControlPlane", "InfraCluster"].into_iter().filter_map(|root| cluster.data().get(root));
        objects.extend(related.cloned().map(stripped));
    }
    Ok(canonical::documents(objects.iter()))
}

/// An object of our own kinds without its status.
fn ours(object: &impl serde::Serialize, kind: &str) -> Result<Value, CliError> {
    let mut value = serde_json::to_value(object)?;
    if let Some(object) = value.as_object_mut() {
        object.remove("status");
        object.insert("apiVersion".to_owned(), json!(format!("{}/{}", api::GROUP, api::VERSION)));
        object.insert("kind".to_owned(), json!(kind));
    }
    Ok(stripped(value))
}

fn stripped(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    object
}

/// Reads a stream.
pub(in crate::cli) fn read(file: &Path) -> Result<Present, CliError> {
    let objects = objects::read(&[PathBuf::from(file)])?;
    let mut present = Present {
        stacks: typed::<ClusterStack>(&objects, "ClusterStack", |stack| &stack.metadata)?,
        releases: typed::<ClusterStackRelease>(&objects, "ClusterStackRelease", |release| &release.metadata)?,
        addons: std::collections::BTreeMap::new(),
        clusters: clusters::among(&objects)?,
        flux: Vec::new(),
    };
    let addons = typed::<ClusterAddon>(&objects, "ClusterAddon", |addon| &addon.metadata)?;
    for ((namespace, _), addon) in addons {
        let name = addon.spec.cluster_ref.name.clone().unwrap_or_default();
        present.addons.insert((namespace, name), addon);
    }
    let is_source = |object: &Value| {
        SOURCES.contains(&text(object, &["kind"]))
            && text(object, &["apiVersion"]).starts_with("source.toolkit.fluxcd.io/")
    };
    let sources = objects.into_iter().map(|sourced| sourced.object).filter(is_source);
    present.flux = sources.collect();
    Ok(present)
}

/// The objects of one of our kinds, by namespace and name.
fn typed<T: DeserializeOwned>(
    objects: &[Sourced],
    kind: &str,
    metadata: impl Fn(&T) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
) -> Result<std::collections::BTreeMap<Key, T>, CliError> {
    let version = format!("{}/{}", api::GROUP, api::VERSION);
    let is_it =
        |object: &Value| (text(object, &["apiVersion"]), text(object, &["kind"])) == (&*version, kind);
    let mut found = std::collections::BTreeMap::new();
    for Sourced { file, object } in objects.iter().filter(|sourced| is_it(&sourced.object)) {
        let typed: T = serde_json::from_value(object.clone())
            .map_err(|error| CliError::usage(format!("{}: {kind}: {error}", file.display())))?;
        let of = metadata(&typed);
        let key = (
            of.namespace.clone().unwrap_or_else(|| "default".to_owned()),
            of.name.clone().unwrap_or_default(),
        );
        found.insert(key, typed);
    }
    Ok(found)
}
