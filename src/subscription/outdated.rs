//! Decides which sources and charts of components a living release no longer has: a ClusterStack names other ones now.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::inventory::{is_of_component, is_recorded, is_unowned_component};
use crate::api::ClusterStackRelease;
use crate::foreign::capi::{field, text};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::has_owner;
use crate::names::Key;
use crate::plan::Plan;

/// Delay before looking again at what was planned a moment ago, or at what Clusters of the release still have.
const SOON: Duration = Duration::from_secs(30);

/// Delay before looking again at an object without owner that something refers to, perhaps what an orphaned Cluster has; and at
/// what is put off, perhaps until a pull request is merged.
const LATER: Duration = Duration::from_mins(10);

/// The kinds of objects that refer to a source or chart, each with the field that does.
const USERS: [(FluxKind, &str); 3] = [
    (FluxKind::HelmRelease, "chartRef"),
    (FluxKind::Kustomization, "sourceRef"),
    (FluxKind::HelmChart, "sourceRef"),
];

/// The sources and charts that a release has, and that its plan lacks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outdated {
    /// Those that nothing refers to according to the watches: to be deleted once the API server confirms that.
    pub unused: Vec<Arc<FluxObject>>,
    /// The delay before looking at the others again, if there are any.
    pub look_again: Option<Duration>,
}

/// The facts about the sources and charts that a release may have had.
pub struct OutdatedFacts<'a> {
    /// The release.
    pub release: &'a ClusterStackRelease,
    /// Its plan.
    pub plan: &'a Plan,
    /// The other releases of all namespaces.
    pub others: &'a [Arc<ClusterStackRelease>],
    /// The sources and charts that it may have had: those that it owns and, if it cannot own its sources, all.
    pub candidates: &'a [Arc<FluxObject>],
    /// Whether nothing is to be done about an object for now: its file is removed, or an object that no watch reports refers to it.
    pub is_put_off: &'a dyn Fn(&FluxObject) -> bool,
}

/// Finds the outdated sources and charts of a release. `users` returns all objects that may refer to a source.
///
/// One that its status still names was planned a moment ago: Clusters may be planned with it now.
#[must_use]
pub fn outdated(facts: &OutdatedFacts<'_>, users: impl Fn() -> Vec<Arc<FluxObject>>) -> Outdated {
    let found: Vec<_> = facts.candidates.iter().filter(|object| is_outdated(facts, object)).collect();
    if found.is_empty() {
        return Outdated::default();
    }
    let users = users();
    let is_used = |object: &FluxObject| {
        let refers = |user: &Arc<FluxObject>| {
            user.refers_to.source_kind == Some(object.kind()) && user.source() == Key::of(object)
        };
        users.iter().any(refers)
    };
    let is_planned_before = |object: &FluxObject| is_recorded(facts.release, object);
    let (kept, unused): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|found| (facts.is_put_off)(found) || is_used(found) || is_planned_before(found));
    let is_soon = |kept: &&Arc<FluxObject>| {
        let is_owned = !is_unowned_component(facts.release, kept);
        !(facts.is_put_off)(kept) && (is_planned_before(kept) || is_owned)
    };
    let soon = kept.iter().any(is_soon).then_some(SOON);
    let later = (!kept.is_empty()).then_some(LATER);
    Outdated { unused: unused.into_iter().cloned().collect(), look_again: soon.or(later) }
}

/// Whether a release has had an object, and neither its plan nor another release has it.
fn is_outdated(facts: &OutdatedFacts<'_>, object: &FluxObject) -> bool {
    let release = facts.release;
    if !is_of_component(object) || object.metadata.terminating {
        return false;
    }
    let is_planned = |object: &FluxObject| {
        let mut planned = facts.plan.sources();
        planned.any(|planned| planned.kind() == Some(object.kind()) && planned.id.key() == Key::of(object))
    };
    let is_owned = || release.metadata.uid.as_deref().is_some_and(|uid| has_owner(&object.object, uid));
    // A release that is deleted may still have Clusters.
    let is_of_other = |other: &Arc<ClusterStackRelease>| {
        other.metadata.uid != release.metadata.uid && is_recorded(other, object)
    };
    let is_left = || is_unowned_component(release, object) && !facts.others.iter().any(is_of_other);
    (is_owned() || is_left()) && !is_planned(object)
}

/// Lists the kinds of objects that may refer to a source or chart.
pub fn kinds_of_users() -> impl Iterator<Item = FluxKind> {
    USERS.into_iter().map(|(kind, _)| kind)
}

/// Whether an object as the API server has it refers to a source or chart.
#[must_use]
pub fn refers_to(user: &Value, kind: FluxKind, source: &FluxObject) -> bool {
    let wanted = Key::of(source);
    USERS.into_iter().filter(|(of, _)| *of == kind).any(|(_, name)| {
        let reference = field(user, &["spec", name]);
        reference.is_some_and(|reference| {
            let namespace = match text(reference, &["namespace"]) {
                "" => text(user, &["metadata", "namespace"]),
                namespace => namespace,
            };
            text(reference, &["kind"]) == source.kind().as_str()
                && (text(reference, &["name"]), namespace)
                    == (wanted.name.as_str(), wanted.namespace.as_str())
        })
    })
}
