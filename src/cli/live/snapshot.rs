//! The objects that were read from a cluster, and their relations.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde_json::Value;

use super::Named;
use super::flux::{FluxObject, reports};
use crate::api::{ClusterAddon, ClusterStack, ClusterStackRelease, ConditionType, Reason};
use crate::foreign::capi::{Cluster, text};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::ownership::cluster_of;
use crate::names::{Key, ReleaseName};
use crate::promote::follow::Followed;
use crate::rollup::{ConditionStatus, Report, mirror};
use crate::subscription::{Claimant, holder};

/// Everything that the live commands show, read at the same time.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Snapshot {
    pub(super) now: Timestamp,
    /// The requested namespace; of other namespaces, the snapshot has only what this namespace's clusters depend on.
    /// `None` for all namespaces.
    pub(super) namespace: Option<String>,
    pub(super) stacks: BTreeMap<Key, ClusterStack>,
    pub(super) releases: BTreeMap<Key, ClusterStackRelease>,
    /// The Clusters and their addons, by namespace and name of the Cluster.
    pub(super) members: BTreeMap<Key, Member>,
    pub(super) flux: BTreeMap<(FluxKind, Key), FluxObject>,
    /// The reports on them.
    reports: BTreeMap<(FluxKind, Key), Report>,
    /// Whether only Clusters with certain labels were requested.
    pub(super) selected: bool,
    /// The kinds that could not be read: whether their objects exist is unknown.
    unread: BTreeSet<FluxKind>,
    /// Whether other namespaces could not be read.
    is_narrow: bool,
}

/// A Cluster and its addons, at least one of which exists.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Member {
    pub(super) cluster: Option<Cluster>,
    /// `metadata.creationTimestamp` of the Cluster.
    pub(super) created: Option<Timestamp>,
    pub(super) addon: Option<ClusterAddon>,
}

/// The lists that a snapshot is made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    pub(super) stacks: Vec<ClusterStack>,
    pub(super) releases: Vec<ClusterStackRelease>,
    pub(super) addons: Vec<ClusterAddon>,
    pub(super) clusters: Vec<Value>,
    /// The Flux objects of each kind; `None` if the kind could not be read.
    pub(super) flux: Vec<(FluxKind, Option<Vec<FluxObject>>)>,
    /// Whether `clusters` is a selection, so that addons without a Cluster belong to others.
    pub(super) selected: bool,
    /// Whether `stacks` and the other objects that Clusters of several namespaces use could be read only in the one
    /// namespace.
    pub(super) is_narrow: bool,
}

impl Snapshot {
    pub(super) fn new(lists: Lists, namespace: Option<String>, now: Timestamp) -> Self {
        let selected = lists.selected;
        let members = members(lists.clusters, lists.addons, selected);
        let unread = lists.flux.iter().filter(|(_, objects)| objects.is_none()).map(|(kind, _)| *kind);
        let unread = unread.collect();
        let flux = lists.flux.into_iter().flat_map(|(kind, objects)| {
            objects
                .into_iter()
                .flatten()
                .map(move |object| ((kind, Key::of_metadata(object.metadata())), object))
        });
        let flux = flux.collect();
        let addons = members.values().filter_map(|member| member.addon.as_ref());
        let reports = reports(&flux, addons, lists.releases.iter(), lists.stacks.iter(), now);
        Self {
            now,
            namespace,
            stacks: lists.stacks.into_iter().map(|stack| (Key::of(&stack), stack)).collect(),
            releases: lists.releases.into_iter().map(|release| (Key::of(&release), release)).collect(),
            members,
            flux,
            reports,
            selected,
            unread,
            is_narrow: lists.is_narrow,
        }
    }

    /// Returns the time at which the snapshot was read.
    pub(in crate::cli) fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns ` in namespace …` for messages; empty if all namespaces were read.
    pub(in crate::cli) fn place(&self) -> String {
        self.namespace.as_ref().map(|name| format!(" in namespace {name}")).unwrap_or_default()
    }

    /// Returns the message for a snapshot with nothing to show.
    pub(in crate::cli) fn nothing(&self) -> String {
        let elsewhere = if self.namespace.is_some() { "; try --all-namespaces" } else { "" };
        format!("no ClusterStacks and no Clusters of one found{}{elsewhere}", self.place())
    }

    /// Returns the message for a selector that matches no Cluster; `None` without one, or if it matches some.
    pub(in crate::cli) fn nothing_selected(&self) -> Option<String> {
        let is_empty = self.selected && self.members.is_empty();
        is_empty.then(|| format!("no Cluster{} has the labels of --selector", self.place()))
    }

    /// Whether the objects of this namespace were requested.
    pub(super) fn shows(&self, namespace: &str) -> bool {
        self.namespace.as_ref().is_none_or(|only| only == namespace)
    }

    /// Whether the ClusterStacks, releases and sources of this namespace could be read.
    pub(super) fn knows(&self, namespace: &str) -> bool {
        !self.is_narrow || self.shows(namespace)
    }

    /// Iterates over all ClusterStacks.
    pub(in crate::cli) fn stacks(&self) -> impl Iterator<Item = &ClusterStack> {
        self.stacks.values()
    }

    /// Iterates over all Clusters, each with its addons.
    pub(in crate::cli) fn members(&self) -> impl Iterator<Item = (&Cluster, Option<&ClusterAddon>)> {
        self.members.values().filter_map(|member| Some((member.cluster.as_ref()?, member.addon.as_ref())))
    }

    /// Finds the release with this name of a ClusterStack in this namespace.
    pub(in crate::cli) fn release(
        &self,
        namespace: &str,
        name: &ReleaseName,
    ) -> Option<&ClusterStackRelease> {
        self.releases.get(&Key::new(namespace, &name.to_string()))
    }

    /// Returns what the `GitRepository` with this name follows; `None` if it was not read or does not exist.
    pub(in crate::cli) fn followed(&self, namespace: &str, name: &str) -> Option<Followed> {
        self.flux(FluxKind::GitRepository, &Key::new(namespace, name)).map(FluxObject::followed)
    }

    pub(super) fn flux(&self, kind: FluxKind, key: &Key) -> Option<&FluxObject> {
        self.flux.get(&(kind, key.clone()))
    }

    /// Reports on a Flux object, as the operator judges it.
    pub(super) fn flux_report(&self, kind: FluxKind, key: &Key) -> Report {
        let report = self.reports.get(&(kind, key.clone()));
        report.cloned().unwrap_or_else(|| self.absent(kind, &key.namespace))
    }

    /// Reports an absent Flux object: as missing if its kind and namespace were read, otherwise as unknown.
    pub(super) fn absent(&self, kind: FluxKind, namespace: &str) -> Report {
        let is_read = if kind.is_source() { self.knows(namespace) } else { self.shows(namespace) };
        if self.unread.contains(&kind) || !is_read { not_read() } else { not_there() }
    }

    /// Finds the Cluster with this namespace and name.
    pub(in crate::cli) fn member(&self, namespace: &str, name: &str) -> Option<(&Key, &Member)> {
        self.members.get_key_value(&Key::new(namespace, name))
    }

    /// Whether an object with this namespace and name was read.
    pub(in crate::cli) fn exists(&self, kind: Named, namespace: &str, name: &str) -> bool {
        let key = Key::new(namespace, name);
        match kind {
            Named::Clusterstack => self.stacks.contains_key(&key),
            Named::Release => self.releases.contains_key(&key),
            Named::Cluster => self.members.contains_key(&key),
        }
    }

    /// Whether there is a Cluster with this name, in any namespace.
    pub(in crate::cli) fn has(&self, name: &str) -> bool {
        self.members.keys().any(|key| key.name == name)
    }

    /// Finds the `ClusterStack` that a release of this namespace belongs to.
    pub(super) fn stack_of(&self, namespace: &str, release: &ReleaseName) -> Option<&ClusterStack> {
        let owner = self.release(namespace, release).and_then(ClusterStackRelease::stack_owner);
        let here = self.stacks.iter().filter(|(key, _)| key.namespace == namespace);
        holder(here.map(|(_, stack)| Claimant(stack)), release, owner.map(|owner| owner.uid.as_str()))
    }

    /// Groups the clusters by the namespace and the name of their class's release.
    pub(super) fn by_release(&self) -> BTreeMap<(String, ReleaseName), Vec<(&Key, &Member)>> {
        let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (key, member) in &self.members {
            if let Some(release) = member.release(key) {
                found.entry(release).or_default().push((key, member));
            }
        }
        found
    }
}

fn members(clusters: Vec<Value>, addons: Vec<ClusterAddon>, selected: bool) -> BTreeMap<Key, Member> {
    let mut members: BTreeMap<Key, Member> = BTreeMap::new();
    for object in clusters {
        let created = text(&object, &["metadata", "creationTimestamp"]).parse().ok();
        // The API server rejects everything that could fail here: another kind, or an invalid name.
        let Ok(cluster) = Cluster::new(object) else { continue };
        let key = cluster.key();
        members.insert(key, Member { cluster: Some(cluster), created, addon: None });
    }
    for addon in addons {
        let key = cluster_of(&addon);
        if selected {
            members.entry(key).and_modify(|member| member.addon = Some(addon));
        } else {
            members.entry(key).or_default().addon = Some(addon);
        }
    }
    members
}

impl Member {
    /// Reports that a cluster with addons is being deleted, regardless of its `ClusterAddon`; `None` if it is not.
    pub(super) fn deletion_report(&self) -> Option<Report> {
        self.addon.as_ref()?;
        let since = self.cluster.as_ref()?.deleting_since()?;
        let message = format!(
            "the Cluster is being deleted since {since}: its Flux objects are suspended and deleted, and nothing is uninstalled"
        );
        Some(Report::new(ConditionStatus::False, Reason::Deleting.as_str(), &message))
    }

    /// Returns the namespace and the name of the release of the cluster's class; `None` without a class, or if the
    /// class is of no release.
    pub(super) fn release(&self, key: &Key) -> Option<(String, ReleaseName)> {
        if let Some(cluster) = &self.cluster {
            return cluster.release();
        }
        // The operator wrote it. An invalid release name belongs to no ClusterStack.
        let progress = self.addon.as_ref()?.status.as_ref()?.release.as_ref()?;
        let release: ReleaseName = progress.desired.as_ref()?.parse().ok()?;
        Some((progress.desired_namespace.as_ref().unwrap_or(&key.namespace).clone(), release))
    }

    /// Reports a `ClusterAddon` that is about another release than the Cluster's class: the operator has not reconciled
    /// the Cluster since its class changed. `None` if the status is up to date, or if it reports that the Cluster is
    /// paused, because the operator does not reconcile a paused Cluster.
    pub(super) fn outdated(&self, key: &Key) -> Option<Report> {
        let cluster = self.cluster.as_ref()?;
        let (_, release) = self.release(key)?;
        let status = self.addon.as_ref()?.status.as_ref()?;
        let is_paused = |ready: &Condition| {
            ready.type_ == ConditionType::Ready.as_str() && ready.reason == Reason::Paused.as_str()
        };
        if cluster.paused() && status.conditions.iter().any(is_paused) {
            return None;
        }
        let reported = status.release.as_ref()?.desired.as_ref()?;
        let message = format!(
            "the status is about release {reported}; the operator has not reconciled {release} of the Cluster's class yet"
        );
        let reason = Reason::NotYetReported.as_str();
        (*reported != release.to_string()).then(|| Report::new(ConditionStatus::Unknown, reason, &message))
    }
}

/// Reports an object that was not read, or may not be read.
pub(super) fn not_read() -> Report {
    Report::new(ConditionStatus::Unknown, "NotRead", "was not read")
}

/// Reports a missing object.
pub(super) fn not_there() -> Report {
    Report::new(ConditionStatus::False, "NotFound", "is not there")
}

/// Reports the condition `Ready` of an object of stackflux's own kinds, if it is about the current spec.
pub(super) fn ready(metadata: &ObjectMeta, conditions: Option<&Vec<Condition>>) -> Report {
    mirrored(metadata, conditions, ConditionType::Ready)
}

/// Reports the condition `ClustersReady` of a `ClusterStack`.
pub(super) fn clusters_ready(stack: &ClusterStack) -> Report {
    let conditions = stack.status.as_ref().map(|status| &status.conditions);
    mirrored(&stack.metadata, conditions, ConditionType::ClustersReady)
}

/// Like [`ready`], for another condition.
pub(in crate::cli) fn mirrored(
    metadata: &ObjectMeta,
    conditions: Option<&Vec<Condition>>,
    kind: ConditionType,
) -> Report {
    let conditions = conditions.map(Vec::as_slice).unwrap_or_default();
    mirror(conditions, metadata.generation.unwrap_or_default(), kind.as_str())
}

/// Formats an age like kubectl: in the largest unit of which it has at least two.
pub(super) fn age(created: Option<Timestamp>, now: Timestamp) -> String {
    let Some(created) = created else { return crate::cli::output::NOTHING.to_owned() };
    match now.duration_since(created).as_secs().max(0) {
        seconds @ 0..=119 => format!("{seconds}s"),
        seconds @ 120..=7199 => format!("{}m", seconds / 60),
        seconds @ 7200..=172_799 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// Returns the time of `creationTimestamp`.
pub(super) fn created(metadata: &ObjectMeta) -> Option<Timestamp> {
    metadata.creation_timestamp.as_ref().map(|time| time.0)
}
