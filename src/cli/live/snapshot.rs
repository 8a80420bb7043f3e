//! What was read of a cluster, and how its parts belong together.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde_json::Value;

use super::flux::{FluxKind, FluxObject};
use crate::api::{ClusterAddon, ClusterStack, ClusterStackRelease, ConditionType, Reason};
use crate::foreign::capi::{Cluster, text};
use crate::foreign::flux::ownership::cluster_of;
use crate::names::{Key, ReleaseName};
use crate::promote::follow::Followed;
use crate::rollup::{ConditionStatus, Report, mirror};
use crate::subscription;

/// Everything that the live commands show, read at one time.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Snapshot {
    pub(super) now: Timestamp,
    /// The one namespace that was asked for; of other namespaces there is only what its clusters depend on.
    pub(super) namespace: Option<String>,
    pub(super) stacks: BTreeMap<Key, ClusterStack>,
    pub(super) releases: BTreeMap<Key, ClusterStackRelease>,
    /// By namespace and name of the Cluster.
    pub(super) members: BTreeMap<Key, Member>,
    pub(super) flux: BTreeMap<(FluxKind, Key), FluxObject>,
    /// Whether only some Clusters were asked for, by their labels.
    pub(super) selected: bool,
    /// The kinds that could not be read: of an object of theirs it is not known whether it is there.
    unread: BTreeSet<FluxKind>,
    /// Whether nothing is known of the other namespaces.
    is_narrow: bool,
}

/// A Cluster and its addons. One of them is there.
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
    /// `None` where a kind could not be read.
    pub(super) flux: Vec<(FluxKind, Option<Vec<FluxObject>>)>,
    /// Whether `clusters` are a selection, so that addons without a Cluster are not of it.
    pub(super) selected: bool,
    /// Whether `stacks` and all else that Clusters of other namespaces use were read in the one namespace alone.
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
                .map(move |object| ((kind, Key::of_metadata(&object.metadata)), object))
        });
        Self {
            now,
            namespace,
            stacks: lists.stacks.into_iter().map(|stack| (Key::of(&stack), stack)).collect(),
            releases: lists.releases.into_iter().map(|release| (Key::of(&release), release)).collect(),
            members,
            flux: flux.collect(),
            selected,
            unread,
            is_narrow: lists.is_narrow,
        }
    }

    /// When it was read.
    pub(in crate::cli) fn now(&self) -> Timestamp {
        self.now
    }

    /// Where was looked: ` in namespace …`; empty for all of them.
    pub(in crate::cli) fn place(&self) -> String {
        self.namespace.as_ref().map(|name| format!(" in namespace {name}")).unwrap_or_default()
    }

    /// What is said where there is nothing to show.
    pub(in crate::cli) fn nothing(&self) -> String {
        let elsewhere = if self.namespace.is_some() { "; try --all-namespaces" } else { "" };
        format!("no ClusterStacks and no Clusters of one found{}{elsewhere}", self.place())
    }

    /// Whether the objects of this namespace are asked for.
    pub(super) fn shows(&self, namespace: &str) -> bool {
        self.namespace.as_ref().is_none_or(|only| only == namespace)
    }

    /// Whether the ClusterStacks, releases and sources of this namespace could be read.
    pub(super) fn knows(&self, namespace: &str) -> bool {
        !self.is_narrow || self.shows(namespace)
    }

    /// All ClusterStacks.
    pub(in crate::cli) fn stacks(&self) -> impl Iterator<Item = &ClusterStack> {
        self.stacks.values()
    }

    /// All Clusters, each with its addons.
    pub(in crate::cli) fn members(&self) -> impl Iterator<Item = (&Cluster, Option<&ClusterAddon>)> {
        self.members.values().filter_map(|member| Some((member.cluster.as_ref()?, member.addon.as_ref())))
    }

    /// The release of this name that a ClusterStack in this namespace has.
    pub(in crate::cli) fn release(
        &self,
        namespace: &str,
        name: &ReleaseName,
    ) -> Option<&ClusterStackRelease> {
        self.releases.get(&Key::new(namespace, &name.to_string()))
    }

    /// What the `GitRepository` of this name follows; `None` where it was not read or is not there.
    pub(in crate::cli) fn followed(&self, namespace: &str, name: &str) -> Option<Followed> {
        self.flux(FluxKind::GitRepository, namespace, name).map(FluxObject::followed)
    }

    pub(super) fn flux(&self, kind: FluxKind, namespace: &str, name: &str) -> Option<&FluxObject> {
        self.flux.get(&(kind, Key::new(namespace, name)))
    }

    /// What is said of an object of Flux's that was not found: only where it was looked for, it is not there.
    pub(super) fn absent(&self, kind: FluxKind, namespace: &str) -> Report {
        let wide = matches!(kind, FluxKind::GitRepository | FluxKind::HelmChart);
        let is_read = if wide { self.knows(namespace) } else { self.shows(namespace) };
        if self.unread.contains(&kind) || !is_read { not_read() } else { not_there() }
    }

    /// The Cluster of this name.
    pub(in crate::cli) fn member(&self, namespace: &str, name: &str) -> Option<(&Key, &Member)> {
        self.members.get_key_value(&Key::new(namespace, name))
    }

    /// Whether there is a Cluster of this name, in any namespace.
    pub(in crate::cli) fn has(&self, name: &str) -> bool {
        self.members.keys().any(|key| key.name == name)
    }

    /// The `ClusterStack` that a release in this namespace is of.
    pub(super) fn stack_of(&self, namespace: &str, release: &ReleaseName) -> Option<&ClusterStack> {
        let mut stacks = self.stacks.iter();
        stacks
            .find(|(key, stack)| key.namespace == namespace && subscription::is_of(&stack.spec, release))
            .map(|(_, stack)| stack)
    }

    /// The clusters by the namespace and the name of the release that their class is of.
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
        // The API server refuses what could be wrong with it: another kind, or a name that is none.
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
    /// What is said of a cluster with addons that is being deleted, whatever its `ClusterAddon` says.
    pub(super) fn goes(&self) -> Option<Report> {
        self.addon.as_ref()?;
        let since = self.cluster.as_ref()?.deleting_since()?;
        let message = format!(
            "the Cluster is being deleted since {since}: its Flux objects are suspended and deleted, and nothing is uninstalled"
        );
        Some(Report::new(ConditionStatus::False, Reason::Deleting.as_str(), &message))
    }

    /// The namespace and the name of the release that its class is of; none without a class, or with another's.
    pub(super) fn release(&self, key: &Key) -> Option<(String, ReleaseName)> {
        if let Some(cluster) = &self.cluster {
            let class = cluster.class()?;
            let release = class.release()?;
            return Some((class.namespace, release));
        }
        // The operator wrote it. An invalid release name belongs to no ClusterStack.
        let progress = self.addon.as_ref()?.status.as_ref()?.release.as_ref()?;
        let release: ReleaseName = progress.desired.as_ref()?.parse().ok()?;
        Some((progress.desired_namespace.as_ref().unwrap_or(&key.namespace).clone(), release))
    }
}

impl Member {
    /// What is said where its `ClusterAddon` speaks of another release than that of its class: the operator has not looked
    /// at the Cluster since the class was changed. At a paused Cluster it does not look, and says that it is paused.
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
        let told = status.release.as_ref()?.desired.as_ref()?;
        let message = format!(
            "the status is about release {told}; the operator has not reconciled {release} of the Cluster's class yet"
        );
        let reason = Reason::NotYetReported.as_str();
        (*told != release.to_string()).then(|| Report::new(ConditionStatus::Unknown, reason, &message))
    }
}

/// What is said of an object that was not looked for, or may not be read.
pub(super) fn not_read() -> Report {
    Report::new(ConditionStatus::Unknown, "NotRead", "was not read")
}

/// What is said of an object that should be there.
pub(super) fn not_there() -> Report {
    Report::new(ConditionStatus::False, "NotFound", "is not there")
}

/// What one of our own objects says in its condition `Ready`, where that is about its present spec.
pub(super) fn ready(metadata: &ObjectMeta, conditions: Option<&Vec<Condition>>) -> Report {
    mirrored(metadata, conditions, ConditionType::Ready)
}

/// What a `ClusterStack` says of its Clusters.
pub(super) fn clusters_ready(stack: &ClusterStack) -> Report {
    let conditions = stack.status.as_ref().map(|status| &status.conditions);
    mirrored(&stack.metadata, conditions, ConditionType::ClustersReady)
}

/// As [`ready`], for another condition.
pub(super) fn mirrored(
    metadata: &ObjectMeta,
    conditions: Option<&Vec<Condition>>,
    kind: ConditionType,
) -> Report {
    let conditions = conditions.map(Vec::as_slice).unwrap_or_default();
    mirror(conditions, metadata.generation.unwrap_or_default(), kind.as_str())
}

/// How old something is, as kubectl says it: in its largest unit that is at least two.
pub(super) fn age(created: Option<Timestamp>, now: Timestamp) -> String {
    let Some(created) = created else { return crate::cli::output::NOTHING.to_owned() };
    match now.duration_since(created).as_secs().max(0) {
        seconds @ 0..=119 => format!("{seconds}s"),
        seconds @ 120..=7199 => format!("{}m", seconds / 60),
        seconds @ 7200..=172_799 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// The time in a metadata's `creationTimestamp`.
pub(super) fn created(metadata: &ObjectMeta) -> Option<Timestamp> {
    metadata.creation_timestamp.as_ref().map(|time| time.0)
}
