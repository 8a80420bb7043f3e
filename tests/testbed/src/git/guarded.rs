//! A Git server with access control, without any cluster.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::GitServer;
use crate::building;
use crate::error::{Context as _, Error, Result};
use crate::paths;
use crate::ports::Ports;
use crate::probe;
use crate::process::Supervisor;

/// A Git server that stops when it is dropped: the same repositories over HTTP for any user, over HTTPS with the
/// password, and over SSH with the key.
pub struct GuardedGitServer {
    server: GitServer,
    root: PathBuf,
    directory: PathBuf,
    https: u16,
    ssh: u16,
    _supervisor: Supervisor,
}

impl GuardedGitServer {
    /// Starts a server.
    pub fn start() -> Result<Self> {
        let toolbox = building::ensure_built()?;
        let supervisor = Supervisor::new(&paths::run_of_component("git")?)?;
        let directory = supervisor.data().join("guard");
        make_credentials(&directory)?;
        let ports = Ports::of_this_process();
        let (https, ssh) = (ports.free()?, ports.free()?);
        let arguments = [
            format!("--guarded={}", directory.display()),
            format!("--https=127.0.0.1:{https}"),
            format!("--ssh=127.0.0.1:{ssh}"),
        ];
        let server = GitServer::start_with(&toolbox, &supervisor, ports, &arguments)?;
        if !probe::poll(Duration::from_secs(10), || Ok(probe::accepts(https) && probe::accepts(ssh)))? {
            return Err(Error::new("the Git server serves neither HTTPS nor SSH after 10 s"));
        }
        Ok(Self {
            server,
            root: supervisor.data().join("git"),
            directory,
            https,
            ssh,
            _supervisor: supervisor,
        })
    }

    /// The URL of a repository over HTTPS.
    #[must_use]
    pub fn https_url(&self, repository: &str) -> String {
        format!("https://127.0.0.1:{}/{repository}.git", self.https)
    }

    /// The URL of a repository over SSH.
    #[must_use]
    pub fn ssh_url(&self, repository: &str) -> String {
        format!("ssh://git@127.0.0.1:{}/{repository}.git", self.ssh)
    }

    /// `host:port` of the server without a password.
    #[must_use]
    pub fn address(&self) -> &str {
        self.server.url.strip_prefix("http://").unwrap_or_default()
    }

    /// The directory of a repository that was requested before.
    #[must_use]
    pub fn repository(&self, name: &str) -> PathBuf {
        self.root.join(format!("{name}.git"))
    }

    /// A file of the server: `password`, `key` (the private half of the accepted SSH key), `known_hosts` (its Ed25519
    /// and its ECDSA key), `ca.crt` (its certificate's authority, two steps up) or `other-ca.crt`.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

impl Deref for GuardedGitServer {
    type Target = GitServer;

    fn deref(&self) -> &GitServer {
        &self.server
    }
}

fn make_credentials(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).context(|| format!("cannot create {}", directory.display()))?;
    let password = directory.join("password");
    fs::write(&password, "correct-horse").context(|| format!("cannot write {}", password.display()))?;
    let key = directory.join("key");
    let mut command = Command::new("ssh-keygen");
    let output = command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).output();
    let output = output.context(|| "cannot run ssh-keygen: install openssh-client".to_owned())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(format!("ssh-keygen: {}", said.trim_end())));
    }
    let authorized = directory.join("authorized_key");
    fs::rename(key.with_extension("pub"), &authorized)
        .context(|| format!("cannot write {}", authorized.display()))
}
