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
fn what_became_ready_or_has_another_issue_is_news() {
    let told = |before: &[Condition], now: &[Condition]| {
        news(before, now).map(|(type_, ready)| (matches!(type_, EventType::Warning), ready.message.clone()))
    };
    let (good, bad, waits) =
        (ready("True", "Applied"), ready("False", "Failed"), ready("Unknown", "Waiting"));
    assert_eq!(told(&[], &good), Some((false, "True Applied".to_owned())));
    assert_eq!(told(&good, &bad), Some((true, "False Failed".to_owned())));
    assert_eq!(told(&bad, &ready("False", "Stalled")), Some((true, "False Stalled".to_owned())));
    assert_eq!(told(&bad, &bad), None, "it was told");
    assert_eq!(told(&good, &waits), None, "it is on its way");
    assert_eq!(told(&good, &[]), None);
}
