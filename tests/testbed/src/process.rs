//! The processes of a testbed: started in groups of their own, known by id and start time, stopped together.

mod signals;
mod stopper;

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Context as _, Error, Result};
use crate::probe;
use stopper::Stopper;

/// Maximum time for one component to start on a busy machine.
const START: Duration = Duration::from_mins(2);

/// One running component.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Process {
    /// The name, such as `one-kube-scheduler`; also the name of its log.
    pub name: String,
    /// The process id, which is also the process group.
    pub id: u32,
    /// Start time in clock ticks since boot: distinguishes it from a later process with the same id.
    pub start_time: u64,
}

impl Process {
    /// Whether this very process still runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        running_since(self.id) == Some(self.start_time)
    }
}

/// The start time of a process that exists and is not a zombie: see proc(5), `/proc/<id>/stat`.
fn running_since(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The second field is the program's name in brackets, which may contain blanks and brackets.
    let (_, fields) = status.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let state = fields.next()?;
    if state == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Starts components and makes sure that they stop.
///
/// A small shell process (`stop.sh`) at the end of a pipe kills them when this process ends, for any reason; after
/// [`Supervisor::leave_running`] they outlive it.
pub(crate) struct Supervisor {
    logs: PathBuf,
    data: PathBuf,
    stopper: Mutex<Stopper>,
    started: Mutex<Vec<Started>>,
}

/// A component with everything needed to restart it.
struct Started {
    process: Process,
    /// The child: unless it is waited for, it stays in the table of processes after its end.
    child: Child,
    command: Command,
    /// The sign of readiness that was last awaited.
    is_ready: Option<Sign>,
}

/// Whether a component is ready.
type Sign = Box<dyn Fn() -> bool + Send>;

impl Supervisor {
    /// Prepares `run` (emptied first): `logs/` to keep, `data/` to remove.
    pub(crate) fn new(run: &Path) -> Result<Self> {
        if run.exists() {
            fs::remove_dir_all(run).context(|| format!("cannot empty {}", run.display()))?;
        }
        let (logs, data) = (run.join("logs"), run.join("data"));
        for directory in [&logs, &data.join("home"), &data.join("tmp")] {
            fs::create_dir_all(directory).context(|| format!("cannot create {}", directory.display()))?;
        }
        let stopper = Mutex::new(Stopper::start(&data)?);
        Ok(Self { logs, data, stopper, started: Mutex::default() })
    }

    /// The directory of the components' data; removed when they are stopped.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// Starts a component in the background, its output in its log.
    pub(crate) fn start(&self, name: &str, mut command: Command) -> Result<Process> {
        let (process, child) = self.spawn(name, &mut command)?;
        locked(&self.started)?.push(Started { process: process.clone(), child, command, is_ready: None });
        self.check(process)
    }

    /// Restarts a component that has ended, as it was started before, and waits until it is ready.
    pub(crate) fn start_again(&self, name: &str) -> Result<Process> {
        let mut started = locked(&self.started)?;
        let again = named(&mut started, name)?;
        if again.process.is_running() {
            return Err(Error::new(format!("{name} runs already")));
        }
        again.child.wait().context(|| format!("cannot wait for {name}"))?;
        (again.process, again.child) = self.spawn(name, &mut again.command)?;
        let process = self.check(again.process.clone())?;
        if let Some(is_ready) = &again.is_ready {
            self.wait_for(&process, is_ready)?;
        }
        Ok(process)
    }

    /// The latest process of a component.
    pub(crate) fn process(&self, name: &str) -> Result<Process> {
        named(&mut locked(&self.started)?, name).map(|started| started.process.clone())
    }

    /// Waits until a component is ready. The error has its log if it ends or takes too long.
    pub(crate) fn wait(&self, process: &Process, is_ready: impl Fn() -> bool + Send + 'static) -> Result<()> {
        self.wait_for(process, &is_ready)?;
        named(&mut locked(&self.started)?, &process.name)?.is_ready = Some(Box::new(is_ready));
        Ok(())
    }

    /// All started processes, in order.
    pub(crate) fn processes(&self) -> Result<Vec<Process>> {
        Ok(locked(&self.started)?.iter().map(|started| started.process.clone()).collect())
    }

    fn spawn(&self, name: &str, command: &mut Command) -> Result<(Process, Child)> {
        let log = log_path(&self.logs, name);
        let output = File::options().create(true).append(true).open(&log);
        let output = output.context(|| format!("cannot open {}", log.display()))?;
        let errors = output.try_clone().context(|| format!("cannot share {}", log.display()))?;
        let child = command
            .env("HOME", self.data.join("home"))
            .env("TMPDIR", self.data.join("tmp"))
            // Most components are written in Go. They collect garbage less often: memory is there, processors are few.
            .env("GOGC", "400")
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .context(|| format!("cannot start {name} ({})", command.get_program().display()))?;
        let start_time = running_since(child.id()).unwrap_or_default();
        let process = Process { name: name.to_owned(), id: child.id(), start_time };
        locked(&self.stopper)?.watch(&process)?;
        Ok((process, child))
    }

    fn check(&self, process: Process) -> Result<Process> {
        if process.is_running() { Ok(process) } else { Err(self.failure(&process, "ended at once")) }
    }

    fn wait_for(&self, process: &Process, is_ready: &dyn Fn() -> bool) -> Result<()> {
        let ready = probe::poll(START, || {
            if is_ready() {
                Ok(true)
            } else if process.is_running() {
                Ok(false)
            } else {
                Err(self.failure(process, "ended before it was ready"))
            }
        })?;
        if ready { Ok(()) } else { Err(self.failure(process, "is not ready after two minutes")) }
    }

    /// Lets the components outlive this process.
    pub(crate) fn leave_running(&self) -> Result<()> {
        locked(&self.stopper)?.leave()
    }

    fn failure(&self, process: &Process, what: &str) -> Error {
        let log = log_path(&self.logs, &process.name);
        Error::new(format!("{} {what}; the end of {}:\n{}", process.name, log.display(), tail(&log, 25)))
    }
}

/// Kills exactly these processes (with their children) and removes the data.
pub(crate) fn stop(processes: &[Process], data: &Path) -> Result<()> {
    let mut stopper = Stopper::start(data)?;
    for process in processes {
        stopper.watch(process)?;
    }
    stopper.finish()
}

/// The log of a component.
pub(crate) fn log_path(logs: &Path, name: &str) -> PathBuf {
    logs.join(format!("{name}.log"))
}

/// The last lines of a log.
pub(crate) fn tail(log: &Path, lines: usize) -> String {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let all: Vec<&str> = text.lines().collect();
    all.iter()
        .skip(all.len().saturating_sub(lines))
        .fold(String::new(), |text, line| text + "    " + line + "\n")
}

fn named<'a>(started: &'a mut [Started], name: &str) -> Result<&'a mut Started> {
    let found = started.iter_mut().find(|started| started.process.name == name);
    found.ok_or_else(|| Error::new(format!("no component {name} was started here")))
}

fn locked<T>(mutex: &Mutex<T>) -> Result<std::sync::MutexGuard<'_, T>> {
    mutex.lock().map_err(|_| Error::new("another thread of the testbed failed"))
}

#[cfg(test)]
mod tests;
