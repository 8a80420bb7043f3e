//! The guards that can be taken out between the operator and the API server, to prove that the simulations notice it.

use std::sync::Arc;

use serde_json::{Value, json};
use stackflux::api::labels::SUSPEND_FIELD_MANAGER;

use crate::api_server::{Answer, ApiServer, Call};
use crate::flux::number;
use crate::past::Past;
use crate::wire::{Cluster, Process, Seen};

/// A guard of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// A deletion names the UID of the object.
    DeletionUid,
    /// The cause of a deletion is asked of the API server.
    CauseAskedAgain,
    /// The status counts a deletion before it happens.
    StatusBeforePrune,
    /// A process that lost the Lease writes nothing.
    Fence,
    /// Only objects with the right owner are deleted.
    Ownership,
    /// A suspension names the UID of the object.
    SuspensionUid,
    /// An apply of an object that the operator does not know creates the object, and changes none.
    CreateOnly,
}

/// Answers a request, without the guard that is taken out.
pub(crate) fn answer(cluster: &mut Cluster, call: &Call, process: Process) -> Answer {
    match (cluster.without, call.method.as_str()) {
        (Some(Guard::DeletionUid), "DELETE") => {
            let any = Call { body: b"{}".to_vec(), ..call.clone() };
            cluster.server.answer(&any)
        }
        (Some(Guard::CauseAskedAgain), "GET") => from_cache(cluster, call, process),
        (Some(Guard::StatusBeforePrune), "PATCH") if counts_deletions(call) => {
            cluster.server.clone().answer(call)
        }
        (Some(Guard::SuspensionUid), "PATCH") if call.uri.contains(SUSPEND_FIELD_MANAGER) => {
            cluster.server.answer(&without_tests(call))
        }
        (Some(Guard::CreateOnly), "PATCH") if call.content_type.contains("apply-patch") => {
            cluster.server.answer(&of_any_version(call))
        }
        (Some(Guard::Ownership), "GET") => {
            let Answer { code, body } = cluster.server.answer(call);
            Answer { code, body: cluster.shown(body) }
        }
        _ => cluster.server.answer(call),
    }
}

/// Answers with the state that the watch of the process has reported.
fn from_cache(cluster: &mut Cluster, call: &Call, process: Process) -> Answer {
    let now = cluster.server.answer(call);
    let place = ApiServer::place_of(call);
    let Seen { position, is_blind } = cluster.seen[&process][place.0];
    let known = Past::new(&cluster.server, position).get(&place).filter(|_| !is_blind);
    match known {
        Some(object) => Answer { code: 200, body: object.clone().into() },
        None if now.code == 200 => ApiServer::missing(&place),
        None => now,
    }
}

/// A JSON patch without its tests.
fn without_tests(call: &Call) -> Call {
    let operations: Vec<Value> = serde_json::from_slice(&call.body).unwrap();
    let left: Value = operations.into_iter().filter(|operation| operation["op"] != "test").collect();
    Call { body: left.to_string().into_bytes(), ..call.clone() }
}

/// An apply without the resource version.
fn of_any_version(call: &Call) -> Call {
    let mut object: Value = serde_json::from_slice(&call.body).unwrap();
    object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    Call { body: object.to_string().into_bytes(), ..call.clone() }
}

fn counts_deletions(call: &Call) -> bool {
    let is_status = call.uri.split('?').next().is_some_and(|path| path.ends_with("/status"));
    let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    is_status && body.pointer("/0/value/pruned").is_some()
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
