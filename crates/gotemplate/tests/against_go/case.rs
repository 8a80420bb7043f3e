//! One case: a template, its data, Go's answer, and whether the engine gives the same.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gotemplate::{RenderError, Template};
use serde::Deserialize;
use serde_json::Value;

/// The name under which the oracle parses every template. A template can call itself by that name.
pub(crate) const NAME: &str = "template";

/// A line that the oracle wrote.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) template: String,
    pub(crate) data: Value,
    #[serde(flatten)]
    go: Go,
    /// Go's answer when the nulls of the data's objects are left out.
    nulls_absent: Option<Go>,
}

/// Go's answer.
#[derive(Deserialize)]
struct Go {
    output: Option<String>,
    output_hex: Option<String>,
    error: Option<GoError>,
    message: Option<String>,
    missing: Option<Missing>,
    /// Whether Go failed because of a null, if it does not fail because of an absent field.
    #[serde(default)]
    over_null: bool,
}

/// The kinds of Go's errors.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum GoError {
    Parse,
    Exec,
    Limit,
}

/// Whether Go needed a value that was not there.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Missing {
    Must,
    May,
}

/// The kinds of the engine's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Output,
    Refused,
    Failed,
    Missing,
    Limit,
    Panicked,
}

/// The engine's answer: the output, or the message of an error.
pub(crate) struct Answer {
    pub(crate) kind: Kind,
    text: String,
}

impl Answer {
    /// Parses and renders.
    pub(crate) fn of(template: &str, data: &Value) -> Self {
        let (kind, text) = catch_unwind(AssertUnwindSafe(|| uncaught(template, data)))
            .unwrap_or_else(|_| (Kind::Panicked, String::new()));
        Self { kind, text }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} {:?}", self.kind, self.text)
    }
}

fn uncaught(template: &str, data: &Value) -> (Kind, String) {
    let parsed = match Template::parse(NAME, template) {
        Ok(parsed) => parsed,
        Err(error) => return (Kind::Refused, error.to_string()),
    };
    match parsed.render(data) {
        Ok(output) => (Kind::Output, output),
        Err(error @ RenderError::Missing { .. }) => (Kind::Missing, error.to_string()),
        Err(error @ RenderError::Failed { .. }) => (Kind::Failed, error.to_string()),
        Err(error @ RenderError::Limit { .. }) => (Kind::Limit, error.to_string()),
    }
}

/// The result of comparing the engine's answer with Go's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// The same output.
    SameOutput,
    /// An error of the same class.
    SameError,
    /// The engine waits for a value, which is allowed.
    Holds,
    /// The oracle has no answer.
    Unknown,
    /// A different answer.
    Differs,
}

impl Case {
    /// Reads a line.
    pub(crate) fn read(line: &str) -> Self {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"))
    }

    /// Compares by the table of `tests/oracle/README.md`.
    pub(crate) fn judge(&self, answer: &Answer) -> Verdict {
        let verdict = self.go.judge(answer);
        if verdict != Verdict::Differs {
            return verdict;
        }
        match self.nulls_absent.as_ref().map_or(Verdict::Differs, |go| go.judge(answer)) {
            Verdict::Differs if self.go.over_null && answer.kind == Kind::Output => Verdict::Unknown,
            verdict => verdict,
        }
    }
}

impl Go {
    fn judge(&self, answer: &Answer) -> Verdict {
        match (self.missing, answer.kind) {
            (Some(_), Kind::Missing) => Verdict::Holds,
            (_, Kind::Panicked) | (Some(Missing::Must), _) => Verdict::Differs,
            _ => self.judge_without_missing(answer),
        }
    }

    fn judge_without_missing(&self, answer: &Answer) -> Verdict {
        match (self.error, answer.kind) {
            (Some(GoError::Limit), _) => Verdict::Unknown,
            (None, Kind::Output) if answer.text == self.expected_output() => Verdict::SameOutput,
            (Some(GoError::Parse), Kind::Refused) | (Some(GoError::Exec), Kind::Failed) => Verdict::SameError,
            (None, Kind::Failed) if self.output_hex.is_some() => Verdict::SameError,
            _ => Verdict::Differs,
        }
    }

    /// Returns Go's output, with a replacement for bytes that are not UTF-8.
    fn expected_output(&self) -> String {
        match (&self.output, &self.output_hex) {
            (Some(text), None) => text.clone(),
            (None, Some(hex)) => String::from_utf8_lossy(&bytes(hex)).into_owned(),
            _ => panic!("one output is needed"),
        }
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
    hex.as_bytes()
        .chunks(2)
        .map(|pair| digit(pair[0]).expect("a hex digit") * 16 + digit(pair[1]).expect("a hex digit"))
        .collect()
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.id)?;
        writeln!(formatter, "  template {:?}", self.template)?;
        writeln!(formatter, "  data     {}", self.data)?;
        write!(formatter, "  Go       {}", self.go)?;
        match &self.nulls_absent {
            Some(go) => write!(formatter, "\n           or, without nulls, {go}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Go {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error {
            Some(error) => write!(formatter, "{error:?} {}", self.message.as_deref().unwrap_or(""))?,
            None => write!(formatter, "{:?}", self.expected_output())?,
        }
        self.missing.map_or(Ok(()), |missing| write!(formatter, " (missing: {missing:?})"))
    }
}
