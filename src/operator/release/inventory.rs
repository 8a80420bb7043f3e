//! What was made of a release: all of it, and what others have as well.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::{Resource, ResourceExt as _};

use super::super::context::Context;
use super::super::objects::term;
use super::super::ownership;
use crate::api::cluster_stack_release::GeneratedObject;
use crate::api::{ClusterStackRelease, labels};
use crate::foreign::flux::observed::{
    Entry, GitRepositoryStatus, HelmChartStatus, HelmReleaseStatus, KustomizationStatus, Observed,
    ObservedKind, References,
};
use crate::inputs::line::Line;
use crate::names::ReleaseName;
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Cache, Cached, Key};

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
    pub(super) fn of(context: &Context, release: &ClusterStackRelease) -> Self {
        let (kept, caches) = (kept(release), &context.caches);
        let owner = term::owned_by("ClusterStackRelease", &Key::of(release));
        let (unused_charts, unused_repositories) = unused(context, release);
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
fn unused(context: &Context, release: &ClusterStackRelease) -> (Vec<Key>, Vec<Key>) {
    let Ok(name) = release.name_any().parse::<ReleaseName>() else { return Default::default() };
    let (line, caches) = (line(context, release, &name), &context.caches);
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
fn line(context: &Context, release: &ClusterStackRelease, name: &ReleaseName) -> Line {
    let key =
        release.stack_owner().map(|owner| Key::new(&release.namespace().unwrap_or_default(), &owner.name));
    let stack = key.and_then(|key| context.caches.stacks.get(&key));
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
    context: &Context,
    release: &ClusterStackRelease,
    object: &K,
) -> bool {
    let (key, kind, uid) = (Key::of(object), K::kind(&()), release.uid());
    let owners = object.owner_references();
    let others = context.caches.releases.all();
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
/// In words: `Image default/ubuntu with docker-demo-1-34-v2`. As the caches have it: nothing is deleted
/// because of it, see [`shared_object_now`].
pub(super) fn shared_object(context: &Context, release: &ClusterStackRelease) -> Option<String> {
    let class = |release: &ClusterStackRelease| context.caches.helm_releases.get(&Key::of(release));
    let ours = class(release)?;
    let ours = &ours.status.inventory.entries;
    others(context, release)
        .iter()
        .find_map(|other| shared(ours, &class(other)?.status.inventory.entries, other))
}

/// The same as the API server says now.
pub(super) async fn shared_object_now(
    context: &Context,
    release: &ClusterStackRelease,
) -> Result<Option<String>, RequestError> {
    let cache = &context.caches.helm_releases;
    let Some(ours) = ownership::present(context, cache, &Key::of(release)).await? else { return Ok(None) };
    let ours = &ours.status.inventory.entries;
    for other in others(context, release).iter().filter(|_| !ours.is_empty()) {
        let Some(theirs) = ownership::present(context, cache, &Key::of(&**other)).await? else { continue };
        if let Some(shared) = shared(ours, &theirs.status.inventory.entries, other) {
            return Ok(Some(shared));
        }
    }
    Ok(None)
}

/// The other releases of the namespace.
fn others(context: &Context, release: &ClusterStackRelease) -> Vec<Arc<ClusterStackRelease>> {
    let mut others = context.caches.releases.all();
    others.retain(|other| other.namespace() == release.namespace() && other.uid() != release.uid());
    others
}

/// The first object that two classes have, in words.
fn shared(ours: &BTreeSet<Entry>, theirs: &BTreeSet<Entry>, other: &ClusterStackRelease) -> Option<String> {
    let shared = ours.intersection(theirs).next()?;
    Some(format!("{} with {}", in_words(&shared.id), other.name_any()))
}

fn in_words(id: &str) -> String {
    let parts: Vec<&str> = id.split('_').collect();
    match parts.as_slice() {
        ["", name, _, kind] => format!("{kind} {name}"),
        [namespace, name, _, kind] => format!("{kind} {namespace}/{name}"),
        _ => id.to_owned(),
    }
}

#[cfg(test)]
mod tests;
