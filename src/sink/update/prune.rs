//! Chooses the unplanned files to remove: as many as the budget allows, and none that a remaining object refers to.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::draft::Draft;
use super::{Limit, Run};
use crate::api::labels;
use crate::foreign::capi::{field, text};
use crate::foreign::flux::FluxKind;
use crate::plan::Held;
use crate::sink::changes::Withheld;
use crate::sink::layout::Part;
use crate::subscription::{allows, deletions};

/// A file of a part.
pub(super) type Place = (Part, String);

/// The files to remove.
pub(super) struct Removal {
    pub(super) removals: BTreeSet<Place>,
    pub(super) withheld: Option<Withheld>,
}

/// Files that are removed together or not at all.
struct Group {
    name: String,
    files: Vec<Place>,
    /// Number of removals that count against the budget.
    count: usize,
    /// Whether the group belongs to a release rather than a cluster.
    is_class: bool,
}

/// Chooses the files to remove.
pub(super) fn removal<T>(run: &Run<'_, T>) -> Removal {
    let (free, due): (Vec<Group>, Vec<Group>) = groups(run).into_iter().partition(|group| group.count == 0);
    let mut left = match run.delivery.budget.limit {
        Limit::All => usize::MAX,
        Limit::Left(left) => left,
        Limit::Tenth => (total(run) / 10).max(1),
    };
    let all = named(&due);
    // A cluster that stays may use the class: classes come after all clusters, and wait for them. A caller that names the
    // removals knows which clusters use it.
    let mut waits = run.has_refused_stale_cluster && run.delivery.scope.removes.is_none();
    let (within, waiting): (Vec<Group>, Vec<Group>) = due.into_iter().partition(|group| {
        let is_removed = group.count <= left && !(group.is_class && waits);
        left -= if is_removed { group.count } else { 0 };
        waits |= !is_removed;
        is_removed
    });
    // The reported set is all that is due once the rest is removed, so its digest is accepted then, too.
    let (allowed, digest) = (run.delivery.budget.allowed.as_deref(), named(&waiting));
    let is_allowed = allows(allowed, &digest) || allows(allowed, &all);
    let names: Vec<String> = waiting.iter().map(|group| group.name.clone()).collect();
    let removed = free.into_iter().chain(within).chain(waiting.into_iter().filter(|_| is_allowed));
    let mut removals: BTreeSet<Place> = removed.flat_map(|group| group.files).collect();
    removals.extend(unused(run, &removals));
    Removal { removals, withheld: (!names.is_empty() && !is_allowed).then_some(Withheld { names, digest }) }
}

/// Returns the digest of a set of removals.
fn named(groups: &[Group]) -> String {
    deletions(groups.iter().map(|group| &group.name))
}

/// Groups the objects that apply something and are neither planned nor held. These count nothing: files that are already
/// missing, objects that another `ClusterStack` plans, and clusters that are known to be gone.
fn groups<T>(run: &Run<'_, T>) -> Vec<Group> {
    let (mut groups, mut classes) = (Vec::new(), BTreeMap::new());
    for draft in &run.drafts {
        let place = |file: &String| (draft.part.clone(), file.clone());
        let applied = draft.stale.iter().filter(|(_, object)| applies(object));
        let Some(cluster) = draft.part.cluster() else {
            for (file, object) in applied {
                let release = text(object, &["metadata", "labels", labels::RELEASE]).to_owned();
                let (files, count) = classes.entry(release).or_insert_with(|| (Vec::new(), 0));
                files.push(place(file));
                *count |= usize::from(draft.is_last(file));
            }
            continue;
        };
        let held = run.held.get(cluster);
        if draft.wanted.is_empty() && held.is_none() {
            let is_gone = run.delivery.scope.gone.contains(cluster);
            let count = if is_gone { 0 } else { applied.count() };
            let files = draft.stale.keys().map(place).collect();
            groups.push(Group { name: format!("Cluster {cluster}"), files, count, is_class: false });
            continue;
        }
        let is_held = |object: &Value| held.into_iter().flatten().any(|held| holds(held, object));
        let free = draft.stale.iter().filter(|(_, object)| !is_held(object));
        groups.extend(free.map(|(file, object)| Group {
            name: format!("{} in {}", file.trim_end_matches(".yaml"), draft.part),
            files: vec![place(file)],
            count: usize::from(applies(object)),
            is_class: false,
        }));
    }
    let group = |(release, (files, count))| Group {
        name: format!("release {release}"),
        files,
        count,
        is_class: true,
    };
    groups.extend(classes.into_iter().map(group));
    groups
}

/// Returns the number of objects of the `ClusterStack` that the budget counts.
fn total<T>(run: &Run<'_, T>) -> usize {
    let left = run.left.iter().filter(|object| applies(object)).count();
    let in_drafts = |draft: &Draft<'_>| {
        let wanted = draft.wanted.iter().filter(|(_, planned)| applies(&planned.object.value));
        let written = wanted.filter(|(file, _)| draft.entry(file).is_some());
        written.count() + draft.stale.values().filter(|object| applies(object)).count()
    };
    left + run.drafts.iter().map(in_drafts).sum::<usize>()
}

/// Returns the unplanned sources, charts and namespaces that no remaining object refers to. A Namespace with Helm's release
/// record of an object that is removed now stays until the next update: Helm needs it for the uninstall.
fn unused<T>(run: &Run<'_, T>, removals: &BTreeSet<Place>) -> Vec<Place> {
    if run.has_unreadable_index {
        return Vec::new();
    }
    let place = |draft: &Draft<'_>, file: &String| (draft.part.clone(), file.clone());
    let stale = run
        .drafts
        .iter()
        .flat_map(|draft| draft.stale.iter().map(move |(file, object)| (draft, file, object)));
    let (mut going, mut staying, mut served) = (Vec::new(), Vec::new(), Vec::new());
    for (draft, file, object) in stale {
        if removals.contains(&place(draft, file)) {
            going.extend(draft.is_last(file).then_some(object));
        } else if draft.part.is_shared() && !applies(object) {
            served.push((draft, file, object));
        } else {
            staying.push(object);
        }
    }
    let objects: Vec<&Value> = served.iter().map(|(_, _, object)| *object).collect();
    let mut wanted = referred(run.left.iter().chain(staying), &objects);
    wanted.extend(going.into_iter().filter_map(storage));
    let unused = served.into_iter().filter(|(_, _, object)| !wanted.contains(&identity(object)));
    unused.map(|(draft, file, _)| place(draft, file)).collect()
}

/// Kind, namespace and name.
type Identity<'a> = (&'a str, &'a str, &'a str);

/// Whether an object applies something that its removal undoes; other objects only serve such objects.
fn applies(object: &Value) -> bool {
    FluxKind::of(text(object, &["kind"])).is_some_and(|kind| !kind.is_source())
}

/// Whether an addon's object is held.
fn holds(held: &Held, object: &Value) -> bool {
    let addon = text(object, &["metadata", "labels", labels::ADDON]);
    held.addon.as_ref().is_none_or(|held| held.as_str() == addon)
}

/// Returns the identity of an object.
fn identity(object: &Value) -> Identity<'_> {
    (text(object, &["kind"]), text(object, &["metadata", "namespace"]), text(object, &["metadata", "name"]))
}

/// Returns what `roots` refer to, directly or through objects of `stale`.
fn referred<'a>(roots: impl Iterator<Item = &'a Value>, stale: &[&'a Value]) -> BTreeSet<Identity<'a>> {
    let mut wanted: BTreeSet<Identity<'a>> = roots.flat_map(references).collect();
    loop {
        let stay = stale.iter().filter(|object| wanted.contains(&identity(object)));
        let more: BTreeSet<Identity<'a>> = stay.flat_map(|object| references(object)).collect();
        if more.is_subset(&wanted) {
            return wanted;
        }
        wanted.extend(more);
    }
}

/// Returns the charts and sources that an object names. A reference without namespace is to the object's own.
fn references(object: &Value) -> impl Iterator<Item = Identity<'_>> {
    let named = ["chartRef", "sourceRef"].into_iter().filter_map(move |field| {
        let part = |name| text(object, &["spec", field, name]);
        let namespace = match part("namespace") {
            "" => text(object, &["metadata", "namespace"]),
            namespace => namespace,
        };
        (!part("name").is_empty()).then(|| (part("kind"), namespace, part("name")))
    });
    named.chain(storage(object))
}

/// Returns the Namespace on the management cluster that stores Helm's release record of a `HelmRelease`.
fn storage(object: &Value) -> Option<Identity<'_>> {
    let is_here = field(object, &["spec", "kubeConfig"]).is_none();
    let name = text(object, &["spec", "storageNamespace"]);
    (is_here && !name.is_empty()).then_some(("Namespace", "", name))
}
