//! The objects of `flux/`, as kustomize builds them: for those who install without a copy of this repository.
//!
//! The files are in the binary. [`objects`] does what `flux/base/kustomization.yaml` and `crds/kustomization.yaml` say, and
//! reads only the fields of kustomize that these have; `tests/on_testbed/installation/export.rs` compares the result with
//! that of kustomize.

pub mod lease;
pub mod rights;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::api;

/// The namespace of `flux/base`, which is that of Flux.
pub const FLUX_NAMESPACE: &str = "flux-system";
/// The image of `flux/base`, without its tag.
pub const IMAGE: &str = "stackflux";
/// The tag of `flux/base`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The namespace of `flux/own-namespace`.
const OWN_NAMESPACE: &str = "stackflux-system";

const DEFINITIONS: &str = include_str!("../crds/kustomization.yaml");
const KUSTOMIZATION: &str = include_str!("../flux/base/kustomization.yaml");

/// The files of `flux/base`, by the names in its list of resources.
const BASE: [(&str, &str); 7] = [
    ("service-account.yaml", include_str!("../flux/base/service-account.yaml")),
    ("role-operator.yaml", include_str!("../flux/base/role-operator.yaml")),
    ("role-infrastructure.yaml", include_str!("../flux/base/role-infrastructure.yaml")),
    ("role-leases.yaml", include_str!("../flux/base/role-leases.yaml")),
    ("roles-of-users.yaml", include_str!("../flux/base/roles-of-users.yaml")),
    ("deployment.yaml", include_str!("../flux/base/deployment.yaml")),
    ("service.yaml", include_str!("../flux/base/service.yaml")),
];

/// What `flux/own-namespace` adds with a namespace of their own, and what it adds in the namespace of stackflux.
const ELSEWHERE: [&str; 2] = [
    include_str!("../flux/own-namespace/namespace.yaml"),
    include_str!("../flux/own-namespace/flux-system.yaml"),
];
const BESIDE: [&str; 2] = [
    include_str!("../flux/own-namespace/stackflux/network-policy.yaml"),
    include_str!("../flux/own-namespace/stackflux/resource-quota.yaml"),
];

/// The kinds in the order in which kustomize writes them; others come last, by their names.
const ORDER: [&str; 10] = [
    "Namespace",
    "ResourceQuota",
    "CustomResourceDefinition",
    "ServiceAccount",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "Service",
    "Deployment",
];

/// The kinds here that have no namespace.
const CLUSTER_SCOPED: [&str; 4] =
    ["Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"];

/// The fields of `flux/base/kustomization.yaml`. A test fails if the file has others.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Kustomization {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "the files are in the binary"))]
    namespace: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "the files are in the binary"))]
    resources: Vec<String>,
    labels: Vec<Labels>,
    #[cfg_attr(not(test), expect(dead_code, reason = "the image is an argument"))]
    images: Vec<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Labels {
    pairs: Map<String, Value>,
    #[serde(default)]
    include_templates: bool,
}

/// The patch in `crds/kustomization.yaml`.
#[derive(Deserialize)]
struct Definitions {
    patches: Vec<Patch>,
}

#[derive(Deserialize)]
struct Patch {
    patch: String,
}

/// Returns the objects that install stackflux, in the order of kustomize.
///
/// In Flux's own namespace they are those of `flux/base`, and in another one those of `flux/own-namespace`. An image
/// without a tag or digest gets the tag of this version.
pub fn objects(namespace: &str, image: &str) -> Result<Vec<Value>, serde_yaml::Error> {
    let kustomization: Kustomization = serde_yaml::from_str(KUSTOMIZATION)?;
    let mut base = definitions()?;
    for (_, file) in BASE {
        base.extend(read(file)?);
    }
    for object in &mut base {
        for labels in &kustomization.labels {
            label(object, labels);
        }
        set_image(object, &with_tag(image));
    }
    let mut found = Vec::new();
    if namespace != FLUX_NAMESPACE {
        for file in ELSEWHERE {
            found.extend(read(file)?);
        }
        for object in &mut found {
            replace(object, OWN_NAMESPACE, namespace);
        }
        for file in BESIDE {
            base.extend(read(file)?);
        }
    }
    for object in &mut base {
        set_namespace(object, namespace);
    }
    found.extend(base);
    found.sort_by_cached_key(place);
    Ok(found)
}

/// The objects of a file.
fn read(file: &str) -> Result<Vec<Value>, serde_yaml::Error> {
    serde_yaml::from_multiple(file)
}

/// The definitions of the kinds, with the annotations that the installed ones have.
fn definitions() -> Result<Vec<Value>, serde_yaml::Error> {
    let file: Definitions = serde_yaml::from_str(DEFINITIONS)?;
    let mut annotations = Map::new();
    for patch in file.patches {
        let patch: Value = serde_yaml::from_str(&patch.patch)?;
        let found = patch.pointer("/metadata/annotations").and_then(Value::as_object);
        annotations.extend(found.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
    }
    let mut definitions = Vec::new();
    for definition in api::custom_resource_definitions() {
        // Serializing one cannot fail: it has only text keys.
        let mut definition = serde_json::to_value(definition).unwrap_or_default();
        extend(&mut definition, &["metadata", "annotations"], &annotations);
        definitions.push(definition);
    }
    Ok(definitions)
}

/// Adds entries to the object at a path, which is created if it is missing.
fn extend(object: &mut Value, path: &[&str], entries: &Map<String, Value>) {
    let mut at = object;
    for key in path {
        let Some(fields) = at.as_object_mut() else { return };
        at = fields.entry(*key).or_insert_with(|| Value::Object(Map::new()));
    }
    if let Some(fields) = at.as_object_mut() {
        fields.extend(entries.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
}

fn label(object: &mut Value, labels: &Labels) {
    extend(object, &["metadata", "labels"], &labels.pairs);
    if labels.include_templates && object.pointer("/spec/template").is_some() {
        extend(object, &["spec", "template", "metadata", "labels"], &labels.pairs);
    }
}

/// Sets the image of the operator's container.
fn set_image(object: &mut Value, image: &str) {
    let containers = object.pointer_mut("/spec/template/spec/containers").and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        if let Some(found) = container.get_mut("image").filter(|found| *found == IMAGE) {
            *found = image.into();
        }
    }
}

/// The image with a tag: a colon before the last `/` belongs to a port.
fn with_tag(image: &str) -> String {
    let name = image.rsplit('/').next().unwrap_or(image);
    if name.contains([':', '@']) { image.to_owned() } else { format!("{image}:{VERSION}") }
}

/// Sets the namespace of an object, and that of the accounts in a binding.
fn set_namespace(object: &mut Value, namespace: &str) {
    let is_namespaced =
        !CLUSTER_SCOPED.iter().any(|kind| object.get("kind").is_some_and(|found| found == kind));
    if is_namespaced {
        let entry = Map::from_iter([("namespace".to_owned(), namespace.into())]);
        extend(object, &["metadata"], &entry);
    }
    for subject in object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(found) = subject.get_mut("namespace") {
            *found = namespace.into();
        }
    }
}

/// Replaces each text that equals another one.
fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text == from => to.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, from, to)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace(field, from, to)),
        _ => {}
    }
}

/// The place of an object in kustomize's order.
fn place(object: &Value) -> (usize, [String; 3]) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let kind = text("/kind");
    let rank = ORDER.iter().position(|known| *known == kind).unwrap_or(ORDER.len());
    (rank, [kind, text("/metadata/namespace"), text("/metadata/name")])
}
