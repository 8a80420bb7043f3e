//! The metrics that every process has under the same names, from Linux's `/proc`.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// Linux counts in this unit for programs, on every architecture (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

/// Reports CPU, memory, open files and the start of this process. Reports nothing where there is no `/proc`.
#[derive(Debug)]
pub struct ProcessMetrics;

/// What a process uses.
#[derive(Debug, PartialEq)]
struct Usage {
    cpu_seconds: f64,
    start_seconds: f64,
    resident_bytes: u64,
    open_files: u64,
    max_files: u64,
}

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let Some(usage) = read() else { return Ok(()) };
        let (seconds, bytes) = (Some(&Unit::Seconds), Some(&Unit::Bytes));
        let (cpu, start) = (ConstCounter::new(usage.cpu_seconds), ConstGauge::new(usage.start_seconds));
        let metrics: [(&str, &str, Option<&Unit>, &dyn EncodeMetric); 5] = [
            ("process_cpu", "CPU time of the process, in user and system mode.", seconds, &cpu),
            ("process_start_time", "Start of the process, since the Unix epoch.", seconds, &start),
            (
                "process_resident_memory",
                "Memory of the process that is in RAM.",
                bytes,
                &ConstGauge::new(usage.resident_bytes),
            ),
            ("process_open_fds", "Open file descriptors.", None, &ConstGauge::new(usage.open_files)),
            (
                "process_max_fds",
                "Maximum number of file descriptors.",
                None,
                &ConstGauge::new(usage.max_files),
            ),
        ];
        metrics.into_iter().try_for_each(|(name, help, unit, metric)| {
            metric.encode(encoder.encode_descriptor(name, help, unit, metric.metric_type())?)
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "the files of the process are its state")]
fn read() -> Option<Usage> {
    let [own, status, limits, system] =
        ["/proc/self/stat", "/proc/self/status", "/proc/self/limits", "/proc/stat"]
            .map(|file| fs::read_to_string(file).ok());
    let open_files = fs::read_dir("/proc/self/fd").ok()?.count();
    usage([&own?, &status?, &limits?, &system?], open_files.try_into().ok()?)
}

/// Returns the usage that `/proc/self/stat`, `/proc/self/status`, `/proc/self/limits` and `/proc/stat` say.
fn usage([own, status, limits, system]: [&str; 4], open_files: u64) -> Option<Usage> {
    // The second field is the program's name, which may contain spaces and parentheses.
    let fields: Vec<&str> = own.rsplit_once(')')?.1.split_whitespace().collect();
    let seconds = |field: usize| Some(fields.get(field)?.parse::<f64>().ok()? / TICKS_PER_SECOND);
    let value = |text: &str, name: &str| -> Option<u64> {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        let first = rest.split_whitespace().next()?;
        if first == "unlimited" { Some(u64::MAX) } else { first.parse().ok() }
    };
    let booted: f64 = system.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(Usage {
        cpu_seconds: seconds(11)? + seconds(12)?,
        start_seconds: booted + seconds(19)?,
        resident_bytes: value(status, "VmRSS:")?.saturating_mul(1024),
        open_files,
        max_files: value(limits, "Max open files")?,
    })
}

#[cfg(test)]
mod tests {
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn usage_is_that_of_the_files() {
        let own = "42 (a) b (c) S 1 42 42 0 -1 4194560 900 0 3 0 250 50 0 0 20 0 4 0 12345 99 7 18446744073709551615";
        let status = "Name:\tstackflux\nVmRSS:\t   2048 kB\n";
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max open files            1024                 1048576              files\n";
        let system = "cpu  1 2 3\nbtime 1700000000\nprocesses 9\n";
        let expected = Usage {
            cpu_seconds: 3.0,
            start_seconds: 1_700_000_123.45,
            resident_bytes: 2 << 20,
            open_files: 7,
            max_files: 1024,
        };
        assert_eq!(usage([own, status, limits, system], 7), Some(expected));
        let unlimited = limits.replace("1024  ", "unlimited");
        assert_eq!(usage([own, status, &unlimited, system], 7).unwrap().max_files, u64::MAX);
        for broken in [["", status, limits, system], [own, "", limits, system], [own, status, limits, ""]] {
            assert_eq!(usage(broken, 7), None);
        }
    }

    #[test]
    fn process_has_the_standard_metrics() {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(ProcessMetrics));
        let text = super::super::text(&registry).unwrap();
        for name in [
            "process_cpu_seconds_total",
            "process_resident_memory_bytes",
            "process_open_fds",
            "process_max_fds",
            "process_start_time_seconds",
        ] {
            let sample = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
            let sample = sample.unwrap_or_else(|| panic!("no {name} in:\n{text}"));
            assert!(sample.parse::<f64>().unwrap() >= 0.0, "{name} {sample}");
        }
    }
}
