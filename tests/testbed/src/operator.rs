//! The operator under test, as a process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use crate::building::say;
use crate::error::{Error, Result};
use crate::flux;
use crate::ports::Ports;
use crate::probe;
use crate::process::{Process, Supervisor, log_path, tail};
use crate::testbed::Testbed;

const NAME: &str = "operator";

/// One process of the operator, and its restarts. The process is killed when this is dropped; if the test failed, the
/// end of the log is printed.
pub struct Operator {
    supervisor: Supervisor,
    log: PathBuf,
    health_port: u16,
    metrics_port: u16,
}

/// Distinguishes the operators of one testbed.
static STARTED: AtomicU32 = AtomicU32::new(0);

impl Operator {
    /// The namespace of the operator and its Lease.
    pub const NAMESPACE: &'static str = flux::NAMESPACE;

    /// Runs `<binary> operator` with the flags of [`Operator::NAMESPACE`], health and metrics on free ports, and
    /// `arguments`. `kubeconfig` is that of a user ([`Testbed::operator_kubeconfig`]) or of a proxy. Does not wait.
    pub fn start(testbed: &Testbed, binary: &Path, kubeconfig: &Path, arguments: &[&str]) -> Result<Self> {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let run = testbed.directory.join(format!("operator-{}-{number}", std::process::id()));
        let supervisor = Supervisor::new(&run)?;
        let ports = Ports::of_this_process();
        let (health_port, metrics_port) = (ports.free()?, ports.free()?);
        let mut command = Command::new(binary);
        command
            .arg("operator")
            .env("KUBECONFIG", kubeconfig)
            .env("RUNTIME_NAMESPACE", Self::NAMESPACE)
            .arg(format!("--health-addr=127.0.0.1:{health_port}"))
            .arg(format!("--metrics-addr=127.0.0.1:{metrics_port}"))
            .args(arguments);
        supervisor.start(NAME, command)?;
        Ok(Self { supervisor, log: log_path(&run.join("logs"), NAME), health_port, metrics_port })
    }

    /// The latest process, to pause, resume, kill (`kill -9`) or terminate, and to measure.
    pub fn process(&self) -> Result<Process> {
        self.supervisor.process(NAME)
    }

    /// Restarts the operator after it has ended, with the same flags and ports. Does not wait until it is ready.
    pub fn start_again(&self) -> Result<()> {
        self.supervisor.start_again(NAME).map(drop)
    }

    /// The port of `/readyz`.
    #[must_use]
    pub fn health_port(&self) -> u16 {
        self.health_port
    }

    /// Whether `/readyz` reports that it is ready; otherwise the report.
    pub fn ready(&self) -> std::result::Result<(), String> {
        match probe::get(self.health_port, "/readyz") {
            Some((200, _)) => Ok(()),
            Some((status, body)) => Err(format!("{status}: {body}")),
            None => Err("no answer".to_owned()),
        }
    }

    /// Waits until it is ready. The error names what it waits for and has the end of its log.
    pub fn wait_ready(&self, timeout: Duration) -> Result<()> {
        let mut last = String::new();
        let ready = probe::poll(timeout, || {
            last = self.ready().err().unwrap_or_default();
            if self.process()?.is_running() { Ok(last.is_empty()) } else { Err(Error::new("it has ended")) }
        });
        match ready {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.failure(&format!("is not ready after {timeout:?}: {last}"))),
            Err(error) => Err(self.failure(&error.to_string())),
        }
    }

    /// Its metrics by name with labels, as in the text form of Prometheus: `stackflux_writes_total{kind="HelmRelease"}`.
    pub fn metrics(&self) -> Result<BTreeMap<String, f64>> {
        match probe::get(self.metrics_port, "/metrics") {
            Some((200, text)) => Ok(parse_metrics(&text)),
            other => Err(self.failure(&format!("serves no metrics: {other:?}"))),
        }
    }

    /// The file with its whole log, including earlier processes.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    fn failure(&self, what: &str) -> Error {
        Error::new(format!(
            "the operator {what}; the end of {}:\n{}",
            self.log.display(),
            tail(&self.log, 25)
        ))
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        if thread::panicking() {
            let text = format!("the end of {}:\n{}", self.log.display(), tail(&self.log, 60));
            // The test has failed already.
            drop(say(&text));
        }
    }
}

fn parse_metrics(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let samples = lines.filter_map(|line| line.rsplit_once(' '));
    samples.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_found_by_name_and_labels() {
        let text = "# TYPE a counter\na_total{of=\"b c\"} 2\nb 0.5\n# EOF\n";
        let expected = BTreeMap::from([("a_total{of=\"b c\"}".to_owned(), 2.0), ("b".to_owned(), 0.5)]);
        assert_eq!(parse_metrics(text), expected);
    }
}
