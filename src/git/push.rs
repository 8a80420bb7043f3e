//! Commits, and pushes them by compare-and-swap.

mod directory;

use git2::{Commit, Oid};

use super::{BareRepository, CommitId, Edit, GitError, Identity, Pushed, Signer, child, fetch};

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
        let reference = fetch::branch(branch)?;
        let pushed = match self.access.url.directory() {
            Some(directory) => directory::push(&self.repository, directory, &reference, commit, expected)?,
            None => child::push(self, commit, &reference, expected)?,
        };
        if pushed == Pushed::Done {
            self.note(branch, commit)?;
        }
        Ok(pushed)
    }
}
