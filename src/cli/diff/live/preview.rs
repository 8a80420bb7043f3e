//! What `diff --live` prints and plans about given objects: the simulations compare it with what the operator then writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Live, compare};
use crate::api::ClusterAddonOverride;
use crate::cli::live::loaded::Loaded;
use crate::cli::live::prepared::Stacks;
use crate::cli::live::present::{LiveNamespace, Present};
use crate::foreign::capi::{Cluster, text};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::ownership::cluster_of;
use crate::gate::upgrade::Phase;
use crate::inputs::ClusterInputs;
use crate::inputs::defaults::Defaults;
use crate::names::Key;
use crate::plan;
use crate::plan::stages::Course;

/// The output of `diff --live --output json`, and what it leaves out.
#[derive(Clone, Debug)]
pub struct Preview {
    /// The output.
    pub differences: Value,
    /// What is left out, each with the reason.
    pub skipped: Vec<String>,
}

/// Returns what `diff --live` prints if `objects` are all objects of the API server, and the Clusters refer to no others.
/// `releases` are those of the stack repository.
pub fn preview(objects: &[Value], releases: &Loaded, now: Timestamp) -> Result<Preview, String> {
    let in_words = |error: &dyn std::fmt::Display| error.to_string();
    let present = present(objects).map_err(|error| in_words(&error))?;
    let namespaces = namespaces(objects).map_err(|error| in_words(&error))?;
    let (stacks, skipped) = Stacks::of(&present, releases, &Defaults::default(), None);
    let live = Live::new(&present, &namespaces, now).map_err(|error| in_words(&error))?;
    let found = compare(&live, &stacks, Some(live.shares()), None).map_err(|error| in_words(&error))?;
    Ok(Preview { differences: serde_json::to_value(found).map_err(|error| in_words(&error))?, skipped })
}

/// Returns the objects of addons that the operator plans for each Cluster with a usable release, if `objects` are all objects of
/// the API server. `releases` are those of the stack repository.
pub fn planned_addons(objects: &[Value], releases: &Loaded) -> Result<BTreeMap<Key, Vec<Value>>, String> {
    let in_words = |error: &dyn std::fmt::Display| error.to_string();
    let present = present(objects).map_err(|error| in_words(&error))?;
    let (stacks, _) = Stacks::of(&present, releases, &Defaults::default(), None);
    let mut planned = BTreeMap::new();
    for cluster in &present.clusters {
        let Some(prepared) = stacks.of_cluster(cluster) else { continue };
        let plan = plan::cluster(&prepared.inputs(), cluster, &Course::ended(Phase::Steady))
            .map_err(|error| in_words(&error))?;
        planned.insert(
            cluster.cluster.key(),
            plan.addons().map(|planned| Value::clone(&planned.value)).collect(),
        );
    }
    Ok(planned)
}

fn of_kind<T: DeserializeOwned>(objects: &[Value], kind: &str) -> Result<Vec<T>, serde_json::Error> {
    objects.iter().filter(|object| text(object, &["kind"]) == kind).map(T::deserialize).collect()
}

fn present(objects: &[Value]) -> Result<Present, serde_json::Error> {
    let is_flux = |object: &&Value| FluxKind::of(text(object, &["kind"])).is_some();
    let stacks = of_kind(objects, "ClusterStack")?;
    let releases = of_kind(objects, "ClusterStackRelease")?;
    let addons = of_kind(objects, "ClusterAddon")?;
    let clusters: Vec<Value> = of_kind(objects, "Cluster")?;
    let clusters = clusters.into_iter().filter_map(|cluster| Cluster::new(cluster).ok());
    Ok(Present {
        stacks: stacks.into_iter().map(|stack| (Key::of(&stack), stack)).collect(),
        releases: releases.into_iter().map(|release| (Key::of(&release), release)).collect(),
        addons: addons.into_iter().map(|addon| (cluster_of(&addon), addon)).collect(),
        clusters: clusters.map(|cluster| with_related(cluster, objects)).collect(),
        flux: objects.iter().filter(is_flux).cloned().collect(),
    })
}

/// Returns a Cluster with the objects that it refers to.
fn with_related(cluster: Cluster, objects: &[Value]) -> ClusterInputs {
    let namespace = cluster.namespace().to_string();
    let inputs = ClusterInputs::new(cluster, |wanted| {
        let is_it = |object: &&Value| {
            let metadata = |field: &str| text(object, &["metadata", field]);
            (text(object, &["kind"]), metadata("name")) == (&wanted.kind, &wanted.name)
                && metadata("namespace") == namespace
        };
        objects.iter().find(is_it)
    });
    let key = inputs.cluster.key();
    let overrides = of_kind::<ClusterAddonOverride>(objects, "ClusterAddonOverride").unwrap_or_default();
    let requested = overrides.into_iter().find(|found| Key::of(found) == key);
    inputs.with_installed_of(objects).with_requested(requested.map(Arc::new))
}

fn namespaces(objects: &[Value]) -> Result<BTreeMap<String, LiveNamespace>, serde_json::Error> {
    let namespaces: Vec<Namespace> = of_kind(objects, "Namespace")?;
    Ok(namespaces.into_iter().filter_map(LiveNamespace::named).collect())
}
