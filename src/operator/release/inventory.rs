//! What was made of a release: all of it, and what others have as well.

use std::collections::BTreeSet;

use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Resource, ResourceExt as _};
use serde_json::Value;

use super::super::cache::{Cache, Cached, Key};
use super::super::objects::term;
use super::super::world::World;
use crate::api::cluster_stack_release::GeneratedObject;
use crate::api::{ClusterStackRelease, labels};
use crate::foreign::flux::observed::{
    GitRepositoryStatus, HelmChartStatus, HelmReleaseStatus, KustomizationStatus, Observed, ObservedKind,
    References,
};
use crate::inputs::content::Line;
use crate::names::ReleaseName;
use crate::sink::cluster::RequestError;

/// The objects of each kind that were made of one release.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    /// The cluster class.
    pub(super) helm_releases: BTreeSet<Key>,
    /// The node images.
    pub(super) kustomizations: BTreeSet<Key>,
    /// Charts.
    pub(super) helm_charts: BTreeSet<Key>,
    /// Sources.
    pub(super) git_repositories: BTreeSet<Key>,
    /// Where Helm keeps its record of the class.
    pub(super) namespaces: BTreeSet<Key>,
}

impl Inventory {
    /// All that its status names and that it owns, and what nothing owns and nothing uses.
    pub(super) fn of(world: &World, release: &ClusterStackRelease) -> Self {
        let (kept, caches) = (kept(release), &world.caches);
        let owner = term::owned_by("ClusterStackRelease", &Key::of(release));
        let (unused_charts, unused_repositories) = unused(world, release);
        let charts = owned(&caches.helm_charts, &owner).into_iter().chain(unused_charts).collect();
        let repositories =
            owned(&caches.git_repositories, &owner).into_iter().chain(unused_repositories).collect();
        Self {
            helm_releases: named::<HelmReleaseStatus>(kept, owned(&caches.helm_releases, &owner)),
            kustomizations: named::<KustomizationStatus>(kept, owned(&caches.kustomizations, &owner)),
            helm_charts: named::<HelmChartStatus>(kept, charts),
            git_repositories: named::<GitRepositoryStatus>(kept, repositories),
            namespaces: of_kind(kept, "Namespace").collect(),
        }
    }
}

fn kept(release: &ClusterStackRelease) -> &[GeneratedObject] {
    release.status.as_ref().map(|status| status.objects.as_slice()).unwrap_or_default()
}

fn of_kind(objects: &[GeneratedObject], kind: &str) -> impl Iterator<Item = Key> {
    let found = objects.iter().filter(move |object| object.kind == kind);
    found.map(|object| Key::new(&object.namespace, &object.name)).collect::<Vec<_>>().into_iter()
}

fn owned<K: Cached>(cache: &Cache<K>, owner: &str) -> Vec<Key> {
    cache.find(owner).iter().map(|object| Key::of(&**object)).collect()
}

fn named<Status: ObservedKind>(kept: &[GeneratedObject], owned: Vec<Key>) -> BTreeSet<Key> {
    of_kind(kept, Status::KIND).chain(owned).collect()
}

/// Charts and sources of the release that nobody owns and nothing uses: copies beside Clusters, and what was beside a source
/// that the `ClusterStack` had before. Those of releases of its line that are gone are among them: contents outlive the
/// release that they come from.
fn unused(world: &World, release: &ClusterStackRelease) -> (Vec<Key>, Vec<Key>) {
    let Ok(name) = release.name_any().parse::<ReleaseName>() else { return Default::default() };
    let (line, caches) = (line(world, release, &name), &world.caches);
    let others = caches.releases.all();
    let others = others.iter().filter(|other| other.uid() != release.uid());
    let there: BTreeSet<String> = others.map(|other| other.name_any()).collect();
    let is_of_it = |label: &str| label.parse().is_ok_and(|of| line.has(&of) && !there.contains(label));
    let used: BTreeSet<Key> = caches.helm_releases.all().iter().map(|user| source_of(user)).collect();
    let charts = caches.helm_charts.all();
    let (unused, kept): (Vec<_>, Vec<_>) =
        charts.iter().partition(|chart| is_left(&***chart, is_of_it) && !used.contains(&Key::of(&***chart)));
    let used: BTreeSet<Key> = kept
        .iter()
        .map(|user| source_of(user))
        .chain(caches.kustomizations.all().iter().map(|user| source_of(user)))
        .collect();
    let repositories = caches.git_repositories.all();
    let repositories = repositories.iter().filter(|found| is_left(&***found, is_of_it));
    let repositories = repositories.map(|found| Key::of(&**found)).filter(|key| !used.contains(key));
    (unused.into_iter().map(|chart| Key::of(&**chart)).collect(), repositories.collect())
}

/// The line of the `ClusterStack` that owns the release; that of its name where the `ClusterStack` is not there.
fn line(world: &World, release: &ClusterStackRelease, name: &ReleaseName) -> Line {
    let owner = release.owner_references().iter().find(|owner| owner.kind == "ClusterStack");
    let key = owner.map(|owner| Key::new(&release.namespace().unwrap_or_default(), &owner.name));
    let stack = key.and_then(|key| world.caches.stacks.get(&key));
    stack.map_or_else(|| Line::of(name), |stack| Line::of_stack(&stack.spec))
}

/// Whether we made an object, for such a release, and nobody owns it.
fn is_left(object: &impl Resource, is_of_it: impl Fn(&str) -> bool) -> bool {
    let label = |name| object.labels().get(name).map(String::as_str);
    object.owner_references().is_empty()
        && label(labels::MANAGED_BY) == Some(labels::FIELD_MANAGER)
        && label(labels::RELEASE).is_some_and(is_of_it)
}

/// The chart or source that an object refers to.
fn source_of<Status>(object: &Observed<Status>) -> Key {
    let References { source, source_namespace, .. } = &object.refers_to;
    let own = object.object.namespace.as_deref().unwrap_or_default();
    Key::new(if source_namespace.is_empty() { own } else { source_namespace }, source)
}

/// Whether another release has the object as well: it owns it, or its status names it.
pub(super) fn is_shared<K: Resource<DynamicType = ()>>(
    world: &World,
    release: &ClusterStackRelease,
    object: &K,
) -> bool {
    let (key, kind, uid) = (Key::of(object), K::kind(&()), release.uid());
    let owners = object.owner_references();
    let others = world.caches.releases.all();
    let mut others = others.iter().filter(|other| other.uid() != uid && !is_going(other));
    others.any(|other| {
        let is_owner = owners.iter().any(|owner| Some(&owner.uid) == other.uid().as_ref());
        is_owner || of_kind(kept(other), &kind).any(|kept| kept == key)
    })
}

fn is_going(release: &ClusterStackRelease) -> bool {
    release.metadata.deletion_timestamp.is_some()
}

/// An object of the cluster class that another class of the namespace has as well: Helm would delete it under the other.
/// Told in words: `Image default/ubuntu, which docker-demo-1-34-v2 has, too`.
pub(super) async fn shared_object(
    world: &World,
    release: &ClusterStackRelease,
) -> Result<Option<String>, RequestError> {
    let namespace = release.namespace().unwrap_or_default();
    let ours = applied(world, &Key::of(release)).await?;
    if ours.is_empty() {
        return Ok(None);
    }
    for other in world.caches.releases.all() {
        if other.namespace().as_ref() != Some(&namespace) || other.uid() == release.uid() {
            continue;
        }
        let theirs = applied(world, &Key::of(&*other)).await?;
        if let Some(shared) = ours.intersection(&theirs).next() {
            return Ok(Some(format!("{}, which {} has, too", in_words(shared), other.name_any())));
        }
    }
    Ok(None)
}

/// What Helm applied of a class: the identities in the inventory of its `HelmRelease`, `<namespace>_<name>_<group>_<kind>`.
async fn applied(world: &World, class: &Key) -> Result<BTreeSet<String>, RequestError> {
    let kind =
        GroupVersionKind::gvk(HelmReleaseStatus::GROUP, HelmReleaseStatus::VERSION, HelmReleaseStatus::KIND);
    let resource = ApiResource::from_gvk_with_plural(&kind, HelmReleaseStatus::PLURAL);
    let found: Option<DynamicObject> = world.api.get_dynamic(class, &resource).await?;
    let found = found.map(|found| found.data).unwrap_or_default();
    let entries = found.pointer("/status/inventory/entries").and_then(Value::as_array);
    let ids = entries.into_iter().flatten().filter_map(|entry| entry.get("id")?.as_str());
    Ok(ids.map(str::to_owned).collect())
}

fn in_words(id: &str) -> String {
    let parts: Vec<&str> = id.split('_').collect();
    match parts.as_slice() {
        ["", name, _, kind] => format!("{kind} {name}"),
        [namespace, name, _, kind] => format!("{kind} {namespace}/{name}"),
        _ => id.to_owned(),
    }
}
