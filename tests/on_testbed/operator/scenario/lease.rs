//! The Lease of the operators of a scenario.

use stackflux::installation::lease::lease_name;
use stackflux_testbed::{Cluster, Operator};

/// Deletes the Lease at the end: `status`, `tree` and `why` of other scenarios would report an operator that is down.
pub(super) struct Lease {
    management: Cluster,
    name: String,
}

impl Lease {
    /// The Lease of operators with this selector of labels.
    pub(super) fn of(management: &Cluster, selector: &str) -> Self {
        Self { management: management.clone(), name: lease_name(Some(selector)) }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let namespace = format!("--namespace={}", Operator::NAMESPACE);
        let delete = ["delete", "lease", &self.name, &namespace, "--ignore-not-found"];
        // The API server of a failed test may have stopped.
        drop(self.management.kubectl(&delete));
    }
}
