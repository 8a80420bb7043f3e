//! What the operator counts and measures, for Prometheus.
//!
//! Call sites say what happened; names, labels and units are here alone. Every name begins with `stackflux_`.

mod labels;
mod tally;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry, Unit};

use labels::{
    ClusterLabels, ControllerLabels, HoldLabels, KindLabels, QueueLabels, ReconcileLabels, RequestLabels,
    VerdictLabels, WriteLabels,
};
pub use labels::{Queue, Verb, Written};
use tally::Tally;

use crate::api::cluster_addon::ClusterAddonStatus;
use crate::api::{ConditionType, Reason};
use crate::error::{Class, Classify};
use crate::rollup::{Pulse, Verdict};

/// Upper bounds in seconds of what a reconcile takes, waiting for its writes included.
const RECONCILE_SECONDS: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];
/// Upper bounds in seconds of what the API server takes to answer.
const REQUEST_SECONDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

type Histograms<Labels> = Family<Labels, Histogram, fn() -> Histogram>;

/// All metrics of the process. Copies count the same.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    reconciles: Family<ReconcileLabels, Counter>,
    reconcile_durations: Histograms<QueueLabels>,
    verdicts: Tally<VerdictLabels>,
    holds: Tally<HoldLabels>,
    clusters: Tally<ClusterLabels>,
    writes: Family<WriteLabels, Counter>,
    skipped_writes: Family<KindLabels, Counter>,
    queue_depth: Family<QueueLabels, Gauge>,
    in_flight: Family<QueueLabels, Gauge>,
    requests: Histograms<RequestLabels>,
    leader: Gauge,
    controllers: Family<ControllerLabels, Gauge>,
}

impl Metrics {
    /// Metrics of which nothing has happened yet.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("stackflux");
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version that runs", build);
        let mut to = Register(&mut registry);
        let inner = Inner {
            reconciles: to.counted("reconciles", "Reconciles by how they ended; reason is that of the error"),
            reconcile_durations: to.timed(
                "reconcile_duration",
                "Time that a reconcile took",
                Family::new_with_constructor(|| Histogram::new(RECONCILE_SECONDS)),
            ),
            verdicts: Tally::new(to.counted("objects", "Flux objects by what their status says")),
            holds: Tally::new(to.counted("holds", "Clusters and addons that are held back, by reason")),
            clusters: Tally::new(
                to.counted("clusters", "Clusters by the condition Ready of their ClusterAddon"),
            ),
            writes: to.counted("writes", "Requests that write, by result"),
            skipped_writes: to.counted("skipped_writes", "Writes not sent because nothing would change"),
            queue_depth: to.counted("queue_depth", "Objects that wait for a reconcile"),
            in_flight: to.counted("reconciles_in_flight", "Reconciles in progress"),
            requests: to.timed(
                "api_request_duration",
                "Time until the API server answered, or was not waited for any longer",
                Family::new_with_constructor(|| Histogram::new(REQUEST_SECONDS)),
            ),
            leader: to.counted("leader", "1 where this process holds the Lease of leader election"),
            controllers: to.counted(
                "flux_controller_up",
                "1 while a controller of Flux renews its Lease, 0 while it does not; absent without a Lease to read",
            ),
            registry,
        };
        Self(Arc::new(inner))
    }

    /// A reconcile ended.
    pub fn reconciled(&self, queue: Queue, result: Result<(), &dyn Classify>, took: Duration) {
        let (outcome, reason) = match result {
            Ok(()) => ("success", ""),
            Err(error) if error.class() == Class::Transient => ("transient", error.reason()),
            Err(error) => ("terminal", error.reason()),
        };
        let labels = ReconcileLabels { kind: queue.into(), outcome, reason };
        self.0.reconciles.get_or_create(&labels).inc();
        let durations = self.0.reconcile_durations.get_or_create(&QueueLabels { queue: queue.into() });
        durations.observe(took.as_secs_f64());
    }

    /// What a reconciled object found, in place of what the same object found before: the verdicts on its Flux objects,
    /// each with its kind, and the reasons for which parts of it are held. `key` is the object's key in its queue.
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
        self.0.verdicts.set(queue, key, verdicts);
        self.0.holds.set(queue, key, holds.into_iter().map(|reason| HoldLabels { reason: reason.as_str() }));
    }

    /// The status that a `ClusterAddon` has now, which takes the place of the one before. `key` is that of its Cluster.
    pub fn reported(&self, key: &str, status: &ClusterAddonStatus) {
        let ready =
            status.conditions.iter().find(|condition| condition.type_ == ConditionType::Ready.as_str());
        let labels =
            |ready: &Condition| ClusterLabels { ready: ready.status.clone(), reason: ready.reason.clone() };
        self.0.clusters.set(Queue::Cluster, key, ready.map(labels));
    }

    /// The object is gone, and with it all that it found.
    pub fn forgot(&self, queue: Queue, key: &str) {
        self.found(queue, key, [], []);
        self.0.clusters.set(queue, key, []);
    }

    /// A request that writes an object of this kind ended.
    pub fn wrote(&self, verb: Verb, kind: &str, result: Written) {
        let labels = WriteLabels { kind: kind.to_owned(), verb: verb.into(), result: result.into() };
        self.0.writes.get_or_create(&labels).inc();
    }

    /// An object of this kind was not written because it is as it should be.
    pub fn skipped(&self, kind: &str) {
        self.0.skipped_writes.get_or_create(&KindLabels { kind: kind.to_owned() }).inc();
    }

    /// So many objects of a queue wait, and so many are being reconciled.
    pub fn queued(&self, queue: Queue, waiting: usize, running: usize) {
        let labels = QueueLabels { queue: queue.into() };
        for (gauge, count) in [(&self.0.queue_depth, waiting), (&self.0.in_flight, running)] {
            gauge.get_or_create(&labels).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    /// The API server answered a request about an object of this kind, or was given up on.
    pub fn answered(&self, verb: Verb, kind: &str, took: Duration) {
        let labels = RequestLabels { verb: verb.into(), kind: kind.to_owned() };
        self.0.requests.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// This process leads, or does not.
    pub fn leads(&self, leads: bool) {
        self.0.leader.set(leads.into());
    }

    /// A controller of Flux is alive, or is not.
    pub fn controller(&self, controller: &'static str, pulse: Pulse) {
        let labels = ControllerLabels { controller };
        match pulse {
            Pulse::Alive => _ = self.0.controllers.get_or_create(&labels).set(1),
            Pulse::Dead { .. } => _ = self.0.controllers.get_or_create(&labels).set(0),
            Pulse::Unknown { .. } => _ = self.0.controllers.remove(&labels),
        }
    }

    /// All metrics in the text format of `OpenMetrics`.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        text::encode(&mut text, &self.0.registry)?;
        Ok(text)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

/// Registers a metric and returns it.
struct Register<'a>(&'a mut Registry);

impl Register<'_> {
    fn counted<M: Metric + Clone + Default>(&mut self, name: &str, help: &str) -> M {
        let metric = M::default();
        self.0.register(name, help, metric.clone());
        metric
    }

    fn timed<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.0.register_with_unit(name, help, Unit::Seconds, metric.clone());
        metric
    }
}

#[cfg(test)]
mod tests;
