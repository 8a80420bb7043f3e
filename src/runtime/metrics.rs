//! Counts requests, reconciles and leadership, for Prometheus.
//!
//! Names, labels and units are only here; the registry adds a prefix.

mod labels;
mod process;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};

use labels::{KindLabels, QueueLabels, ReconcileLabels, RequestLabels, WriteLabels};
pub use labels::{Verb, Written};
pub use process::ProcessMetrics;

use crate::error::{Class, Classify};

/// Buckets in seconds for the duration of a reconcile, including its writes.
const RECONCILE_SECONDS: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];
/// Buckets in seconds for the API server's time to answer.
const REQUEST_SECONDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// Histograms by their labels.
pub type Histograms<Labels> = Family<Labels, Histogram, fn() -> Histogram>;

/// The metrics of any operator. Clones share the same counters.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    reconciles: Family<ReconcileLabels, Counter>,
    reconcile_durations: Histograms<QueueLabels>,
    writes: Family<WriteLabels, Counter>,
    skipped_writes: Family<KindLabels, Counter>,
    queue_depth: Family<QueueLabels, Gauge>,
    in_flight: Family<QueueLabels, Gauge>,
    requests: Histograms<RequestLabels>,
    leader: Gauge,
}

impl Metrics {
    /// Registers the metrics.
    #[must_use]
    pub fn new(registry: &mut Registry) -> Self {
        let mut to = Register(registry);
        Self(Arc::new(Inner {
            reconciles: to.counted("reconciles", "Reconciles, by outcome; reason is that of the error"),
            reconcile_durations: to.timed(
                "reconcile_duration",
                "Duration of a reconcile",
                Family::new_with_constructor(|| Histogram::new(RECONCILE_SECONDS)),
            ),
            writes: to.counted("writes", "Write requests to the API server, by result"),
            skipped_writes: to.counted("skipped_writes", "Writes skipped because nothing would change"),
            queue_depth: to.counted("queue_depth", "Objects waiting for a reconcile"),
            in_flight: to.counted("reconciles_in_flight", "Reconciles in progress"),
            requests: to.timed(
                "api_request_duration",
                "Duration of a request to the API server, until its answer or the timeout",
                Family::new_with_constructor(|| Histogram::new(REQUEST_SECONDS)),
            ),
            leader: to.counted("leader", "1 if this process holds the Lease of leader election, otherwise 0"),
        }))
    }

    /// Counts a reconcile that ended.
    pub fn reconciled(&self, queue: &'static str, result: Result<(), &dyn Classify>, took: Duration) {
        let (outcome, reason) = match result {
            Ok(()) => ("success", ""),
            Err(error) if error.class() == Class::Transient => ("transient", error.reason()),
            Err(error) => ("terminal", error.reason()),
        };
        self.0.reconciles.get_or_create(&ReconcileLabels { kind: queue, outcome, reason }).inc();
        let durations = self.0.reconcile_durations.get_or_create(&QueueLabels { queue });
        durations.observe(took.as_secs_f64());
    }

    /// Counts a write request for an object of this kind.
    pub fn wrote(&self, verb: Verb, kind: &str, result: Written) {
        let labels = WriteLabels { kind: kind.to_owned(), verb: verb.as_str(), result: result.as_str() };
        self.0.writes.get_or_create(&labels).inc();
    }

    /// Counts an object of this kind that needed no write.
    pub fn skipped(&self, kind: &str) {
        self.0.skipped_writes.get_or_create(&KindLabels { kind: kind.to_owned() }).inc();
    }

    /// Sets the number of objects of a queue that wait, and that are being reconciled.
    pub fn queued(&self, queue: &'static str, waiting: usize, running: usize) {
        for (gauge, count) in [(&self.0.queue_depth, waiting), (&self.0.in_flight, running)] {
            gauge.get_or_create(&QueueLabels { queue }).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    /// Records the duration of a request about an object of this kind, answered or timed out.
    pub fn answered(&self, verb: Verb, kind: &str, took: Duration) {
        let labels = RequestLabels { verb: verb.as_str(), kind: kind.to_owned() };
        self.0.requests.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// Sets whether this process leads.
    pub fn leads(&self, leads: bool) {
        self.0.leader.set(leads.into());
    }
}

/// Formats all metrics of a registry in the text format of `OpenMetrics`.
pub fn text(registry: &Registry) -> Result<String, fmt::Error> {
    let mut text = String::new();
    text::encode(&mut text, registry)?;
    Ok(text)
}

/// Registers a metric and returns it.
pub struct Register<'a>(pub &'a mut Registry);

impl Register<'_> {
    /// Registers a counter or gauge.
    pub fn counted<M: Metric + Clone + Default>(&mut self, name: &str, help: &str) -> M {
        let metric = M::default();
        self.0.register(name, help, metric.clone());
        metric
    }

    /// Registers a metric in seconds.
    pub fn timed<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.0.register_with_unit(name, help, Unit::Seconds, metric.clone());
        metric
    }
}

#[cfg(test)]
mod tests;
