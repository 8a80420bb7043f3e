//! Git over real transports: HTTP, HTTPS with a private authority and a password, SSH; and servers that misbehave.

mod faults;
mod transports;

use std::fs;
use std::sync::OnceLock;
use std::time::Duration;

use jiff::Timestamp;
use secrecy::SecretString;
use stackflux::git::{
    Access, BareRepository, CommitId, Credentials, Edit, GitError, Identity, KnownHosts, Proposal,
    PushUpdateError, ServerTimeouts, SshKey, Target, Updated, set_connection_program, set_server_timeouts,
    update,
};
use stackflux::http::TransportError;
use stackflux::release::File;
use stackflux_testbed::GuardedGitServer;

/// Texts that no error and no commit may show.
const SECRETS: [&str; 3] = ["correct-horse", "wrong-horse", "PRIVATE KEY"];

/// The server of all these tests, which needs no cluster; each test has repositories of its own.
fn server() -> &'static GuardedGitServer {
    static SERVER: OnceLock<GuardedGitServer> = OnceLock::new();
    SERVER.get_or_init(|| {
        be_impatient();
        GuardedGitServer::start().unwrap()
    })
}

/// How long servers may be silent: longer than an SSH server needs on a machine that does much else.
const SILENCE: Duration = Duration::from_secs(30);

/// The first connection of the process decides how long servers may be silent, and which program connects: every test that
/// may be first calls this.
pub(crate) fn be_impatient() {
    set_connection_program(env!("CARGO_BIN_EXE_stackflux").into());
    set_server_timeouts(Some(ServerTimeouts { connect: Duration::from_secs(5), silence: SILENCE }));
}

fn text(name: &str) -> String {
    fs::read_to_string(server().file(name)).unwrap()
}

fn password() -> Credentials {
    let https = Some(("ann".to_owned(), SecretString::from(text("password"))));
    Credentials { https, ca: Some(text("ca.crt").into()), ..Credentials::default() }
}

fn key() -> Credentials {
    let ssh = Some(SshKey::Key { key: SecretString::from(text("key")), passphrase: None });
    let known_hosts = Some(KnownHosts::new(text("known_hosts"), "known_hosts"));
    Credentials { ssh, known_hosts, ..Credentials::default() }
}

fn clone(url: &str, credentials: Credentials) -> BareRepository {
    BareRepository::temporary(Access { url: url.parse().unwrap(), credentials }).unwrap()
}

/// Writes a file to the branch `main`.
fn write(clone: &BareRepository, path: &str, text: &str) -> Result<Updated, GitError> {
    let target = Target { branch: "main".into(), push_to: None };
    let identity = Identity::parse("Test <test@localhost>", Timestamp::UNIX_EPOCH).unwrap();
    let mut edit = Edit::default();
    edit.write(path, File { content: text.into(), executable: false }).unwrap();
    let proposal = Proposal { edit, message: format!("write {path}\n"), identity };
    let updated = update(clone, &target, None, |_| Ok::<_, std::convert::Infallible>(Some(proposal.clone())));
    updated.map_err(|error| match error {
        PushUpdateError::Git(error) => error,
        other => panic!("{other}"),
    })
}

fn pushed(updated: Result<Updated, GitError>) -> CommitId {
    match updated.unwrap() {
        Updated::Pushed { commit, .. } => commit,
        other => panic!("{other:?}"),
    }
}

/// The error, which shows no secret in any of its forms.
fn refused(result: Result<Updated, GitError>) -> GitError {
    let error = result.unwrap_err();
    let shown = format!("{error} {error:?} {:?}", error.hint());
    for secret in SECRETS {
        assert!(!shown.contains(secret), "{shown}");
    }
    error
}
