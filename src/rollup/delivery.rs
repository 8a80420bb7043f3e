//! Deliveries that fail: a retry may help at first, and after five minutes they are an issue.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::report::{ConditionStatus, Report};
use crate::api::conditions::{ConditionType, Reason};

/// Maximum time for a delivery to fail before it is an issue.
const PATIENCE: SignedDuration = SignedDuration::from_mins(5);

/// Whether a reason says that the delivery failed, and is tried again.
fn is_failure(reason: &str) -> bool {
    [Reason::PushFailed, Reason::DeliveryFailed].iter().any(|failure| failure.as_str() == reason)
}

/// Returns the condition `Delivered` if it says that the delivery failed.
fn failing(conditions: &[Condition]) -> Option<&Condition> {
    let delivered = conditions.iter().find(|condition| condition.type_ == ConditionType::Delivered.as_str());
    delivered.filter(|condition| is_failure(&condition.reason))
}

/// Reports a delivery that has failed for too long as an issue. `old` are the conditions before.
pub(super) fn overdue_delivery(report: Report, old: &[Condition], now: Timestamp) -> Report {
    let is_failing = report.status == ConditionStatus::Unknown && is_failure(&report.reason);
    let is_overdue = |before: &Condition| {
        before.status == ConditionStatus::False.as_str() || limit(before).is_some_and(|limit| limit <= now)
    };
    match failing(old).filter(|before| is_failing && is_overdue(before)) {
        Some(_) => Report { status: ConditionStatus::False, ..report },
        None => report,
    }
}

/// Returns the time at which a delivery that fails becomes an issue, if that is not now.
#[must_use]
pub fn delivery_limit(conditions: &[Condition], now: Timestamp) -> Option<Timestamp> {
    let unknown = failing(conditions).filter(|it| it.status == ConditionStatus::Unknown.as_str());
    unknown.and_then(limit).filter(|limit| *limit > now)
}

fn limit(before: &Condition) -> Option<Timestamp> {
    before.last_transition_time.0.checked_add(PATIENCE).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Timestamp {
        format!("2026-11-20T{time}Z").parse().unwrap()
    }

    #[test]
    fn delivery_that_fails_for_five_minutes_is_an_issue() {
        let report = |reason: Reason| Report::new(ConditionStatus::Unknown, reason.as_str(), "why");
        let failed = report(Reason::PushFailed);
        let unknown =
            |reason: Reason| vec![report(reason).condition(ConditionType::Delivered, 1, &[], at("10:00:00"))];
        let first = unknown(Reason::PushFailed);
        let is_issue = |report: &Report, old: &[Condition], time: &str| {
            overdue_delivery(report.clone(), old, at(time)).status == ConditionStatus::False
        };
        assert!(!is_issue(&failed, &[], "10:00:00"), "the first failure");
        assert!(!is_issue(&failed, &first, "10:04:59"));
        assert_eq!(delivery_limit(&first, at("10:04:59")), Some(at("10:05:00")));
        assert!(is_issue(&failed, &first, "10:05:00"));
        assert_eq!(delivery_limit(&first, at("10:05:00")), None);
        let issue = overdue_delivery(failed.clone(), &first, at("10:05:00"));
        let issue = vec![issue.condition(ConditionType::Delivered, 1, &first, at("10:05:00"))];
        assert!(is_issue(&failed, &issue, "10:05:01"), "it stays one, although its status has just changed");
        assert_eq!(delivery_limit(&issue, at("10:05:01")), None);
        assert!(
            !is_issue(&failed, &unknown(Reason::PullRequestOpen), "12:00:00"),
            "the wait for a review is none"
        );
        assert!(
            !is_issue(&report(Reason::Committing), &first, "12:00:00"),
            "it is tried again with other content"
        );
    }
}
