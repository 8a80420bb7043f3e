//! How long Flux took until an object was as expected, and how long Clusters have not been ready, from what statuses record.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::report::ConditionStatus;
use crate::api::cluster_addon::{AddonStatus, ClusterAddonStatus};
use crate::api::cluster_stack_release::GeneratedObject;
use crate::api::conditions::{ConditionType, Reason};
use crate::api::{ClusterAddon, ClusterStackReleaseStatus};

/// The states of an object that Flux still has to change.
const ON_ITS_WAY: [Reason; 8] = [
    Reason::Pending,
    Reason::Progressing,
    Reason::Waiting,
    Reason::Retrying,
    Reason::RepeatedlyFailing,
    Reason::Failed,
    Reason::RolledBack,
    Reason::ApplierUnavailable,
];
/// The states of an object that is as expected.
const READY: [Reason; 2] = [Reason::Applied, Reason::Fetched];
/// The reasons of conditions for which a Cluster is not expected to be ready.
const ASIDE: [Reason; 5] = [
    Reason::Deleting,
    Reason::Paused,
    Reason::Suspended,
    Reason::ControlPlaneNotInitialized,
    Reason::ReleaseNotOffered,
];

/// Returns for each addon that has become ready between two statuses of its `ClusterAddon` the time since its object was
/// changed, or left the expected state.
#[must_use]
pub fn converged_addons(before: &ClusterAddonStatus, now: &ClusterAddonStatus) -> Vec<SignedDuration> {
    let step = |addon: &AddonStatus| {
        let old = before.addons.iter().find(|old| old.name == addon.name && old.object == addon.object)?;
        took((old.phase.as_deref(), old.since.as_ref()), (addon.phase.as_deref(), addon.since.as_ref()))
    };
    now.addons.iter().filter_map(step).collect()
}

/// Returns the same for the objects of a release.
#[must_use]
pub fn converged_objects(
    before: &ClusterStackReleaseStatus,
    now: &ClusterStackReleaseStatus,
) -> Vec<SignedDuration> {
    let id = |object: &GeneratedObject| (object.kind.clone(), object.namespace.clone(), object.name.clone());
    let step = |object: &GeneratedObject| {
        let old = before.objects.iter().find(|old| id(old) == id(object))?;
        took((old.verdict.as_deref(), old.since.as_ref()), (object.verdict.as_deref(), object.since.as_ref()))
    };
    now.objects.iter().filter_map(step).collect()
}

/// Returns the time since which a Cluster is not ready; `None` if it is ready, or is not expected to be. An addon that fails
/// and is tried again changes the reason of `Ready`, but not since when the addon is on its way.
#[must_use]
pub fn unready_since(addon: &ClusterAddon) -> Option<Timestamp> {
    let status = addon.status.as_ref()?;
    let ready =
        status.conditions.iter().find(|condition| condition.type_ == ConditionType::Ready.as_str())?;
    let is_aside = status.conditions.iter().any(|condition| is_one(&condition.reason, &ASIDE));
    let is_aside = is_aside || addon.spec.suspend || addon.metadata.deletion_timestamp.is_some();
    if is_aside || ready.status == ConditionStatus::True.as_str() {
        return None;
    }
    let is_on_its_way =
        |of: &&AddonStatus| of.phase.as_deref().is_some_and(|phase| is_one(phase, &ON_ITS_WAY));
    let addons = status.addons.iter().filter(is_on_its_way).filter_map(|of| Some(of.since.as_ref()?.0));
    addons.chain([ready.last_transition_time.0]).min()
}

/// The state of an object in a status, and the time since which it is expected to have, or has, that state.
type State<'a> = (Option<&'a str>, Option<&'a Time>);

/// Returns the time between two states of an object, if it has become ready.
fn took((before, begun): State, (now, ready): State) -> Option<SignedDuration> {
    let has_become_ready = is_one(before?, &ON_ITS_WAY) && is_one(now?, &READY);
    let took = ready?.0.duration_since(begun?.0);
    (has_become_ready && !took.is_negative()).then_some(took)
}

fn is_one(word: &str, reasons: &[Reason]) -> bool {
    reasons.iter().any(|reason| reason.as_str() == word)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn addons(states: &[(&str, &str, &str)]) -> ClusterAddonStatus {
        let addons: Vec<Value> = states
            .iter()
            .map(|(name, phase, since)| {
                let object = json!({"kind": "HelmRelease", "name": name});
                json!({"name": name, "object": object, "phase": phase, "since": since})
            })
            .collect();
        serde_json::from_value(json!({"addons": addons})).unwrap()
    }

    #[test]
    fn addon_converges_from_its_change_until_it_is_ready() {
        let (begun, ready) = ("2026-11-22T10:00:00Z", "2026-11-22T10:01:30Z");
        for (before, now, expected, why) in [
            ("Progressing", "Applied", true, "an upgrade ended"),
            ("Failed", "Applied", true, "a retry helped"),
            ("Pending", "Applied", true, "Flux was fast"),
            ("Applied", "Applied", false, "it was ready before"),
            ("Suspended", "Applied", false, "a user resumed it"),
            ("Held", "Applied", false, "it waited for other things than Flux"),
            ("Progressing", "Drifted", false, "the cluster was changed meanwhile"),
            ("Progressing", "Failed", false, "it failed"),
        ] {
            let found = converged_addons(&addons(&[("cni", before, begun)]), &addons(&[("cni", now, ready)]));
            let took = SignedDuration::from_secs(90);
            assert_eq!(found, if expected { vec![took] } else { vec![] }, "{why}");
        }
    }

    #[test]
    fn only_addons_that_were_there_converge() {
        let now = addons(&[("cni", "Applied", "2026-11-22T10:01:30Z")]);
        assert_eq!(converged_addons(&ClusterAddonStatus::default(), &now), []);
        let later = addons(&[("cni", "Pending", "2026-11-22T11:00:00Z")]);
        assert_eq!(converged_addons(&later, &now), [], "the clock was set back");
    }

    #[test]
    fn object_of_release_converges_by_its_whole_name() {
        let status = |namespace: &str, verdict: &str, since: &str| -> ClusterStackReleaseStatus {
            let object = json!({
                "kind": "GitRepository", "namespace": namespace, "name": "one", "verdict": verdict, "since": since,
            });
            serde_json::from_value(json!({"objects": [object]})).unwrap()
        };
        let before = status("a", "Pending", "2026-11-22T10:00:00Z");
        let now = |namespace| status(namespace, "Fetched", "2026-11-22T10:00:04Z");
        assert_eq!(converged_objects(&before, &now("a")), [SignedDuration::from_secs(4)]);
        assert_eq!(converged_objects(&before, &now("b")), []);
    }

    #[test]
    fn cluster_is_unready_since_its_first_addon_is() {
        let addon = |suspend: bool, available: &str, ready: &str, phase: &str| -> ClusterAddon {
            let condition = |kind: &str, status: &str, reason: &str| {
                json!({
                    "type": kind, "status": status, "reason": reason, "message": "",
                    "lastTransitionTime": "2026-11-22T12:00:00Z",
                })
            };
            let conditions = json!([
                condition("ClusterAvailable", "Unknown", available),
                condition("Ready", ready, "Failed")
            ]);
            let status = json!({
                "addons": [{"name": "cni", "phase": phase, "since": "2026-11-22T11:00:00Z"}],
                "conditions": conditions,
            });
            let spec = json!({"clusterRef": {"name": "a"}, "suspend": suspend});
            serde_json::from_value(json!({"metadata": {"name": "a"}, "spec": spec, "status": status}))
                .unwrap()
        };
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        let (eleven, twelve) = (at("2026-11-22T11:00:00Z"), at("2026-11-22T12:00:00Z"));
        for (addon, since, why) in [
            (addon(false, "Available", "True", "Applied"), None, "it is ready"),
            (addon(false, "Available", "False", "Failed"), eleven, "the addon fails since eleven"),
            (addon(false, "Available", "Unknown", "Held"), twelve, "nothing but the condition has a time"),
            (addon(false, "Paused", "Unknown", "Failed"), None, "it is paused"),
            (addon(false, "ControlPlaneNotInitialized", "False", "Held"), None, "it is new"),
            (addon(true, "Available", "False", "Failed"), None, "it is suspended"),
        ] {
            assert_eq!(unready_since(&addon), since, "{why}");
        }
        let bare: ClusterAddon =
            serde_json::from_value(json!({"metadata": {"name": "a"}, "spec": {"clusterRef": {"name": "a"}}}))
                .unwrap();
        assert_eq!(unready_since(&bare), None);
    }
}
