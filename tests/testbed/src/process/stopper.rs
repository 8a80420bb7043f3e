//! The end of a pipe: it kills the components when this process ends, for any reason.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::Process;
use crate::error::{Context as _, Error, Result};

/// The shell process that stops the others.
pub(super) struct Stopper(Child);

impl Stopper {
    pub(super) fn start(data: &Path) -> Result<Self> {
        Command::new("/bin/sh")
            .args(["-c", include_str!("../stop.sh"), "stop.sh"])
            .arg(data)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map(Self)
            .context(|| "cannot start /bin/sh".to_owned())
    }

    pub(super) fn watch(&mut self, process: &Process) -> Result<()> {
        self.send(&format!("{} {}\n", process.id, process.start_time))
    }

    pub(super) fn leave(&mut self) -> Result<()> {
        self.send("leave\n")?;
        self.finish()
    }

    fn send(&mut self, line: &str) -> Result<()> {
        let pipe = self.0.stdin.as_mut().ok_or_else(|| Error::new("the stopper has gone away"))?;
        pipe.write_all(line.as_bytes()).context(|| "the stopper has gone away".to_owned())
    }

    pub(super) fn finish(&mut self) -> Result<()> {
        drop(self.0.stdin.take());
        self.0.wait().context(|| "cannot wait for the stopper".to_owned()).map(drop)
    }
}
