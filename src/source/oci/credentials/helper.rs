//! Runs credential helpers: `docker-credential-<name> get`, by
//! <https://github.com/docker/docker-credential-helpers>.

use std::io::{self, Read as _, Write as _};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use secrecy::SecretString;
use serde::Deserialize;
use tokio::task::spawn_blocking;

use super::{Credentials, secret};

/// Timeout of a helper, which may ask the user to unlock a key ring.
const HELPER_TIMEOUT: Duration = Duration::from_mins(1);
/// Pause between two checks of whether the helper has exited.
const PAUSE: Duration = Duration::from_millis(10);
/// Maximum size of a helper's output in bytes.
const MAX_ANSWER_BYTES: u64 = 64 << 10;

/// The output of a helper.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Found {
    username: String,
    #[serde(deserialize_with = "secret")]
    secret: Option<SecretString>,
}

/// Asks a helper; `None` if it does not know the registry. No error contains the helper's output.
pub(super) async fn get(name: String, server: String) -> Result<Option<Credentials>, String> {
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    if !name.chars().all(plain) || name.starts_with(['-', '.']) {
        return Err(format!(
            "invalid credential helper {name:?} in the docker config: a name has no slashes or blanks"
        ));
    }
    let program = format!("docker-credential-{name}");
    let called = program.clone();
    match spawn_blocking(move || run(&called, &server, HELPER_TIMEOUT)).await {
        Ok(answer) => answer.map_err(|error| format!("{program}: {error}")),
        Err(_) => Err(format!("{program} did not run to completion")),
    }
}

/// Runs a helper, and kills it if it does not exit within this time.
pub(in crate::source::oci) fn run(
    program: &str,
    server: &str,
    within: Duration,
) -> Result<Option<Credentials>, String> {
    let until = Instant::now() + within;
    let mut command = Command::new(program);
    command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("cannot be run: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A helper that does not read its input reports that by its status.
        let _ = stdin.write_all(server.as_bytes());
    }
    let output = child.stdout.take().map(listen);
    let output = output.and_then(|output| output.recv_timeout(within).ok());
    let status = end(&mut child, until)?;
    let output = output.ok_or("it ended, but a process that it started did not")?;
    let output = output.map_err(|error| format!("cannot be read: {error}"))?;
    if !status.success() {
        let unknown = String::from_utf8_lossy(&output).contains("credentials not found");
        return if unknown {
            Ok(None)
        } else {
            Err(format!("it failed ({status}): run it by hand to see why"))
        };
    }
    let found: Found =
        serde_json::from_slice(&output).map_err(|_| "invalid output for a credential helper")?;
    Ok(Some(match (found.username, found.secret) {
        (_, None) => Credentials::Anonymous,
        (user, Some(token)) if user == "<token>" => Credentials::IdentityToken(token),
        (user, Some(password)) => Credentials::Password { user, password },
    }))
}

/// Reads a helper's output on a thread of its own: a helper that hangs may keep its output open forever.
fn listen(stdout: ChildStdout) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut output = Vec::new();
        let read = stdout.take(MAX_ANSWER_BYTES).read_to_end(&mut output);
        // After a timeout, the receiver is gone.
        let _ = sender.send(read.map(|_| output));
    });
    receiver
}

/// Waits until a helper exits, and kills it after `until`.
fn end(child: &mut Child, until: Instant) -> Result<ExitStatus, String> {
    let failed = |error| format!("cannot be waited for: {error}");
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(status);
        }
        if Instant::now() >= until {
            child.kill().and_then(|()| child.wait()).map_err(failed)?;
            return Err("timed out, and was killed".to_owned());
        }
        thread::sleep(PAUSE);
    }
}
