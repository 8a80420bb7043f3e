//! The objects that were read from a cluster, and their relations.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde_json::Value;

use super::Named;
use super::flux::{FluxObject, reports};
use super::operator::{OperatorDown, OperatorLease, down};
use crate::api::{
    ClusterAddon, ClusterAddonOverride, ClusterStack, ClusterStackRelease, ConditionType, Reason,
};
use crate::foreign::capi::{Cluster, text};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::ownership::cluster_of;
use crate::names::{Key, ReleaseName};
use crate::promote::follow::Followed;
use crate::rollup::{ConditionStatus, Report, mirror};
use crate::subscription::{Claimant, holder};

/// Everything that the live commands show, read at the same time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The time at which it was read.
    pub now: Timestamp,
    /// The requested namespace; of other namespaces, the snapshot has only what this namespace's clusters depend on.
    /// `None` for all namespaces.
    pub namespace: Option<String>,
    /// The `ClusterStack`s.
    pub stacks: BTreeMap<Key, ClusterStack>,
    /// The releases.
    pub releases: BTreeMap<Key, ClusterStackRelease>,
    /// The Clusters and their addons, by namespace and name of the Cluster.
    pub members: BTreeMap<Key, Member>,
    /// The requests of owners of Clusters, by namespace and name of the Cluster.
    pub overrides: BTreeMap<Key, ClusterAddonOverride>,
    /// Flux's objects.
    pub flux: BTreeMap<(FluxKind, Key), FluxObject>,
    /// The reports on them.
    reports: BTreeMap<(FluxKind, Key), Report>,
    /// The operators that do not run.
    pub operators_down: Vec<OperatorDown>,
    /// Whether only Clusters with certain labels were requested.
    pub selected: bool,
    /// The kinds that could not be read: whether their objects exist is unknown.
    unread: BTreeSet<FluxKind>,
    /// Whether other namespaces could not be read.
    is_narrow: bool,
}

/// A Cluster and its addons, at least one of which exists.
#[derive(Clone, Debug, Default)]
pub struct Member {
    /// The Cluster.
    pub cluster: Option<Cluster>,
    /// `metadata.creationTimestamp` of the Cluster.
    pub created: Option<Timestamp>,
    /// Its `ClusterAddon`.
    pub addon: Option<ClusterAddon>,
}

/// The lists that a snapshot is made of.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// The `ClusterStack`s.
    pub stacks: Vec<ClusterStack>,
    /// The releases.
    pub releases: Vec<ClusterStackRelease>,
    /// The `ClusterAddon`s.
    pub addons: Vec<ClusterAddon>,
    /// The Clusters.
    pub clusters: Vec<Value>,
    /// The Flux objects of each kind; `None` if the kind could not be read.
    pub flux: Vec<(FluxKind, Option<Vec<FluxObject>>)>,
    /// The requests of owners of Clusters; empty if they cannot be read.
    pub overrides: Vec<ClusterAddonOverride>,
    /// The Leases of operators; empty if they cannot be read.
    pub operators: Vec<OperatorLease>,
    /// Whether `clusters` is a selection, so that addons without a Cluster belong to others.
    pub selected: bool,
    /// Whether `stacks` and the other objects that Clusters of several namespaces use could be read only in the one
    /// namespace.
    pub is_narrow: bool,
}

impl Snapshot {
    /// Takes what was read at this time, of one namespace or of all.
    #[must_use]
    pub fn new(lists: Lists, namespace: Option<String>, now: Timestamp) -> Self {
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
            overrides: lists.overrides.into_iter().map(|found| (Key::of(&found), found)).collect(),
            flux,
            reports,
            operators_down: down(&lists.operators, now),
            selected,
            unread,
            is_narrow: lists.is_narrow,
        }
    }

    /// Returns the time at which the snapshot was read.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns ` in namespace …` for messages; empty if all namespaces were read.
    #[must_use]
    pub fn place(&self) -> String {
        self.namespace.as_ref().map(|name| format!(" in namespace {name}")).unwrap_or_default()
    }

    /// Whether there are no objects of stackflux.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty() && self.releases.is_empty() && self.claimed().next().is_none()
    }

    /// Returns the message for a snapshot with nothing to show.
    #[must_use]
    pub fn nothing(&self) -> String {
        let elsewhere = if self.namespace.is_some() { "; try --all-namespaces" } else { "" };
        format!("no ClusterStacks and no Clusters of one found{}{elsewhere}", self.place())
    }

    /// Returns the message for a selector that matches no Cluster; `None` without one, or if it matches some.
    #[must_use]
    pub fn nothing_selected(&self) -> Option<String> {
        let is_empty = self.selected && self.members.is_empty();
        is_empty.then(|| format!("no Cluster{} has the labels of --selector", self.place()))
    }

    /// Whether the objects of this namespace were requested.
    #[must_use]
    pub fn shows(&self, namespace: &str) -> bool {
        self.namespace.as_ref().is_none_or(|only| only == namespace)
    }

    /// Whether the ClusterStacks, releases and sources of this namespace could be read.
    #[must_use]
    pub fn knows(&self, namespace: &str) -> bool {
        !self.is_narrow || self.shows(namespace)
    }

    /// Iterates over all ClusterStacks.
    pub fn stacks(&self) -> impl Iterator<Item = &ClusterStack> {
        self.stacks.values()
    }

    /// Iterates over all Clusters, each with its addons.
    pub fn members(&self) -> impl Iterator<Item = (&Cluster, Option<&ClusterAddon>)> {
        self.members.values().filter_map(|member| Some((member.cluster.as_ref()?, member.addon.as_ref())))
    }

    /// Finds the release with this name of a ClusterStack in this namespace.
    #[must_use]
    pub fn release(&self, namespace: &str, name: &ReleaseName) -> Option<&ClusterStackRelease> {
        self.releases.get(&Key::new(namespace, &name.to_string()))
    }

    /// Returns what the `GitRepository` with this name follows; `None` if it was not read or does not exist.
    pub fn followed(&self, namespace: &str, name: &str) -> Option<Followed> {
        self.flux(FluxKind::GitRepository, &Key::new(namespace, name)).map(FluxObject::followed)
    }

    /// Finds a Flux object.
    #[must_use]
    pub fn flux(&self, kind: FluxKind, key: &Key) -> Option<&FluxObject> {
        self.flux.get(&(kind, key.clone()))
    }

    /// Reports on a Flux object, as the operator judges it.
    #[must_use]
    pub fn flux_report(&self, kind: FluxKind, key: &Key) -> Report {
        let report = self.reports.get(&(kind, key.clone()));
        report.cloned().unwrap_or_else(|| self.absent(kind, &key.namespace))
    }

    /// Reports an absent Flux object: as missing if its kind and namespace were read, otherwise as unknown.
    #[must_use]
    pub fn absent(&self, kind: FluxKind, namespace: &str) -> Report {
        let is_read = if kind.is_source() { self.knows(namespace) } else { self.shows(namespace) };
        if self.unread.contains(&kind) || !is_read { not_read() } else { not_there() }
    }

    /// Finds the Cluster with this namespace and name.
    #[must_use]
    pub fn member(&self, namespace: &str, name: &str) -> Option<(&Key, &Member)> {
        self.members.get_key_value(&Key::new(namespace, name))
    }

    /// Whether an object with this namespace and name was read.
    #[must_use]
    pub fn exists(&self, kind: Named, namespace: &str, name: &str) -> bool {
        let key = Key::new(namespace, name);
        match kind {
            Named::Clusterstack => self.stacks.contains_key(&key),
            Named::Release => self.releases.contains_key(&key),
            Named::Cluster => self.members.contains_key(&key),
        }
    }

    /// Whether there is an object of this kind and name in the namespaces that were requested.
    #[must_use]
    pub fn has_named(&self, kind: Named, name: &str) -> bool {
        let is_it = |key: &Key| key.name == name && self.shows(&key.namespace);
        match kind {
            Named::Clusterstack => self.stacks.keys().any(is_it),
            Named::Release => self.releases.keys().any(is_it),
            Named::Cluster => self.members.keys().any(is_it),
        }
    }

    /// Whether there is a Cluster with this name, in any namespace.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.members.keys().any(|key| key.name == name)
    }

    /// Finds the `ClusterStack` that a release of this namespace belongs to.
    pub fn stack_of(&self, namespace: &str, release: &ReleaseName) -> Option<&ClusterStack> {
        let owner = self.release(namespace, release).and_then(ClusterStackRelease::stack_owner);
        let here = self.stacks.iter().filter(|(key, _)| key.namespace == namespace);
        holder(here.map(|(_, stack)| Claimant(stack)), release, owner.map(|owner| owner.uid.as_str()))
    }

    /// Iterates over the Clusters that have a `ClusterAddon` or belong to a `ClusterStack`.
    pub fn claimed(&self) -> impl Iterator<Item = (&Key, &Member)> {
        self.members.iter().filter(|(key, member)| {
            let is_ours =
                |(of, name): (String, ReleaseName)| self.stack_of(&of, &name).is_some() || !self.knows(&of);
            member.addon.is_some() || member.release(key).is_some_and(is_ours)
        })
    }

    /// Groups the clusters by the namespace and the name of their class's release.
    #[must_use]
    pub fn by_release(&self) -> BTreeMap<(String, ReleaseName), Vec<(&Key, &Member)>> {
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
    #[must_use]
    pub fn deletion_report(&self) -> Option<Report> {
        self.addon.as_ref()?;
        let since = self.cluster.as_ref()?.deleting_since()?;
        let message = format!(
            "the Cluster is being deleted since {since}: its Flux objects are suspended and deleted, and nothing is uninstalled"
        );
        Some(Report::new(ConditionStatus::False, Reason::Deleting.as_str(), &message))
    }

    /// Returns the time since which the Cluster is being deleted.
    #[must_use]
    pub fn deleting_since(&self) -> Option<Timestamp> {
        self.cluster.as_ref()?.deleting_since()?.parse().ok()
    }

    /// Returns the namespace and the name of the release of the cluster's class; `None` without a class, or if the
    /// class is of no release.
    #[must_use]
    pub fn release(&self, key: &Key) -> Option<(String, ReleaseName)> {
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
    #[must_use]
    pub fn outdated(&self, key: &Key) -> Option<Report> {
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
#[must_use]
pub fn not_read() -> Report {
    Report::new(ConditionStatus::Unknown, "NotRead", "was not read")
}

/// Reports a missing object.
#[must_use]
pub fn not_there() -> Report {
    Report::new(ConditionStatus::False, "NotFound", "is not there")
}

/// Reports the condition `Ready` of an object of stackflux's own kinds, if it is about the current spec.
#[must_use]
pub fn ready(metadata: &ObjectMeta, conditions: Option<&Vec<Condition>>) -> Report {
    mirrored(metadata, conditions, ConditionType::Ready)
}

/// Reports the condition `ClustersReady` of a `ClusterStack`.
#[must_use]
pub fn clusters_ready(stack: &ClusterStack) -> Report {
    let conditions = stack.status.as_ref().map(|status| &status.conditions);
    mirrored(&stack.metadata, conditions, ConditionType::ClustersReady)
}

/// Like [`ready`], for another condition.
pub fn mirrored(metadata: &ObjectMeta, conditions: Option<&Vec<Condition>>, kind: ConditionType) -> Report {
    let conditions = conditions.map(Vec::as_slice).unwrap_or_default();
    let generation = metadata.generation.unwrap_or_default();
    let observed = conditions.iter().find(|condition| condition.type_ == kind.as_str());
    let behind =
        observed.and_then(|condition| condition.observed_generation.filter(|seen| *seen < generation));
    match behind {
        Some(seen) => {
            let message = format!(
                "the status is about generation {seen}, and the operator has not reconciled {generation} yet"
            );
            Report::new(ConditionStatus::Unknown, Reason::NotYetReported.as_str(), &message)
        }
        None => mirror(conditions, generation, kind.as_str()),
    }
}

/// Returns the time of `creationTimestamp`.
#[must_use]
pub fn created(metadata: &ObjectMeta) -> Option<Timestamp> {
    metadata.creation_timestamp.as_ref().map(|time| time.0)
}
