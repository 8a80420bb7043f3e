//! The signals of tests to running components, by id and start time.

use std::fs;
use std::process::Command;
use std::time::Duration;

use super::{Process, running_since};
use crate::error::{Context as _, Error, Result};
use crate::probe;

/// Maximum time for a component to end after `SIGTERM`.
const END: Duration = Duration::from_secs(40);
/// The clock of proc(5) that Linux shows to programs: `sysconf(_SC_CLK_TCK)` is 100 on every architecture.
const TICKS_PER_SECOND: f64 = 100.0;

impl Process {
    /// Stops the process (`SIGSTOP`): its connections stay open, without answers.
    pub fn pause(&self) -> Result<()> {
        self.signal("STOP")
    }

    /// Resumes the process after [`Process::pause`].
    pub fn resume(&self) -> Result<()> {
        self.signal("CONT")
    }

    /// Kills the process (`SIGKILL`) and waits until it has ended.
    pub fn kill(&self) -> Result<()> {
        self.signal("KILL")?;
        self.wait_for_end()
    }

    /// Terminates the process (`SIGTERM`) and waits until it has ended; an error if it has not within 40 seconds.
    pub fn terminate(&self) -> Result<()> {
        self.signal("TERM")?;
        self.wait_for_end()
    }

    /// The processor time that the process has used so far, user and system, in seconds.
    pub fn cpu_seconds(&self) -> Result<f64> {
        let status = self.read("stat")?;
        // Fields 14 and 15 of proc(5), counted from the third, which follows the program's name in brackets.
        let fields = status.rsplit_once(") ").map(|(_, fields)| fields.split(' ').skip(11).take(2));
        let ticks: Option<u32> =
            fields.and_then(|fields| fields.map(|field| field.parse::<u32>().ok()).sum());
        let ticks =
            ticks.ok_or_else(|| Error::new(format!("/proc/{}/stat is not as in proc(5)", self.id)))?;
        Ok(f64::from(ticks) / TICKS_PER_SECOND)
    }

    /// The peak resident memory so far, in bytes.
    pub fn peak_memory_bytes(&self) -> Result<u64> {
        let status = self.read("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        let kibibytes =
            kibibytes.ok_or_else(|| Error::new(format!("/proc/{}/status has no VmHWM", self.id)))?;
        Ok(kibibytes * 1024)
    }

    /// Sends a signal. An id stays taken until the child is waited for, so the signal reaches no other process.
    fn signal(&self, signal: &str) -> Result<()> {
        if !self.is_running() {
            return Err(Error::new(format!("{} does not run", self.name)));
        }
        let group = format!("-{}", self.id);
        // The shell has it built in; not every machine has a program `kill`.
        let status = Command::new("/bin/sh")
            .args(["-c", "kill -s \"$1\" -- \"$2\"", "kill", signal, &group])
            .status()
            .context(|| "cannot run /bin/sh".to_owned())?;
        if status.success() {
            Ok(())
        } else {
            Err(Error::new(format!("cannot send {signal} to {}", self.name)))
        }
    }

    fn wait_for_end(&self) -> Result<()> {
        if probe::poll(END, || Ok::<_, Error>(!self.is_running()))? {
            Ok(())
        } else {
            Err(Error::new(format!("{} has not ended after {END:?}", self.name)))
        }
    }

    fn read(&self, file: &str) -> Result<String> {
        if running_since(self.id) != Some(self.start_time) {
            return Err(Error::new(format!("{} does not run", self.name)));
        }
        let path = format!("/proc/{}/{file}", self.id);
        fs::read_to_string(&path).context(|| format!("cannot read {path}"))
    }
}
