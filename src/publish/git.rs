//! Publishes to a branch of a Git repository: one commit for each release.

use std::collections::BTreeSet;

use super::existing::ignore_files;
use super::held::{self, held};
use super::{Existing, Prepared, PublishError, Published, message};
use crate::git::{
    BareRepository, CommitId, Edit, EntryKind, GitError, Identity, Message, Proposal, PushUpdateError,
    Reference, Signer, Snapshot, Target, Updated, update,
};
use crate::names::ReleaseName;
use crate::release::Limits;
use crate::release::files::join;
use crate::source::origin::Listing;

/// A branch that has, or will have, the directory of the releases.
pub struct GitTarget {
    /// The repository to fetch from and push to.
    pub clone: BareRepository,
    /// The branch.
    pub branch: String,
    /// Directory of the releases, without enclosing `/`; empty for the root.
    pub directory: String,
}

/// Options for committing a release.
#[derive(Clone, Debug)]
pub struct Committing {
    /// The author and committer.
    pub identity: Identity,
    /// The key to sign commits with.
    pub signer: Option<Signer>,
    /// Whether to push to a separate branch, whose name is the same for the same release.
    pub pull_request: bool,
}

/// A commit that was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The commit.
    pub commit: CommitId,
    /// The branch that has the commit.
    pub branch: String,
    /// The commit message.
    pub message: Message,
}

impl GitTarget {
    /// Commits a release and pushes it.
    pub fn publish(
        &self,
        prepared: &Prepared,
        vendoring: bool,
        how: &Committing,
    ) -> Result<Published<Committed>, PublishError> {
        let (edit, message) = (self.edit(prepared, |_| true)?, message::message(prepared));
        let push_to = if how.pull_request { Some(self.own_branch(prepared)?) } else { None };
        let target = Target { branch: self.branch.clone(), push_to };
        let updated = update(&self.clone, &target, how.signer.as_ref(), |snapshot| {
            if !self.existing_in(snapshot, prepared.name())?.needs(prepared, vendoring)? {
                return Ok(None);
            }
            let (edit, message, identity) = (edit.clone(), message.to_string(), how.identity.clone());
            Ok(Some(Proposal { edit, message, identity }))
        });
        let branch = target.push_to.unwrap_or(target.branch);
        match updated {
            Ok(Updated::Nothing) => Ok(Published::Unchanged),
            Ok(Updated::Present(commit) | Updated::Pushed { commit, .. }) => {
                Ok(Published::Written(Committed { commit, branch, message }))
            }
            Err(PushUpdateError::Occupied { .. }) => {
                let proposed = self.proposed(prepared, vendoring, &branch)?;
                let occupied =
                    || PushUpdateError::Occupied { url: self.clone.access().url.to_string(), branch };
                Ok(Published::Written(proposed.ok_or_else(occupied)?))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the tip of a pull request's branch, if it has the release, possibly with other versions of its charts.
    fn proposed(
        &self,
        prepared: &Prepared,
        vendoring: bool,
        branch: &str,
    ) -> Result<Option<Committed>, PublishError> {
        let Some(tip) = self.clone.fetch(&Reference::Branch(branch.to_owned()))? else { return Ok(None) };
        let existing = self.existing_in(&self.clone.snapshot(Some(tip))?, prepared.name())?;
        if !existing.has(prepared, vendoring) {
            return Ok(None);
        }
        let log = self.clone.log(tip, &join(&self.directory, &prepared.name().to_string()), 1)?;
        let committed = log.into_iter().next();
        Ok(committed.map(|entry| Committed {
            commit: tip,
            branch: branch.to_owned(),
            message: entry.message,
        }))
    }

    /// Returns the branch of a release's pull request, which does not depend on the fetched versions of its charts.
    fn own_branch(&self, prepared: &Prepared) -> Result<String, GitError> {
        let fetched = prepared.fetched();
        let edit = self.edit(prepared, |path| !fetched.contains(path))?;
        let digest = edit.digest().short();
        Ok(format!("stackflux/publish-{}-{}", prepared.name(), digest.get(..8).unwrap_or_default()))
    }

    /// Returns the existing releases.
    pub fn names(&self) -> Result<BTreeSet<ReleaseName>, PublishError> {
        let entries = self.snapshot()?.entries(&self.directory)?;
        let directories = entries.iter().filter(|entry| entry.kind == EntryKind::Directory);
        Ok(Listing::of(directories.map(|entry| &entry.name)).releases)
    }

    /// Returns what the stack repository has for a release.
    pub fn existing(&self, name: &ReleaseName) -> Result<Existing, PublishError> {
        self.existing_in(&self.snapshot()?, name)
    }

    fn snapshot(&self) -> Result<Snapshot<'_>, GitError> {
        let commit = self.clone.fetch_to_change(&self.branch)?;
        self.clone.snapshot(commit)
    }

    fn existing_in(&self, snapshot: &Snapshot<'_>, name: &ReleaseName) -> Result<Existing, PublishError> {
        let place = format!("{} (branch {})", self.clone.access().url, self.branch);
        let here =
            held::HoldScope { repository: &place, branch: Some(&self.branch), directory: &self.directory };
        let read =
            |path: &str| -> Result<_, PublishError> { Ok(snapshot.file(path)?.map(|file| file.content)) };
        let held = held(name, &here, read)?;
        let name = name.to_string();
        let there = snapshot.entries(&self.directory)?.into_iter().find(|entry| entry.name == name);
        let release = match there.map(|entry| entry.kind) {
            None => None,
            Some(EntryKind::Directory) => {
                let files = snapshot.files(&join(&self.directory, &name), &Limits::default())?;
                let files = files.without_ignored();
                Some(files.map_err(|finding| PublishError::Place {
                    place: place.clone(),
                    why: finding.to_string(),
                })?)
            }
            Some(_) => {
                let why = format!("{} exists and is not a directory", join(&self.directory, &name));
                return Err(PublishError::Place { place, why });
            }
        };
        let ignore_files = ignore_files(&self.directory, read)?;
        Ok(Existing { place, directory: self.directory.clone(), release, ignore_files, held })
    }

    /// Returns the edit that writes the selected files of the release.
    fn edit(&self, prepared: &Prepared, is_written: impl Fn(&str) -> bool) -> Result<Edit, GitError> {
        let mut edit = Edit::default();
        let directory = join(&self.directory, &prepared.name().to_string());
        for (path, file) in prepared.files.iter().filter(|(path, _)| is_written(path)) {
            edit.write(&format!("{directory}/{path}"), file.clone())?;
        }
        Ok(edit)
    }
}

impl From<PushUpdateError<PublishError>> for PublishError {
    fn from(error: PushUpdateError<PublishError>) -> Self {
        match error {
            PushUpdateError::Change(error) => error,
            error => Self::NotPushed(Box::new(error)),
        }
    }
}

#[cfg(test)]
mod tests;
