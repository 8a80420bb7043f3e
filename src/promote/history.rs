//! What ran in a stage and when, read from the commits that changed its directory.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

use super::trailers as keys;

/// A commit that changed the directory of a stage, with what the directory had before and after: names to the ids of
/// Git's trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The commit.
    pub commit: String,
    /// When it was made.
    pub date: Timestamp,
    /// Who made it.
    pub author: String,
    /// The first line of its message.
    pub subject: String,
    /// The trailers of its message, then those of the commit that it merged, where it merged one.
    pub trailers: Vec<(String, String)>,
    /// The directory before.
    pub before: BTreeMap<String, String>,
    /// The directory after.
    pub after: BTreeMap<String, String>,
}

/// What one commit did to the releases of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// When it was made.
    pub date: Timestamp,
    /// The commit.
    pub commit: String,
    /// Who made it.
    pub author: String,
    /// How it came about.
    #[serde(flatten)]
    pub cause: Cause,
    /// The releases that came.
    pub added: Vec<String>,
    /// The releases that went.
    pub removed: Vec<String>,
    /// The releases that have other content than before, which never should be.
    pub altered: Vec<String>,
    /// The first line of its message.
    pub subject: String,
}

/// How a commit came about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "cause")]
pub enum Cause {
    /// `stackflux promote`.
    Promoted {
        /// The stage and the commit that the content comes from.
        from: String,
        /// What was known of the soak.
        #[serde(skip_serializing_if = "Option::is_none")]
        soak: Option<String>,
    },
    /// `stackflux rollback`.
    RolledBack,
    /// `stackflux publish`: where the release comes from.
    Published {
        /// The source with its digest or commit.
        source: String,
    },
    /// None of them: a person, or another program.
    Other,
}

/// What a commit did; `None` where it changed no release, such as one to a README.
///
/// `is_release` says which entries of the directory are releases.
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

/// Out of the trailers; where there are none, out of the subject, which is the title of a pull request, too: a forge that
/// squashes may keep nothing else.
fn cause(subject: &str, trailers: &[(String, String)]) -> Cause {
    let trailer = |name: &str| {
        let found = trailers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim().to_owned())
    };
    // First: the text of a rollback has a reason, in which anything may stand.
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
    /// In a few words.
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

/// `stage@<commit>` with the commit as people read it.
fn short(from: &str) -> String {
    match from.rsplit_once('@') {
        Some((stage, commit)) => format!("{stage}@{}", commit.get(..12).unwrap_or(commit)),
        None => from.to_owned(),
    }
}

#[cfg(test)]
mod tests;
