//! The rules of the API server in memory, each in one test.

use serde_json::{Value, json};

use crate::api_server::kinds::KINDS;
use crate::api_server::{Answer, ApiServer, Call, Place};

fn server() -> ApiServer {
    ApiServer::new(&["demo"])
}

fn place(kind: &str, name: &str) -> Place {
    let number = KINDS.iter().position(|of| of.name == kind).unwrap();
    (number, if kind == "Namespace" { "" } else { "demo" }.to_owned(), name.to_owned())
}

fn release(name: &str) -> Value {
    json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1",
        "kind": "ClusterStackRelease",
        "metadata": {"name": name, "namespace": "demo"},
        "spec": {"source": {"revision": "a", "digest": "b", "path": "c"}},
    })
}

fn uri(name: &str) -> String {
    format!("/apis/clusterstack.x-k8s.io/v1alpha1/namespaces/demo/clusterstackreleases/{name}")
}

/// Sends a request about a `ClusterStackRelease`.
fn send(server: &mut ApiServer, method: &str, uri: String, media: &str, body: &Value) -> Answer {
    let content_type = format!("application/{media}");
    server.answer(&Call { method: method.to_owned(), uri, content_type, body: body.to_string().into() })
}

fn patch(server: &mut ApiServer, name: &str, operations: &Value) -> Answer {
    send(server, "PATCH", format!("{}?fieldManager=me", uri(name)), "json-patch+json", operations)
}

fn message(answer: &Answer) -> (u16, &str) {
    (answer.code, answer.body["message"].as_str().unwrap_or_default())
}

fn version(answer: &Answer) -> &str {
    answer.body["metadata"]["resourceVersion"].as_str().unwrap()
}

fn owned_by(name: &str, owners: &[&Answer]) -> Value {
    let mut object = release(name);
    let reference = |owner: &&Answer| {
        let metadata = &owner.body["metadata"];
        json!({"apiVersion": "v1", "kind": "X", "name": metadata["name"], "uid": metadata["uid"]})
    };
    object["metadata"]["ownerReferences"] = owners.iter().map(reference).collect();
    object
}

#[test]
fn apply_creates_then_changes_nothing_twice() {
    let mut server = server();
    let created = server.apply_as("me", &release("a"));
    assert_eq!((created.code, &created.body["metadata"]["generation"]), (201, &json!(1)));
    let again = server.apply_as("me", &release("a"));
    assert_eq!((again.code, version(&again)), (200, version(&created)));
    let kind = place("ClusterStackRelease", "").0;
    let entries: Vec<_> =
        server.log.iter().filter(|entry| entry.place.0 == kind).map(|entry| entry.object.clone()).collect();
    assert_eq!((entries, server.list(kind)), (vec![created.body.clone()], vec![created.body]));
}

#[test]
fn generation_counts_changes_of_the_spec_only() {
    let mut server = server();
    server.apply_as("me", &release("a"));
    let annotate = json!([{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}]);
    let annotated = patch(&mut server, "a", &annotate);
    assert_eq!(annotated.body["metadata"]["generation"], 1);
    let status = json!([{"op": "add", "path": "/status", "value": {"ready": true}}]);
    let reported = send(
        &mut server,
        "PATCH",
        format!("{}/status?fieldManager=me", uri("a")),
        "json-patch+json",
        &status,
    );
    assert_eq!(reported.body["metadata"]["generation"], 1);
    assert_ne!(version(&reported), version(&annotated));
    let mut changed = release("a");
    changed["spec"]["source"]["revision"] = json!("z");
    assert_eq!(server.apply_as("me", &changed).body["metadata"]["generation"], 2);
}

#[test]
fn status_is_written_by_its_subresource_only() {
    let mut server = server();
    server.apply_as("me", &release("a"));
    let both = json!({"spec": {"source": {"path": "z"}}, "status": {"ready": true}});
    let at = place("ClusterStackRelease", "a");
    let spec = server.merge_as("me", &at, false, &both);
    assert_eq!((&spec.body["spec"]["source"]["path"], spec.body.get("status")), (&json!("z"), None));
    let status = server.merge_as("me", &at, true, &json!({"spec": null, "status": {"ready": true}}));
    assert_eq!((&status.body["spec"], &status.body["status"]["ready"]), (&spec.body["spec"], &json!(true)));
}

#[test]
fn apply_takes_out_what_it_has_no_more() {
    let mut server = server();
    let mut object = release("a");
    object["metadata"]["labels"] = json!({"mine": "1", "both": "1"});
    server.apply_as("me", &object);
    let mut others = release("a");
    others["metadata"]["labels"] = json!({"both": "1", "theirs": "1"});
    server.apply_as("other", &others);
    let left = server.apply_as("me", &release("a"));
    assert_eq!(left.body["metadata"]["labels"], json!({"both": "1", "theirs": "1"}));
}

#[test]
fn merge_patch_makes_its_manager_one_of_the_field() {
    let mut server = server();
    server.apply_as("me", &release("a"));
    let change = json!({"spec": {"source": {"path": "z"}}});
    let merged = server.merge_as("editor", &place("ClusterStackRelease", "a"), false, &change);
    let managers = merged.body["metadata"]["managedFields"].as_array().unwrap();
    let of = |name: &str| managers.iter().find(|manager| manager["manager"] == name).unwrap();
    assert_eq!(of("editor")["fieldsV1"], json!({"f:spec": {"f:source": {"f:path": {}}}}));
    assert!(of("me")["fieldsV1"]["f:spec"]["f:source"].get("f:path").is_none());
    let applied = server.apply_as("me", &release("a"));
    assert_eq!(applied.body["metadata"]["managedFields"].as_array().unwrap().len(), 1, "taken back by force");
}

#[test]
fn json_patch_whose_test_fails_changes_nothing() {
    let mut server = server();
    let created = server.apply_as("me", &release("a"));
    let operations = json!([
        {"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}},
        {"op": "test", "path": "/metadata/uid", "value": "another"},
    ]);
    let failed = patch(&mut server, "a", &operations);
    let text = "the server rejected our request due to an error in our request";
    assert_eq!(message(&failed), (422, text));
    assert_eq!(server.get(&place("ClusterStackRelease", "a")).as_ref(), Some(&created.body));
    let missing = patch(&mut server, "b", &operations);
    assert_eq!(message(&missing), (404, r#"clusterstackreleases.clusterstack.x-k8s.io "b" not found"#));
}

#[test]
fn apply_over_another_version_conflicts() {
    let mut server = server();
    let mut object = release("a");
    object["metadata"]["resourceVersion"] = json!("1");
    assert_eq!(server.apply_as("me", &object).code, 201, "there is none yet");
    let conflict = server.apply_as("me", &object);
    assert_eq!((conflict.code, &conflict.body["reason"]), (409, &json!("Conflict")));
    let theirs = server.get(&place("ClusterStackRelease", "a"));
    assert_eq!(server.apply_as("other", &object).code, 409, "nor does another client adopt it");
    assert_eq!(server.get(&place("ClusterStackRelease", "a")), theirs);
}

#[test]
fn deletion_with_another_uid_or_version_conflicts() {
    let mut server = server();
    let uid = server.apply_as("me", &release("a")).body["metadata"]["uid"].clone();
    for wrong in [json!({"uid": "another"}), json!({"uid": uid, "resourceVersion": "1"})] {
        let options = json!({"preconditions": wrong});
        assert_eq!(send(&mut server, "DELETE", uri("a"), "json", &options).code, 409);
    }
    let gone = send(&mut server, "DELETE", uri("a"), "json", &json!({"preconditions": {"uid": uid}}));
    assert_eq!((&gone.body["kind"], &gone.body["status"]), (&json!("Status"), &json!("Success")));
    assert!(server.log.last().unwrap().is_deleted);
}

#[test]
fn object_with_a_finalizer_goes_with_it() {
    let mut server = server();
    let mut object = release("a");
    object["metadata"]["finalizers"] = json!(["f"]);
    server.apply_as("me", &object);
    let at = place("ClusterStackRelease", "a");
    let going = server.delete_now(&at);
    assert_eq!((going.code, &going.body["metadata"]["generation"]), (200, &json!(2)));
    assert_eq!(version(&server.delete_now(&at)), version(&going), "it is being deleted already");
    let more = server.merge_as("me", &at, false, &json!({"metadata": {"finalizers": ["f", "g"]}}));
    assert_eq!((more.code, &more.body["reason"]), (422, &json!("Invalid")));
    let last = server.merge_as("me", &at, false, &json!({"metadata": {"finalizers": null}}));
    assert_eq!((last.code, server.get(&at)), (200, None));
}

#[test]
fn garbage_is_what_has_no_owner_left() {
    let mut server = server();
    let (one, two) = (server.apply_as("me", &release("one")), server.apply_as("me", &release("two")));
    server.apply_as("me", &owned_by("child", &[&one, &two]));
    assert!(!server.collect_garbage());
    let child = place("ClusterStackRelease", "child");
    server.delete_now(&place("ClusterStackRelease", "one"));
    assert!(server.collect_garbage());
    let left = server.get(&child).unwrap();
    assert_eq!(left["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
    server.delete_now(&place("ClusterStackRelease", "two"));
    assert!(server.collect_garbage());
    assert_eq!((server.get(&child), server.collect_garbage()), (None, false));
}

#[test]
fn terminating_namespace_takes_nothing_and_empties() {
    let mut server = server();
    server.apply_as("me", &release("a"));
    server.delete_now(&place("Namespace", "demo"));
    let refused = server.apply_as("me", &release("b"));
    assert_eq!(
        (refused.code, &refused.body["details"]["causes"][0]["reason"]),
        (403, &json!("NamespaceTerminating"))
    );
    while server.empty_namespaces() {}
    assert_eq!(server.get(&place("Namespace", "demo")), None);
    let missing = server.apply_as("me", &release("b"));
    assert_eq!(message(&missing), (404, r#"namespaces "demo" not found"#));
}
