//! Flux status to a verdict per object, verdicts to conditions.
//!
//! ```text
//!  observed object + what is expected of it + the time
//!      │ judge: first match of the kind's table wins
//!      ▼
//!  Verdict
//!      │ addons_ready, object_ready, reconciling, stalled
//!      ▼
//!  Report ── mirror, summary, aggregate (Cluster API's verbs) ──▶ Report
//!      │ Report::condition
//!      ▼
//!  metav1.Condition
//! ```
//!
//! Flux's `Ready` alone is not reliable: it is wrong while an object is suspended, stays true of the old chart while
//! a new one is on its way, and never turns into a failure where a failed install is retried for ever. So every verdict
//! compares with what stackflux wrote, and the time is an argument.

mod addons;
mod cause;
mod cluster_addon;
mod cluster_addon_override;
pub mod cluster_stack;
mod cluster_stack_release;
mod clusters;
mod convergence;
mod deleted;
mod delivery;
mod followed;
mod helm_release;
mod kustomization;
mod missing;
mod provider;
mod pulse;
mod report;
mod retry;
mod source;
mod verdict;

pub use self::addons::{addons_ready, object_ready, reconciling, stalled, status_of};
pub use self::cluster_addon::{
    AddonFacts, ClusterFacts, GateFacts, cluster_addon, deleted_cluster_addon, expected_since,
};
pub use self::cluster_addon_override::{RequestTarget, cluster_addon_override};
pub use self::cluster_stack_release::{
    ContentFacts, ObjectFacts, ReleaseFacts, Usage, cluster_stack_release, component_source, expected_object,
    expected_since as object_since, kept as kept_object, present_version, ready_of, recorded_expectation,
    with_rest,
};
pub use self::clusters::{ClusterReadiness, ClusterState, clusters_ready};
pub use self::convergence::{converged_addons, converged_objects, unready_since};
pub use self::deleted::{conditions_of_deleted, deleted_release, deleted_stack};
pub use self::delivery::delivery_limit;
pub use self::followed::{SourceFacts, followed_source, source_ready};
pub use self::helm_release::{Retries, due_retries, is_forced_upgrade_due, retry_at};
pub use self::missing::{InRepository, missing_release};
pub use self::provider::provider_ready;
pub use self::pulse::{Applier, LEASE_TIMEOUT, Pulse, SeenLease};
pub use self::report::{ConditionStatus, Report, aggregate, mirror, summary};
pub use self::verdict::{DEADLINE, Expected, Moment, RESPONSE_TIMEOUT, Silence, Verdict};
use crate::foreign::flux::observed::{FluxObject, KindStatus};

/// Reads the status of a Flux object by the table of its kind.
#[must_use]
pub fn judge(object: &FluxObject, expected: &Expected, moment: &Moment) -> Verdict {
    match &object.status {
        KindStatus::HelmRelease(status) => helm_release::helm_release(object, status, expected, moment),
        KindStatus::Kustomization(status) => kustomization::kustomization(object, status, expected, moment),
        KindStatus::GitRepository(status) | KindStatus::OCIRepository(status) => {
            source::repository(object, status, expected, moment)
        }
        KindStatus::HelmChart(status) => source::helm_chart(object, status, expected, moment),
    }
}

#[cfg(test)]
mod tests;
