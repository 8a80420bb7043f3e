//! The releases of a `ClusterStack`: which there are, whose they are, who uses them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::ResourceExt as _;

use super::super::cache::Key;
use super::super::objects::{ClusterObject, term};
use super::super::release::users;
use super::super::world::World;
use super::source::Source;
use crate::api::{ClusterStack, ClusterStackRelease};
use crate::names::ReleaseName;
use crate::subscription::{self, Claim, Claimant, Facts, Role};

/// The releases of a `ClusterStack`.
pub(super) struct Releases {
    /// Those that are there and ours.
    pub(super) owned: BTreeMap<ReleaseName, Arc<ClusterStackRelease>>,
    /// What each is to us.
    pub(super) roles: BTreeMap<ReleaseName, Role>,
    /// Whose each is that we want.
    pub(super) claims: BTreeMap<ReleaseName, Claim>,
    /// The Clusters of each.
    pub(super) clusters: BTreeMap<ReleaseName, Vec<Arc<ClusterObject>>>,
    /// Those in the stack repository, usable or not; `None` while it was not read.
    pub(super) available: Option<BTreeSet<ReleaseName>>,
}

/// The `ClusterStackRelease`s of a `ClusterStack`.
pub(super) fn owned(world: &World, stack: &ClusterStack) -> BTreeMap<ReleaseName, Arc<ClusterStackRelease>> {
    let uid = stack.uid().unwrap_or_default();
    let found = world.caches.releases.find(&term::owned_by("ClusterStack", &Key::of(stack)));
    let ours =
        found.into_iter().filter(|release| release.owner_references().iter().any(|owner| owner.uid == uid));
    // One that has no release's name was not written by us, and is left alone.
    ours.filter_map(|release| Some((release.name_any().parse().ok()?, release))).collect()
}

impl Releases {
    pub(super) fn of(world: &World, stack: &ClusterStack, source: &Source) -> Self {
        let namespace = stack.namespace().unwrap_or_default();
        let owned = owned(world, stack);
        let read = source.catalog.read.as_deref();
        let available = read.map(|read| {
            let names = read.releases.keys().filter(|name| subscription::is_of(&stack.spec, name));
            names.cloned().collect::<BTreeSet<_>>()
        });
        let offered = subscription::offered(&stack.spec, available.as_ref());
        let known: BTreeSet<&ReleaseName> =
            owned.keys().chain(available.iter().flatten()).chain(&offered).collect();
        let clusters: BTreeMap<_, _> =
            known.into_iter().map(|name| (name.clone(), users::of(world, &namespace, name))).collect();
        let mut used: BTreeSet<ReleaseName> =
            clusters.iter().filter(|(_, users)| !users.is_empty()).map(|(name, _)| name.clone()).collect();
        if owned.keys().any(|name| !used.contains(name)) {
            used.extend(users::named_by_addons(world, &namespace));
        }
        let names = owned.keys().cloned().collect();
        let facts = Facts { spec: &stack.spec, available: available.as_ref(), owned: &names, used: &used };
        let roles = subscription::roles(&facts);
        let claims = claims(world, stack, &roles, &used);
        Self { owned, roles, claims, clusters, available }
    }
}

fn claims(
    world: &World,
    stack: &ClusterStack,
    roles: &BTreeMap<ReleaseName, Role>,
    used: &BTreeSet<ReleaseName>,
) -> BTreeMap<ReleaseName, Claim> {
    let namespace = stack.namespace().unwrap_or_default();
    let all = world.caches.stacks.all();
    let others: Vec<Claimant> = all
        .iter()
        .filter(|other| other.namespace().as_ref() == Some(&namespace) && other.uid() != stack.uid())
        .map(|other| Claimant(other))
        .collect();
    let claim = |name: &ReleaseName| {
        let release = world.caches.releases.get(&Key::new(&namespace, &name.to_string()));
        let owner = release.and_then(|release| {
            let owners = release.owner_references();
            owners.iter().find(|owner| owner.kind == "ClusterStack").map(|owner| owner.uid.clone())
        });
        let is_used = used.contains(name);
        subscription::claim(Claimant(stack), &others, name, is_used, owner.as_deref())
    };
    roles.keys().map(|name| (name.clone(), claim(name))).collect()
}
