//! Talks to Git servers in a process of its own for each fetch and push, whose memory and time have limits.
//!
//! libgit2 reads all of a server's list of branches before it calls back, and nothing ends a call that waits. So the program
//! starts itself with [`CONNECT`], writes what to do to its standard input, and reads the result from its standard output
//! (`docs/decisions/0031-git-servers-have-a-process-each.md`). Credentials are in no argument and no variable.

mod message;
mod running;
mod serve;

use std::io::{self, PipeReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use secrecy::ExposeSecret as _;

use super::transfer::RemoteRefs;
use super::{BareRepository, CommitId, GitError, Pushed, TransferLimits, connection, leftovers, transfer};
use crate::http::TransportError;

use message::{Answer, Request, Work};
pub use running::end_connections;
use running::{Cause, Running};
pub use serve::serve;

/// The argument that makes the program serve one connection instead of a command.
pub const CONNECT: &str = "connect-to-git-server";

/// Maximum size in bytes of what the process of a connection writes.
const MAX_ANSWER_BYTES: u64 = 1 << 20;

/// Pause between two looks at the memory of a process.
const PAUSE: Duration = Duration::from_millis(50);

/// Maximum length of the text of a process that ended without an answer.
const MAX_MESSAGE_CHARACTERS: usize = 500;

/// The number of the signal with which the process of a connection ends itself, if it gets no memory.
const ABORTED: i32 = 6;

/// The variables with secrets that the program may have. A connection gets what it needs by its request, and what reads hostile
/// bytes gets no other secret.
const SECRET_VARIABLES: [&str; 4] =
    ["STACKFLUX_GIT_PASSWORD", "STACKFLUX_FORGE_TOKEN", "STACKFLUX_REGISTRY_PASSWORD", "GITHUB_TOKEN"];

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the stackflux program that is started for each connection to a Git server: the first call decides. Without it, no
/// server is asked.
pub fn set_connection_program(program: PathBuf) {
    let _first = PROGRAM.set(program);
}

/// Fetches from a server.
pub(super) fn fetch(clone: &BareRepository, refspecs: &[String], name: &str) -> Result<RemoteRefs, GitError> {
    match run(clone, Work::Fetch { refspecs: refspecs.to_vec(), name: name.to_owned() })? {
        Answer::Fetched(refs) => Ok(refs),
        Answer::Pushed(_) => Err(failed(clone, "the answer is that of a push".to_owned())),
    }
}

/// Pushes a commit to a server, if the branch is at `expected`.
pub(super) fn push(
    clone: &BareRepository,
    commit: CommitId,
    reference: &str,
    expected: Option<CommitId>,
) -> Result<Pushed, GitError> {
    match run(clone, Work::Push { commit, reference: reference.to_owned(), expected })? {
        Answer::Pushed(pushed) => Ok(pushed),
        Answer::Fetched(_) => Err(failed(clone, "the answer is that of a fetch".to_owned())),
    }
}

fn run(clone: &BareRepository, work: Work) -> Result<Answer, GitError> {
    connection::check(&clone.access)?;
    let program = PROGRAM.get().ok_or_else(|| {
        failed(clone, "this process has no program for connections: see set_connection_program".to_owned())
    })?;
    run_program(program, clone, work)
}

fn run_program(program: &PathBuf, clone: &BareRepository, work: Work) -> Result<Answer, GitError> {
    let request = Request::new(clone, work).text().map_err(|error| failed(clone, error.to_string()))?;
    let (mut child, output) = start(program).map_err(GitError::io(program))?;
    if let Some(mut input) = child.stdin.take() {
        // A process that ends too early says so by its status.
        let _ = input.write_all(request.expose_secret().as_bytes());
    }
    let running = Running::new(child.id());
    let output = wait(clone, &running, &output);
    if output.is_err() {
        child.kill().map_err(GitError::io(program))?;
    }
    let status = child.wait().map_err(GitError::io(program))?;
    drop(running);
    let error = match output {
        Ok(output) => match message::answer(&output) {
            Some(answer) => return answer.map_err(|failure| failure.error(clone)),
            None => ended(clone, status, &output),
        },
        Err(error) => error,
    };
    leftovers::remove(clone.repository.path())?;
    // The process may have ended between the fetch and its check. A program that ends does not read the clone any more.
    if !running::are_ended() {
        transfer::check_objects(&clone.repository, &clone.access)?;
    }
    Err(error)
}

/// Returns what the process wrote until it ended, or why it has to be killed.
fn wait(clone: &BareRepository, running: &Running, output: &Receiver<Vec<u8>>) -> Result<Vec<u8>, GitError> {
    let begun = Instant::now();
    let TransferLimits { overall, memory, .. } = clone.limits;
    loop {
        let left = overall.saturating_sub(begun.elapsed());
        if let Ok(output) = output.recv_timeout(left.min(PAUSE)) {
            return Ok(output);
        }
        match running.look(memory) {
            Some(Cause::Memory) => return Err(failed(clone, together(memory))),
            Some(Cause::Shutdown) => {
                return Err(failed(clone, "stackflux ends, and this connection with it".to_owned()));
            }
            None if left.is_zero() => {
                return Err(TransportError::Timeout { place: clone.url(), after: overall }.into());
            }
            None => {}
        }
    }
}

fn together(memory: u64) -> String {
    format!(
        "the connections to all Git servers exceed their common limit of memory ({} MiB), and this one uses the most",
        memory >> 20
    )
}

/// Starts the process, and reads what it writes on a thread of its own.
fn start(program: &PathBuf) -> io::Result<(Child, Receiver<Vec<u8>>)> {
    let (output, writer) = io::pipe()?;
    let mut command = command(program);
    command.stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
    let child = command.spawn()?;
    Ok((child, listen(output)))
}

/// Returns the command of the process.
fn command(program: &PathBuf) -> Command {
    let mut command = Command::new(program);
    command.arg(CONNECT);
    for variable in SECRET_VARIABLES {
        command.env_remove(variable);
    }
    // The allocator of the static binary would otherwise reserve more address space than the process may have.
    command.env("MIMALLOC_ARENA_RESERVE", "0");
    command
}

fn listen(output: PipeReader) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        // What was read before an error tells more than the error.
        let _ = output.take(MAX_ANSWER_BYTES).read_to_end(&mut text);
        let _ = sender.send(text);
    });
    receiver
}

/// Returns the error for a process that ended without an answer.
fn ended(clone: &BareRepository, status: ExitStatus, output: &[u8]) -> GitError {
    let text = String::from_utf8_lossy(output);
    if status.signal() == Some(ABORTED) && text.contains("memory allocation") {
        return message::exceeds_memory(clone);
    }
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text: String = text.chars().take(MAX_MESSAGE_CHARACTERS).collect();
    failed(clone, format!("the process of the connection ended ({status}) {text}").trim_end().to_owned())
}

fn failed(clone: &BareRepository, error: String) -> GitError {
    GitError::Failed { url: clone.url(), error }
}

#[cfg(test)]
mod tests;
