//! The built-in stack repository of a `ClusterStack`: which releases it needs, and whether it may be served.
//!
//! Flux keeps what it has while a repository does not answer. So an incomplete repository is not served: without a release
//! that is in use, Flux would report its pin as lost, and a `main` without it would look as if the release were withdrawn.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::{ReleaseName, Revision};
use crate::release::finding::listed;

/// Maximum number of releases that a message names.
const MAX_NAMES: usize = 5;

/// The facts about a built-in stack repository.
#[derive(Clone, Debug)]
pub struct BuiltinFacts<'a> {
    /// The releases that the `ClusterStack` offers and those that Clusters use.
    pub wanted: &'a BTreeSet<ReleaseName>,
    /// The commits of the releases that are pinned.
    pub pinned: &'a BTreeMap<ReleaseName, Revision>,
    /// The releases in the last `main` that Flux has fetched; `None` if that cannot be read now.
    pub fetched: Option<&'a BTreeSet<ReleaseName>>,
    /// The commits of the releases that the repository has.
    pub there: &'a BTreeMap<ReleaseName, Revision>,
    /// The releases upstream that can be brought in; `None` if upstream does not answer.
    pub upstream: Option<&'a BTreeSet<ReleaseName>>,
}

/// The decision about a built-in stack repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuiltinDecision {
    /// The releases whose pinned commit is not there. An artifact of Flux may have the content.
    pub restore: BTreeSet<ReleaseName>,
    /// The releases to bring in from upstream.
    pub missing: Vec<ReleaseName>,
    /// The pinned releases whose commit is lost, unless it is restored: upstream does not have the release, or has another
    /// content by its name.
    pub lost: BTreeSet<ReleaseName>,
    /// The reason why the repository is not served; `None` if it is.
    pub not_yet: Option<String>,
}

/// Whether Flux has not fetched all releases of the repository yet.
#[must_use]
pub fn is_flux_behind(facts: &BuiltinFacts) -> bool {
    facts.fetched.is_some_and(|fetched| facts.there.keys().any(|name| !fetched.contains(name)))
}

/// Decides what a built-in stack repository needs. A release that was brought in stays, whatever upstream has now.
#[must_use]
pub fn decide_builtin(facts: &BuiltinFacts) -> BuiltinDecision {
    let BuiltinFacts { wanted, pinned, fetched, there, upstream } = facts;
    let absent = |name: &&ReleaseName| !there.contains_key(*name);
    let fetched_names = fetched.iter().flat_map(|names| names.iter());
    let in_use: BTreeSet<&ReleaseName> = pinned.keys().chain(fetched_names).filter(absent).collect();
    let unread =
        || fetched.is_none().then(|| "the releases that Flux has fetched cannot be read yet".to_owned());
    let is_other = |(name, commit): (&ReleaseName, &Revision)| {
        there.get(name).is_some_and(|other| other != commit).then(|| name.clone())
    };
    let changed: BTreeSet<ReleaseName> = pinned.iter().filter_map(is_other).collect();
    let restore = pinned.keys().filter(absent).chain(&changed).cloned().collect();
    let Some(upstream) = upstream else {
        return BuiltinDecision {
            restore,
            missing: Vec::new(),
            lost: changed,
            not_yet: waits_for(&in_use).or_else(unread),
        };
    };
    let (later, gone): (BTreeSet<_>, BTreeSet<_>) =
        in_use.into_iter().partition(|name| upstream.contains(*name));
    let offered = wanted.iter().filter(|name| absent(name) && upstream.contains(*name));
    let missing: BTreeSet<&ReleaseName> = offered.chain(later.iter().copied()).collect();
    let gone = gone.into_iter().filter(|name| pinned.contains_key(*name)).cloned();
    BuiltinDecision {
        restore,
        missing: missing.into_iter().cloned().collect(),
        lost: gone.chain(changed).collect(),
        not_yet: waits_for(&later).or_else(unread),
    }
}

/// Says which releases are in use and not there; `None` if all are.
fn waits_for(names: &BTreeSet<&ReleaseName>) -> Option<String> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let message = || format!("releases in use are not brought in again yet: {}", listed(&names, MAX_NAMES));
    (!names.is_empty()).then(message)
}
