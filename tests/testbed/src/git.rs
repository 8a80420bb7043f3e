//! The Git server of the testbed, and pushing to it.

mod guarded;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

use crate::control_plane::Site;
use crate::error::{Context as _, Error, Result};
use crate::ports::Ports;
use crate::probe;
use crate::process::Supervisor;
use crate::tools::Toolbox;

pub use guarded::GuardedGitServer;

/// A Git server on loopback: every repository is created at its first request, and any user may push.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct GitServer {
    url: String,
    scratch: PathBuf,
}

/// Distinguishes the pushes of one process.
static PUSHES: AtomicU32 = AtomicU32::new(0);

impl GitServer {
    pub(crate) fn start(site: &Site<'_>) -> Result<Self> {
        Self::start_with(site.toolbox, site.supervisor, site.ports, &[])
    }

    fn start_with(
        toolbox: &Toolbox,
        supervisor: &Supervisor,
        ports: &Ports,
        arguments: &[String],
    ) -> Result<Self> {
        let data = supervisor.data();
        let (root, scratch) = (data.join("git"), data.join("git-scratch"));
        for directory in [&root, &scratch] {
            fs::create_dir_all(directory).context(|| format!("cannot create {}", directory.display()))?;
        }
        let port = ports.free()?;
        let mut command = Command::new(toolbox.program("git-server")?);
        command.arg(format!("--root={}", root.display())).arg(format!("--listen=127.0.0.1:{port}"));
        command.args(arguments);
        let process = supervisor.start("git-server", command)?;
        supervisor.wait(&process, move || probe::answers(port, "/healthz"))?;
        Ok(Self { url: format!("http://127.0.0.1:{port}"), scratch })
    }

    /// The URL of a repository: lower-case letters, digits, `-`, `_` and `.` in its name, without `.git`.
    #[must_use]
    pub fn url(&self, repository: &str) -> String {
        format!("{}/{repository}.git", self.url)
    }

    /// Makes a branch hold exactly the content of a directory, in one commit on top of its history, including the files
    /// that a `.gitignore` in it names. Returns the commit's hash.
    pub fn push_directory(
        &self,
        repository: &str,
        branch: &str,
        directory: &Path,
        message: &str,
    ) -> Result<String> {
        let number = PUSHES.fetch_add(1, Ordering::Relaxed);
        let git_directory = self.scratch.join(format!("{}-{number}", std::process::id()));
        let git = Git { git_directory: &git_directory, work_tree: directory };
        let reference = format!("refs/heads/{branch}");
        let url = self.url(repository);
        git.run(&["init", "--quiet"])?;
        git.run(&["add", "--all", "--force", "."])?;
        let tree = git.run(&["write-tree"])?;
        let parent = if git.run(&["ls-remote", &url, &reference])?.is_empty() {
            None
        } else {
            git.run(&["fetch", "--quiet", "--depth=1", &url, &reference])?;
            Some(git.run(&["rev-parse", "FETCH_HEAD"])?)
        };
        let mut commit = vec!["commit-tree", &tree, "-m", message];
        if let Some(parent) = &parent {
            commit.extend(["-p", parent]);
        }
        let commit = git.run(&commit)?;
        git.run(&["push", "--quiet", &url, &format!("{commit}:{reference}")])?;
        fs::remove_dir_all(&git_directory)
            .context(|| format!("cannot remove {}", git_directory.display()))?;
        Ok(commit)
    }
}

/// Git with a work tree that has no repository of its own, without this machine's settings.
struct Git<'a> {
    git_directory: &'a Path,
    work_tree: &'a Path,
}

impl Git<'_> {
    fn run(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new("git");
        command
            .args(arguments)
            .current_dir(self.work_tree)
            .envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")])
            .envs([("GIT_AUTHOR_NAME", "testbed"), ("GIT_AUTHOR_EMAIL", "testbed@localhost")])
            .envs([("GIT_COMMITTER_NAME", "testbed"), ("GIT_COMMITTER_EMAIL", "testbed@localhost")])
            .env("GIT_DIR", self.git_directory)
            .env("GIT_WORK_TREE", self.work_tree)
            .env("NO_PROXY", "127.0.0.1");
        let output = command.output().context(|| "cannot run git".to_owned())?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        } else {
            let errors = String::from_utf8_lossy(&output.stderr);
            Err(Error::new(format!("git {}: {}", arguments.join(" "), errors.trim_end())))
        }
    }
}
