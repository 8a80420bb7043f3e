//! Metadata of a commit: its author and committer, time and message.

use std::fmt;
use std::str::FromStr;

use git2::{Oid, Signature, Time};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::GitError;

macro_rules! object_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(super) Oid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

object_id! {
    /// The 40 hex digits of a commit.
    CommitId
}

object_id! {
    /// The 40 hex digits of a directory's content.
    TreeId
}

impl FromStr for CommitId {
    type Err = GitError;

    fn from_str(text: &str) -> Result<Self, GitError> {
        let id = (text.len() == 40).then(|| Oid::from_str(text).ok()).flatten();
        id.map(Self).ok_or_else(|| GitError::NoCommit(text.to_owned()))
    }
}

impl Serialize for CommitId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CommitId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// The author and committer of a commit, with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name, as Git shows it.
    pub name: String,
    /// The email address.
    pub email: String,
    /// The time of the commit, in UTC; Git keeps whole seconds.
    pub time: Timestamp,
}

/// The text is not `Name <email>`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid author {0:?}: expected Name <mail@example.org>")]
pub struct IdentityError(String);

impl Identity {
    /// Parses `Name <email>`.
    pub fn parse(text: &str, time: Timestamp) -> Result<Self, IdentityError> {
        let error = || IdentityError(text.to_owned());
        let (name, email) =
            text.trim().strip_suffix('>').and_then(|rest| rest.split_once('<')).ok_or_else(error)?;
        let (name, email) = (name.trim(), email.trim());
        let odd = |text: &str| {
            text.is_empty()
                || text.chars().any(|character| character.is_control() || "<>".contains(character))
        };
        if odd(name) || odd(email) || email.contains(' ') {
            return Err(error());
        }
        Ok(Self { name: name.to_owned(), email: email.to_owned(), time })
    }

    pub(super) fn signature(&self) -> Result<Signature<'static>, git2::Error> {
        Signature::new(&self.name, &self.email, &Time::new(self.time.as_second(), 0))
    }
}

/// A commit message: a subject, a body, and machine-readable trailers (`Key: value`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The first line.
    pub subject: String,
    /// The text below the subject; may be empty.
    pub body: String,
    /// Keys and values, in order.
    pub trailers: Vec<(String, String)>,
}

impl Message {
    /// Creates a message of one line.
    #[must_use]
    pub fn new(subject: impl Into<String>) -> Self {
        Self { subject: subject.into(), ..Self::default() }
    }

    /// Adds a trailer. Control characters in the value become spaces, so that no value can add another trailer.
    #[must_use]
    pub fn trailer(mut self, key: &str, value: &str) -> Self {
        self.trailers.push((key.to_owned(), one_line(value)));
        self
    }

    /// Parses a commit message. The last paragraph holds trailers if each of its lines is `Key: value`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.trim_end();
        let (subject, rest) = text.split_once('\n').unwrap_or((text, ""));
        let rest = rest.trim_matches('\n');
        let (body, last) = rest.rsplit_once("\n\n").unwrap_or(("", rest));
        let trailers: Option<Vec<(String, String)>> = last.lines().map(trailer).collect();
        let (body, trailers) = trailers.map_or_else(|| (rest, Vec::new()), |trailers| (body, trailers));
        Self { subject: subject.to_owned(), body: body.trim_end().to_owned(), trailers }
    }

    /// Returns the value of the first trailer with this key.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        self.trailers.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", one_line(&self.subject))?;
        if !self.body.is_empty() {
            writeln!(f, "\n{}", self.body.trim_end())?;
        }
        if !self.trailers.is_empty() {
            writeln!(f)?;
        }
        for (key, value) in &self.trailers {
            writeln!(f, "{key}: {value}")?;
        }
        Ok(())
    }
}

fn one_line(text: &str) -> String {
    text.split(char::is_control).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn trailer(line: &str) -> Option<(String, String)> {
    let (key, value) = line.split_once(": ")?;
    let of_a_key = |character: char| character.is_ascii_alphanumeric() || character == '-';
    (!key.is_empty() && key.chars().all(of_a_key)).then(|| (key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests;
