//! The names of the operators' Leases, as the roles of the installation have them.

use crate::release::Digest;

/// The name of the Lease.
pub const LEASE: &str = "stackflux-leader-election";

/// Whether a Lease with this name is one of stackflux's operators: each shard has its own.
#[must_use]
pub fn is_lease(name: &str) -> bool {
    name.strip_prefix(LEASE).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Returns the name of the Lease. Operators that watch different objects do not exclude each other; Flux's controllers add
/// a digest of the selector for the same reason.
#[must_use]
pub fn lease_name(label_selector: Option<&str>) -> String {
    let Some(selector) = label_selector else { return LEASE.to_owned() };
    format!("{LEASE}-{}", Digest::of_bytes(selector.as_bytes()).short())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_shards_have_different_leases() {
        let names = [None, Some("shard=a"), Some("shard=b")].map(lease_name);
        assert_eq!(names[0], LEASE);
        assert!(names[1].starts_with(LEASE) && names[2].starts_with(LEASE));
        assert!(names[1] != names[2] && names[1] != names[0]);
        assert_eq!(names[1], lease_name(Some("shard=a")));
        assert!(names.iter().all(|name| is_lease(name) && name.parse::<crate::names::ObjectName>().is_ok()));
    }
}
