//! The Clusters that count for a `ClusterStack`, and the releases that they name but that are not installed.

use std::collections::BTreeMap;

use kube::ResourceExt as _;

use super::super::context::Context;
use super::super::objects::{ClusterObject, addon_key};
use super::Found;
use crate::addons::is_made_for;
use crate::api::{ClusterAddon, ClusterStack, ConditionType, Reason};
use crate::names::ReleaseName;
use crate::rollup::{ClusterState, ConditionStatus, Report, mirror};
use crate::runtime::cache::Key;
use crate::subscription::short;

/// Returns the releases that Clusters name but that are not installed, each with the report for its Clusters.
pub(super) fn without_release(
    context: &Context,
    stack: &ClusterStack,
    found: &Found,
) -> BTreeMap<ReleaseName, Report> {
    let namespace = stack.namespace().unwrap_or_default();
    let named = found.releases.held().map(|(name, _)| name);
    let is_there =
        |name: &ReleaseName| context.caches.releases.get(&Key::new(&namespace, &name.to_string())).is_some();
    let missing = named.filter(|name| !found.releases.owned.contains_key(*name) && !is_there(name));
    missing.map(|name| (name.clone(), why(stack, found, name))).collect()
}

fn why(stack: &ClusterStack, found: &Found, name: &ReleaseName) -> Report {
    let key = Key::of(stack);
    let unknown =
        |reason: Reason, message: &str| Report::new(ConditionStatus::Unknown, reason.as_str(), message);
    match &found.source.catalog.read {
        None => unknown(
            Reason::NotYetReported,
            &format!(
                "the stack repository of ClusterStack {key} was not read yet, so it is unknown whether {name} exists"
            ),
        ),
        Some(read) if !read.releases.contains_key(name) => {
            let message = format!(
                "the stack repository of ClusterStack {key} has no release {name} at {}: set the Cluster's class to a \
                 release that exists, or publish {name}",
                short(read.revision.as_str())
            );
            Report::new(ConditionStatus::False, Reason::ReleaseNotFound.as_str(), &message)
        }
        Some(_) if stack.spec.suspend => {
            let message = format!("ClusterStack {key} is suspended, so {name} is not installed");
            unknown(Reason::Suspended, &message)
        }
        Some(_) if !found.releases.roles.contains_key(name) => {
            let message = format!(
                "ClusterStack {key} does not offer {name}, and a Cluster of another namespace cannot have it \
                 installed: add its version to spec.versions, or set the Cluster's class to a release that is offered"
            );
            Report::new(ConditionStatus::False, Reason::ReleaseNotFound.as_str(), &message)
        }
        Some(_) => unknown(Reason::NotYetReported, &format!("ClusterStack {key} is about to install {name}")),
    }
}

/// Returns the states of the Clusters that count for the `ClusterStack`.
pub(super) fn states<'a>(
    context: &Context,
    stack: &ClusterStack,
    found: &'a Found,
    without_release: &BTreeMap<ReleaseName, Report>,
) -> Vec<ClusterState<'a>> {
    let mut states = Vec::new();
    for (release, clusters) in found.releases.held() {
        for cluster in clusters {
            let addon = context.caches.addons.get(&addon_key(&Key::of(&**cluster)));
            let is_suspended = addon.as_ref().is_some_and(|addon| addon.spec.suspend);
            states.push(ClusterState {
                namespace: cluster.cluster.namespace().as_str(),
                name: cluster.cluster.name().as_str(),
                deleting: cluster.cluster.deleting(),
                paused: cluster.cluster.paused(),
                suspended: stack.spec.suspend || is_suspended,
                initialized: cluster.cluster.control_plane_initialized(),
                without_release: without_release.get(release).cloned(),
                ready: addon.and_then(|addon| ready(&addon, cluster, release)),
            });
        }
    }
    states
}

/// Returns the `Ready` of a `ClusterAddon`; `None` if it was made for an earlier Cluster of the same name, or reports
/// another release.
fn ready(addon: &ClusterAddon, cluster: &ClusterObject, release: &ReleaseName) -> Option<Report> {
    let status = addon.status.as_ref()?;
    let desired = status.release.as_ref()?.desired.as_ref()?;
    let is_its = is_made_for(addon, &cluster.cluster) && *desired == release.to_string();
    let generation = addon.metadata.generation.unwrap_or_default();
    is_its.then(|| mirror(&status.conditions, generation, ConditionType::Ready.as_str()))
}

/// Returns the Clusters for which Flux has not applied all commits.
pub(super) fn not_applied(context: &Context, found: &Found) -> Vec<String> {
    let clusters = found.releases.held().flat_map(|(_, clusters)| clusters);
    let keys = clusters.filter(|cluster| !cluster.cluster.deleting()).map(|cluster| Key::of(&**cluster));
    let is_behind = |cluster: &Key| {
        let addon = context.caches.addons.get(&addon_key(cluster));
        addon.is_some_and(|addon| {
            let conditions = addon.status.as_ref().map_or(&[][..], |status| &status.conditions);
            let generation = addon.metadata.generation.unwrap_or_default();
            let delivered = mirror(conditions, generation, ConditionType::Delivered.as_str());
            delivered.reason == Reason::CommitNotApplied.as_str()
        })
    };
    keys.filter(is_behind).map(|key| key.to_string()).collect()
}
