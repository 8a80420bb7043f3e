use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

fn ready(status: &str, reason: &str) -> Vec<Condition> {
    vec![Condition {
        type_: "Ready".to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: format!("{status} {reason}"),
        observed_generation: None,
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
    }]
}

#[test]
fn ready_or_new_issue_publishes_event() {
    let event = |before: &[Condition], now: &[Condition]| {
        ready_change(before, now)
            .map(|(type_, ready)| (matches!(type_, EventType::Warning), ready.message.clone()))
    };
    let (good, bad, waits) =
        (ready("True", "Applied"), ready("False", "Failed"), ready("Unknown", "Waiting"));
    assert_eq!(event(&[], &good), Some((false, "True Applied".to_owned())));
    assert_eq!(event(&good, &bad), Some((true, "False Failed".to_owned())));
    assert_eq!(event(&bad, &ready("False", "Stalled")), Some((true, "False Stalled".to_owned())));
    assert_eq!(event(&bad, &bad), None, "it was published");
    assert_eq!(event(&good, &waits), None, "it is on its way");
    assert_eq!(event(&good, &[]), None);
}
