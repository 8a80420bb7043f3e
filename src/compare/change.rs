//! The kinds of changes of a part or a file.

use serde::Serialize;

/// The kinds of changes of a part or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// Both releases have it with the same bytes.
    Unchanged,
    /// Both releases have it with different content.
    Changed,
    /// Only the second release has it.
    Added,
    /// Only the first release has it.
    Removed,
}

impl Change {
    /// Returns the change from one content to the other; `None` is a missing part or file.
    #[must_use]
    pub fn between<T: PartialEq>(from: Option<&T>, to: Option<&T>) -> Self {
        match (from, to) {
            (None, Some(_)) => Self::Added,
            (Some(_), None) => Self::Removed,
            (from, to) if from == to => Self::Unchanged,
            _ => Self::Changed,
        }
    }

    /// Returns the change as one lower case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Changed => "changed",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}
