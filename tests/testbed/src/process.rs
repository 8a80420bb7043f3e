//! The processes of a testbed: started in groups of their own, known by id and start time, stopped together.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Context as _, Error, Result};
use crate::probe;

/// How long one component may take to start on a busy machine.
const START: Duration = Duration::from_mins(2);

/// One running component.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Process {
    /// What it is, such as `one-kube-scheduler`; also the name of its log.
    pub name: String,
    /// Its process id, which is also its process group.
    pub id: u32,
    /// When it started, in clock ticks since boot: tells it from a later process with the same id.
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
    // The second field is the program's name in brackets, which may hold blanks and brackets.
    let (_, fields) = status.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let state = fields.next()?;
    if state == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Starts components and sees to it that they stop.
///
/// A small shell process (`stop.sh`) at the end of a pipe kills them when this process ends, however it ends;
/// after [`Supervisor::leave_running`] they outlive it.
pub(crate) struct Supervisor {
    logs: PathBuf,
    data: PathBuf,
    stopper: Mutex<Stopper>,
    processes: Mutex<Vec<Process>>,
}

impl Supervisor {
    /// Prepares `run` (emptied first): `logs/` to keep, `data/` to throw away.
    pub(crate) fn new(run: &Path) -> Result<Self> {
        if run.exists() {
            fs::remove_dir_all(run).context(|| format!("cannot empty {}", run.display()))?;
        }
        let (logs, data) = (run.join("logs"), run.join("data"));
        for directory in [&logs, &data.join("home"), &data.join("tmp")] {
            fs::create_dir_all(directory).context(|| format!("cannot create {}", directory.display()))?;
        }
        let stopper = Mutex::new(Stopper::start(&data)?);
        Ok(Self { logs, data, stopper, processes: Mutex::default() })
    }

    /// The directory of what components store; it goes when they are stopped.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// Starts a component in the background, its output in its log.
    pub(crate) fn start(&self, name: &str, command: &mut Command) -> Result<Process> {
        let log = log_path(&self.logs, name);
        let output = File::create(&log).context(|| format!("cannot create {}", log.display()))?;
        let errors = output.try_clone().context(|| format!("cannot share {}", log.display()))?;
        let child = command
            .env("HOME", self.data.join("home"))
            .env("TMPDIR", self.data.join("tmp"))
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .context(|| format!("cannot start {name} ({})", command.get_program().display()))?;
        let start_time = running_since(child.id()).unwrap_or_default();
        let process = Process { name: name.to_owned(), id: child.id(), start_time };
        locked(&self.stopper)?.watch(&process)?;
        locked(&self.processes)?.push(process.clone());
        if process.is_running() { Ok(process) } else { Err(self.failure(&process, "ended at once")) }
    }

    /// Waits until a component says that it is ready; an error with its log when it ends or takes too long.
    pub(crate) fn wait(&self, process: &Process, mut is_ready: impl FnMut() -> bool) -> Result<()> {
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

    /// Everything that was started, in order.
    pub(crate) fn processes(&self) -> Result<Vec<Process>> {
        Ok(locked(&self.processes)?.clone())
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

/// The shell process that stops the others.
struct Stopper(Child);

impl Stopper {
    fn start(data: &Path) -> Result<Self> {
        Command::new("/bin/sh")
            .args(["-c", include_str!("stop.sh"), "stop.sh"])
            .arg(data)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map(Self)
            .context(|| "cannot start /bin/sh".to_owned())
    }

    fn watch(&mut self, process: &Process) -> Result<()> {
        self.tell(&format!("{} {}\n", process.id, process.start_time))
    }

    fn leave(&mut self) -> Result<()> {
        self.tell("leave\n")?;
        self.finish()
    }

    fn tell(&mut self, line: &str) -> Result<()> {
        let pipe = self.0.stdin.as_mut().ok_or_else(|| Error::new("the stopper has gone away"))?;
        pipe.write_all(line.as_bytes()).context(|| "the stopper has gone away".to_owned())
    }

    fn finish(&mut self) -> Result<()> {
        drop(self.0.stdin.take());
        self.0.wait().context(|| "cannot wait for the stopper".to_owned()).map(drop)
    }
}

/// Kills exactly these processes (with what they started) and removes the data.
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

fn locked<T>(mutex: &Mutex<T>) -> Result<std::sync::MutexGuard<'_, T>> {
    mutex.lock().map_err(|_| Error::new("another thread of the testbed failed"))
}

#[cfg(test)]
mod tests;
