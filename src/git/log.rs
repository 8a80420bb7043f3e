//! What changed a path, and when.

use std::path::Path;

use git2::{Commit, ErrorCode, Oid};
use jiff::Timestamp;

use super::{BareRepository, CommitId, GitError, Message};

/// A commit that changed a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The commit.
    pub commit: CommitId,
    /// The author, as `Name <email>`.
    pub author: String,
    /// When it was committed.
    pub time: Timestamp,
    /// Its message.
    pub message: Message,
    /// Of a merge, the message of what it merged: a forge writes its own into the merge of a pull request.
    pub merged: Option<Message>,
}

impl BareRepository {
    /// The commits on the first-parent line from `from` that changed what is at the path (the empty one: anything), the
    /// newest first, at most `most`.
    pub fn log(&self, from: CommitId, path: &str, most: usize) -> Result<Vec<LogEntry>, GitError> {
        if !path.is_empty() {
            crate::release::files::check_path(path).map_err(GitError::path(path))?;
        }
        let mut found = Vec::new();
        let mut next = Some(self.repository.find_commit(from.0)?);
        while let Some(commit) = next {
            if found.len() >= most {
                break;
            }
            let parent = match commit.parent(0) {
                Ok(parent) => Some(parent),
                Err(error) if error.code() == ErrorCode::NotFound => None,
                Err(error) => return Err(error.into()),
            };
            let before = parent.as_ref().map(|parent| content(parent, path)).transpose()?.flatten();
            if content(&commit, path)? != before {
                found.push(entry(&commit));
            }
            next = parent;
        }
        Ok(found)
    }
}

fn content(commit: &Commit<'_>, path: &str) -> Result<Option<Oid>, GitError> {
    let tree = commit.tree()?;
    if path.is_empty() {
        return Ok(Some(tree.id()));
    }
    match tree.get_path(Path::new(path)) {
        Ok(entry) => Ok(Some(entry.id())),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn entry(commit: &Commit<'_>) -> LogEntry {
    let author = commit.author();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    LogEntry {
        commit: CommitId(commit.id()),
        author: format!("{} <{}>", text(author.name_bytes()), text(author.email_bytes())),
        time: Timestamp::from_second(commit.time().seconds()).unwrap_or_default(),
        message: Message::parse(&text(commit.message_bytes())),
        merged: commit.parent(1).ok().map(|merged| Message::parse(&text(merged.message_bytes()))),
    }
}

#[cfg(test)]
mod tests;
