//! What of an object other reconciles depend on: a change of anything else enqueues none of them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::api::conditions::ConditionType;
use crate::api::{ClusterAddon, ClusterStack};

/// Whether a `ClusterStack` changed otherwise than in its status. On a standby, each status is an event, and a publication lists the
/// releases upstream.
pub(super) fn concerns_publication(before: Option<&ClusterStack>, now: Option<&ClusterStack>) -> bool {
    let wanted = |stack: &ClusterStack| {
        let metadata = stack.metadata.clone();
        (metadata.uid, metadata.generation, metadata.deletion_timestamp, metadata.annotations)
    };
    before.map(wanted) != now.map(wanted)
}

/// Status, reason, and whether the condition is of the present generation; `None` if it is not reported.
type Reported = Option<(String, String, bool)>;

/// What the counts of a `ClusterStack` take from a `ClusterAddon`.
#[derive(Debug, PartialEq)]
pub(super) struct Counted {
    /// The UID of its Cluster: one that was made for an earlier Cluster of the name does not count.
    cluster: Option<String>,
    ready: Reported,
    delivered: Reported,
    release: Option<String>,
}

/// Returns what the counts of a `ClusterStack` take from a `ClusterAddon`; `None` if it reports nothing yet.
pub(super) fn counted(addon: &ClusterAddon) -> Option<Counted> {
    let status = addon.status.as_ref()?;
    let reported = |kind: ConditionType| {
        let found = status.conditions.iter().find(|condition| condition.type_ == kind.as_str());
        // A condition of an earlier generation does not count.
        found.map(|found: &Condition| {
            let is_current = found.observed_generation >= addon.metadata.generation;
            (found.status.clone(), found.reason.clone(), is_current)
        })
    };
    Some(Counted {
        cluster: addon.spec.cluster_ref.uid.clone(),
        ready: reported(ConditionType::Ready),
        delivered: reported(ConditionType::Delivered),
        release: status.release.as_ref().and_then(|release| release.desired.clone()),
    })
}

#[cfg(test)]
mod tests {
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
