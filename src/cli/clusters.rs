//! Finds the Clusters among the objects that a command was given, each with the objects that it refers to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::error::CliError;
use super::objects::Sourced;
use super::terminal;
use crate::api::{self, ClusterAddonOverride};
use crate::foreign::capi::{self, Cluster, text};
use crate::inputs::ClusterInputs;
use crate::inputs::stack::Stack;
use crate::names::Key;
use crate::release::Release;

/// Returns all Clusters among `objects`, in their order.
pub(super) fn among(objects: &[Sourced]) -> Result<Vec<ClusterInputs>, CliError> {
    let index: BTreeMap<_, &Value> =
        objects.iter().map(|sourced| (identity(&sourced.object), &sourced.object)).collect();
    let requests = requests(objects)?;
    let is_cluster = |sourced: &&Sourced| {
        let (group, kind, ..) = identity(&sourced.object);
        (group, kind) == (capi::GROUP, "Cluster")
    };
    let clusters = objects.iter().filter(is_cluster).map(|sourced| {
        let cluster = Cluster::new(sourced.object.clone())
            .map_err(|error| CliError::usage(format!("{}: {error}", sourced.file.display())))?;
        let namespace = cluster.namespace().clone();
        let inputs = ClusterInputs::new(cluster, |to| {
            index.get(&(&*to.group, &*to.kind, namespace.as_str(), &*to.name)).copied()
        });
        let inputs = inputs.with_installed_of(objects.iter().map(|sourced| &sourced.object));
        let requested = requests.get(&inputs.cluster.key()).cloned();
        Ok(inputs.with_requested(requested))
    });
    let clusters: Vec<ClusterInputs> = clusters.collect::<Result<_, CliError>>()?;
    refuse_duplicates(objects, is_cluster)?;
    let known: BTreeSet<Key> = clusters.iter().map(|inputs| inputs.cluster.key()).collect();
    for key in requests.keys().filter(|key| !known.contains(key)) {
        terminal::warning(format!(
            "ClusterAddonOverride {key} has no effect: there is no Cluster of its namespace and name in the files given"
        ));
    }
    Ok(clusters)
}

/// Refuses two Clusters with the same namespace and name.
fn refuse_duplicates(objects: &[Sourced], is_cluster: impl Fn(&&Sourced) -> bool) -> Result<(), CliError> {
    let mut known: BTreeMap<Key, &Sourced> = BTreeMap::new();
    for sourced in objects.iter().filter(is_cluster) {
        let (_, _, namespace, name) = identity(&sourced.object);
        let key = Key::new(namespace, name);
        if let Some(other) = known.insert(key.clone(), sourced) {
            let (first, second) = (other.file.display(), sourced.file.display());
            let message = if other.file == sourced.file {
                format!("{first}: Cluster {key} is in the file twice")
            } else {
                format!("Cluster {key} is in {first} and in {second}")
            };
            return Err(CliError::usage(message).hint("keep one of them"));
        }
    }
    Ok(())
}

/// Returns the warnings about the requests for a Cluster: those that are refused, and what files cannot do.
pub(super) fn about_requests(stack: &Stack, release: &Release, inputs: &ClusterInputs) -> Vec<String> {
    let requests = inputs.requests(stack, release);
    let key = inputs.cluster.key();
    let refused = requests.all().flat_map(|(name, _)| {
        let refused = requests.refused(name).iter();
        refused.map(move |of| (name, format!("{}: {}", of.field, of.rule)))
    });
    let refused = refused
        .map(|(name, why)| format!("ClusterAddonOverride {key}: the request for {name} is refused: {why}"));
    let suspended = requests.all().map(|(name, _)| name).filter(|name| requests.suspends(name)).map(|name| {
        format!(
            "ClusterAddonOverride {key}: spec.addons.{name}.suspend has no effect here: only the operator suspends the objects \
             of an addon"
        )
    });
    refused.chain(suspended).collect()
}

/// Returns the `ClusterAddonOverride`s by the keys of their Clusters.
fn requests(objects: &[Sourced]) -> Result<BTreeMap<Key, Arc<ClusterAddonOverride>>, CliError> {
    let is_it = |sourced: &&Sourced| {
        let (group, kind, ..) = identity(&sourced.object);
        (group, kind) == (api::GROUP, "ClusterAddonOverride")
    };
    let mut found = BTreeMap::new();
    for sourced in objects.iter().filter(is_it) {
        let failed = |why: &str| CliError::usage(format!("{}: {why}", sourced.file.display()));
        let (_, _, namespace, name) = identity(&sourced.object);
        let key = Key::new(namespace, name);
        let read = ClusterAddonOverride::from_object(&sourced.object).map_err(|problems| {
            let all: Vec<String> =
                problems.iter().map(|problem| format!("ClusterAddonOverride {key}: {problem}")).collect();
            failed(&all.join("\n"))
        })?;
        if found.insert(key.clone(), Arc::new(read)).is_some() {
            return Err(failed(&format!("another ClusterAddonOverride {key} is in the files given"))
                .hint("a Cluster has one: keep one of them"));
        }
    }
    Ok(found)
}

/// Returns the group, kind, namespace and name of an object.
fn identity(object: &Value) -> (&str, &str, &str, &str) {
    let version = text(object, &["apiVersion"]);
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let namespace = match text(object, &["metadata", "namespace"]) {
        "" => "default",
        namespace => namespace,
    };
    (group, text(object, &["kind"]), namespace, text(object, &["metadata", "name"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn duplicate_cluster_error_names_both_files() {
        let cluster = |file: &str| Sourced {
            file: file.into(),
            object: json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
                "metadata": {"namespace": "demo", "name": "one"},
            }),
        };
        for (files, expected) in [
            (["a.yaml", "b.yaml"], "Cluster demo/one is in a.yaml and in b.yaml"),
            (["a.yaml", "a.yaml"], "a.yaml: Cluster demo/one is in the file twice"),
        ] {
            assert_eq!(among(&files.map(cluster)).unwrap_err().to_string(), expected);
        }
    }
}
