//! A stack repository that is a branch of a Git repository: one commit for each release.

use super::{Existing, Prepared, PublishError, Published, message};
use crate::git::{
    Clone, Edit, EntryKind, GitError, Identity, Proposal, Reference, Signer, Snapshot, Target, UpdateError,
    Updated, update,
};
use crate::names::ReleaseName;
use crate::release::Limits;
use crate::release::ignore::IGNORE_FILE;

/// A branch that has, or will have, the directory of the releases.
pub struct GitTarget<'a> {
    /// What is fetched from and pushed to.
    pub clone: &'a Clone,
    /// The branch.
    pub branch: &'a str,
    /// The directory of the releases, without `/` at its ends; empty for the top.
    pub directory: &'a str,
    /// Who commits.
    pub identity: &'a Identity,
    /// The key that commits are signed with.
    pub signer: Option<&'a Signer>,
}

/// What was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// What came of it.
    pub updated: Updated,
    /// The branch that has it.
    pub branch: String,
}

impl GitTarget<'_> {
    /// Writes a release as a commit and pushes it; with `pull_request` to a branch of its own, which is the same for
    /// the same release.
    pub fn publish(
        &self,
        prepared: &Prepared,
        vendoring: bool,
        pull_request: bool,
    ) -> Result<Published<Committed>, PublishError> {
        let (edit, message) = (self.edit(prepared)?, message::message(prepared).to_string());
        let push_to = pull_request.then(|| branch_of(prepared.name(), &edit));
        let target = Target { branch: self.branch.to_owned(), push_to };
        let updated = update(self.clone, &target, self.signer, |snapshot| {
            if !self.existing_in(snapshot, prepared.name())?.needs(prepared, vendoring)? {
                return Ok(None);
            }
            let (edit, message, identity) = (edit.clone(), message.clone(), self.identity.clone());
            Ok(Some(Proposal { edit, message, identity }))
        })?;
        let branch = target.push_to.unwrap_or(target.branch);
        Ok(match updated {
            Updated::Nothing => Published::Unchanged,
            updated => Published::Written(Committed { updated, branch }),
        })
    }

    /// What is there already.
    pub fn existing(&self, name: &ReleaseName) -> Result<Existing, PublishError> {
        let commit = self.clone.fetch(&Reference::Branch(self.branch.to_owned()))?;
        self.existing_in(&self.clone.snapshot(commit)?, name)
    }

    fn existing_in(&self, snapshot: &Snapshot<'_>, name: &ReleaseName) -> Result<Existing, PublishError> {
        let place = format!("{} (branch {})", self.clone.access().url, self.branch);
        let name = name.to_string();
        let there = snapshot.entries(self.directory)?.into_iter().find(|entry| entry.name == name);
        let release = match there.map(|entry| entry.kind) {
            None => None,
            Some(EntryKind::Directory) => {
                let files = snapshot.files(&self.below(&name), &Limits::default())?;
                let files = files.without_ignored();
                Some(files.map_err(|finding| PublishError::Place {
                    place: place.clone(),
                    why: finding.to_string(),
                })?)
            }
            Some(_) => {
                let why = format!("{} is there, and is no directory", self.below(&name));
                return Err(PublishError::Place { place, why });
            }
        };
        let ignore_files = ignore_files(snapshot, self.directory)?;
        Ok(Existing { place, directory: self.directory.to_owned(), release, ignore_files })
    }

    fn edit(&self, prepared: &Prepared) -> Result<Edit, GitError> {
        let mut edit = Edit::default();
        let directory = self.below(&prepared.name().to_string());
        for (path, file) in prepared.files.iter() {
            edit.write(&format!("{directory}/{path}"), file.clone())?;
        }
        Ok(edit)
    }

    fn below(&self, name: &str) -> String {
        if self.directory.is_empty() { name.to_owned() } else { format!("{}/{name}", self.directory) }
    }
}

/// The branch of the pull request for a release.
fn branch_of(name: &ReleaseName, edit: &Edit) -> String {
    format!("stackflux/publish-{name}-{}", edit.digest().short().get(..8).unwrap_or_default())
}

/// The `.sourceignore` files of the top and of each directory down to this one.
fn ignore_files(snapshot: &Snapshot<'_>, directory: &str) -> Result<Vec<(String, String)>, GitError> {
    let below = directory.match_indices('/').filter_map(|(at, _)| directory.get(..at));
    let all = std::iter::once("").chain(below).chain((!directory.is_empty()).then_some(directory));
    let mut found = Vec::new();
    for directory in all {
        let path = format!("{directory}/{IGNORE_FILE}");
        if let Some(file) = snapshot.file(path.trim_start_matches('/'))? {
            found.push((directory.to_owned(), String::from_utf8_lossy(&file.content).into_owned()));
        }
    }
    Ok(found)
}

impl From<UpdateError<PublishError>> for PublishError {
    fn from(error: UpdateError<PublishError>) -> Self {
        match error {
            UpdateError::Change(error) => error,
            error => Self::NotPushed(Box::new(error)),
        }
    }
}

#[cfg(test)]
mod tests;
