//! The guards that can be taken out between the operator and the API server, to prove that the simulations notice it.
//!
//! The last ones are not of the operator: Flux, the API server or another client breaks a promise, so that a rule about what
//! the operator reports or how it ends is broken. They prove that these rules can be broken at all.

use std::sync::Arc;

use serde_json::{Value, json};
use stackflux::api::labels::{PLAN_DIGEST, SUSPEND_FIELD_MANAGER};

use crate::api_server::kinds::KINDS;
use crate::api_server::{Answer, ApiServer, Call, Place};
use crate::flux::number;
use crate::past::Past;
use crate::properties::condition;
use crate::wire::{Cluster, Process, Seen};

/// A guard of the operator, or a promise of its surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// A deletion names the UID of the object.
    DeletionUid,
    /// The cause of a deletion is asked of the API server.
    CauseAskedAgain,
    /// The requests of the owner of a Cluster are asked of the API server before an addon is removed.
    RequestsAskedAgain,
    /// The Clusters are listed before an unused release is deleted.
    UsersListed,
    /// The status counts a deletion before it happens.
    StatusBeforePrune,
    /// A status is not ready while other content is written.
    StatusBeforeContent,
    /// A process that lost the Lease writes nothing.
    Fence,
    /// A status is written over the state of the object that the operator knows.
    StatusVersion,
    /// Only objects with the right owner are deleted.
    Ownership,
    /// A suspension names the UID of the object.
    SuspensionUid,
    /// An apply of an object that the operator does not know creates the object, and changes none.
    CreateOnly,
    /// An apply of an object that the operator knows names the UID of the object.
    AppliedUid,
    /// A status of Flux counts for the generation that it names.
    ObservedGeneration,
    /// The API server stores a status that it confirms.
    StatusStored,
    /// The API server stores a status as it was written.
    StatusAsWritten,
    /// No other client changes an object back after each write.
    SoleWriter,
}

/// Answers a request, without the guard that is taken out.
pub(crate) fn answer(cluster: &mut Cluster, call: &Call, process: Process) -> Answer {
    match (cluster.without, call.method.as_str()) {
        (Some(Guard::DeletionUid), "DELETE") => {
            let any = Call { body: b"{}".to_vec(), ..call.clone() };
            cluster.server.answer(&any)
        }
        (Some(Guard::CauseAskedAgain), "GET") => from_cache(cluster, call, process),
        (Some(Guard::RequestsAskedAgain), "GET")
            if ApiServer::place_of(call).0 == number("ClusterAddonOverride") =>
        {
            from_cache(cluster, call, process)
        }
        (Some(Guard::UsersListed), "GET") if is_list(call) => from_cache(cluster, call, process),
        (Some(Guard::StatusBeforePrune), "PATCH") if counts_deletions(call) => {
            cluster.server.clone().answer(call)
        }
        (Some(Guard::StatusBeforeContent), "PATCH") if takes_ready_back(call) => {
            cluster.server.clone().answer(call)
        }
        (Some(Guard::StatusVersion), "PATCH") if is_status(call) => {
            let status =
                status_of(call).map(|status| json!([{"op": "add", "path": "/status", "value": status}]));
            let body = status.unwrap_or_default().to_string().into_bytes();
            cluster.server.answer(&Call { body, ..call.clone() })
        }
        (Some(Guard::SuspensionUid), "PATCH") if call.uri.contains(SUSPEND_FIELD_MANAGER) => {
            cluster.server.answer(&without_tests(call))
        }
        (Some(Guard::CreateOnly), "PATCH") if call.content_type.contains("apply-patch") => {
            cluster.server.answer(&without(call, "resourceVersion"))
        }
        (Some(Guard::AppliedUid), "PATCH") if call.content_type.contains("apply-patch") => {
            cluster.server.answer(&without(call, "uid"))
        }
        (Some(Guard::Ownership), "GET") | (Some(Guard::ObservedGeneration), _) => {
            let Answer { code, body } = cluster.server.answer(call);
            Answer { code, body: cluster.shown(body) }
        }
        (Some(Guard::StatusStored), "PATCH") if is_status_of_ready_addon(cluster, call) => {
            cluster.server.clone().answer(call)
        }
        (Some(Guard::StatusAsWritten), "PATCH") if is_addon_status(call) => {
            let version = cluster.server.log.len();
            cluster.server.answer(&with_other_message(call, version))
        }
        (Some(Guard::SoleWriter), "PATCH") if call.content_type.contains("apply-patch") => {
            let answer = cluster.server.answer(call);
            change_back(&mut cluster.server, &ApiServer::place_of(call));
            answer
        }
        _ => cluster.server.answer(call),
    }
}

/// Answers with the state that the watch of the process has reported.
fn from_cache(cluster: &mut Cluster, call: &Call, process: Process) -> Answer {
    let now = cluster.server.answer(call);
    let place = ApiServer::place_of(call);
    let Seen { position, is_blind } = cluster.seen[&process][place.0];
    let past = Past::new(&cluster.server, position);
    if is_list(call) {
        let items = if is_blind { Vec::new() } else { past.list(KINDS[place.0].name) };
        return Answer { code: 200, body: json!({"items": items}).into() };
    }
    match past.get(&place).filter(|_| !is_blind) {
        Some(object) => Answer { code: 200, body: object.clone().into() },
        None if now.code == 200 => ApiServer::missing(&place),
        None => now,
    }
}

fn is_list(call: &Call) -> bool {
    ApiServer::place_of(call).2.is_empty()
}

/// A JSON patch without its tests.
fn without_tests(call: &Call) -> Call {
    let operations: Vec<Value> = serde_json::from_slice(&call.body).unwrap();
    let left: Value = operations.into_iter().filter(|operation| operation["op"] != "test").collect();
    Call { body: left.to_string().into_bytes(), ..call.clone() }
}

/// An apply without a field of the metadata.
fn without(call: &Call, field: &str) -> Call {
    let mut object: Value = serde_json::from_slice(&call.body).unwrap();
    object["metadata"].as_object_mut().unwrap().remove(field);
    Call { body: object.to_string().into_bytes(), ..call.clone() }
}

fn counts_deletions(call: &Call) -> bool {
    is_status(call) && status_of(call).is_some_and(|status| status.get("pruned").is_some())
}

/// Whether a request takes `Ready` back before the operator writes other content.
fn takes_ready_back(call: &Call) -> bool {
    let status = status_of(call).unwrap_or_default();
    let ready = status.pointer("/conditions/0").unwrap_or(&Value::Null);
    let message = ready["message"].as_str().unwrap_or_default();
    is_addon_status(call)
        && ready["type"] == "Ready"
        && message.starts_with("Delivered: the operator is delivering ")
}

/// The status that a request writes.
fn status_of(call: &Call) -> Option<Value> {
    let operations: Vec<Value> = serde_json::from_slice(&call.body).ok()?;
    let write = operations.into_iter().find(|operation| operation["path"] == "/status")?;
    Some(write["value"].clone())
}

pub(crate) fn is_status(call: &Call) -> bool {
    call.uri.split('?').next().is_some_and(|path| path.ends_with("/status"))
}

fn is_addon_status(call: &Call) -> bool {
    is_status(call) && ApiServer::place_of(call).0 == number("ClusterAddon")
}

/// Whether a request replaces the status of a `ClusterAddon` that is `Ready` now.
fn is_status_of_ready_addon(cluster: &Cluster, call: &Call) -> bool {
    let addon = cluster.server.object(&ApiServer::place_of(call));
    is_addon_status(call) && addon.is_some_and(|addon| condition(addon, "Ready") == Some(("True", true)))
}

/// A new status whose first message differs each time.
fn with_other_message(call: &Call, version: usize) -> Call {
    let mut operations: Vec<Value> = serde_json::from_slice(&call.body).unwrap();
    for operation in &mut operations {
        if let Some(message) = operation.pointer_mut("/value/conditions/0/message") {
            *message = json!(format!("version {version}"));
        }
    }
    let operations = Value::from(operations);
    Call { body: operations.to_string().into_bytes(), ..call.clone() }
}

/// Changes a source as another client does that also wants it in its way. Its owners are several releases, so that a
/// write of the same plan is no repair.
fn change_back(server: &mut ApiServer, place: &Place) {
    if place.0 == number("GitRepository") {
        let digest = json!({"metadata": {"annotations": {PLAN_DIGEST: null}}});
        server.merge_as("another", place, false, &digest);
    }
}

/// A `HelmRelease` whose status seems to be about its present generation.
pub(crate) fn as_if_observed(object: Arc<Value>) -> Arc<Value> {
    if object["kind"] != "HelmRelease" || object["status"].get("conditions").is_none() {
        return object;
    }
    let mut seeming = Value::clone(&object);
    let generation = &object["metadata"]["generation"];
    let status = &mut seeming["status"];
    for field in ["observedGeneration", "lastAttemptedGeneration"] {
        status[field] = generation.clone();
    }
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        condition["observedGeneration"] = generation.clone();
    }
    seeming.into()
}

/// An object of others as if it belonged to the `ClusterAddon` of its Cluster.
pub(crate) fn adopted(cluster: &Cluster, object: Arc<Value>) -> Arc<Value> {
    let metadata = &object["metadata"];
    let uid = metadata["uid"].as_str().unwrap_or_default();
    if !cluster.foreign.contains(uid) {
        return object;
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of_cluster = text(&metadata["labels"]["cluster.x-k8s.io/cluster-name"]);
    let name = format!("cluster-addon-{of_cluster}");
    let addon = cluster.server.get(&(number("ClusterAddon"), text(&metadata["namespace"]), name.clone()));
    let Some(addon) = addon else { return object };
    let (version, uid) = (&addon["apiVersion"], &addon["metadata"]["uid"]);
    let mut adopted = Value::clone(&object);
    adopted["metadata"]["ownerReferences"] =
        json!([{"apiVersion": version, "kind": "ClusterAddon", "name": name, "uid": uid}]);
    adopted.into()
}
