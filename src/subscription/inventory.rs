//! Finds the objects of a release, and those that other releases have too.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::{Resource, ResourceExt as _};

use crate::api::cluster_stack_release::GeneratedObject;
use crate::api::{ClusterStackRelease, labels};
use crate::foreign::flux::observed::{
    Entry, GitRepository, GitRepositoryStatus, HelmChart, HelmChartStatus, HelmRelease, HelmReleaseStatus,
    Kustomization, KustomizationStatus, Observed, ObservedKind as _, References,
};
use crate::inputs::line::Line;
use crate::names::Key;

/// The objects of one release, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The cluster class.
    pub helm_releases: BTreeSet<Key>,
    /// The node images.
    pub kustomizations: BTreeSet<Key>,
    /// Charts.
    pub helm_charts: BTreeSet<Key>,
    /// Sources.
    pub git_repositories: BTreeSet<Key>,
    /// The namespaces of Helm's release record of the class.
    pub namespaces: BTreeSet<Key>,
}

/// The facts about the objects that may have been made from a release.
#[derive(Clone, Debug)]
pub struct InventoryFacts<'a> {
    /// The release.
    pub release: &'a ClusterStackRelease,
    /// The line of its `ClusterStack`, or that of its name if the `ClusterStack` does not exist.
    pub line: Line,
    /// The other releases of all namespaces.
    pub others: &'a [Arc<ClusterStackRelease>],
    /// The objects that the release owns.
    pub owned: Inventory,
    /// All `HelmRelease`s of stackflux.
    pub helm_releases: &'a [Arc<HelmRelease>],
    /// All `Kustomization`s of stackflux.
    pub kustomizations: &'a [Arc<Kustomization>],
    /// All `HelmChart`s of stackflux.
    pub helm_charts: &'a [Arc<HelmChart>],
    /// All `GitRepository`s.
    pub git_repositories: &'a [Arc<GitRepository>],
}

/// Returns the objects of a release: those that it owns, those that its status names, and those without owner and user.
#[must_use]
pub fn inventory(facts: InventoryFacts) -> Inventory {
    let (unused_charts, unused_repositories) = unused(&facts);
    let recorded = recorded(facts.release);
    let mut found = facts.owned;
    found.helm_charts.extend(unused_charts);
    found.git_repositories.extend(unused_repositories);
    found.helm_releases.extend(of_kind(recorded, HelmReleaseStatus::KIND));
    found.kustomizations.extend(of_kind(recorded, KustomizationStatus::KIND));
    found.helm_charts.extend(of_kind(recorded, HelmChartStatus::KIND));
    found.git_repositories.extend(of_kind(recorded, GitRepositoryStatus::KIND));
    found.namespaces.extend(of_kind(recorded, "Namespace"));
    found
}

fn recorded(release: &ClusterStackRelease) -> &[GeneratedObject] {
    release.status.as_ref().map(|status| status.objects.as_slice()).unwrap_or_default()
}

fn of_kind<'a>(objects: &'a [GeneratedObject], kind: &'a str) -> impl Iterator<Item = Key> + 'a {
    let found = objects.iter().filter(move |object| object.kind == kind);
    found.map(|object| Key::new(&object.namespace, &object.name))
}

/// Returns charts and sources of the release without owner and user: copies for Clusters, and those for an earlier source
/// of the `ClusterStack`. They include those of deleted releases of its line, because contents outlive their release.
fn unused(facts: &InventoryFacts) -> (Vec<Key>, Vec<Key>) {
    let existing: BTreeSet<String> = facts.others.iter().map(|other| other.name_any()).collect();
    let is_of_it =
        |label: &str| label.parse().is_ok_and(|of| facts.line.has(&of) && !existing.contains(label));
    let used: BTreeSet<Key> = facts.helm_releases.iter().map(|user| source_of(user)).collect();
    let is_unused =
        |chart: &&Arc<HelmChart>| is_left(&***chart, is_of_it) && !used.contains(&Key::of(&***chart));
    let (unused, others): (Vec<_>, Vec<_>) = facts.helm_charts.iter().partition(is_unused);
    let used: BTreeSet<Key> = others
        .iter()
        .map(|user| source_of(user))
        .chain(facts.kustomizations.iter().map(|user| source_of(user)))
        .collect();
    let repositories = facts.git_repositories.iter().filter(|found| is_left(&***found, is_of_it));
    let repositories = repositories.map(|found| Key::of(&**found)).filter(|key| !used.contains(key));
    (unused.into_iter().map(|chart| Key::of(&**chart)).collect(), repositories.collect())
}

/// Whether stackflux made an object for a matching release, and the object has no owner.
fn is_left(object: &impl Resource, is_of_it: impl Fn(&str) -> bool) -> bool {
    let label = |name| object.labels().get(name).map(String::as_str);
    object.owner_references().is_empty()
        && label(labels::MANAGED_BY) == Some(labels::FIELD_MANAGER)
        && label(labels::RELEASE).is_some_and(is_of_it)
}

/// Returns the chart or source that an object refers to.
fn source_of<Status>(object: &Observed<Status>) -> Key {
    let References { source, source_namespace, .. } = &object.refers_to;
    let own = object.object.namespace.as_deref().unwrap_or_default();
    Key::new(if source_namespace.is_empty() { own } else { source_namespace }, source)
}

/// Whether another release that is not being deleted has the object too: it owns the object, or its status names it.
#[must_use]
pub fn is_shared<'a, K: Resource<DynamicType = ()>>(
    release: &ClusterStackRelease,
    others: impl IntoIterator<Item = &'a ClusterStackRelease>,
    object: &K,
) -> bool {
    let (key, kind, uid) = (Key::of(object), K::kind(&()), release.uid());
    let owners = object.owner_references();
    let is_other =
        |other: &&ClusterStackRelease| other.uid() != uid && other.metadata.deletion_timestamp.is_none();
    others.into_iter().filter(is_other).any(|other| {
        let is_owner = owners.iter().any(|owner| Some(&owner.uid) == other.uid().as_ref());
        is_owner || of_kind(recorded(other), &kind).any(|recorded| recorded == key)
    })
}

/// Describes the first object that both classes have, such as `Image default/ubuntu with docker-demo-1-34-v2`. Helm would
/// delete the object although the other class needs it.
#[must_use]
pub fn shared_object(ours: &BTreeSet<Entry>, theirs: &BTreeSet<Entry>, other: &str) -> Option<String> {
    let shared = ours.intersection(theirs).next()?;
    Some(format!("{} with {other}", in_words(&shared.id)))
}

fn in_words(id: &str) -> String {
    let parts: Vec<&str> = id.split('_').collect();
    match parts.as_slice() {
        ["", name, _, kind] => format!("{kind} {name}"),
        [namespace, name, _, kind] => format!("{kind} {namespace}/{name}"),
        _ => id.to_owned(),
    }
}
