//! The words that stand in a status.

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
            assert!(sentence.ends_with('.') && sentence.matches(". ").count() == 0, "{reason}: {sentence}");
            assert!(sentence.starts_with(|first: char| first.is_ascii_uppercase()), "{reason}: {sentence}");
        }
    }
}
