//! The condition types of our kinds, and the reasons that they give.
//!
//! A reason is the reason of a condition and of an event, and a label of metrics. The reference of reasons,
//! `docs/reference/reasons.md`, is generated from [`Reason::meaning`] and [`Reason::action`].

mod reasons;
mod types;

use serde::{Deserialize, Serialize};

use crate::names::words;
pub use reasons::Reason;
pub use types::ConditionType;

words! {
    /// The status of a condition, the most important first. Any other word is unknown.
    #[derive(Default, Deserialize, Serialize)]
    #[serde(from = "String")]
    ConditionStatus {
        /// An issue.
        False,
        /// Unknown, or not known yet.
        #[default]
        Unknown,
        /// The part is good.
        True,
    }
}

impl From<String> for ConditionStatus {
    fn from(text: String) -> Self {
        Self::ALL.into_iter().find(|status| status.as_str() == text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    //! The words in a status.

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn words_are_pascal_case_and_differ() {
        let types: Vec<&str> = ConditionType::ALL.iter().map(|word| word.as_str()).collect();
        let reasons: Vec<&str> = Reason::ALL.iter().map(|word| word.as_str()).collect();
        for words in [types, reasons] {
            assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
            for word in words {
                assert!(word.starts_with(|first: char| first.is_ascii_uppercase()), "{word}");
                assert!(word.chars().all(|character| character.is_ascii_alphanumeric()), "{word}");
            }
        }
    }

    #[test]
    fn reason_meaning_and_action_are_single_sentences() {
        for reason in Reason::ALL {
            for sentence in [reason.meaning(), reason.action()] {
                assert!(
                    sentence.ends_with('.') && sentence.matches(". ").count() == 0,
                    "{reason}: {sentence}"
                );
                assert!(
                    sentence.starts_with(|first: char| first.is_ascii_uppercase()),
                    "{reason}: {sentence}"
                );
            }
        }
    }
}
