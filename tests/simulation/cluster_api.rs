//! A stand-in for Cluster API: it upgrades the control planes of Clusters, and waits for annotations before it does.
//!
//! It acts on Clusters that name a control plane, one write at a time, as Cluster API's topology controller does with its
//! feature gate `RuntimeSDK` (`exp/topology/desiredstate`).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use stackflux::foreign::capi::upgrade::UPGRADE_HOOK;

use crate::api_server::{ApiServer, Place};
use crate::flux::number;

/// The prefix of the annotations that delay upgrades.
const PREFIX: &str = "before-upgrade.hook.cluster.cluster.x-k8s.io";
/// The annotation with the hooks that are to be called.
const PENDING: &str = "runtime.cluster.x-k8s.io/pending-hooks";
/// The hook of an upgrade that has begun.
const BEGUN: &str = "AfterClusterUpgrade";

/// The stand-in for Cluster API.
#[derive(Debug)]
pub(crate) struct ClusterApi {
    /// The position in the API server's log.
    seen: usize,
    pending: BTreeSet<Place>,
    /// Whether its control planes are healthy. It upgrades no other.
    pub(crate) is_healthy: bool,
    /// Whether it runs with `RuntimeSDK`. Otherwise it waits for nothing, and notes nothing.
    pub(crate) has_hooks: bool,
}

impl Default for ClusterApi {
    fn default() -> Self {
        Self { seen: 0, pending: BTreeSet::new(), is_healthy: true, has_hooks: true }
    }
}

impl ClusterApi {
    /// A copy.
    pub(crate) fn copied(&self) -> Self {
        Self { pending: self.pending.clone(), ..*self }
    }

    /// The Clusters to look at.
    pub(crate) fn count_pending(&mut self, server: &ApiServer) -> usize {
        for entry in &server.log[self.seen..] {
            // A control plane has the name of its Cluster.
            if [number("Cluster"), number("KubeadmControlPlane")].contains(&entry.place.0) {
                self.pending.insert((number("Cluster"), entry.place.1.clone(), entry.place.2.clone()));
            }
        }
        self.seen = server.log.len();
        self.pending.len()
    }

    /// Looks at all Clusters again.
    pub(crate) fn look_again(&mut self) {
        self.seen = 0;
    }

    /// Makes the next step for one of the Clusters to look at, by its number. Returns a note about the change, if there was one.
    pub(crate) fn step(&mut self, server: &mut ApiServer, number: usize) -> Option<String> {
        let place = self.pending.iter().nth(number).cloned()?;
        self.pending.remove(&place);
        let cluster = server.get(&place)?;
        let is_active = cluster.pointer("/metadata/deletionTimestamp").is_none() && !is_paused(&cluster);
        let control_plane = control_plane(server, &place).filter(|_| is_active)?;
        self.reconcile(server, &place, (&cluster, &control_plane))
    }

    fn reconcile(
        &self,
        server: &mut ApiServer,
        place: &Place,
        (cluster, control_plane): (&Value, &Value),
    ) -> Option<String> {
        let wanted = &cluster["spec"]["topology"]["version"];
        let (current, nodes) = (&control_plane["spec"]["version"], &control_plane["status"]["version"]);
        let has_begun = cluster["metadata"]["annotations"][PENDING] == BEGUN;
        let name = &place.2;
        if current == wanted {
            if nodes != wanted {
                let status = json!({"status": {"version": wanted}});
                server.merge_as("capi", &of_control_plane(place), true, &status);
                return Some(format!("capi: the nodes of {name} have {wanted}"));
            }
            if has_begun {
                server.merge_as("capi", place, false, &json!({"metadata": {"annotations": {PENDING: null}}}));
                return Some(format!("capi: the upgrade of {name} has ended"));
            }
            return report(server, place, cluster, "");
        }
        if !has_begun {
            if !self.is_healthy {
                return report(server, place, cluster, &format!("KubeadmControlPlane {name} is not healthy"));
            }
            let waits_for = hooks(cluster).filter(|_| self.has_hooks);
            if let Some(hooks) = waits_for {
                return report(server, place, cluster, &hooks);
            }
            if self.has_hooks {
                server.merge_as(
                    "capi",
                    place,
                    false,
                    &json!({"metadata": {"annotations": {PENDING: BEGUN}}}),
                );
                return Some(format!("capi: the upgrade of {name} begins"));
            }
        }
        server.merge_as("capi", &of_control_plane(place), false, &json!({"spec": {"version": wanted}}));
        Some(format!("capi: the control plane of {name} gets {wanted}"))
    }
}

/// Whether a write changed nothing of a Cluster but stackflux's annotation that delays upgrades.
pub(crate) fn changes_hook_alone(before: &Value, now: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        let Some(metadata) = object["metadata"].as_object_mut() else { return object };
        metadata.retain(|field, _| field != "managedFields" && field != "resourceVersion");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(UPGRADE_HOOK);
        }
        metadata.retain(|field, value| {
            field != "annotations" || value.as_object().is_some_and(|it| !it.is_empty())
        });
        object
    };
    now["kind"] == "Cluster" && rest(before) == rest(now)
}

/// The control plane of a Cluster, if it names one.
fn control_plane(server: &ApiServer, place: &Place) -> Option<Arc<Value>> {
    let cluster = server.get(place)?;
    cluster.pointer("/spec/controlPlaneRef")?;
    server.get(&of_control_plane(place))
}

fn of_control_plane(cluster: &Place) -> Place {
    (number("KubeadmControlPlane"), cluster.1.clone(), cluster.2.clone())
}

fn is_paused(cluster: &Value) -> bool {
    cluster["spec"]["paused"] == true
        || !cluster["metadata"]["annotations"]["cluster.x-k8s.io/paused"].is_null()
}

/// What Cluster API says about the annotations that delay the upgrade of a Cluster; `None` if there are none.
fn hooks(cluster: &Value) -> Option<String> {
    let annotations = cluster["metadata"]["annotations"].as_object()?;
    let keys: Vec<&str> =
        annotations.keys().map(String::as_str).filter(|key| key.starts_with(PREFIX)).collect();
    match keys.as_slice() {
        [] => None,
        [key] => Some(format!("annotation {key} is set")),
        keys => Some(format!("annotations {} are set", keys.join(", "))),
    }
}

/// Reports on the topology: it is reconciled unless there is a message.
fn report(server: &mut ApiServer, place: &Place, cluster: &Value, message: &str) -> Option<String> {
    let before = server.log.len();
    let status = if message.is_empty() { "True" } else { "False" };
    let condition = json!({
        "type": "TopologyReconciled", "status": status, "reason": "Reported", "message": message,
        "observedGeneration": cluster["metadata"]["generation"], "lastTransitionTime": "2026-11-02T09:13:52Z",
    });
    let known = cluster["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let others = known.into_iter().filter(|known| known["type"] != "TopologyReconciled");
    let conditions: Vec<Value> = others.chain([condition]).collect();
    server.merge_as("capi", place, true, &json!({"status": {"conditions": conditions}}));
    let what = if message.is_empty() { "is reconciled" } else { message };
    (server.log.len() > before).then(|| format!("capi: {}: {what}", place.2))
}
