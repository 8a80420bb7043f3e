//! The status of a release or a stack that is being deleted.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::report::{ConditionStatus, Report};
use crate::api::conditions::{ConditionType, Reason};
use crate::api::{ClusterStack, ClusterStackRelease, ClusterStackReleaseStatus, ClusterStackStatus};

/// Conditions that exist only while they are true.
const TEMPORARY: [ConditionType; 2] = [ConditionType::Reconciling, ConditionType::Stalled];

/// Computes the status of a `ClusterStackRelease` that is being deleted. `message` says what the deletion waits for.
#[must_use]
pub fn deleted_release(
    release: &ClusterStackRelease,
    message: &str,
    now: Timestamp,
) -> ClusterStackReleaseStatus {
    let old = release.status.clone().unwrap_or_default();
    let generation = release.metadata.generation.unwrap_or_default();
    let conditions = conditions_of_deleted(message, &old.conditions, generation, now);
    ClusterStackReleaseStatus { ready: false, observed_generation: Some(generation), conditions, ..old }
}

/// Computes the status of a `ClusterStack` that is being deleted. `message` says what the deletion waits for.
#[must_use]
pub fn deleted_stack(stack: &ClusterStack, message: &str, now: Timestamp) -> ClusterStackStatus {
    let old = stack.status.clone().unwrap_or_default();
    let generation = stack.metadata.generation.unwrap_or_default();
    let conditions = conditions_of_deleted(message, &old.conditions, generation, now);
    ClusterStackStatus { observed_generation: Some(generation), conditions, ..old }
}

/// Computes the conditions of an object that is being deleted, derived from those before: it is not ready, and the
/// other conditions are no longer checked. `message` says what the deletion waits for.
#[must_use]
pub fn conditions_of_deleted(
    message: &str,
    old: &[Condition],
    generation: i64,
    now: Timestamp,
) -> Vec<Condition> {
    let report = |status| Report::new(status, Reason::Terminating.as_str(), message);
    let ready = report(ConditionStatus::False).condition(ConditionType::Ready, generation, old, now);
    let rest = ConditionType::ALL.iter().copied().filter(|kind| {
        *kind != ConditionType::Ready
            && !TEMPORARY.contains(kind)
            && old.iter().any(|condition| condition.type_ == kind.as_str())
    });
    let rest = rest.map(|kind| report(ConditionStatus::Unknown).condition(kind, generation, old, now));
    [ready].into_iter().chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deleted_object_reports_only_the_deletion() {
        let now = Timestamp::UNIX_EPOCH;
        let kinds = [ConditionType::Ready, ConditionType::Stalled, ConditionType::ReleaseValid];
        let good = Report::new(ConditionStatus::True, Reason::Valid.as_str(), "good");
        let old = kinds.map(|kind| good.clone().condition(kind, 1, &[], now));
        let reported = conditions_of_deleted("waits for x", &old, 2, now);
        let reported: Vec<_> =
            reported.iter().map(|it| (it.type_.as_str(), it.status.as_str(), it.reason.as_str())).collect();
        let expected = [("Ready", "False", "Terminating"), ("ReleaseValid", "Unknown", "Terminating")];
        assert_eq!(reported, expected);
    }
}
