//! The role of each release for a `ClusterStack`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use crate::api::ClusterStackSpec;
use crate::inputs::line::Line;
use crate::names::{CUSTOM, ReleaseName};

/// Time for which a release must be unused before it is deleted.
pub const RETIREMENT_DELAY: SignedDuration = SignedDuration::from_mins(10);

/// The role of a release for a `ClusterStack`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Clusters may use it: `spec.versions` lists it, or it is the latest and the `ClusterStack` subscribes to new
    /// releases.
    Offered,
    /// It is not offered, but Clusters use it.
    Used,
    /// It is neither offered nor used, but kept: it is within the revision history limit, or the latest release is unknown.
    Kept,
    /// It is neither offered nor used, and will be deleted.
    Retiring,
}

/// The facts about the releases of a stack.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The spec of the `ClusterStack`.
    pub spec: &'a ClusterStackSpec,
    /// The releases in the stack repository, usable or not; `None` before it was read.
    pub available: Option<&'a BTreeSet<ReleaseName>>,
    /// The releases that the `ClusterStack` owns.
    pub owned: &'a BTreeSet<ReleaseName>,
    /// The releases that Clusters use.
    pub used: &'a BTreeSet<ReleaseName>,
}

/// Whether a release belongs to the `ClusterStack`'s provider, stack, Kubernetes minor version and channel.
#[must_use]
pub fn is_of(spec: &ClusterStackSpec, release: &ReleaseName) -> bool {
    let (major, minor) = release.kubernetes_minor();
    Line::of_stack(spec).has(release) && format!("{major}.{minor}") == spec.kubernetes_version
}

/// Whether the `ClusterStack` offers the latest release. Versions of the channel `custom` have no order, so none is the
/// latest.
#[must_use]
pub fn subscribes(spec: &ClusterStackSpec) -> bool {
    spec.auto_subscribe && has_order(spec)
}

/// Returns the reason why `autoSubscribe` has no effect on a `ClusterStack` that sets it.
#[must_use]
pub fn ignored(spec: &ClusterStackSpec) -> Option<&'static str> {
    (spec.auto_subscribe && !has_order(spec)).then_some(
        "autoSubscribe has no effect, because versions of channel custom have no order: list them in spec.versions",
    )
}

fn has_order(spec: &ClusterStackSpec) -> bool {
    spec.channel != CUSTOM
}

/// Returns the latest release of the `ClusterStack` in the stack repository; `None` in the channel `custom`.
#[must_use]
pub fn latest<'a>(
    spec: &ClusterStackSpec,
    available: impl IntoIterator<Item = &'a ReleaseName>,
) -> Option<&'a ReleaseName> {
    available.into_iter().filter(|name| has_order(spec) && is_of(spec, name)).max()
}

/// Returns the releases that a `ClusterStack` offers, whether or not they exist.
#[must_use]
pub fn offered(spec: &ClusterStackSpec, available: Option<&BTreeSet<ReleaseName>>) -> BTreeSet<ReleaseName> {
    // The CRD's rules reject versions that do not form a release name with these fields.
    let named = |version: &String| {
        let minor = spec.kubernetes_version.replace('.', "-");
        format!("{}-{}-{minor}-{}", spec.provider, spec.name, version.replace('.', "-")).parse().ok()
    };
    let latest = available.filter(|_| subscribes(spec)).and_then(|available| latest(spec, available));
    spec.versions.iter().filter_map(named).chain(latest.cloned()).collect()
}

/// Whether Clusters in the namespaces `users` keep a release of this namespace in use. Clusters of other namespaces keep a
/// release that `is_there`, but install none: a user who may create Clusters in one namespace must not decide what is
/// installed in another.
#[must_use]
pub fn is_used<'a>(namespace: &str, mut users: impl Iterator<Item = &'a str>, is_there: bool) -> bool {
    users.any(|user| is_there || user == namespace)
}

/// Returns the role of each release that the `ClusterStack` offers or owns, or that Clusters use. If the `ClusterStack`
/// subscribes to new releases, no release retires before the stack repository was read.
#[must_use]
pub fn roles(facts: &Facts) -> BTreeMap<ReleaseName, Role> {
    let offered = offered(facts.spec, facts.available);
    let in_use = facts.used.iter().filter(|name| is_of(facts.spec, name) && !offered.contains(*name));
    let mut roles: BTreeMap<ReleaseName, Role> = in_use.map(|name| (name.clone(), Role::Used)).collect();
    roles.extend(offered.into_iter().map(|name| (name, Role::Offered)));
    let unwanted = facts.owned.iter().rev().filter(|name| !roles.contains_key(*name));
    let unwanted: Vec<&ReleaseName> = unwanted.collect();
    let limit = usize::try_from(facts.spec.revision_history_limit).unwrap_or(usize::MAX);
    let is_unsure = subscribes(facts.spec) && facts.available.is_none();
    for (place, name) in unwanted.into_iter().enumerate() {
        let role = if place < limit || is_unsure { Role::Kept } else { Role::Retiring };
        roles.insert(name.clone(), role);
    }
    roles
}
