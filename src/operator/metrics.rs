//! Counts the Flux objects by verdict, the holds, and the Clusters that reconciles find, and reports Flux's controllers.
//!
//! Call sites report events; names, labels and units are only here and in [`runtime`](crate::runtime::metrics). Every name
//! begins with `stackflux_`.

mod labels;
mod tally;

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

pub use labels::Queue;
use labels::{ClusterLabels, ControllerLabels, HoldLabels, UpgradeLabels, VerdictLabels};
use tally::Tally;

use crate::api::cluster_addon::ClusterAddonStatus;
use crate::api::{ConditionType, Reason};
use crate::rollup::{Pulse, Verdict};
use crate::runtime::metrics::{self as runtime, Register};

/// All metrics of the process. Clones share the same counters.
#[derive(Clone)]
pub struct Metrics {
    /// Metrics of requests, reconciles and leadership.
    pub runtime: runtime::Metrics,
    found: Arc<Found>,
    registry: Arc<Registry>,
}

struct Found {
    verdicts: Tally<VerdictLabels>,
    holds: Tally<HoldLabels>,
    clusters: Tally<ClusterLabels>,
    upgrades: Tally<UpgradeLabels>,
    controllers: Family<ControllerLabels, Gauge>,
    builtin: Gauge,
}

impl Metrics {
    /// Creates metrics without any samples.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("stackflux");
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The running version", build);
        let runtime = runtime::Metrics::new(&mut registry);
        let builtin = Gauge::default();
        let help = "Size of all built-in stack repositories on this process's volume";
        registry.register_with_unit("builtin_repositories", help, Unit::Bytes, builtin.clone());
        let mut to = Register(&mut registry);
        let found = Found {
            verdicts: Tally::new(to.counted("objects", "Flux objects, by kind and verdict")),
            holds: Tally::new(to.counted("holds", "Held Clusters, addons and cluster classes, by reason")),
            clusters: Tally::new(
                to.counted("clusters", "Clusters, by the condition Ready of their ClusterAddon"),
            ),
            upgrades: Tally::new(to.counted(
                "upgrade_gates",
                "Clusters on their way to another Kubernetes version, by the phase of the upgrade",
            )),
            controllers: to.counted(
                "flux_controller_up",
                "1 while a Flux controller renews its Lease, otherwise 0; absent if the Lease cannot be read",
            ),
            builtin,
        };
        Self { runtime, found: Arc::new(found), registry: Arc::new(registry) }
    }

    /// Replaces the findings of an object: the verdicts on its Flux objects, each with its kind, and the reasons of its
    /// holds. `key` is the object's key in its queue.
    pub fn found<'a>(
        &self,
        queue: Queue,
        key: &str,
        verdicts: impl IntoIterator<Item = (&'a str, &'a Verdict)>,
        holds: impl IntoIterator<Item = Reason>,
    ) {
        let verdicts = verdicts.into_iter().map(|(kind, verdict)| VerdictLabels {
            kind: kind.to_owned(),
            verdict: verdict.phase().as_str(),
        });
        self.found.verdicts.set(queue, key, verdicts);
        self.found.holds.set(
            queue,
            key,
            holds.into_iter().map(|reason| HoldLabels { reason: reason.as_str() }),
        );
    }

    /// Replaces the status of a `ClusterAddon`. `key` is that of its Cluster.
    pub fn reported(&self, key: &str, status: &ClusterAddonStatus) {
        let ready =
            status.conditions.iter().find(|condition| condition.type_ == ConditionType::Ready.as_str());
        let labels =
            |ready: &Condition| ClusterLabels { ready: ready.status.clone(), reason: ready.reason.clone() };
        self.found.clusters.set(Queue::Cluster, key, ready.map(labels));
        let phase = status.upgrade.as_ref().map(|upgrade| UpgradeLabels { phase: upgrade.phase.clone() });
        self.found.upgrades.set(Queue::Cluster, key, phase);
    }

    /// Removes the findings of an object that does not exist now.
    pub fn remove(&self, queue: Queue, key: &str) {
        self.found(queue, key, [], []);
        self.found.clusters.set(queue, key, []);
        self.found.upgrades.set(queue, key, []);
    }

    /// Records whether a controller of Flux is alive.
    pub fn controller(&self, controller: &'static str, pulse: Pulse) {
        let labels = ControllerLabels { controller };
        match pulse {
            Pulse::Alive => _ = self.found.controllers.get_or_create(&labels).set(1),
            Pulse::Dead { .. } => _ = self.found.controllers.get_or_create(&labels).set(0),
            Pulse::Unknown { .. } => _ = self.found.controllers.remove(&labels),
        }
    }

    /// Records the size of all built-in stack repositories, in bytes.
    pub fn builtin(&self, size: u64) {
        self.found.builtin.set(i64::try_from(size).unwrap_or(i64::MAX));
    }

    /// Returns the registry, to serve the metrics.
    #[must_use]
    pub fn registry(&self) -> Arc<Registry> {
        self.registry.clone()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
