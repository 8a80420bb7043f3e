//! Fetches from and pushes to a remote repository with libgit2, in the process that calls.

use std::fs;
use std::panic::{self, AssertUnwindSafe};

use git2::{
    AutotagOption, ErrorCode, FetchOptions, ObjectType, Odb, Oid, PushOptions, RemoteHead, RemoteRedirect,
    Repository,
};
use serde::{Deserialize, Serialize};

use super::connection::Connection;
use super::{Access, CommitId, GitError, TransferLimits};
use crate::http::TransportError;
use crate::temporary::unless_missing;

/// Prefix of a branch's reference name.
pub(super) const BRANCHES: &str = "refs/heads/";

/// Maximum number of branches, and of characters of each name, that are kept to say which ones a repository has.
const MAX_BRANCHES: usize = 100;

/// Maximum size of a commit, tag or directory, in MiB: all of it is read into memory, where a directory takes several times
/// as much.
const MAX_READ_MIB: usize = 8;

/// Server messages that mean the branch has moved or is locked. Any other refusal is permanent.
const TOO_LATE: [&str; 7] = [
    "non-fast-forward",
    "fetch first",
    "failed to lock",
    "cannot lock ref",
    "reference already exists",
    // git-receive-pack, for a lock that another push holds, and for a branch that has moved.
    "failed to update ref",
    "incorrect old value",
];

/// What a fetch learns of the references of the remote repository.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct RemoteRefs {
    /// The object that the reference asked for names.
    pub(super) commit: Option<CommitId>,
    /// The branch that the remote `HEAD` names.
    pub(super) head: Option<String>,
    /// The first branches.
    pub(super) branches: Vec<String>,
}

/// The result of a push that the server did not refuse permanently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pushed {
    /// The branch is at the commit.
    Done,
    /// The branch has moved or is locked: fetch and start over. Has the server's text.
    Rejected(String),
}

/// Fetches, and returns what the remote repository has at the reference `name`.
pub(super) fn fetch(
    repository: &Repository,
    access: &Access,
    limits: &TransferLimits,
    refspecs: &[String],
    name: &str,
) -> Result<RemoteRefs, GitError> {
    let connection = Connection::new(access, limits)?;
    let mut remote = repository.remote_anonymous(&access.url.remote())?;
    let mut options = FetchOptions::new();
    options
        .remote_callbacks(connection.callbacks())
        .proxy_options(connection.proxy_options())
        .download_tags(AutotagOption::None)
        .update_fetchhead(false)
        .follow_redirects(RemoteRedirect::None);
    let fetched = remote.fetch(refspecs, Some(&mut options), None);
    // Also after an error, such as that of a reference that cannot be written: the objects may be there.
    if remote.stats().total_objects() > 0 {
        check_objects(repository, access)?;
    }
    fetched.map_err(|error| connection.error(&error))?;
    let head = match remote.default_branch() {
        // A name that is not UTF-8 counts as missing, so the caller has to name a branch.
        Ok(head) => head.as_str().ok().and_then(|head| head.strip_prefix(BRANCHES)).map(str::to_owned),
        Err(error) if error.code() == ErrorCode::NotFound => None,
        Err(error) => return Err(connection.error(&error)),
    };
    let mut refs = RemoteRefs { head, ..RemoteRefs::default() };
    for head in remote.list().map_err(|error| connection.error(&error))? {
        let Some(found) = name_of(head) else { continue };
        if found == name {
            refs.commit = Some(CommitId(head.oid()));
        }
        match found.strip_prefix(BRANCHES) {
            Some(branch) if refs.branches.len() < MAX_BRANCHES => {
                refs.branches.push(branch.chars().take(MAX_BRANCHES).collect());
            }
            _ => {}
        }
    }
    Ok(refs)
}

/// Refuses commits and directories that would fill the memory of who reads them. A clone that has one is not opened again:
/// without `HEAD` it is no repository, and is created again.
pub(super) fn check_objects(repository: &Repository, access: &Access) -> Result<(), GitError> {
    let database = repository.odb()?;
    let mut refused = None;
    let walked = database.foreach(|id| {
        refused = check_object(&database, *id, access).err();
        refused.is_none()
    });
    let Some(error) = refused.or_else(|| walked.err().map(GitError::from)) else { return Ok(()) };
    let head = repository.path().join("HEAD");
    unless_missing(fs::remove_file(&head)).map_err(GitError::io(&head))?;
    Err(error)
}

fn check_object(database: &Odb<'_>, id: Oid, access: &Access) -> Result<(), GitError> {
    let (size, kind) = database.read_header(id)?;
    if kind == ObjectType::Blob || size <= MAX_READ_MIB << 20 {
        return Ok(());
    }
    let kind = if kind == ObjectType::Tree { "directory" } else { kind.str() };
    let (place, most) = (format!("{}: {kind} {id}", access.url), MAX_READ_MIB as u64);
    Err(TransportError::TooLarge { place, most, unit: "MiB" }.into())
}

/// Returns the name of a reference; `None` if it is not UTF-8. git2 panics on such a name, and offers no other access to
/// it.
fn name_of(head: &RemoteHead<'_>) -> Option<String> {
    panic::catch_unwind(AssertUnwindSafe(|| head.name().to_owned())).ok()
}

/// Pushes a commit to a server if the branch is at `expected`.
pub(super) fn push(
    repository: &Repository,
    access: &Access,
    limits: &TransferLimits,
    (commit, reference): (CommitId, &str),
    expected: Option<CommitId>,
) -> Result<Pushed, GitError> {
    let connection = Connection::new(access, limits)?;
    let mut remote = repository.remote_anonymous(&access.url.remote())?;
    let (mut moved, mut rejected) = (false, None);
    let mut callbacks = connection.callbacks();
    callbacks.push_negotiation(|updates| {
        connection.ended_by(connection.check_limits(0))?;
        let is = updates.first().map(git2::PushUpdate::src).filter(|id| !id.is_zero()).map(CommitId);
        moved = expected != is;
        if moved { Err(git2::Error::from_str("the branch has moved")) } else { Ok(()) }
    });
    callbacks.push_update_reference(|_, status| {
        rejected = status.map(str::to_owned);
        Ok(())
    });
    let mut options = PushOptions::new();
    options
        .remote_callbacks(callbacks)
        .proxy_options(connection.proxy_options())
        .follow_redirects(RemoteRedirect::None);
    let result = remote.push(&[&format!("{}:{reference}", commit.0)], Some(&mut options));
    drop(options);
    match (result, rejected) {
        _ if moved => Ok(Pushed::Rejected("the branch has moved".to_owned())),
        (Err(error), _) if error.code() == ErrorCode::NotFastForward => {
            Ok(Pushed::Rejected(connection.presentable(error.message())))
        }
        (Err(error), _) => Err(connection.error(&error)),
        (Ok(()), Some(status)) => refused(access, &connection, reference, &status),
        (Ok(()), None) => Ok(Pushed::Done),
    }
}

fn refused(
    access: &Access,
    connection: &Connection<'_>,
    reference: &str,
    status: &str,
) -> Result<Pushed, GitError> {
    let status = connection.presentable(status);
    if TOO_LATE.iter().any(|late| status.contains(late)) {
        return Ok(Pushed::Rejected(status));
    }
    let server_message = connection.server_message();
    let server_message =
        if server_message.is_empty() { status } else { format!("{status}: {server_message}") };
    let branch = reference.strip_prefix(BRANCHES).unwrap_or(reference).to_owned();
    Err(GitError::Refused { url: access.url.to_string(), branch, server_message })
}
