//! The process of one connection: reads what to do, limits itself, does it, and writes the result.

use std::any::Any;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;

use git2::{Config, Repository};

use super::super::connection::{self, memory};
use super::super::{Access, GitError, TransferLimits, transfer};
use super::message::{Answer, Failure, Request, Work};
use crate::temporary::unless_missing;

/// Directory in the repository that is the home directory of the process.
const HOME: &str = "stackflux-home";

/// Serves one connection: the request on standard input, the answer on standard output.
#[must_use]
pub fn serve() -> ExitCode {
    // A panic is in the answer.
    panic::set_hook(Box::new(|_| {}));
    let mut text = String::new();
    let request = io::stdin().read_to_string(&mut text).map_err(|error| error.to_string());
    let request = request.and_then(|_| {
        serde_json::from_str::<Request<'_>>(&text).map_err(|_| "it is for stackflux itself".to_owned())
    });
    let answer = request.map_err(Failure::Other).and_then(|request| {
        end_with(request.parent).map_err(|error| Failure::Other(error.to_string()))?;
        let done = panic::catch_unwind(AssertUnwindSafe(|| work(request).map_err(Failure::from)));
        done.unwrap_or_else(|panic| Err(Failure::Other(format!("a defect: {}", said(&*panic)))))
    });
    let written = serde_json::to_string(&answer).map_err(io::Error::from);
    match written.and_then(|text| writeln!(io::stdout(), "{text}")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Has the system end this process with the one that waits for it.
fn end_with(parent: u32) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // It may have ended before.
    if std::os::unix::process::parent_id() == parent {
        Ok(())
    } else {
        Err(io::Error::other("the process that waits for this connection has ended"))
    }
}

fn work(request: Request<'_>) -> Result<Answer, GitError> {
    let (access, limits) = (request.access()?, request.limits());
    let repository = Repository::open_bare(Path::new(&request.repository))?;
    repository.set_config(&Config::new()?)?;
    let home = repository.path().join(HOME);
    prepare_home(&home, &access).map_err(GitError::io(&home))?;
    connection::set_for_one(request.timeouts(), home);
    memory::begin(request.memory).map_err(GitError::io("the limit of memory"))?;
    transfer(&repository, &access, &limits, request.work)
}

fn transfer(
    repository: &Repository,
    access: &Access,
    limits: &TransferLimits,
    work: Work,
) -> Result<Answer, GitError> {
    match work {
        Work::Fetch { refspecs, name } => {
            transfer::fetch(repository, access, limits, &refspecs, &name).map(Answer::Fetched)
        }
        Work::Push { commit, reference, expected } => {
            let pushed = transfer::push(repository, access, limits, (commit, &reference), expected);
            pushed.map(Answer::Pushed)
        }
    }
}

/// Makes a home directory that has the known host keys, where libgit2 looks for the kinds of key to ask a host for.
fn prepare_home(home: &Path, access: &Access) -> io::Result<()> {
    unless_missing(fs::remove_dir_all(home))?;
    let known_hosts = connection::kinds_of_host_key(access);
    if known_hosts.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(home.join(".ssh"))?;
    fs::write(home.join(".ssh/known_hosts"), known_hosts)
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
