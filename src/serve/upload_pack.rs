//! The git program, which answers a fetch.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::stream;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::debug;

use super::quota::Place;

/// Size in bytes of a part of the answer, and the number of parts that wait for a slow client.
const PART: usize = 64 << 10;
const PARTS: usize = 16;
/// What precedes the list of branches.
const LIST: &[u8] = b"001e# service=git-upload-pack\n0000";

/// The settings of Git: none of the machine or of a user, and as little work and memory as possible.
const SETTINGS: [(&str, &str); 7] = [
    ("gc.auto", "0"),
    ("pack.threads", "1"),
    // No search for similar files: it takes seconds, and releases are mostly packed charts.
    ("pack.window", "0"),
    ("core.packedGitLimit", "8m"),
    ("core.packedGitWindowSize", "1m"),
    ("uploadpack.allowFilter", "false"),
    // `main` may be made again between the two requests of a fetch. The repository has nothing but what is served.
    ("uploadpack.allowAnySHA1InWant", "true"),
];

/// Starts the program in a bare repository, and returns its output: the list of branches, or the answer to a request. The
/// program ends when it is done, when the answer is dropped, or after `idle` without progress. `place` is kept until then.
pub(super) fn run(
    repository: &Path,
    is_list: bool,
    input: Vec<u8>,
    idle: Duration,
    place: Place,
) -> io::Result<Body> {
    let mut command = command(repository, is_list, idle);
    let mut program = Program::start(&mut command)?;
    let (sender, receiver) = mpsc::channel(PARTS);
    tokio::spawn(async move {
        let sent = async {
            if is_list {
                sender.send(Ok(Bytes::from_static(LIST))).await.map_err(|_| io::ErrorKind::BrokenPipe)?;
            }
            program.answer(input, &sender, idle).await
        };
        let sent = tokio::select! {
            sent = sent => sent,
            // Nothing reads the answer: the client has gone.
            () = sender.closed() => Ok(()),
        };
        // A client that takes no more of the answer must not keep them.
        drop((program, place));
        if let Err(error) = sent {
            // The client sees an answer that breaks off.
            let _gone = sender.send(Err(error)).await;
        }
    });
    let parts = stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)));
    Ok(Body::from_stream(parts))
}

fn command(repository: &Path, is_list: bool, idle: Duration) -> Command {
    let mut command = Command::new("git");
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    // The repository may belong to another user: that of the volume.
    let safe = [("safe.directory", repository.as_os_str())];
    let settings = SETTINGS.iter().map(|(key, value)| (*key, value.as_ref())).chain(safe);
    let mut count = 0;
    for (key, value) in settings {
        command.env(format!("GIT_CONFIG_KEY_{count}"), key).env(format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    }
    command.env("GIT_CONFIG_COUNT", count.to_string());
    command.args(["upload-pack", "--strict", "--stateless-rpc"]).arg(format!("--timeout={}", idle.as_secs()));
    if is_list {
        command.arg("--advertise-refs");
    }
    command.arg(repository);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    // The program starts others, which end with its group.
    command.process_group(0);
    command
}

/// A running program, which is killed with all that it has started when this is dropped.
struct Program {
    child: Child,
    group: Option<Pid>,
}

impl Program {
    fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(Self { child, group })
    }

    /// Writes the input, and sends the output until its end.
    async fn answer(
        &mut self,
        input: Vec<u8>,
        sender: &mpsc::Sender<io::Result<Bytes>>,
        idle: Duration,
    ) -> io::Result<()> {
        let (stdin, stdout) = (self.child.stdin.take(), self.child.stdout.take());
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program that refuses the input says so in its output.
                let _refused = stdin.write_all(&input).await;
            }
        };
        let (_written, sent) = tokio::join!(write, forward(stdout, sender, idle));
        sent?;
        let status = self.child.wait().await?;
        // The number of the group may belong to other processes from now on.
        self.group = None;
        if !status.success() {
            debug!(%status, "git upload-pack failed");
            return Err(io::Error::other("git upload-pack failed"));
        }
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // It may have ended by itself.
            let _gone = kill_process_group(group, Signal::KILL);
        }
    }
}

async fn forward(
    stdout: Option<ChildStdout>,
    sender: &mpsc::Sender<io::Result<Bytes>>,
    idle: Duration,
) -> io::Result<()> {
    let Some(mut stdout) = stdout else { return Ok(()) };
    loop {
        let mut part = Vec::with_capacity(PART);
        if stdout.read_buf(&mut part).await? == 0 {
            return Ok(());
        }
        match timeout(idle, sender.send(Ok(part.into()))).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Err(io::ErrorKind::BrokenPipe.into()),
            Err(_) => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::tests::{processes, until};

    /// Git's helpers do not end with the program that started them.
    #[tokio::test]
    async fn dropped_program_ends_with_all_that_it_started() {
        let time = format!("86400.{}", std::process::id());
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("sleep {time} & exec sleep {time}")).process_group(0);
        let program = Program::start(&mut command).unwrap();
        until("both run", || processes(&format!("sleep\0{time}")) == 2).await;
        drop(program);
        until("none is left", || processes(&time) == 0).await;
    }
}
