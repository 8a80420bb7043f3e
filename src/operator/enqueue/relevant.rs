//! What of an object other reconciles depend on: a change of anything else enqueues none of them, or can wait.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};

use crate::api::conditions::ConditionType;
use crate::api::{ClusterAddon, ClusterStack, ClusterStackRelease};
use crate::foreign::flux::observed::FluxObject;

/// Whether a `ClusterStack` changed otherwise than in its status. On a standby, each status is an event, and a publication lists the
/// releases upstream.
pub(super) fn concerns_publication(before: Option<&ClusterStack>, now: Option<&ClusterStack>) -> bool {
    let wanted = |stack: &ClusterStack| {
        let metadata = stack.metadata.clone();
        (metadata.uid, metadata.generation, metadata.deletion_timestamp, metadata.annotations)
    };
    before.map(wanted) != now.map(wanted)
}

/// Status, reason, and whether the condition is of the present generation.
type Reported = (String, String, bool);

/// What the counts of a `ClusterStack` take from a `ClusterAddon`.
#[derive(Debug, PartialEq)]
pub(super) struct Counted {
    /// The UID of its Cluster: one that was made for an earlier Cluster of the name does not count.
    cluster: Option<String>,
    ready: Option<Reported>,
    delivered: Option<Reported>,
    release: Option<String>,
}

/// Whether only the progress of a release changed, such as the number of sources that are ready: what its `ClusterStack`s decide
/// does not depend on it.
pub(super) fn is_progress(before: Option<&ClusterStackRelease>, now: Option<&ClusterStackRelease>) -> bool {
    let (Some(before), Some(now)) = (before, now) else { return false };
    has_same_metadata(&before.metadata, &now.metadata)
        && before.spec == now.spec
        && before.pin() == now.pin()
        && usable(before) == usable(now)
}

/// Whether only the status of a Flux object changed. Another client may have changed the rest, which the operator restores at once.
pub(super) fn is_of_status(before: Option<&FluxObject>, now: Option<&FluxObject>) -> bool {
    let (Some(before), Some(now)) = (before, now) else { return false };
    has_same_metadata(&before.object, &now.object)
        && before.metadata == now.metadata
        && before.suspended == now.suspended
        && before.spec_digest == now.spec_digest
}

/// Whether two states of an object have the same metadata, but for their versions.
fn has_same_metadata(before: &ObjectMeta, now: &ObjectMeta) -> bool {
    before.uid == now.uid
        && before.generation == now.generation
        && before.deletion_timestamp == now.deletion_timestamp
        && before.labels == now.labels
        && before.annotations == now.annotations
        && before.owner_references == now.owner_references
        && before.finalizers == now.finalizers
}

/// Whether a release can be used, and what its conditions say without their messages.
fn usable(release: &ClusterStackRelease) -> (bool, Vec<(&str, Reported)>) {
    let Some(status) = &release.status else { return (false, Vec::new()) };
    let conditions = status.conditions.iter();
    let conditions =
        conditions.map(|found| (found.type_.as_str(), reported(found, release.metadata.generation)));
    (status.ready, conditions.collect())
}

/// Returns what a condition of an object of this generation says without its message.
fn reported(condition: &Condition, generation: Option<i64>) -> Reported {
    // A condition of an earlier generation does not count.
    let is_current = condition.observed_generation >= generation;
    (condition.status.clone(), condition.reason.clone(), is_current)
}

/// Returns what the counts of a `ClusterStack` take from a `ClusterAddon`; `None` if it reports nothing yet.
pub(super) fn counted(addon: &ClusterAddon) -> Option<Counted> {
    let status = addon.status.as_ref()?;
    let condition = |kind: ConditionType| {
        let found = status.conditions.iter().find(|condition| condition.type_ == kind.as_str());
        found.map(|found: &Condition| reported(found, addon.metadata.generation))
    };
    Some(Counted {
        cluster: addon.spec.cluster_ref.uid.clone(),
        ready: condition(ConditionType::Ready),
        delivered: condition(ConditionType::Delivered),
        release: status.release.as_ref().and_then(|release| release.desired.clone()),
    })
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn publication_follows_all_but_the_status() {
        let stack = |change: Value| -> ClusterStack {
            let mut stack = json!({
                "metadata": {"name": "demo", "uid": "a", "generation": 1},
                "spec": {"provider": "docker", "name": "demo", "kubernetesVersion": "1.34"},
                "status": {"latestRelease": "one"},
            });
            for (field, value) in change.as_object().unwrap() {
                stack["metadata"][field] = value.clone();
            }
            serde_json::from_value(stack).unwrap()
        };
        let before = stack(json!({}));
        let mut told = before.clone();
        told.status.as_mut().unwrap().latest_release = None;
        assert!(!concerns_publication(Some(&before), Some(&told)), "only the status changed");
        for change in [
            json!({"generation": 2}),
            json!({"uid": "b"}),
            json!({"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}),
        ] {
            assert!(concerns_publication(Some(&before), Some(&stack(change.clone()))), "{change}");
        }
        assert!(concerns_publication(None, Some(&before)) && concerns_publication(Some(&before), None));
    }

    #[test]
    fn stack_follows_at_once_unless_a_release_only_progresses() {
        let release = |generation: i64,
                       status: &str,
                       reason: &str,
                       message: &str,
                       ready: bool|
         -> ClusterStackRelease {
            let condition = json!({
                "type": "SourcesReady", "status": status, "reason": reason, "message": message,
                "observedGeneration": 1, "lastTransitionTime": "2026-11-18T11:06:40Z",
            });
            let object = json!({
                "metadata": {"name": "docker-demo-1-34-v1", "namespace": "n", "generation": generation},
                "spec": {},
                "status": {"ready": ready, "conditions": [condition]},
            });
            serde_json::from_value(object).unwrap()
        };
        let before = release(1, "False", "Progressing", "3 of 9 are ready", false);
        let mut progressed = release(1, "False", "Progressing", "4 of 9 are ready", false);
        progressed.metadata.resource_version = Some("2".to_owned());
        assert!(is_progress(Some(&before), Some(&progressed)), "only the message changed");
        let mut recorded = before.clone();
        let source = json!({"revision": "main@sha1:1", "digest": "sha256:1", "path": "v1"});
        recorded.status.as_mut().unwrap().source = serde_json::from_value(source).unwrap();
        let deleted = with(&before, &json!({"deletionTimestamp": "2026-11-18T11:06:40Z"}));
        let owner = json!({"apiVersion": "v1", "kind": "ClusterStack", "name": "demo", "uid": "a"});
        for (why, now) in [
            ("the sources are ready", release(1, "True", "Progressing", "3 of 9 are ready", false)),
            ("the reason is another one", release(1, "False", "ArtifactFailed", "3 of 9 are ready", false)),
            ("clusters can use it", release(1, "False", "Progressing", "3 of 9 are ready", true)),
            (
                "the condition is of an earlier generation",
                release(2, "False", "Progressing", "3 of 9 are ready", false),
            ),
            ("it is being deleted", deleted),
            ("another content is recorded", recorded),
            ("it has another owner", with(&before, &json!({"ownerReferences": [owner]}))),
            ("it was made again", with(&before, &json!({"uid": "b"}))),
        ] {
            assert!(!is_progress(Some(&before), Some(&now)), "{why}");
        }
        assert!(!is_progress(None, Some(&before)) && !is_progress(Some(&before), None));
    }

    /// The same object with other metadata.
    fn with<K: Serialize + DeserializeOwned>(object: &K, metadata: &Value) -> K {
        let mut object = serde_json::to_value(object).unwrap();
        object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn status_of_a_flux_object_can_wait_and_nothing_else() {
        let object = |change: Value, chart: &str, revision: &str| -> FluxObject {
            let mut object = json!({
                "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmChart",
                "metadata": {"name": "cni", "namespace": "n", "uid": "a", "generation": 1, "resourceVersion": revision},
                "spec": {"chart": chart, "sourceRef": {"kind": "GitRepository", "name": "demo"}},
                "status": {"observedGeneration": 1, "observedChartName": revision},
            });
            object["metadata"].as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            serde_json::from_value(object).unwrap()
        };
        let before = object(json!({}), "cni", "1");
        assert!(is_of_status(Some(&before), Some(&object(json!({}), "cni", "2"))), "only the status changed");
        let owner = json!({"apiVersion": "v1", "kind": "ClusterStack", "name": "demo", "uid": "a"});
        let mut suspended = before.clone();
        suspended.suspended = true;
        for (why, now) in [
            ("the spec changed", object(json!({"generation": 2}), "other", "2")),
            ("the spec changed and the generation is not known", object(json!({}), "other", "2")),
            ("it is suspended", suspended),
            ("a label", object(json!({"labels": {"a": "b"}}), "cni", "2")),
            ("an annotation", object(json!({"annotations": {"a": "b"}}), "cni", "2")),
            ("an owner", object(json!({"ownerReferences": [owner]}), "cni", "2")),
            ("a finalizer", object(json!({"finalizers": ["a/b"]}), "cni", "2")),
            ("it is being deleted", object(json!({"deletionTimestamp": "2026-11-18T11:06:40Z"}), "cni", "2")),
            ("it was made again", object(json!({"uid": "b"}), "cni", "2")),
        ] {
            assert!(!is_of_status(Some(&before), Some(&now)), "{why}");
        }
        assert!(!is_of_status(None, Some(&before)) && !is_of_status(Some(&before), None));
    }

    #[test]
    fn counts_follow_the_cluster_and_what_is_reported_of_it() {
        let condition = |kind: &str, status: &str| {
            json!({
                "type": kind, "status": status, "reason": "Reason", "message": "", "observedGeneration": 1,
                "lastTransitionTime": "2026-11-18T11:06:40Z",
            })
        };
        let addon = |cluster: &str,
                     generation: i64,
                     ready: &str,
                     release: &str,
                     values: usize|
         -> ClusterAddon {
            let reference = json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "namespace": "n", "name": "one",
                "uid": cluster,
            });
            let status = json!({
                "release": {"desired": release}, "conditions": [condition("Ready", ready)],
                "inputs": {"fields": {"of": values.to_string()}},
            });
            let metadata = json!({"name": "cluster-addon-one", "namespace": "n", "generation": generation});
            let object = json!({"metadata": metadata, "spec": {"clusterRef": reference}, "status": status});
            serde_json::from_value(object).unwrap()
        };
        let before = counted(&addon("a", 1, "True", "v1", 1)).unwrap();
        assert_eq!(counted(&addon("a", 1, "True", "v1", 2)).unwrap(), before, "another field changed");
        for (why, now) in [
            ("another Cluster has the name", addon("b", 1, "True", "v1", 1)),
            ("the condition is of an earlier generation", addon("a", 2, "True", "v1", 1)),
            ("it is not ready", addon("a", 1, "False", "v1", 1)),
            ("it is of another release", addon("a", 1, "True", "v2", 1)),
        ] {
            assert_ne!(counted(&now).unwrap(), before, "{why}");
        }
    }
}
