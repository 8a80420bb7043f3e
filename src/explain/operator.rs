//! Whether the operator runs: by its Leases, as far as the reader may read them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;

use crate::installation::lease::is_lease;
use crate::names::Key;
use crate::rollup::LEASE_TIMEOUT;

/// A Lease of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorLease {
    /// Its key: each shard has a Lease of another name.
    pub key: Key,
    /// Time of its last renewal.
    pub renewed: Timestamp,
    /// The process that holds it; empty if none does.
    pub holder: String,
    /// Time at which that process acquired it.
    pub acquired: Option<Timestamp>,
}

impl OperatorLease {
    /// Reads a Lease; `None` if it is that of another program, or was never renewed.
    #[must_use]
    pub fn of(lease: &Lease) -> Option<Self> {
        let spec = lease.spec.as_ref().filter(|_| lease.metadata.name.as_deref().is_some_and(is_lease))?;
        Some(Self {
            key: Key::of(lease),
            renewed: spec.renew_time.as_ref()?.0,
            holder: spec.holder_identity.clone().unwrap_or_default(),
            acquired: spec.acquire_time.as_ref().map(|time| time.0),
        })
    }
}

/// An operator that does not renew its Lease: what its objects say is as old as that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorDown(pub OperatorLease);

/// Returns the operators that do not run: of Leases with the same name, the one that was renewed last counts, because an
/// operator that moves to another namespace leaves its Lease behind.
#[must_use]
pub fn down(leases: &[OperatorLease], now: Timestamp) -> Vec<OperatorDown> {
    let mut last: BTreeMap<&str, &OperatorLease> = BTreeMap::new();
    for lease in leases {
        let known = last.entry(&lease.key.name).or_insert(lease);
        if known.renewed < lease.renewed {
            *known = lease;
        }
    }
    let is_over = |lease: &&OperatorLease| now.duration_since(lease.renewed) >= LEASE_TIMEOUT;
    last.into_values().filter(is_over).cloned().map(OperatorDown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operator_is_down_a_minute_after_its_last_renewal() {
        let at = |time: &str| format!("2026-11-21T{time}Z").parse::<Timestamp>().unwrap();
        let lease = |namespace: &str, name: &str, time: &str| OperatorLease {
            key: Key::new(namespace, name),
            renewed: at(time),
            holder: "a".to_owned(),
            acquired: None,
        };
        let down = |leases: &[OperatorLease], time: &str| {
            let found = down(leases, at(time)).into_iter().map(|OperatorDown(lease)| lease.key.to_string());
            found.collect::<Vec<_>>().join(" ")
        };
        let one = lease("flux-system", "stackflux-leader-election", "10:00:00");
        assert_eq!(down(&[], "12:00:00"), "", "leader election is off, or its Leases cannot be read");
        assert_eq!(down(std::slice::from_ref(&one), "10:00:59"), "");
        assert_eq!(down(std::slice::from_ref(&one), "10:01:00"), "flux-system/stackflux-leader-election");
        let moved = lease("stackflux", "stackflux-leader-election", "11:00:00");
        assert_eq!(down(&[moved, one.clone()], "11:00:10"), "", "it has moved");
        let shard = lease("flux-system", "stackflux-leader-election-0123", "11:00:00");
        assert_eq!(down(&[one, shard], "11:00:10"), "flux-system/stackflux-leader-election", "one shard");
    }
}
