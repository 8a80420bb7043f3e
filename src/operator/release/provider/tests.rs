//! When a provider's object is written again.

use super::*;

#[test]
fn what_a_provider_adds_is_not_ours_and_what_is_wanted_is_there() {
    let desired = json!({
        "metadata": {"labels": {"a": "b"}, "annotations": {}, "ownerReferences": [{"uid": "1", "controller": true}]},
        "spec": {"cloud": "one", "images": [{"name": "x"}], "none": {}},
    });
    let live = json!({
        "apiVersion": "provider.example.org/v2",
        "metadata": {"name": "r", "labels": {"a": "b", "c": "d"}, "ownerReferences": [{"uid": "1", "controller": true, "name": "r"}]},
        "spec": {"cloud": "one", "images": [{"name": "x", "defaulted": 1}], "more": true},
        "status": {"ready": true},
    });
    assert!(is_written(&live, &desired));
    for (pointer, other) in [
        ("/spec/cloud", json!("two")),
        ("/spec/images", json!([])),
        ("/spec/images/0/name", json!("y")),
        ("/metadata/labels/a", json!("x")),
        ("/metadata/ownerReferences/0/uid", json!("2")),
    ] {
        let mut changed = live.clone();
        *changed.pointer_mut(pointer).unwrap() = other;
        assert!(!is_written(&changed, &desired), "{pointer}");
    }
}

#[test]
fn only_ready_is_ready() {
    let object = ObjectReference { group: "g".to_owned(), kind: "Demo".to_owned(), name: "r".to_owned() };
    let failed =
        json!({"status": {"ready": false, "conditions": [{"status": "False", "message": "no quota"}]}});
    for (live, status, message) in [
        (None, ConditionStatus::Unknown, "Demo r is not ready yet"),
        (Some(json!({})), ConditionStatus::Unknown, "Demo r is not ready yet"),
        (Some(failed), ConditionStatus::Unknown, "Demo r is not ready: no quota"),
        (Some(json!({"status": {"ready": true}})), ConditionStatus::True, "the provider's object is ready"),
    ] {
        let report = said(&object, live.as_ref());
        assert_eq!((report.status, report.message.as_str()), (status, message));
    }
}
