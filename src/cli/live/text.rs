//! What the live commands print for people: tables of the fleet, the tree, and the sentences of a chain.

pub(in crate::cli) mod chain;
pub(in crate::cli) mod fleet;
pub(in crate::cli) mod tree;

use jiff::Timestamp;

use crate::cli::output::NOTHING;
use crate::explain;
use crate::explain::operator::OperatorDown;
use crate::explain::snapshot::Snapshot;

/// Formats an age like kubectl, if it is known.
pub(in crate::cli) fn age(created: Option<Timestamp>, now: Timestamp) -> String {
    created.map_or_else(|| NOTHING.to_owned(), |created| explain::age(created, now))
}

/// Says that an operator is down, since when, and where to look.
pub(in crate::cli) fn operator_down(OperatorDown(lease): &OperatorDown, now: Timestamp) -> String {
    let (key, renewed, age) = (&lease.key, lease.renewed, age(Some(lease.renewed), now));
    format!(
        "the operator's Lease {key} was last renewed {age} ago, at {renewed:.0}: no operator runs, and what follows is as old\n  \
         kubectl get pods -n {} -l app.kubernetes.io/name=stackflux",
        key.namespace
    )
}

/// Says that everything is ready, or was when an operator last ran.
pub(in crate::cli) fn all_ready(snapshot: &Snapshot) -> String {
    let place = snapshot.place();
    if snapshot.operators_down.is_empty() {
        format!("Everything is ready{place}.\n")
    } else {
        format!("Everything was ready{place} when an operator last ran.\n")
    }
}
