//! Commits, and pushes them by compare-and-swap.

mod directory;

use git2::{Commit, ErrorCode, Oid, PushOptions, RemoteRedirect};

use super::connection::Connection;
use super::{BareRepository, CommitId, Edit, GitError, Identity, Signer, clone};

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

/// The result of a push that the server did not refuse permanently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The branch is at the commit.
    Done,
    /// The branch has moved or is locked: fetch and start over. Has the server's text.
    Rejected(String),
}

impl BareRepository {
    /// Creates a commit. `None` if the edit changes nothing.
    pub fn commit(
        &self,
        parent: Option<CommitId>,
        edit: &Edit,
        message: &str,
        identity: &Identity,
        signer: Option<&Signer>,
    ) -> Result<Option<CommitId>, GitError> {
        let before = parent.map(|parent| self.tree(parent)).transpose()?;
        let tree = edit.apply(&self.repository, before)?;
        let unchanged = match before {
            Some(before) => before == tree,
            None => self.repository.find_tree(tree)?.is_empty(),
        };
        if unchanged {
            return Ok(None);
        }
        let parents: Vec<CommitId> = parent.into_iter().collect();
        self.commit_tree(&parents, tree, message, identity, signer).map(Some)
    }

    pub(super) fn commit_tree(
        &self,
        parents: &[CommitId],
        tree: Oid,
        message: &str,
        identity: &Identity,
        signer: Option<&Signer>,
    ) -> Result<CommitId, GitError> {
        let repository = &self.repository;
        let parents: Result<Vec<Commit<'_>>, git2::Error> =
            parents.iter().map(|parent| repository.find_commit(parent.0)).collect();
        let parents = parents?;
        let parents: Vec<&Commit<'_>> = parents.iter().collect();
        let (tree, author) = (repository.find_tree(tree)?, identity.signature()?);
        let Some(signer) = signer else {
            return Ok(CommitId(repository.commit(None, &author, &author, message, &tree, &parents)?));
        };
        let content = repository.commit_create_buffer(&author, &author, message, &tree, &parents)?;
        let signature = signer.sign(&content)?;
        let content = String::from_utf8_lossy(&content);
        Ok(CommitId(repository.commit_signed(&content, &signature, None)?))
    }

    pub(super) fn tree(&self, commit: CommitId) -> Result<Oid, GitError> {
        Ok(self.repository.find_commit(commit.0)?.tree_id())
    }

    /// Moves a branch of the remote repository from `expected` (`None`: the branch must not exist) to a descendant commit.
    /// Never forces: if the branch is elsewhere, nothing changes.
    pub fn push(
        &self,
        commit: CommitId,
        branch: &str,
        expected: Option<CommitId>,
    ) -> Result<Pushed, GitError> {
        let reference = clone::branch(branch)?;
        let pushed = match self.access.url.directory() {
            Some(directory) => directory::push(&self.repository, directory, &reference, commit, expected)?,
            None => self.send(commit, &reference, expected)?,
        };
        if pushed == Pushed::Done {
            self.note(branch, commit)?;
        }
        Ok(pushed)
    }

    fn send(
        &self,
        commit: CommitId,
        reference: &str,
        expected: Option<CommitId>,
    ) -> Result<Pushed, GitError> {
        let connection = Connection::new(&self.access, &self.limits)?;
        let mut remote = self.repository.remote_anonymous(&self.access.url.remote())?;
        let (mut moved, mut rejected) = (false, None);
        let mut callbacks = connection.callbacks();
        callbacks.push_negotiation(|updates| {
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
            (Ok(()), Some(status)) => self.rejected(&connection, reference, &status),
            (Ok(()), None) => Ok(Pushed::Done),
        }
    }

    fn rejected(
        &self,
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
        let branch = reference.strip_prefix("refs/heads/").unwrap_or(reference).to_owned();
        Err(GitError::Refused { url: self.access.url.to_string(), branch, server_message })
    }
}
