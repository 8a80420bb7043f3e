use serde_json::{Value, json};

use super::changes;

/// The changes as `path: old → new`, with `-` for what is not there.
fn told(old: &Value, new: &Value) -> Vec<String> {
    let object = |values: &Value| json!({"spec": {"values": values}});
    let side = |side: Option<String>| side.unwrap_or_else(|| "-".to_owned());
    let changes = changes(&object(old), &object(new)).into_iter();
    changes.map(|change| format!("{}: {} → {}", change.path, side(change.from), side(change.to))).collect()
}

#[test]
fn every_value_that_differs_is_told_by_its_path() {
    let old =
        json!({"a": {"kept": 1, "other": 1, "gone": {"deep": true}}, "list": [1, 2, 3], "kind": {"x": 1}});
    let new =
        json!({"list": [1, {"k": "v"}], "a": {"kept": 1, "other": "1", "new": {"deep": [] }}, "kind": [1]});
    assert_eq!(
        told(&old, &new),
        [
            "list[1]: 2 → {\"k\":\"v\"}",
            "list[2]: 3 → -",
            "a.other: 1 → \"1\"",
            "a.new.deep: - → []",
            "a.gone.deep: true → -",
            "kind: {\"x\":1} → [1]",
        ]
    );
}

#[test]
fn a_key_cannot_pretend_to_be_a_path() {
    let (old, new) = (json!({}), json!({"a.b": {"c[0]": 1}, "d\\": 2}));
    assert_eq!(told(&old, &new), ["a\\.b.c\\[0]: - → 1", "d\\\\: - → 2"]);
}

#[test]
fn objects_without_values_and_empty_values_are_told_apart() {
    assert!(told(&json!({"a": null}), &json!({"a": null})).is_empty());
    assert_eq!(told(&json!({}), &json!({"a": {}})), ["a: - → {}"]);
    assert_eq!(told(&json!({"a": null}), &json!({})), ["a: null → -"]);
    let without = json!({"spec": {}});
    assert!(changes(&without, &without).is_empty());
}
