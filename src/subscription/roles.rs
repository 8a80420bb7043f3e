//! Which release is what to a `ClusterStack`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use crate::api::ClusterStackSpec;
use crate::inputs::line::Line;
use crate::names::{CUSTOM, ReleaseName};

/// Time for which a release must be unused before it is deleted.
pub const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

/// The role of a release for a `ClusterStack`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Clusters may use it: its version is listed, or it is the latest and subscribed to.
    Offered,
    /// It is not offered (now), and Clusters use it.
    Used,
    /// Nothing wants it, and it is among the latest of those.
    Kept,
    /// Nothing wants it: it is to be deleted.
    Retiring,
}

/// The facts about the releases of a stack.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The spec of the `ClusterStack`.
    pub spec: &'a ClusterStackSpec,
    /// The releases in the stack repository, usable or not; `None` while it was not read.
    pub available: Option<&'a BTreeSet<ReleaseName>>,
    /// Those that the `ClusterStack` has.
    pub owned: &'a BTreeSet<ReleaseName>,
    /// Those that Clusters use.
    pub used: &'a BTreeSet<ReleaseName>,
}

/// Whether a release is one of the `ClusterStack`: of its provider, stack, Kubernetes minor version and channel.
#[must_use]
pub fn is_of(spec: &ClusterStackSpec, release: &ReleaseName) -> bool {
    let (major, minor) = release.kubernetes_minor();
    Line::of_stack(spec).has(release) && format!("{major}.{minor}") == spec.kubernetes_version
}

/// Whether the `ClusterStack` offers the latest release. Versions of the channel `custom` have no order, so none of them
/// is the latest.
#[must_use]
pub fn subscribes(spec: &ClusterStackSpec) -> bool {
    spec.auto_subscribe && has_order(spec)
}

/// The reason why `autoSubscribe` has no effect on a `ClusterStack` that sets it.
#[must_use]
pub fn ignored(spec: &ClusterStackSpec) -> Option<&'static str> {
    (spec.auto_subscribe && !has_order(spec)).then_some(
        "autoSubscribe has no effect, because versions of channel custom have no order: list them in spec.versions",
    )
}

fn has_order(spec: &ClusterStackSpec) -> bool {
    spec.channel != CUSTOM
}

/// The latest release of the `ClusterStack` in the stack repository; `None` in the channel `custom`.
#[must_use]
pub fn latest<'a>(
    spec: &ClusterStackSpec,
    available: impl IntoIterator<Item = &'a ReleaseName>,
) -> Option<&'a ReleaseName> {
    available.into_iter().filter(|name| has_order(spec) && is_of(spec, name)).max()
}

/// The releases that a `ClusterStack` offers, whether they exist or not.
#[must_use]
pub fn offered(spec: &ClusterStackSpec, available: Option<&BTreeSet<ReleaseName>>) -> BTreeSet<ReleaseName> {
    // The CRD's rules let no version through that makes no release's name with these words.
    let named = |version: &String| {
        let minor = spec.kubernetes_version.replace('.', "-");
        format!("{}-{}-{minor}-{}", spec.provider, spec.name, version.replace('.', "-")).parse().ok()
    };
    let latest = available.filter(|_| subscribes(spec)).and_then(|available| latest(spec, available));
    spec.versions.iter().filter_map(named).chain(latest.cloned()).collect()
}

/// Whether a release of this namespace is in use by Clusters whose namespaces are `users`. Those of other namespaces keep a
/// release that `is_there`, and bring none: a user who may create Clusters in one namespace must not decide what is
/// installed in another.
#[must_use]
pub fn is_used<'a>(namespace: &str, mut users: impl Iterator<Item = &'a str>, is_there: bool) -> bool {
    users.any(|user| is_there || user == namespace)
}

/// The role of each release that the `ClusterStack` offers or has, or that Clusters use. While the stack repository is not
/// known, a subscription may offer any, and none retires.
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
