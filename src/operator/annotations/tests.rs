use super::*;

fn object(annotations: &Value) -> FluxObject {
    let metadata = json!({"uid": "u", "resourceVersion": "7", "annotations": annotations});
    serde_json::from_value(json!({"kind": "HelmRelease", "metadata": metadata, "spec": {}})).unwrap()
}

/// To add a whole map removes what another client has added to it meanwhile.
fn unchanged() -> Value {
    json!({"op": "test", "path": "/metadata/resourceVersion", "value": "7"})
}

#[test]
fn annotations_are_added_whether_there_are_any_or_not() {
    let wanted = [("example.org/a~b", "1")];
    let mut expected = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": "u"}),
        unchanged(),
        json!({"op": "add", "path": "/metadata/annotations", "value": {}}),
        json!({"op": "add", "path": "/metadata/annotations/example.org~1a~0b", "value": "1"}),
    ];
    assert_eq!(patch(&object(&Value::Null), &wanted), json!(expected));
    expected.drain(1..3);
    assert_eq!(patch(&object(&json!({"other": "2"})), &wanted), json!(expected));
}

#[test]
fn decided_request_requires_the_state_it_was_decided_for() {
    let wanted = [("example.org/a", "1")];
    let add = json!({"op": "add", "path": "/metadata/annotations/example.org~1a", "value": "1"});
    let test = json!({"op": "test", "path": "/metadata/uid", "value": "u"});
    let found = object(&json!({"other": "2"}));
    assert_eq!(patch_unchanged(&found, &wanted), json!([unchanged(), test, add]));
}

#[test]
fn annotation_is_removed_from_the_state_that_was_judged() {
    let test = json!({"op": "test", "path": "/metadata/uid", "value": "u"});
    let remove = json!({"op": "remove", "path": "/metadata/annotations/example.org~1a"});
    assert_eq!(removal(&object(&Value::Null), "example.org/a"), json!([unchanged(), test, remove]));
}

#[test]
fn label_is_added_whether_there_are_any_or_not() {
    let add =
        json!({"op": "add", "path": "/metadata/labels/app.kubernetes.io~1managed-by", "value": "stackflux"});
    let test = json!({"op": "test", "path": "/metadata/uid", "value": "u"});
    let mut bare = object(&Value::Null);
    let map = json!({"op": "add", "path": "/metadata/labels", "value": {}});
    assert_eq!(label(&bare), json!([test, unchanged(), map, add]));
    bare.object.labels = Some([("other".to_owned(), "2".to_owned())].into());
    assert_eq!(label(&bare), json!([test, add]));
}

#[test]
fn suspension_is_of_this_object_only() {
    let test = json!({"op": "test", "path": "/metadata/uid", "value": "u"});
    let add = json!({"op": "add", "path": "/spec/suspend", "value": true});
    let remove = json!({"op": "remove", "path": "/spec/suspend"});
    let resumed = json!([test, unchanged(), add, remove]);
    for (suspend, expected) in [(true, json!([test, add])), (false, resumed)] {
        assert_eq!(suspension(&object(&Value::Null), suspend), expected);
    }
}
