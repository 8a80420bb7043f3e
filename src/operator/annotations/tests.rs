use super::*;

fn object(annotations: &Value) -> FluxObject {
    let metadata = json!({"uid": "u", "annotations": annotations});
    serde_json::from_value(json!({"kind": "HelmRelease", "metadata": metadata, "spec": {}})).unwrap()
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

#[test]
fn label_is_added_whether_there_are_any_or_not() {
    let add =
        json!({"op": "add", "path": "/metadata/labels/app.kubernetes.io~1managed-by", "value": "stackflux"});
    let test = json!({"op": "test", "path": "/metadata/uid", "value": "u"});
    let mut bare = object(&Value::Null);
    let map = json!({"op": "add", "path": "/metadata/labels", "value": {}});
    assert_eq!(label(&bare), json!([test, map, add]));
    bare.object.labels = Some([("other".to_owned(), "2".to_owned())].into());
    assert_eq!(label(&bare), json!([test, add]));
}

#[test]
fn suspension_is_of_this_object_only() {
    let test = json!({"op": "test", "path": "/metadata/uid", "value": "u"});
    let add = json!({"op": "add", "path": "/spec/suspend", "value": true});
    let remove = json!({"op": "remove", "path": "/spec/suspend"});
    for (suspend, expected) in [(true, json!([test, add])), (false, json!([test, add, remove]))] {
        assert_eq!(suspension(&object(&Value::Null), suspend), expected);
    }
}
