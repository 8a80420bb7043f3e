//! Fetches, from a server in a process of its own.

use super::clone::FIRST_BRANCH;
use super::error::found;
use super::transfer::{self, BRANCHES, RemoteRefs};
use super::{BareRepository, CommitId, GitError, Transport, child};

/// Prefix of the branches that stackflux pushes for pull requests.
const PULL_REQUESTS: &str = "stackflux/";

/// Reference to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The branch that the repository's `HEAD` names.
    Head,
    /// A branch, by name.
    Branch(String),
    /// A tag, by name.
    Tag(String),
    /// A commit that is reachable from a branch or tag.
    Commit(CommitId),
}

impl BareRepository {
    /// Fetches a branch, tag or commit. `None` if the repository does not have it.
    pub fn fetch(&self, reference: &Reference) -> Result<Option<CommitId>, GitError> {
        let (remote, local) = match reference {
            Reference::Head => ("HEAD".to_owned(), "refs/stackflux/HEAD".to_owned()),
            Reference::Branch(name) => (branch(name)?, format!("refs/remotes/origin/{name}")),
            Reference::Tag(name) => (named("refs/tags/", name)?, format!("refs/tags/{name}")),
            Reference::Commit(commit) => return self.fetch_commit(*commit),
        };
        self.fetch_named(&remote, &local).map(|(commit, _)| commit)
    }

    /// Fetches the branch that a change is made on. `None` if the repository is empty. If it has only other branches, this
    /// is an error: a branch created from nothing would share no history with them.
    pub fn fetch_to_change(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        let (commit, refs) = self.fetch_named(&branch(name)?, &format!("refs/remotes/origin/{name}"))?;
        let branches = refs.branches;
        if commit.is_none() && !branches.is_empty() {
            return Err(GitError::NoBranch { url: self.url(), branch: name.to_owned(), branches });
        }
        Ok(commit)
    }

    /// Returns the branch that the repository's `HEAD` names. If it names none that exists, returns the only branch, not
    /// counting those for pull requests; `main` if the repository is empty.
    pub fn default_branch(&self) -> Result<String, GitError> {
        let (_, refs) = self.fetch_named("HEAD", "refs/stackflux/HEAD")?;
        let branches = refs.branches;
        let mut others = branches.iter().filter(|branch| !branch.starts_with(PULL_REQUESTS));
        match (refs.head, others.next(), others.next()) {
            (Some(branch), ..) => Ok(branch),
            (None, Some(only), None) => Ok(only.clone()),
            (None, None, _) if branches.is_empty() => Ok(FIRST_BRANCH.to_owned()),
            _ => Err(GitError::NoHead { url: self.url(), branches }),
        }
    }

    /// Fetches a reference, and returns its commit and the references of the remote repository.
    fn fetch_named(&self, remote: &str, local: &str) -> Result<(Option<CommitId>, RemoteRefs), GitError> {
        let refs = self.receive(&[format!("+{remote}:{local}")], remote)?;
        let Some(id) = refs.commit else {
            self.forget(local)?;
            return Ok((None, refs));
        };
        let commit = self.repository.find_object(id.0, None)?.peel_to_commit()?;
        Ok((Some(CommitId(commit.id())), refs))
    }

    fn fetch_commit(&self, commit: CommitId) -> Result<Option<CommitId>, GitError> {
        if self.repository.find_commit(commit.0).is_err() {
            let all = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"];
            self.receive(&all.map(str::to_owned), "HEAD")?;
        }
        Ok(found(self.repository.find_commit(commit.0))?.map(|_| commit))
    }

    /// Fetches all tags, and returns their names.
    pub fn fetch_tags(&self) -> Result<Vec<String>, GitError> {
        self.receive(&["+refs/tags/*:refs/tags/*".to_owned()], "HEAD")?;
        let tags = self.repository.tag_names(None)?;
        Ok(tags.iter().flatten().flatten().map(str::to_owned).collect())
    }

    /// Fetches, and returns the references of the remote repository. A server is asked by a process of its own.
    fn receive(&self, refspecs: &[String], name: &str) -> Result<RemoteRefs, GitError> {
        match self.access.url.transport() {
            Transport::File => transfer::fetch(&self.repository, &self.access, &self.limits, refspecs, name),
            Transport::Https | Transport::Http | Transport::Ssh => child::fetch(self, refspecs, name),
        }
    }

    fn forget(&self, reference: &str) -> Result<(), GitError> {
        if let Some(mut reference) = found(self.repository.find_reference(reference))? {
            reference.delete()?;
        }
        Ok(())
    }
}

/// Returns the reference of a branch. Refuses a full reference name, which would become `refs/heads/refs/heads/…`.
pub(super) fn branch(name: &str) -> Result<String, GitError> {
    if name.starts_with("refs/") {
        return Err(GitError::Name(name.to_owned()));
    }
    named(BRANCHES, name)
}

fn named(above: &str, name: &str) -> Result<String, GitError> {
    let reference = format!("{above}{name}");
    // Git creates no branch or tag whose name could be taken for an option.
    if git2::Reference::is_valid_name(&reference) && !name.starts_with('-') {
        Ok(reference)
    } else {
        Err(GitError::Name(name.to_owned()))
    }
}
