//! The errors of parsing and rendering a template.

use std::fmt;

use super::fields::FieldPath;
use super::limits::Limit;

/// A place in a template's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// The place of an error: template, line and column, with the line itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name given to the template when it was parsed.
    pub name: String,
    /// Line and column.
    pub position: Position,
    /// The text of that line.
    pub source_line: String,
}

impl Place {
    /// Finds the place of a byte offset in a source.
    pub(super) fn at(name: &str, source: &str, offset: usize) -> Self {
        let mut start = offset.min(source.len());
        while !source.is_char_boundary(start) {
            start -= 1;
        }
        let (before, after) = source.split_at(start);
        let (above, left) =
            before.rsplit_once('\n').map_or((None, before), |(above, left)| (Some(above), left));
        let right = after.split('\n').next().unwrap_or_default();
        Place {
            name: name.to_owned(),
            position: Position {
                line: above.map_or(1, |above| above.matches('\n').count() + 2),
                column: left.chars().count() + 1,
            },
            source_line: excerpt(&format!("{left}{right}")),
        }
    }
}

impl Place {
    /// Quotes the line for the end of a sentence: `, in "a: {{ .b }}"`.
    fn quoted(&self) -> String {
        let line = self.source_line.trim();
        if line.is_empty() { String::new() } else { format!(", in \"{line}\"") }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.name, self.position)
    }
}

/// Shortens a line for messages: without its end, and of limited length.
fn excerpt(line: &str) -> String {
    let line = line.trim_end();
    match line.char_indices().nth(200) {
        Some((end, _)) => line.get(..end).map_or_else(String::new, |start| format!("{start}…")),
        None => line.to_owned(),
    }
}

/// The reason why a source is not a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}{}\n    {}", hint(.suggestion.as_deref()), .place.source_line)]
pub struct ParseError {
    /// The place of the error.
    pub place: Place,
    /// Description of the error.
    pub message: String,
    /// The function that was probably meant.
    pub suggestion: Option<String>,
}

fn hint(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |name| format!(" (did you mean {name:?}?)"))
}

/// The reason why a template gives no output for these data, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// A field that is absent or null is needed. Not a failure: the field may appear later.
    #[error("{place}: waiting for {path}{}", .place.quoted())]
    Missing {
        /// The field, from the root of the data.
        path: FieldPath,
        /// The place that needs the value.
        place: Place,
    },
    /// The template fails with these data, as it does in Go.
    #[error("{place}: {message}{}", .place.quoted())]
    Failed {
        /// The place of the failure.
        place: Place,
        /// Description of the error.
        message: String,
    },
    /// The template uses more than it may.
    #[error("{place}: {limit}{}", .place.quoted())]
    Limit {
        /// The limit that is exceeded.
        limit: Limit,
        /// The place at which the limit is exceeded.
        place: Place,
    },
}
