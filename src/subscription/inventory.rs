//! Finds the objects of a release, and those that other releases have too.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt as _;

use crate::api::cluster_stack_release::GeneratedObject;
use crate::api::{ClusterStackRelease, labels};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{Entry, FluxObject};
use crate::foreign::flux::ownership::is_applied_by_flux;
use crate::inputs::claim::Claim;
use crate::inputs::line::Line;
use crate::names::Key;
use crate::plan::existing::is_made;

/// The objects of one release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The Flux objects: the cluster class, the node images, charts and sources.
    pub flux: BTreeSet<(FluxKind, Key)>,
    /// The namespaces of Helm's release record of the class.
    pub namespaces: BTreeSet<Key>,
}

impl Inventory {
    /// Returns the keys of the objects of a kind.
    pub fn of(&self, kind: FluxKind) -> impl Iterator<Item = &Key> {
        self.flux.iter().filter(move |(of, _)| *of == kind).map(|(_, key)| key)
    }
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
    /// The Flux objects that the release owns.
    pub owned: BTreeSet<(FluxKind, Key)>,
    /// All Flux objects of stackflux, and all `GitRepository`s.
    pub objects: &'a [Arc<FluxObject>],
}

/// Returns the objects of a release: those that it owns, those that its status names, and those without owner and user.
#[must_use]
pub fn inventory(facts: InventoryFacts) -> Inventory {
    let unused = unused(&facts);
    let recorded = recorded(facts.release);
    let named = recorded.iter().filter_map(|object| Some((FluxKind::of(&object.kind)?, key_of(object))));
    Inventory {
        flux: facts.owned.into_iter().chain(unused).chain(named).collect(),
        namespaces: recorded.iter().filter(|object| object.kind == "Namespace").map(key_of).collect(),
    }
}

fn recorded(release: &ClusterStackRelease) -> &[GeneratedObject] {
    release.status.as_ref().map(|status| status.objects.as_slice()).unwrap_or_default()
}

fn key_of(object: &GeneratedObject) -> Key {
    Key::new(&object.namespace, &object.name)
}

/// Returns charts and sources of the release without owner and user: copies for Clusters, and those for an earlier source
/// of the `ClusterStack`. They include those of deleted releases of its line, because contents outlive their release, and
/// those of components.
fn unused(facts: &InventoryFacts) -> Vec<(FluxKind, Key)> {
    let here = facts.release.metadata.namespace.as_deref();
    let existing: BTreeSet<String> = facts.others.iter().map(|other| other.name_any()).collect();
    let is_of_it =
        |label: &str| label.parse().is_ok_and(|of| facts.line.has(&of) && !existing.contains(label));
    let of = |kind| facts.objects.iter().filter(move |object| object.kind() == kind);
    let charts: BTreeSet<Key> = of(FluxKind::HelmRelease).map(|user| user.source()).collect();
    let is_left =
        |object: &FluxObject| is_left(object, here, is_of_it) || is_unowned_component(facts.release, object);
    let is_unused = |chart: &&Arc<FluxObject>| is_left(chart) && !charts.contains(&Key::of(&***chart));
    let (unused, others): (Vec<_>, Vec<_>) = of(FluxKind::HelmChart).partition(is_unused);
    let users = others.into_iter().chain(of(FluxKind::Kustomization));
    let used: BTreeSet<Key> = users.map(|user| user.source()).collect();
    let artifacts = of(FluxKind::OCIRepository).filter(|found| !charts.contains(&Key::of(&***found)));
    let repositories = of(FluxKind::GitRepository).chain(artifacts).filter(|found| is_left(found));
    let repositories = repositories.filter(|found| !used.contains(&Key::of(&***found)));
    unused.into_iter().chain(repositories).map(|found| (found.kind(), Key::of(&**found))).collect()
}

/// Whether an object is the source or chart of a component of the release's `ClusterStack`, and has no owner: Flux applies it from
/// a repository. No label names a release, because several have it.
#[must_use]
pub fn is_unowned_component(release: &ClusterStackRelease, object: &FluxObject) -> bool {
    let is_ours = |claim: &Claim| {
        Some(&claim.namespace) == release.metadata.namespace.as_ref()
            && release.stack_owners().any(|owner| owner.name == claim.name)
            && is_name_of_component(object.name(), &claim.name)
    };
    is_of_component(object)
        && object.namespace() == release.namespace()
        && is_applied_by_flux(&object.object)
        && object.owner_references().is_empty()
        && Claim::of(&object.object).as_ref().is_some_and(is_ours)
}

/// Whether a name is that of the source or chart of a component: a user's copy has another one.
fn is_name_of_component(name: &str, stack: &str) -> bool {
    let digest = name
        .strip_prefix(stack)
        .and_then(|rest| rest.strip_prefix('-'))
        .and_then(|rest| rest.rsplit('-').next());
    // A long name ends with eight digits.
    digest.is_some_and(|digest| {
        [8, 12].contains(&digest.len()) && digest.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Whether stackflux made an object as the source or chart of a component. Those of the stack repository have the label of
/// their release.
pub(super) fn is_of_component(object: &FluxObject) -> bool {
    let is_source = object.kind().is_source() || object.kind() == FluxKind::HelmChart;
    is_source && !object.labels().contains_key(labels::RELEASE) && is_made(object.into())
}

/// Whether stackflux made an object for a matching release, and the object has no owner. It may be one of the
/// `ClusterStack`s of `namespace`, or a copy in the namespace of a Cluster.
fn is_left(object: &FluxObject, namespace: Option<&str>, is_of_it: impl Fn(&str) -> bool) -> bool {
    let label = |name| object.labels().get(name).map(String::as_str);
    object.owner_references().is_empty()
        && label(labels::STACK_NAMESPACE).is_none_or(|of| Some(of) == namespace)
        && label(labels::MANAGED_BY) == Some(labels::FIELD_MANAGER)
        && label(labels::RELEASE).is_some_and(is_of_it)
}

/// Whether another release that is not being deleted has the object too: it owns the object, or its status names it.
#[must_use]
pub fn is_shared<'a>(
    release: &ClusterStackRelease,
    others: impl IntoIterator<Item = &'a ClusterStackRelease>,
    object: &FluxObject,
) -> bool {
    let uid = release.uid();
    let owners = object.owner_references();
    let is_other =
        |other: &&ClusterStackRelease| other.uid() != uid && other.metadata.deletion_timestamp.is_none();
    others.into_iter().filter(is_other).any(|other| {
        let is_owner = owners.iter().any(|owner| Some(&owner.uid) == other.uid().as_ref());
        is_owner || is_recorded(other, object)
    })
}

/// Whether the status of a release names an object.
#[must_use]
pub(super) fn is_recorded(release: &ClusterStackRelease, object: &FluxObject) -> bool {
    let (key, kind) = (Key::of(object), object.kind().as_str());
    recorded(release).iter().any(|recorded| recorded.kind == kind && key_of(recorded) == key)
}

/// Whether an object belongs to the `ClusterStack`s of another namespace than the release.
#[must_use]
pub fn is_of_others(release: &ClusterStackRelease, object: &FluxObject) -> bool {
    let of = object.labels().get(labels::STACK_NAMESPACE);
    of.is_some_and(|of| Some(of) != release.metadata.namespace.as_ref())
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
