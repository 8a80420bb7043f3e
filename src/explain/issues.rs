//! Everything that is not ready, the most urgent first.

use std::collections::BTreeMap;

use super::chain::{Chain, cluster, release, stack};
use super::flux::is_true;
use super::snapshot::{Snapshot, ready};

/// Minimum length of a message that objects share, in bytes.
const LEAST_SHARED: usize = 32;

/// Returns the chains of all objects that are not ready: what is false before what is not known yet, and of these the oldest
/// first. Those with the same message and advice as an earlier one are named there. A `ClusterStack` of which only Clusters are
/// not ready is left out: these have chains of their own.
#[must_use]
pub fn issues(snapshot: &Snapshot) -> Vec<Chain> {
    let stacks = snapshot.stacks.iter().filter(|(key, stack)| {
        let conditions = stack.status.as_ref().map(|status| &status.conditions);
        snapshot.shows(&key.namespace) && !is_true(&ready(&stack.metadata, conditions))
    });
    let stacks = stacks.filter_map(|(key, _)| stack(snapshot, key));
    let releases = snapshot.releases.keys().filter(|key| snapshot.shows(&key.namespace));
    let releases = releases.filter_map(|key| release(snapshot, key));
    let clusters = snapshot.claimed().filter_map(|(key, member)| cluster(snapshot, key, member, None));
    let mut found: Vec<Chain> = stacks.chain(releases).chain(clusters).filter(|chain| !chain.ready).collect();
    found.sort_by_key(|chain| (chain.status, chain.since.is_none(), chain.since));
    joined(found)
}

/// Returns the number of objects that chains are about.
#[must_use]
pub fn count(chains: &[Chain]) -> usize {
    chains.iter().map(|chain| 1 + chain.also.len()).sum()
}

/// Joins the chains with one message and one advice.
fn joined(chains: Vec<Chain>) -> Vec<Chain> {
    let mut joined: Vec<Chain> = Vec::with_capacity(chains.len());
    let mut first: BTreeMap<(String, String), usize> = BTreeMap::new();
    for chain in chains {
        let message = chain.cause.as_ref().map(|cause| cause.message.clone()).unwrap_or_default();
        let advice = chain.action.as_ref().map(|action| action.text.clone()).unwrap_or_default();
        // A short message, such as `not yet reported`, can have many causes.
        let is_long = message.len() >= LEAST_SHARED;
        let said = (message, advice);
        let earlier = first.get(&said).filter(|_| is_long);
        if let Some(earlier) = earlier.and_then(|at| joined.get_mut(*at)) {
            earlier.also.push(chain.about);
        } else {
            first.entry(said).or_insert(joined.len());
            joined.push(chain);
        }
    }
    joined
}
