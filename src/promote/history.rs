//! The history of a stage's releases, read from the commits that changed its directory.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

use super::trailers as keys;

/// A commit that changed the directory of a stage, with the directory's entries before and after: names and Git tree
/// IDs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The ID of the commit.
    pub commit: String,
    /// The date of the commit.
    pub date: Timestamp,
    /// The author of the commit.
    pub author: String,
    /// The first line of the commit message.
    pub subject: String,
    /// The trailers of the commit message, then those of the merged commit, if it is a merge.
    pub trailers: Vec<(String, String)>,
    /// The directory before the commit.
    pub before: BTreeMap<String, String>,
    /// The directory after the commit.
    pub after: BTreeMap<String, String>,
}

/// The changes that one commit made to the releases of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The date of the commit.
    pub date: Timestamp,
    /// The ID of the commit.
    pub commit: String,
    /// The author of the commit.
    pub author: String,
    /// The cause of the commit.
    #[serde(flatten)]
    pub cause: Cause,
    /// The releases that the commit added.
    pub added: Vec<String>,
    /// The releases that the commit removed.
    pub removed: Vec<String>,
    /// The releases whose content the commit changed, which should never happen.
    pub altered: Vec<String>,
    /// The first line of the commit message.
    pub subject: String,
}

/// The cause of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "cause")]
pub enum Cause {
    /// A promotion by `stackflux promote`.
    Promoted {
        /// The source stage, and its commit that the content comes from.
        from: String,
        /// The result of the soak check.
        #[serde(skip_serializing_if = "Option::is_none")]
        soak: Option<String>,
    },
    /// A rollback by `stackflux rollback`.
    RolledBack,
    /// A publication by `stackflux publish`.
    Published {
        /// The source of the release, with its digest or commit.
        source: String,
    },
    /// None of these: a person, or another program.
    Other,
}

/// Returns the changes that a commit made; `None` if it changed no release, but for example a README.
///
/// `is_release` decides which entries of the directory are releases.
#[must_use]
pub fn entry(change: &Change, is_release: impl Fn(&str) -> bool) -> Option<Entry> {
    let (before, after) = (&change.before, &change.after);
    let names: BTreeSet<&String> =
        before.keys().chain(after.keys()).filter(|name| is_release(name)).collect();
    let of = |wanted: fn(Option<&String>, Option<&String>) -> bool| {
        let found = names.iter().filter(|name| wanted(before.get(**name), after.get(**name)));
        found.map(ToString::to_string).collect::<Vec<_>>()
    };
    let added = of(|before, after| before.is_none() && after.is_some());
    let removed = of(|before, after| before.is_some() && after.is_none());
    let altered = of(|before, after| before.is_some() && after.is_some() && before != after);
    if added.is_empty() && removed.is_empty() && altered.is_empty() {
        return None;
    }
    Some(Entry {
        date: change.date,
        commit: change.commit.clone(),
        author: change.author.clone(),
        subject: change.subject.clone(),
        cause: cause(&change.subject, &change.trailers),
        added,
        removed,
        altered,
    })
}

/// Reads the cause from the trailers. Without trailers, reads it from the subject, which is also the title of a pull
/// request: a forge that squashes may keep nothing else.
fn cause(subject: &str, trailers: &[(String, String)]) -> Cause {
    let trailer = |name: &str| {
        let found = trailers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim().to_owned())
    };
    // Checked first: the reason in a rollback's message may contain anything.
    if trailer(keys::ROLLBACK).is_some() {
        return Cause::RolledBack;
    }
    if trailer(keys::PROMOTE).is_some() {
        let from = trailer(keys::FROM).unwrap_or_default();
        return Cause::Promoted { from, soak: trailer(keys::SOAK) };
    }
    if let Some(source) = trailer(keys::SOURCE) {
        return Cause::Published { source };
    }
    let words: Vec<&str> = subject.split_whitespace().collect();
    match words.as_slice() {
        ["Promote", _, "from", from, "to", ..] => Cause::Promoted { from: (*from).to_owned(), soak: None },
        ["Roll", _, "back", "from", ..] => Cause::RolledBack,
        _ => Cause::Other,
    }
}

impl Cause {
    /// Describes the cause in a few words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Promoted { from, .. } => format!("promoted from {}", short(from)),
            Self::RolledBack => "rolled back".to_owned(),
            Self::Published { source } => format!("published from {source}"),
            Self::Other => "by hand".to_owned(),
        }
    }
}

/// Shortens the commit in `stage@<commit>`.
fn short(from: &str) -> String {
    match from.rsplit_once('@') {
        Some((stage, commit)) => format!("{stage}@{}", commit.get(..12).unwrap_or(commit)),
        None => from.to_owned(),
    }
}

#[cfg(test)]
mod tests;
