//! Reads the files of this module, and describes their problems: the file, the line, and the text of the line.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_yaml::Error;

use crate::release::finding::Printable;
use crate::yaml;

/// Maximum size of one of these files, in bytes.
pub const MAX_FILE_BYTES: usize = 256 << 10;

/// Maximum length of the shown part of a line, in characters.
const MAX_LINE_CHARACTERS: usize = 200;

/// A problem in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The name of the file.
    pub file: String,
    /// The number of the line, from 1, and its text.
    pub line: Option<(u64, String)>,
    /// The description of the problem.
    pub message: String,
}

impl Problem {
    /// Creates a problem on this line of the file's source.
    #[must_use]
    pub fn at(file: &str, source: &str, line: u64, message: impl Into<String>) -> Self {
        let text = yaml::line_of(source, line)
            .map(|text| text.trim_end().chars().take(MAX_LINE_CHARACTERS).collect());
        Self { line: text.map(|text| (line, text)), ..Self::of(file, message) }
    }

    /// Creates a problem of the whole file.
    #[must_use]
    pub fn of(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, message: message.into() }
    }
}

/// Has no final line break:
/// ```text
/// stackflux.yaml:7: stage "prod" comes after "stag", which does not exist
///   7 |     after: stag
/// ```
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Printable(&self.file))?;
        if let Some((line, _)) = &self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", Printable(&self.message))?;
        match &self.line {
            Some((line, text)) => write!(f, "\n  {line} | {}", Printable(text)),
            None => Ok(()),
        }
    }
}

/// All problems of a file; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join("\n"))
    }
}

impl std::error::Error for Problems {}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

/// Decodes the text of a file.
pub(super) fn text<'a>(file: &str, content: &'a [u8]) -> Result<&'a str, Problems> {
    if content.len() > MAX_FILE_BYTES {
        let message =
            format!("the file exceeds the limit of {MAX_FILE_BYTES} bytes: it has {}", content.len());
        return Err(Problem::of(file, message).into());
    }
    std::str::from_utf8(content).map_err(|_| Problem::of(file, "the file is not UTF-8").into())
}

/// Reads a YAML document, within limits that are beyond the need of any such file.
pub(super) fn read<T: DeserializeOwned>(file: &str, source: &str) -> Result<T, Problems> {
    serde_yaml::from_str_with_options(source, options()).map_err(|error| problem(file, source, &error).into())
}

fn options() -> serde_yaml::Options {
    serde_yaml::options! {
        budget: serde_yaml::budget! { max_depth: 16, max_nodes: 20_000, max_aliases: 100, max_documents: 1 },
        strict_booleans: true,
        with_snippet: false,
    }
}

fn problem(file: &str, source: &str, error: &Error) -> Problem {
    let message = yaml::message(error, &options());
    match error.location() {
        Some(location) => Problem::at(file, source, location.line(), message),
        None => Problem::of(file, message),
    }
}
