//! Metrics that are read from the objects at each scrape, so that those of a deleted object end with it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// What the metrics say about the objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objects {
    /// The conditions of objects.
    pub conditions: Vec<ConditionOf>,
    /// The time for which the Cluster has not been ready that is not ready for longest, in seconds.
    pub oldest_unready_seconds: f64,
}

/// One condition of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionOf {
    /// The object's kind.
    pub kind: &'static str,
    /// The object's namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// The condition's type.
    pub type_: String,
    /// The condition's status.
    pub status: String,
}

type Read = Box<dyn Fn() -> Option<Objects> + Send + Sync>;

/// Reads the objects at each scrape. Clones share the reader.
#[derive(Clone, Default)]
pub(super) struct ObjectReader(Arc<OnceLock<Read>>);

impl ObjectReader {
    /// Sets the function that reads the objects, once.
    pub(super) fn set(&self, read: Read) {
        _ = self.0.set(read);
    }
}

impl fmt::Debug for ObjectReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObjectReader")
    }
}

impl Collector for ObjectReader {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let Some(objects) = self.0.get().and_then(|read| read()) else { return Ok(()) };
        let help = "1 for each condition of ClusterStacks and ClusterStackReleases, with its status.";
        let mut conditions = encoder.encode_descriptor("condition", help, None, MetricType::Gauge)?;
        for of in &objects.conditions {
            let labels = [
                ("kind", of.kind),
                ("namespace", &of.namespace),
                ("name", &of.name),
                ("type", &of.type_),
                ("status", &of.status),
            ];
            ConstGauge::new(1_i64).encode(conditions.encode_family(&labels)?)?;
        }
        let help =
            "Time for which the Cluster is not ready that is not ready for longest; 0 if all are ready.";
        let (name, unit) = ("oldest_unready_cluster_age", Some(&Unit::Seconds));
        let age = encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        ConstGauge::new(objects.oldest_unready_seconds).encode(age)
    }
}
