//! Everything that is not ready, the most urgent first.

use super::chain::{Chain, cluster, release, stack};
use super::flux::is_true;
use super::snapshot::{Snapshot, ready};

/// Returns the chains of all objects that are not ready: what is false before what is not known yet, and of these the oldest
/// first. A `ClusterStack` of which only Clusters are not ready is left out: these have chains of their own.
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
    found
}
