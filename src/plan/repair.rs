//! Decides when an object is restored that another client changes again and again: at once the first time, then after
//! pauses that grow, so that two controllers that disagree do not fill the API server.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::PlannedObject;
use super::delivery::{Action, LiveObject, is_of_plan};

/// The pause after the first repair of an object. Each further repair doubles the pause.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(1);
/// The longest pause between two repairs of an object.
pub const LONGEST_PAUSE: SignedDuration = SignedDuration::from_mins(5);
/// Time without a repair after which the earlier repairs of an object no longer count.
pub const QUIET: SignedDuration = SignedDuration::from_mins(10);

/// The repairs of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repairs {
    /// Their number.
    pub count: u32,
    /// Time of the last one.
    pub last: Timestamp,
}

impl Repairs {
    /// Adds a repair to those `before` it.
    #[must_use]
    pub fn one_more(before: Option<Self>, now: Timestamp) -> Self {
        let before = before.filter(|before| before.are_counted(now));
        Self { count: before.map_or(0, |before| before.count).saturating_add(1), last: now }
    }

    /// Whether the repairs delay the next one. A clock that was set back does not delay it.
    #[must_use]
    pub fn are_counted(&self, now: Timestamp) -> bool {
        let quiet = now.duration_since(self.last);
        SignedDuration::ZERO <= quiet && quiet < QUIET
    }

    /// Returns the time of the next repair; `None` if it is now.
    #[must_use]
    pub fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let doubled = 2_i32.checked_pow(self.count.saturating_sub(1));
        let pause = doubled.and_then(|factor| FIRST_PAUSE.checked_mul(factor)).unwrap_or(LONGEST_PAUSE);
        let next = self.last.saturating_add(pause.min(LONGEST_PAUSE)).unwrap_or(Timestamp::MAX);
        (self.count > 0 && self.are_counted(now) && next > now).then_some(next)
    }
}

/// A repair that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The field manager that changed the object, if known.
    pub manager: Option<String>,
    /// The number of repairs so far.
    pub count: u32,
    /// Time of the next repair.
    pub until: Timestamp,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without a field manager, the object may be gone.
        let (how, manager) = match &self.manager {
            Some(manager) => ("changed", manager.as_str()),
            None => ("changed or deleted", "another client"),
        };
        let times = if self.count == 1 { "once".to_owned() } else { format!("{} times", self.count) };
        // A time with a fraction is rounded up: the repair is not earlier than the message says.
        let until = self.until.as_second() + i64::from(self.until.subsec_nanosecond() > 0);
        let until = Timestamp::from_second(until).unwrap_or(self.until);
        write!(
            f,
            "was {how} again by {manager} after the operator restored it {times}; the operator restores it at {until}"
        )
    }
}

/// What is known of the last write of an object.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastWrite<'a> {
    /// Whether its result is known or, for an object without an owner and a status, whether it had the planned content.
    pub is_known: bool,
    /// Whether others may add owners.
    pub is_shared: bool,
    /// The digest of the plan that this process wrote a short time ago, if any.
    pub digest: Option<&'a str>,
}

/// Whether a write restores what another client changed, replaced or deleted, so that it may have to wait.
#[must_use]
pub fn is_repair(
    action: Action,
    (planned, found): (&PlannedObject, Option<LiveObject>),
    last: LastWrite,
) -> bool {
    let is_of_plan = found.is_some_and(|found| is_of_plan(found.metadata, planned));
    let is_again = if is_of_plan { last.is_known } else { last.digest == Some(planned.digest()) };
    action == Action::Repair || (action == Action::Apply && is_again && !last.is_shared)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::labels::PLAN_DIGEST;
    use crate::foreign::flux::observed::FluxObject;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let mut repairs = Repairs::one_more(None, at(0));
        let mut pauses = Vec::new();
        for _ in 0..12 {
            let next = repairs.next(repairs.last).unwrap();
            pauses.push(next.duration_since(repairs.last).as_secs());
            let before = next.checked_sub(SignedDuration::from_nanos(1)).unwrap();
            assert_eq!((repairs.next(before), repairs.next(next)), (Some(next), None));
            repairs = Repairs::one_more(Some(repairs), next);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
        let most = Repairs { count: u32::MAX, last: at(0) };
        assert_eq!(most.next(at(0)), Some(at(300)));
        assert_eq!(Repairs::one_more(Some(most), at(300)).count, u32::MAX);
    }

    #[test]
    fn quiet_time_forgets_repairs() {
        let many = Repairs { count: 9, last: at(0) };
        assert_eq!(Repairs::one_more(Some(many), at(599)).count, 10);
        assert_eq!(Repairs::one_more(Some(many), at(600)), Repairs { count: 1, last: at(600) });
        assert_eq!(many.next(at(-1)), None, "the clock was set back");
        assert!(LONGEST_PAUSE < QUIET, "a fight with the longest pauses is not forgotten");
    }

    #[test]
    fn write_of_the_same_plan_may_be_a_repair() {
        let id = crate::plan::ObjectId {
            api_version: String::new(),
            kind: "HelmRelease".to_owned(),
            namespace: "n".to_owned(),
            name: "o".to_owned(),
        };
        let value = json!({"metadata": {"annotations": {PLAN_DIGEST: "sha256:1"}}});
        let planned = PlannedObject { step: crate::plan::Step::Addons, id, value };
        let found = |digest: &str| -> FluxObject {
            let metadata = json!({"annotations": {PLAN_DIGEST: digest}});
            serde_json::from_value(json!({"kind": "HelmRelease", "metadata": metadata, "spec": {}})).unwrap()
        };
        let (same, other) = (found("sha256:1"), found("sha256:0"));
        let last = |is_known, is_shared, digest| LastWrite { is_known, is_shared, digest };
        for (action, found, last, expected, why) in [
            (Action::Repair, Some(&same), last(true, false, None), true, "changed"),
            (Action::Repair, Some(&same), last(true, true, None), true, "changed, shared"),
            (Action::Apply, Some(&same), last(true, false, None), true, "it lost its owner"),
            (Action::Apply, Some(&same), last(true, true, None), false, "another owner"),
            (Action::Apply, Some(&same), last(false, false, None), false, "the last write is unknown"),
            (
                Action::Apply,
                Some(&same),
                last(false, false, Some("sha256:1")),
                false,
                "its status was not written",
            ),
            (Action::Apply, Some(&other), last(true, false, None), false, "an earlier plan"),
            (Action::Apply, Some(&other), last(true, false, Some("sha256:0")), false, "the next plan"),
            (Action::Apply, Some(&other), last(true, false, Some("sha256:1")), true, "replaced"),
            (Action::Apply, Some(&other), last(true, true, Some("sha256:1")), false, "replaced, shared"),
            (Action::Apply, None, last(true, false, None), false, "the first write"),
            (Action::Apply, None, last(true, false, Some("sha256:1")), true, "deleted"),
            (Action::Apply, None, last(true, false, Some("sha256:0")), false, "deleted before another plan"),
            (Action::Nothing, Some(&same), last(true, false, Some("sha256:1")), false, "as planned"),
        ] {
            let found = found.map(Into::into);
            assert_eq!(is_repair(action, (&planned, found), last), expected, "{why}");
        }
    }

    #[test]
    fn waiting_repair_names_manager_and_time() {
        let until = at(0).checked_add(SignedDuration::from_millis(1)).unwrap();
        let wait = Wait { manager: Some("argocd".to_owned()), count: 5, until };
        let expected = "was changed again by argocd after the operator restored it 5 times; the operator restores it at \
                        2027-01-15T08:00:01Z";
        assert_eq!(wait.to_string(), expected);
        let wait = Wait { manager: None, count: 1, until: at(0) };
        assert!(wait.to_string().starts_with(
            "was changed or deleted again by another client after the operator restored it once; "
        ));
    }
}
