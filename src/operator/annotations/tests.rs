use super::*;
use crate::foreign::flux::observed::HelmRelease;

fn object(annotations: &Value) -> HelmRelease {
    serde_json::from_value(json!({"metadata": {"uid": "u", "annotations": annotations}, "spec": {}})).unwrap()
}

#[test]
fn annotations_are_added_whether_there_are_any_or_not() {
    let wanted = [("example.org/a~b", "1")];
    let mut expected = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": "u"}),
        json!({"op": "add", "path": "/metadata/annotations", "value": {}}),
        json!({"op": "add", "path": "/metadata/annotations/example.org~1a~0b", "value": "1"}),
    ];
    assert_eq!(patch(&object(&Value::Null), &wanted), json!(expected));
    expected.remove(1);
    assert_eq!(patch(&object(&json!({"other": "2"})), &wanted), json!(expected));
}
