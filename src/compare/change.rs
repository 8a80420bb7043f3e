//! Whether a part or a file differs.

use serde::Serialize;

/// The kinds of changes of a part or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// It is the same, byte for byte.
    Unchanged,
    /// It differs.
    Changed,
    /// Only the second release has it.
    Added,
    /// Only the first release has it.
    Removed,
}

impl Change {
    /// The change of something with this content.
    #[must_use]
    pub fn between<T: PartialEq>(from: Option<&T>, to: Option<&T>) -> Self {
        match (from, to) {
            (None, Some(_)) => Self::Added,
            (Some(_), None) => Self::Removed,
            (from, to) if from == to => Self::Unchanged,
            _ => Self::Changed,
        }
    }

    /// The word for it.
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
