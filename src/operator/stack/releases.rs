//! The releases of a `ClusterStack`, their owners and their users.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::ResourceExt as _;

use super::super::context::Context;
use super::super::objects::{ClusterObject, index};
use super::super::release::users;
use crate::api::{ClusterStack, ClusterStackRelease};
use crate::foreign::flux::FluxKind;
use crate::names::ReleaseName;
use crate::runtime::cache::Key;
use crate::source::artifact::CatalogRead;
use crate::subscription::{self, Claim, Claimant, Facts, Role};

/// The releases of a `ClusterStack`.
pub(super) struct Releases {
    /// The existing releases that the `ClusterStack` owns.
    pub(super) owned: BTreeMap<ReleaseName, Arc<ClusterStackRelease>>,
    /// The role of each release for the `ClusterStack`.
    pub(super) roles: BTreeMap<ReleaseName, Role>,
    /// The claim on each release that has a role.
    pub(super) claims: BTreeMap<ReleaseName, Claim>,
    /// The Clusters of each release, and those of missing releases that the `ClusterStack` would have.
    pub(super) clusters: BTreeMap<ReleaseName, Vec<Arc<ClusterObject>>>,
    /// The releases whose Clusters count for the `ClusterStack`.
    held: BTreeSet<ReleaseName>,
    /// The releases in the stack repository, usable or not; `None` before it was read.
    pub(super) available: Option<BTreeSet<ReleaseName>>,
}

/// Returns the `ClusterStackRelease`s of a `ClusterStack`.
pub(super) fn owned(
    context: &Context,
    stack: &ClusterStack,
) -> BTreeMap<ReleaseName, Arc<ClusterStackRelease>> {
    let found = context.caches.releases.by_index(&index::owned_by("ClusterStack", &Key::of(stack)));
    let ours = found.into_iter().filter(|release| release.is_owned_by(stack));
    // The operator did not write an object without the name of a release, and ignores it.
    ours.filter_map(|release| Some((release.name_any().parse().ok()?, release))).collect()
}

impl Releases {
    /// Gathers the releases of a `ClusterStack`. `read` is the content of the stack repository.
    pub(super) fn gather(context: &Context, stack: &ClusterStack, read: Option<&CatalogRead>) -> Self {
        let namespace = stack.namespace().unwrap_or_default();
        let owned = owned(context, stack);
        let available = read.map(|read| {
            let names = read.releases.keys().filter(|name| subscription::is_of(&stack.spec, name));
            names.cloned().collect::<BTreeSet<_>>()
        });
        let offered = subscription::offered(&stack.spec, available.as_ref());
        let mut clusters = of_line(context, stack, &namespace);
        let is_ours = |name: &&ReleaseName| {
            context.holder(&namespace, name).is_some_and(|holder| holder.uid() == stack.uid())
        };
        let held: BTreeSet<ReleaseName> = clusters.keys().filter(is_ours).cloned().collect();
        let is_known = |name: &ReleaseName| {
            owned.contains_key(name)
                || offered.contains(name)
                || available.as_ref().is_some_and(|available| available.contains(name))
        };
        // A release that does not exist counts for only one ClusterStack.
        clusters.retain(|name, _| held.contains(name) || is_known(name));
        let names: BTreeSet<ReleaseName> = owned.keys().cloned().collect();
        let used = used(context, &namespace, &names, &clusters);
        let facts = Facts { spec: &stack.spec, available: available.as_ref(), owned: &names, used: &used };
        let roles = subscription::roles(&facts);
        let claims = claims(context, stack, &roles, &used);
        Self { owned, roles, claims, clusters, held, available }
    }

    /// Returns the Clusters that count for the `ClusterStack`, by the release of their class.
    pub(super) fn held(&self) -> impl Iterator<Item = (&ReleaseName, &Vec<Arc<ClusterObject>>)> {
        self.clusters.iter().filter(|(name, _)| self.held.contains(*name))
    }
}

/// Returns the Clusters with a class of the `ClusterStack`, by the release of their class.
fn of_line(
    context: &Context,
    stack: &ClusterStack,
    namespace: &str,
) -> BTreeMap<ReleaseName, Vec<Arc<ClusterObject>>> {
    let mut clusters: BTreeMap<ReleaseName, Vec<Arc<ClusterObject>>> = BTreeMap::new();
    for cluster in context.caches.clusters.by_index(&index::line(namespace, &stack.spec)) {
        if let Some((_, release)) = cluster.cluster.release() {
            clusters.entry(release).or_default().push(cluster);
        }
    }
    clusters
}

/// Returns the releases in use: those with Clusters in the namespace and, of the existing ones, those with Clusters in
/// other namespaces or remembered by `ClusterAddon`s.
fn used(
    context: &Context,
    namespace: &str,
    owned: &BTreeSet<ReleaseName>,
    clusters: &BTreeMap<ReleaseName, Vec<Arc<ClusterObject>>>,
) -> BTreeSet<ReleaseName> {
    let is_there = |name: &ReleaseName| {
        // The class may be left from an earlier ClusterStack.
        let class = Key::new(namespace, &name.to_string());
        owned.contains(name) || context.caches.flux.get(FluxKind::HelmRelease, &class).is_some()
    };
    let used = clusters.iter().filter(|(name, users)| {
        let from = users.iter().map(|cluster| cluster.cluster.namespace().as_str());
        subscription::is_used(namespace, from, is_there(name))
    });
    let used = used.map(|(name, _)| name);
    let remembered =
        owned.iter().filter(|name| users::is_remembered(&context.caches.addons, namespace, name));
    used.chain(remembered).cloned().collect()
}

fn claims(
    context: &Context,
    stack: &ClusterStack,
    roles: &BTreeMap<ReleaseName, Role>,
    used: &BTreeSet<ReleaseName>,
) -> BTreeMap<ReleaseName, Claim> {
    let namespace = stack.namespace().unwrap_or_default();
    let all = context.caches.stacks.all();
    let others: Vec<Claimant> = all
        .iter()
        .filter(|other| other.namespace().as_ref() == Some(&namespace) && other.uid() != stack.uid())
        .map(|other| Claimant(other))
        .collect();
    let claim = |name: &ReleaseName| {
        let owner = context.owner(&namespace, name);
        subscription::claim(Claimant(stack), &others, name, used.contains(name), owner.as_deref())
    };
    roles.keys().map(|name| (name.clone(), claim(name))).collect()
}

#[cfg(test)]
impl Releases {
    /// Returns releases without users, each with its role.
    pub(super) fn owning(
        owned: impl IntoIterator<Item = (ReleaseName, Arc<ClusterStackRelease>, Role)>,
    ) -> Self {
        let mut releases = Self {
            owned: BTreeMap::new(),
            roles: BTreeMap::new(),
            claims: BTreeMap::new(),
            clusters: BTreeMap::new(),
            held: BTreeSet::new(),
            available: None,
        };
        for (name, release, role) in owned {
            releases.roles.insert(name.clone(), role);
            releases.owned.insert(name, release);
        }
        releases
    }
}
