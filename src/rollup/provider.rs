//! Derives a report from the provider's object of a release.

use serde_json::Value;

use super::report::{ConditionStatus, Report};
use crate::api::Reason;
use crate::foreign::capi::{ObjectReference, field, text};

/// Whether the provider's object is ready. `live` is the object, if it exists.
#[must_use]
pub fn provider_ready(object: &ObjectReference, live: Option<&Value>) -> Report {
    let ready = live.and_then(|live| field(live, &["status", "ready"])).and_then(Value::as_bool);
    if ready == Some(true) {
        return Report::new(ConditionStatus::True, Reason::Usable.as_str(), "the provider's object is ready");
    }
    let conditions = live.and_then(|live| field(live, &["status", "conditions"])).and_then(Value::as_array);
    let problem = conditions
        .into_iter()
        .flatten()
        .filter(|condition| text(condition, &["status"]) != "True")
        .map(|condition| text(condition, &["message"]))
        .find(|message| !message.is_empty());
    let message = match problem {
        Some(problem) => format!("{} {} is not ready: {problem}", object.kind, object.name),
        None => format!("{} {} is not ready yet", object.kind, object.name),
    };
    Report::new(ConditionStatus::Unknown, Reason::ProviderNotReady.as_str(), &message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn provider_is_ready_only_if_its_object_is() {
        let object = ObjectReference { group: "g".to_owned(), kind: "Demo".to_owned(), name: "r".to_owned() };
        let failed =
            json!({"status": {"ready": false, "conditions": [{"status": "False", "message": "no quota"}]}});
        for (live, status, message) in [
            (None, ConditionStatus::Unknown, "Demo r is not ready yet"),
            (Some(json!({})), ConditionStatus::Unknown, "Demo r is not ready yet"),
            (Some(failed), ConditionStatus::Unknown, "Demo r is not ready: no quota"),
            (
                Some(json!({"status": {"ready": true}})),
                ConditionStatus::True,
                "the provider's object is ready",
            ),
        ] {
            let report = provider_ready(&object, live.as_ref());
            assert_eq!((report.status, report.message.as_str()), (status, message));
        }
    }
}
