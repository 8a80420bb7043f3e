//! The result of a check.

use serde::Serialize;

use super::facts::Unread;
use crate::installation::rights::Right;
use crate::names::Key;

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// All is well.
    Ok,
    /// It works, but not as well as it could.
    Warning,
    /// It does not work, or does harm.
    Problem,
    /// It could not be checked.
    NotChecked,
}

/// Returns a text of an object as a word for a command, or a placeholder: an image or a flag is a foreign text, and a command is
/// copied into a shell.
#[must_use]
pub fn word(text: &str) -> &str {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._/:@=".contains(letter);
    if text.chars().all(is_plain) { text } else { "<not shown>" }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// The subject of the check.
    pub check: &'static str,
    /// What it found.
    pub outcome: Outcome,
    /// What is so, in one line.
    pub message: String,
    /// What to run, unless all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What to do then, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<String>,
    /// The right without which the reader could not check it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_right: Option<String>,
}

impl Check {
    /// Reports that all is well.
    #[must_use]
    pub fn ok(check: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { check, outcome: Outcome::Ok, message, run: None, then: None, missing_right: None }
    }

    /// Reports what could be better, and what to run.
    #[must_use]
    pub fn warning(check: &'static str, message: impl Into<String>, run: impl Into<String>) -> Self {
        Self { outcome: Outcome::Warning, run: Some(run.into()), ..Self::ok(check, message) }
    }

    /// Reports a problem, and what to run.
    #[must_use]
    pub fn problem(check: &'static str, message: impl Into<String>, run: impl Into<String>) -> Self {
        Self { outcome: Outcome::Problem, run: Some(run.into()), ..Self::ok(check, message) }
    }

    /// Reports that nothing shows whether all is well, and what to run to find out.
    #[must_use]
    pub fn unknown(check: &'static str, message: impl Into<String>, run: impl Into<String>) -> Self {
        Self { outcome: Outcome::NotChecked, run: Some(run.into()), ..Self::ok(check, message) }
    }

    /// Reports that a check needs the spec of a `ClusterStack` that this program cannot read.
    #[must_use]
    pub fn unreadable(check: &'static str, Key { namespace, name }: &Key) -> Self {
        let message = format!("the spec of ClusterStack {namespace}/{name} cannot be read");
        Self::unknown(check, message, format!("kubectl -n {namespace} get clusterstack {name} -o yaml"))
            .then("Use a command line of the version of its definitions.")
    }

    /// Adds what to do after the command, in a sentence.
    #[must_use]
    pub fn then(self, then: impl Into<String>) -> Self {
        Self { then: Some(then.into()), ..self }
    }

    /// Reports that a part of the facts was not read.
    #[must_use]
    pub fn unread(check: &'static str, why: &Unread) -> Self {
        match why {
            Unread::Forbidden(right) => Self::forbidden(check, right),
            Unread::NotServed(resource) => Self::unknown(
                check,
                format!("the API server does not serve {resource}"),
                "kubectl api-resources",
            ),
        }
    }

    fn forbidden(check: &'static str, right: &Right) -> Self {
        let message = format!("you may not {right}");
        let run = format!("kubectl auth can-i {}", right.question());
        Self { missing_right: Some(right.to_string()), ..Self::unknown(check, message, run) }
    }
}
