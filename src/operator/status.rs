//! Writes the status of the operator's own objects if it changed.

use std::sync::Arc;

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Serialize;
use tracing::info;

use super::caches::Stored;
use super::context::Context;
use super::enqueue::{on_addon_status, on_release_status};
use super::{events, write};
use crate::api::cluster_addon::ClusterAddonStatus;
use crate::api::cluster_stack_release::ClusterStackReleaseStatus;
use crate::api::{
    ClusterAddon, ClusterAddonOverride, ClusterAddonOverrideStatus, ClusterStack, ClusterStackRelease,
    ClusterStackStatus,
};
use crate::rollup::{converged_addons, converged_objects};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::{Change, Key};

/// A kind of the operator, which has a status.
pub(super) trait Reported: Stored<DynamicType = ()> {
    /// Its status.
    type Status: Default + PartialEq + Serialize;

    fn status(&self) -> Option<&Self::Status>;
    fn conditions(status: &Self::Status) -> &[Condition];
    /// Reports a written status to the reconciles that read it.
    fn enqueue_readers(context: &Context, change: &Change<Self>);
    /// Records that the status that was to replace the one of this state may still arrive.
    fn under_way(_context: &Context, _replaced: &Self) {}
    /// Returns how long the objects took that have become ready between two statuses.
    fn converged(_before: &Self::Status, _now: &Self::Status) -> Vec<SignedDuration> {
        Vec::new()
    }
}

impl Reported for ClusterStack {
    type Status = ClusterStackStatus;

    fn status(&self) -> Option<&Self::Status> {
        self.status.as_ref()
    }

    fn conditions(status: &Self::Status) -> &[Condition] {
        &status.conditions
    }

    fn enqueue_readers(_: &Context, _: &Change<Self>) {}
}

impl Reported for ClusterStackRelease {
    type Status = ClusterStackReleaseStatus;

    fn status(&self) -> Option<&Self::Status> {
        self.status.as_ref()
    }

    fn conditions(status: &Self::Status) -> &[Condition] {
        &status.conditions
    }

    fn enqueue_readers(context: &Context, change: &Change<Self>) {
        on_release_status(context, change);
    }

    fn converged(before: &Self::Status, now: &Self::Status) -> Vec<SignedDuration> {
        converged_objects(before, now)
    }
}

impl Reported for ClusterAddon {
    type Status = ClusterAddonStatus;

    fn status(&self) -> Option<&Self::Status> {
        self.status.as_ref()
    }

    fn conditions(status: &Self::Status) -> &[Condition] {
        &status.conditions
    }

    fn enqueue_readers(context: &Context, change: &Change<Self>) {
        on_addon_status(context, change);
    }

    fn under_way(context: &Context, replaced: &Self) {
        context.statuses_under_way.add(replaced);
    }

    fn converged(before: &Self::Status, now: &Self::Status) -> Vec<SignedDuration> {
        converged_addons(before, now)
    }
}

impl Reported for ClusterAddonOverride {
    type Status = ClusterAddonOverrideStatus;

    fn status(&self) -> Option<&Self::Status> {
        self.status.as_ref()
    }

    fn conditions(status: &Self::Status) -> &[Condition] {
        &status.conditions
    }

    fn enqueue_readers(_: &Context, _: &Change<Self>) {}
}

/// Writes a status if it differs from that of the object, and publishes an event if `Ready` changed. Conflicts if the object
/// has another status by now, or changed in a way that the cache does not have yet: the next reconcile decides again.
pub(super) async fn write<K: Reported>(
    context: &Context,
    object: &K,
    status: &K::Status,
) -> Result<(), RequestError> {
    replace(context, object, status).await.map(drop)
}

/// Like [`write`]. Returns the object with the written status; `None` if it has that status.
pub(super) async fn replace<K: Reported>(
    context: &Context,
    object: &K,
    status: &K::Status,
) -> Result<Option<Arc<K>>, RequestError> {
    let none = K::Status::default();
    let before = object.status().unwrap_or(&none);
    if status == before {
        context.metrics.runtime.skipped(&K::kind(&()));
        return Ok(None);
    }
    let (key, cache) = (Key::of(object), K::cache(&context.caches, &()));
    let _writing = cache.writing(&key);
    let latest = cache.get(&key).filter(|latest| is_same(&**latest, object));
    let written = match context.api.write_status(latest.as_deref().unwrap_or(object), status).await {
        // The watch may be late, or may not report the object: the next reconcile must not conflict with the same state.
        Err(conflict) if conflict.is_conflict() => {
            write::refresh::<K>(context, &key).await?;
            return Err(conflict);
        }
        Err(error) => {
            if error.is_under_way() {
                K::under_way(context, latest.as_deref().unwrap_or(object));
            }
            return Err(error);
        }
        Ok(written) => cache.written(written),
    };
    events::ready_changed(context, &*written, K::conditions(before), K::conditions(status)).await;
    events::gate_changed(context, &*written, K::conditions(before), K::conditions(status)).await;
    info!("status written");
    context.metrics.converged(&K::kind(&()), K::converged(before, status));
    let before = Some(Arc::new(object.clone()));
    K::enqueue_readers(context, &Change { before, now: Some(written.clone()) });
    Ok(Some(written))
}

/// Whether a later state of an object has the same status: only its spec or its metadata changed.
fn is_same<K: Reported>(latest: &K, object: &K) -> bool {
    latest.meta().uid == object.meta().uid && latest.status() == object.status()
}

/// Writes the status of an object that is being deleted. A failure does not stop the deletion, unless the object changed.
/// Returns the object with the written status, if it changed.
pub(super) async fn write_deletion<K: Reported>(
    context: &Context,
    object: &K,
    status: &K::Status,
) -> Result<Option<Arc<K>>, RequestError> {
    match replace(context, object, status).await {
        Err(error) if !error.is_conflict() => {
            info!("cannot report the deletion in the status: {error}");
            Ok(None)
        }
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::is_same;
    use crate::api::ClusterAddon;

    fn addon(uid: &str, generation: i64, status: &Value) -> ClusterAddon {
        let metadata = json!({"name": "a", "namespace": "n", "uid": uid, "generation": generation});
        let object = json!({"metadata": metadata, "spec": {"clusterRef": {"name": "a"}}, "status": status});
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn later_state_is_the_same_with_the_same_status_alone() {
        let (ready, other) = (json!({"ready": true}), json!({"ready": false}));
        let decided = addon("u", 1, &ready);
        assert!(is_same(&addon("u", 2, &ready), &decided), "only its spec changed");
        assert!(!is_same(&addon("u", 1, &other), &decided), "another process has written its status");
        assert!(!is_same(&addon("v", 1, &ready), &decided), "another object of its name");
    }
}
