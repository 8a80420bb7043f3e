//! The rate of a writer and its cost: from the audit log of the API server and from `/proc`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use jiff::Timestamp;
use stackflux_testbed::{Process, Write};

use crate::ground::{ADDONS, CLUSTERS, HELM_RELEASES};

/// Interval at which the use of a process is read; Linux counts in steps of 10 ms.
const SAMPLING: Duration = Duration::from_millis(10);

/// Writes of one kind after another.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    /// Number of writes.
    pub(crate) count: usize,
    /// Times at which the first and the last were answered.
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
}

impl Pace {
    /// The pace of those writes that concern clusters' addons: `HelmRelease`s, `ClusterAddon`s and their statuses, and the
    /// annotations of Clusters.
    pub(crate) fn of<'a>(writes: impl Iterator<Item = &'a Write>) -> Self {
        let times: Vec<Timestamp> = writes.filter(|write| is_of_addons(write)).map(time).collect();
        let (from, to) = (times.iter().min().unwrap(), times.iter().max().unwrap());
        Self { count: times.len(), from: *from, to: *to }
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.to.duration_since(self.from).as_secs_f64()
    }

    /// Writes per second.
    pub(crate) fn rate(&self) -> f64 {
        f64::from(u32::try_from(self.count).unwrap()) / self.seconds()
    }
}

pub(crate) fn is_of_addons(write: &Write) -> bool {
    let is_annotation = write.resource == CLUSTERS.plural && write.verb == "patch";
    write.resource == HELM_RELEASES.plural || write.resource == ADDONS.plural || is_annotation
}

pub(crate) fn time(write: &Write) -> Timestamp {
    write.time.parse().unwrap()
}

/// Number of writes by kind: `helmreleases patch`, `clusteraddons/status patch`, …
pub(crate) fn kinds(writes: &[Write]) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for write in writes {
        let subresource = Some(&write.subresource).filter(|name| !name.is_empty());
        let subresource = subresource.map(|name| format!("/{name}")).unwrap_or_default();
        let failed = if write.code < 300 { String::new() } else { format!(" ({})", write.code) };
        let kind = format!("{}{subresource} {}{failed}", write.resource, write.verb);
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}

/// The use of a process, sampled over time.
pub(crate) struct Sampler {
    stop: Arc<AtomicBool>,
    samples: JoinHandle<Vec<(Timestamp, f64)>>,
}

impl Sampler {
    pub(crate) fn start(process: Process) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let samples = spawn(move || {
            let mut samples = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                samples.push((Timestamp::now(), process.cpu_seconds().unwrap()));
                sleep(SAMPLING);
            }
            samples
        });
        Self { stop, samples }
    }

    /// The processor seconds, user and system, that the process used while it wrote.
    pub(crate) fn used(self, pace: &Pace) -> f64 {
        self.stop.store(true, Ordering::Relaxed);
        let samples = self.samples.join().unwrap();
        let before = samples.iter().rfind(|(time, _)| *time <= pace.from).unwrap();
        let after = samples.iter().find(|(time, _)| *time >= pace.to).unwrap();
        after.1 - before.1
    }
}
