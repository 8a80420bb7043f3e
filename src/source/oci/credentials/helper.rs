//! Programs that keep credentials: `docker-credential-<name> get`, as
//! <https://github.com/docker/docker-credential-helpers> says.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::{Credentials, secret};

/// How long a helper may take. It may ask a person for the key of a key ring.
const LONGEST: Duration = Duration::from_mins(1);
/// The most bytes that it may say.
const MOST: u64 = 64 << 10;

/// What a helper answers.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Found {
    username: String,
    #[serde(deserialize_with = "secret")]
    secret: Option<SecretString>,
}

/// Asks a helper; `None` where it knows nothing of the registry. An error never has what the helper said.
pub(super) async fn get(name: String, server: String) -> Result<Option<Credentials>, String> {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.');
    if !name.chars().all(plain) || name.starts_with(['-', '.']) {
        return Err(format!(
            "{name:?} in the docker config is no name of a credential helper: no slashes or blanks"
        ));
    }
    let program = format!("docker-credential-{name}");
    let called = program.clone();
    match timeout(LONGEST, spawn_blocking(move || run(&called, &server))).await {
        Ok(Ok(answer)) => answer.map_err(|error| format!("{program}: {error}")),
        Ok(Err(_)) => Err(format!("{program} was not run to its end")),
        Err(_) => Err(format!("{program} did not answer within {} s", LONGEST.as_secs())),
    }
}

pub(in crate::source::oci) fn run(program: &str, server: &str) -> Result<Option<Credentials>, String> {
    let mut command = Command::new(program);
    command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("cannot be run: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not read it says so by its status.
        let _ = stdin.write_all(server.as_bytes());
    }
    let mut said = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(MOST).read_to_end(&mut said).map_err(|error| format!("cannot be read: {error}"))?;
    }
    let status = child.wait().map_err(|error| format!("cannot be waited for: {error}"))?;
    if !status.success() {
        let unknown = String::from_utf8_lossy(&said).contains("credentials not found");
        return if unknown {
            Ok(None)
        } else {
            Err(format!("it failed ({status}): run it by hand to see why"))
        };
    }
    let found: Found =
        serde_json::from_slice(&said).map_err(|_| "its answer is not that of a credential helper")?;
    Ok(Some(match (found.username, found.secret) {
        (_, None) => Credentials::Anonymous,
        (user, Some(token)) if user == "<token>" => Credentials::IdentityToken(token),
        (user, Some(password)) => Credentials::Password { user, password },
    }))
}
