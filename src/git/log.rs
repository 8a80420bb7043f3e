//! History of a path.

use std::path::Path;

use git2::{Commit, Oid};
use jiff::Timestamp;

use super::error::found;
use super::{BareRepository, CommitId, GitError, Message};
use crate::release::files::check_path;

/// A commit that changed a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The commit.
    pub commit: CommitId,
    /// The author, as `Name <email>`.
    pub author: String,
    /// Time of the commit.
    pub time: Timestamp,
    /// The commit message.
    pub message: Message,
    /// For a merge, the message of the merged commit: a forge writes its own message into the merge of a pull request.
    pub merged: Option<Message>,
}

impl BareRepository {
    /// Returns the commits on the first-parent line from `from` that changed the path (empty: any path), newest first, at
    /// most `most`.
    pub fn log(&self, from: CommitId, path: &str, most: usize) -> Result<Vec<LogEntry>, GitError> {
        if !path.is_empty() {
            check_path(path).map_err(GitError::path(path))?;
        }
        let mut entries = Vec::new();
        let mut next = Some(self.repository.find_commit(from.0)?);
        while let Some(commit) = next {
            if entries.len() >= most {
                break;
            }
            let parent = found(commit.parent(0))?;
            let before = parent.as_ref().map(|parent| content(parent, path)).transpose()?.flatten();
            if content(&commit, path)? != before {
                entries.push(entry(&commit));
            }
            next = parent;
        }
        Ok(entries)
    }
}

fn content(commit: &Commit<'_>, path: &str) -> Result<Option<Oid>, GitError> {
    let tree = commit.tree()?;
    if path.is_empty() {
        return Ok(Some(tree.id()));
    }
    Ok(found(tree.get_path(Path::new(path)))?.map(|entry| entry.id()))
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
mod tests {
    use super::*;
    use crate::git::tests::{bare, clone, edit, identity};

    #[test]
    fn commits_of_a_path_are_listed_newest_first() {
        let (_directory, remote) = bare();
        let clone = clone(&remote);
        let mut tip = None;
        for (second, path) in ["prod/a", "stage/a", "prod/b", "stage/a", "prod/b"].into_iter().enumerate() {
            let second = i64::try_from(second).unwrap();
            let message = Message::new(format!("change {second}")).trailer("Release", "x").to_string();
            tip = clone
                .commit(tip, &edit(&[(path, &second.to_string())]), &message, &identity(second), None)
                .unwrap();
        }
        let tip = tip.unwrap();
        let seconds = |path: &str, most| {
            let log = clone.log(tip, path, most).unwrap();
            log.iter().map(|entry| entry.time.as_second()).collect::<Vec<_>>()
        };
        assert_eq!(seconds("prod", 10), [4, 2, 0]);
        assert_eq!(seconds("stage/a", 10), [3, 1]);
        assert_eq!(seconds("", 10), [4, 3, 2, 1, 0]);
        assert_eq!(seconds("", 2), [4, 3]);
        assert!(seconds("missing", 10).is_empty());
        let newest = clone.log(tip, "prod", 1).unwrap().remove(0);
        assert_eq!(newest.author, "Ann Example <ann@example.org>");
        assert_eq!(newest.message.subject, "change 4");
        assert_eq!(newest.message.value("Release"), Some("x"));
        assert!(clone.is_ancestor(newest.commit, tip).unwrap());
    }
}
