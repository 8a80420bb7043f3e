//! Finds the Clusters among the objects that a command was given, each with the objects that it refers to.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::CliError;
use super::objects::Sourced;
use crate::foreign::capi::{self, Cluster, text};
use crate::inputs::ClusterInputs;

/// Returns all Clusters among `objects`, in their order.
pub(super) fn among(objects: &[Sourced]) -> Result<Vec<ClusterInputs>, CliError> {
    let index: BTreeMap<_, &Value> =
        objects.iter().map(|sourced| (identity(&sourced.object), &sourced.object)).collect();
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
        Ok(inputs.with_installed_of(objects.iter().map(|sourced| &sourced.object)))
    });
    clusters.collect()
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
