//! Counts the Flux objects by verdict, the holds, and the Clusters that reconciles find, and reports Flux's controllers.
//!
//! Call sites report events; names, labels and units are only here and in [`runtime`](crate::runtime::metrics). Every name
//! begins with `stackflux_`, except those of the process, which all programs share.

mod labels;
mod objects;
mod tally;

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use labels::{
    ClusterLabels, ControllerLabels, HoldLabels, ObjectLabels, OperationLabels, RemoteLabels, UpgradeLabels,
    VerdictLabels,
};
pub use labels::{Queue, RemoteOperation};
use objects::ObjectReader;
pub use objects::{ConditionOf, Objects};
use tally::Tally;

use crate::api::cluster_addon::ClusterAddonStatus;
use crate::api::{ConditionType, Reason};
use crate::error::{Class, Classify};
use crate::rollup::{Pulse, Verdict};
use crate::runtime::metrics::{self as runtime, Histograms, ProcessMetrics, Register};

/// Buckets in seconds for the time until Flux has an object as expected.
const CONVERGENCE_SECONDS: [f64; 12] =
    [1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0];
/// Buckets in seconds for the time of an operation on a repository or registry.
const REMOTE_SECONDS: [f64; 11] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0, 600.0];

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
    convergence: Histograms<ObjectLabels>,
    remote_requests: Family<RemoteLabels, Counter>,
    remote_durations: Histograms<OperationLabels>,
    objects: ObjectReader,
}

impl Metrics {
    /// Creates metrics without any samples.
    #[must_use]
    pub fn new() -> Self {
        let mut all = Registry::default();
        all.register_collector(Box::new(ProcessMetrics));
        let registry = all.sub_registry_with_prefix("stackflux");
        let objects = ObjectReader::default();
        registry.register_collector(Box::new(objects.clone()));
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The running version", build);
        let runtime = runtime::Metrics::new(registry);
        let builtin = Gauge::default();
        let help = "Size of all built-in stack repositories on this process's volume";
        registry.register_with_unit("builtin_repositories", help, Unit::Bytes, builtin.clone());
        let mut to = Register(registry);
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
            convergence: to.timed(
                "convergence",
                "Time from the change of an object until Flux has it ready, by the kind whose status records it",
                Family::new_with_constructor(|| Histogram::new(CONVERGENCE_SECONDS)),
            ),
            remote_requests: to.counted(
                "remote_requests",
                "Operations on Git repositories, registries and forges, by outcome",
            ),
            remote_durations: to.timed(
                "remote_request_duration",
                "Duration of an operation on a Git repository, registry or forge",
                Family::new_with_constructor(|| Histogram::new(REMOTE_SECONDS)),
            ),
            objects,
        };
        Self { runtime, found: Arc::new(found), registry: Arc::new(all) }
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

    /// Records how long objects took to become ready, which the status of an object of this kind says.
    pub fn converged(&self, kind: &str, took: impl IntoIterator<Item = SignedDuration>) {
        let histogram = self.found.convergence.get_or_create(&ObjectLabels { kind: kind.to_owned() });
        took.into_iter().for_each(|took| histogram.observe(took.as_secs_f64()));
    }

    /// Counts an operation on another host; the class is that of its error.
    pub fn requested(&self, operation: RemoteOperation, outcome: Result<(), Class>, took: Duration) {
        let outcome = match outcome {
            Ok(()) => "success",
            Err(Class::Transient) => "transient",
            Err(Class::Terminal) => "terminal",
        };
        let operation = operation.as_str();
        self.found.remote_requests.get_or_create(&RemoteLabels { operation, outcome }).inc();
        let durations = self.found.remote_durations.get_or_create(&OperationLabels { operation });
        durations.observe(took.as_secs_f64());
    }

    /// Awaits the result of an operation on another host, and counts the operation, unless its outcome is `None`: the
    /// operation has sent nothing.
    #[expect(clippy::disallowed_methods, reason = "the duration is a metric")]
    pub async fn measure<T>(
        &self,
        operation: RemoteOperation,
        result: impl Future<Output = T>,
        outcome: impl FnOnce(&T) -> Option<Result<(), Class>>,
    ) -> T {
        let begun = Instant::now();
        let result = result.await;
        if let Some(outcome) = outcome(&result) {
            self.requested(operation, outcome, begun.elapsed());
        }
        result
    }

    /// Sets the function that reads the objects at each scrape; it returns `None` while this process does not report on them.
    pub fn read_objects(&self, read: impl Fn() -> Option<Objects> + Send + Sync + 'static) {
        self.found.objects.set(Box::new(read));
    }

    /// Returns the registry, to serve the metrics.
    #[must_use]
    pub fn registry(&self) -> Arc<Registry> {
        self.registry.clone()
    }
}

/// Returns the outcome of an operation whose errors have a class.
pub fn classified<T, E: Classify>(result: &Result<T, E>) -> Option<Result<(), Class>> {
    Some(result.as_ref().map(drop).map_err(Classify::class))
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
