//! The reasons why a value cannot be computed, before the place in the source is known.

use super::limits::Limit;
use super::value::FieldNames;

/// The reason why a value cannot be computed.
#[derive(Clone, Debug)]
pub(super) enum Fault<'a> {
    /// Go fails as well, with these or similar words.
    Failed(String),
    /// A field of the data is absent or null, and its value is needed.
    Missing(FieldNames<'a>),
    /// Too much of something.
    Limit(Limit),
}

impl Fault<'_> {
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Fault::Failed(message.into())
    }
}
