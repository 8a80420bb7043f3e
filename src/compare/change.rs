//! The kinds of changes of a part or a file.

use serde::Serialize;

use crate::names::words;

words! {
    /// The kinds of changes of a part or a file.
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    Change {
        /// Both releases have it with the same bytes.
        Unchanged => "unchanged",
        /// Both releases have it with different content.
        Changed => "changed",
        /// Only the second release has it.
        Added => "added",
        /// Only the first release has it.
        Removed => "removed",
    }
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
}
