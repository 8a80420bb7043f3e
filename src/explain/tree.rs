//! The tree: ClusterStack → release → cluster → addon → Flux object → the objects that Flux applied.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

use super::Named;
use super::flux::{FluxObject, catalog};
use super::obstacle::{missing, obstacle};
use super::snapshot::{Member, Snapshot, clusters_ready, created, not_there, ready};
use super::upgrade::{Upgrade, upgrade};
use crate::api::cluster_addon::AddonStatus;
use crate::api::{ClusterAddon, ClusterStack, Reason};
use crate::foreign::flux::FluxKind;
use crate::names::{Key, ReleaseName};
use crate::rollup::{ConditionStatus, Report, status_of};

/// An object, with those that depend on it or were made from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// The kind of the object.
    pub kind: String,
    /// The namespace; empty for objects without one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The chart of an addon, with its version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// `True`, `False` or `Unknown`; `None` for objects that only Flux watches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<&'static str>,
    /// The reason of its state.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The message about its state.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Time of its creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// The objects below it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Node>,
}

/// The object to which the tree is narrowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Only {
    /// Its kind.
    pub kind: Named,
    /// Its name.
    pub name: String,
}

/// Builds the tree of the ClusterStacks. Clusters without a ClusterStack are at the end, if they have a `ClusterAddon`
/// or if `only` names a Cluster.
#[must_use]
pub fn tree(snapshot: &Snapshot, only: Option<&Only>) -> Vec<Node> {
    let asks = |kind, name: &str| only.is_none_or(|only| only.kind != kind || only.name == name);
    let users = snapshot.by_release();
    let mut nodes = Vec::new();
    for (key, stack) in &snapshot.stacks {
        if !asks(Named::Clusterstack, &key.name) {
            continue;
        }
        // The summary of its Clusters covers more than is shown if only some of them are.
        let is_whole = only.is_none_or(|only| only.kind == Named::Clusterstack)
            && snapshot.shows(&key.namespace)
            && !snapshot.selected;
        let mut node = stack_node(snapshot, key, stack, &users, &asks);
        if is_whole {
            node.with_clusters(&clusters_ready(stack));
        }
        let only_below =
            only.is_some_and(|only| only.kind != Named::Clusterstack) || !snapshot.shows(&key.namespace);
        if !only_below || node.children.iter().any(|child| child.kind != FluxKind::GitRepository.as_str()) {
            nodes.push(node);
        }
    }
    let ours = |key: &Key, member: &Member| {
        member
            .release(key)
            .is_some_and(|(namespace, release)| snapshot.stack_of(&namespace, &release).is_some())
    };
    let named = only.filter(|only| only.kind == Named::Cluster);
    let others = snapshot.members.iter().filter(|(key, member)| {
        !ours(key, member) && (member.addon.is_some() || named.is_some()) && asks(Named::Cluster, &key.name)
    });
    if only.is_none() || named.is_some() {
        nodes.extend(others.map(|(key, member)| cluster_node(snapshot, key, member)));
    }
    nodes
}

/// Whether everything is ready, and there is at least one node.
pub fn all_ready(nodes: &[Node]) -> bool {
    fn is_ready(node: &Node) -> bool {
        node.ready.is_none_or(|ready| ready == ConditionStatus::True.as_str())
            && node.children.iter().all(is_ready)
    }
    !nodes.is_empty() && nodes.iter().all(is_ready)
}

/// The clusters of each release.
type Users<'a> = BTreeMap<(String, ReleaseName), Vec<(&'a Key, &'a Member)>>;

fn stack_node(
    snapshot: &Snapshot,
    key: &Key,
    stack: &ClusterStack,
    users: &Users,
    asks: &dyn Fn(Named, &str) -> bool,
) -> Node {
    let report = ready(&stack.metadata, stack.status.as_ref().map(|status| &status.conditions));
    let mut node = Node::new("ClusterStack", key, created(&stack.metadata), &report);
    if let Some(source) = catalog(stack) {
        node.children.push(source_node(snapshot, stack, &source));
    }
    let there = snapshot.releases.keys().filter(|found| found.namespace == key.namespace);
    let there = there.filter_map(|found| found.name.parse().ok());
    let used =
        users.keys().filter(|(namespace, _)| *namespace == key.namespace).map(|(_, release)| release.clone());
    let all = there.chain(used);
    let is_holder = |name: &ReleaseName| {
        snapshot.stack_of(&key.namespace, name).is_some_and(|holder| Key::of(holder) == *key)
    };
    let releases: BTreeSet<ReleaseName> = all.filter(is_holder).collect();
    for release in releases.iter().filter(|release| asks(Named::Release, &release.to_string())) {
        let of = users.get(&(key.namespace.clone(), release.clone())).map(Vec::as_slice).unwrap_or_default();
        let below = release_node(snapshot, &key.namespace, release, of, asks);
        let has_cluster = below.children.iter().any(|child| child.kind == "Cluster");
        // Skip a release in another namespace, or without the requested cluster.
        if has_cluster || (snapshot.shows(&key.namespace) && asks(Named::Cluster, "")) {
            node.children.push(below);
        }
    }
    node
}

/// Returns the node of a followed source, with the URL of a built-in stack repository, which no spec shows.
fn source_node(snapshot: &Snapshot, stack: &ClusterStack, key: &Key) -> Node {
    let node = flux_node(snapshot, FluxKind::GitRepository, key);
    let url = snapshot.followed(&key.namespace, &key.name).map(|followed| followed.url).unwrap_or_default();
    let own = stack.metadata.uid.as_ref().map(|uid| format!("/{uid}.git"));
    match own {
        Some(own) if url.ends_with(&own) => Node { message: format!("{url}: {}", node.message), ..node },
        _ => node,
    }
}

fn release_node(
    snapshot: &Snapshot,
    namespace: &str,
    release: &ReleaseName,
    users: &[(&Key, &Member)],
    asks: &dyn Fn(Named, &str) -> bool,
) -> Node {
    let key = Key::new(namespace, &release.to_string());
    let mut node = match snapshot.release(namespace, release) {
        Some(found) => {
            let report = ready(&found.metadata, found.status.as_ref().map(|status| &status.conditions));
            let mut node = Node::new("ClusterStackRelease", &key, created(&found.metadata), &report);
            for object in found.status.iter().flat_map(|status| &status.objects) {
                if let Some(kind) = FluxKind::of(&object.kind) {
                    let key = Key::new(&object.namespace, &object.name);
                    node.children.push(flux_node(snapshot, kind, &key));
                }
            }
            node
        }
        None => Node::new("ClusterStackRelease", &key, None, &absent_release(snapshot, namespace, release)),
    };
    let members = users.iter().filter(|(of, _)| asks(Named::Cluster, &of.name));
    node.children.extend(members.map(|(of, member)| cluster_node(snapshot, of, member)));
    node
}

fn cluster_node(snapshot: &Snapshot, key: &Key, member: &Member) -> Node {
    let report = cluster_report(snapshot, key, member);
    let mut node = Node::new("Cluster", key, member.created, &report);
    let addons =
        member.addon.iter().filter_map(|addon| addon.status.as_ref()).flat_map(|status| &status.addons);
    let deletion = member.deletion_report();
    let report_of = |addon: &AddonStatus| deletion.clone().unwrap_or_else(|| addon_report(addon));
    let upgrade = member.addon.as_ref().filter(|_| deletion.is_none()).and_then(upgrade_node);
    let addons = addons.map(|addon| addon_node(snapshot, &key.namespace, addon, &report_of(addon)));
    node.children = upgrade.into_iter().chain(addons).collect();
    node
}

/// Returns the node of a cluster's upgrade to another Kubernetes version, if there is one.
fn upgrade_node(addon: &ClusterAddon) -> Option<Node> {
    let Upgrade { versions, since, report } = upgrade(addon).filter(|it| !it.versions.is_empty())?;
    Some(Node::new("UpgradeGate", &Key::new("", &versions), since, &report))
}

/// Reports a release that Clusters name and that is not installed, as its `ClusterStack` does.
pub(super) fn absent_release(snapshot: &Snapshot, namespace: &str, release: &ReleaseName) -> Report {
    missing(snapshot, namespace, release).unwrap_or_else(not_there)
}

/// Reports the state of a cluster with its addons.
#[must_use]
pub fn cluster_report(snapshot: &Snapshot, key: &Key, member: &Member) -> Report {
    match &member.addon {
        Some(addon) => {
            let conditions = addon.status.as_ref().map(|status| &status.conditions);
            let report = member.deletion_report().or_else(|| member.outdated(key));
            report.unwrap_or_else(|| ready(&addon.metadata, conditions))
        }
        None => obstacle(snapshot, key, member).report,
    }
}

fn addon_node(snapshot: &Snapshot, namespace: &str, addon: &AddonStatus, report: &Report) -> Node {
    let key = Key::new("", &addon.name);
    let mut node = Node { version: version(addon), ..Node::new("Addon", &key, None, report) };
    let object = addon.object.as_ref().and_then(|object| Some((FluxKind::of(&object.kind)?, &object.name)));
    node.children.extend(object.map(|(kind, name)| flux_node(snapshot, kind, &Key::new(namespace, name))));
    node
}

/// Returns the chart of an addon with its version: `cilium 1.16.5`, followed by the version of the application if it is
/// known. Returns the repository of a component: `from oci://registry.example.org/charts/x@sha256:012345678901`.
fn version(addon: &AddonStatus) -> String {
    if let Some(source) = &addon.source {
        return format!("from {source}");
    }
    let (Some(chart), Some(version)) = (&addon.chart, &addon.version) else { return String::new() };
    let app = addon.app_version.as_ref().map(|app| format!(", app {app}")).unwrap_or_default();
    format!("{chart} {version}{app}")
}

/// Returns the name of an addon, and its chart.
pub(super) fn titled(addon: &AddonStatus) -> String {
    match version(addon) {
        version if version.is_empty() => addon.name.clone(),
        version => format!("{} ({version})", addon.name),
    }
}

/// Returns what the operator reports about an addon.
pub(super) fn addon_report(addon: &AddonStatus) -> Report {
    let Some(phase) = addon.phase.as_deref() else { return Report::not_yet_reported() };
    let reason = addon.reason.as_deref().filter(|reason| !reason.is_empty()).unwrap_or(phase);
    // `Held` is a phase and not a reason: the status follows from its reason.
    let means = Reason::of(phase).or_else(|| Reason::of(reason));
    let status = means.map_or(ConditionStatus::Unknown, status_of);
    Report::new(status, reason, addon.message.as_deref().unwrap_or_default())
}

fn flux_node(snapshot: &Snapshot, kind: FluxKind, key: &Key) -> Node {
    let (object, report) = (snapshot.flux(kind, key), snapshot.flux_report(kind, key));
    let mut node =
        Node::new(kind.as_str(), key, object.and_then(|object| created(object.metadata())), &report);
    node.children = object.map(applied).unwrap_or_default();
    node
}

fn applied(object: &FluxObject) -> Vec<Node> {
    let nodes = object.applied().iter().map(|applied| Node {
        kind: applied.kind.clone(),
        namespace: applied.namespace.clone(),
        name: applied.name.clone(),
        version: String::new(),
        ready: None,
        reason: String::new(),
        message: String::new(),
        created: None,
        children: Vec::new(),
    });
    nodes.collect()
}

impl Node {
    fn new(kind: &str, key: &Key, created: Option<Timestamp>, report: &Report) -> Self {
        Self {
            kind: kind.to_owned(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            version: String::new(),
            ready: Some(report.status.as_str()),
            reason: report.reason.clone(),
            message: report.message.clone(),
            created,
            children: Vec::new(),
        }
    }

    /// Adds the report about the Clusters of a `ClusterStack`, if they are not ready.
    fn with_clusters(&mut self, clusters: &Report) {
        if clusters.status == ConditionStatus::True {
            return;
        }
        let message = format!("ClustersReady: {}", clusters.message);
        if self.ready == Some(ConditionStatus::True.as_str()) {
            (self.ready, self.reason) = (Some(clusters.status.as_str()), clusters.reason.clone());
            self.message = message;
        } else {
            self.message = format!("{}; {message}", self.message);
        }
    }
}
